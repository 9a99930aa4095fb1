//! Is the world at rest? And the last word of its people: every question gets an answer in the end.

use hob_core::domain::inbound::{Conversation, InboundEvent};
use hob_store::Tx;
use hob_store::error::StoreError;

use crate::plan::OWNER;
use crate::platform;
use crate::world::World;

/// A run that waits for somebody.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct WaitingRun {
    #[sqlx(flatten)]
    place: PausedChat,
    pub(crate) sender: String,
}

/// What is still open.
#[derive(Debug, Clone)]
pub(crate) struct OpenWork {
    pub(crate) runs: i64,
    pub(crate) outbox: i64,
    /// Answers that are still to be spoken.
    pub(crate) speeches: i64,
    /// Replies that still grow in a chat, or were left there.
    pub(crate) drafts: i64,
    pub(crate) asking: Vec<WaitingRun>,
    /// The conversations that stand still.
    pub(crate) paused: Vec<PausedChat>,
    /// Everything stands still.
    pub(crate) stopped: bool,
}

/// A conversation.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct PausedChat {
    channel: String,
    account: String,
    chat: String,
}

impl PausedChat {
    fn conversation(&self) -> Conversation {
        let (channel, account, chat) = (self.channel.parse().unwrap(), self.account.clone(), self.chat.clone());
        Conversation { channel, account, chat, thread: None }
    }
}

impl OpenWork {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.runs == 0 && self.outbox == 0 && self.speeches == 0 && self.drafts == 0
    }
}

/// What expires sooner than in so long is an approval: nobody has to answer it.
const APPROVAL_MS: i64 = 3 * 3_600_000;

/// Looks at the database.
pub(crate) async fn look_around(tx: &mut Tx, now_ms: i64) -> Result<OpenWork, StoreError> {
    let runs = sqlx::query_scalar("SELECT count(*) FROM runs WHERE ended_at IS NULL").fetch_one(&mut *tx).await?;
    let outbox = sqlx::query_scalar("SELECT count(*) FROM outbox WHERE ended_at IS NULL").fetch_one(&mut *tx).await?;
    let speeches = sqlx::query_scalar("SELECT count(*) FROM speeches").fetch_one(&mut *tx).await?;
    let drafts = sqlx::query_scalar("SELECT count(*) FROM drafts").fetch_one(&mut *tx).await?;
    let asking = sqlx::query_as(
        "SELECT i.channel, i.account, i.chat, p.external_id AS sender
         FROM runs r JOIN inbound i ON i.id = r.inbound_id
         JOIN identities p ON p.user_id = r.user_id AND p.channel = i.channel AND p.account = i.account
         WHERE r.state = 'waiting' AND (r.waits_until IS NULL OR r.waits_until > $1) AND NOT EXISTS (SELECT 1 FROM signals s WHERE s.run_id = r.id AND s.taken = 0)
           -- Who has agents at work perhaps waits for nobody else.
           AND NOT EXISTS (SELECT 1 FROM runs a WHERE a.parent_run = r.id AND a.ended_at IS NULL)
         ORDER BY r.id",
    )
    .bind(now_ms + APPROVAL_MS)
    .fetch_all(&mut *tx)
    .await?;
    let paused = sqlx::query_as(
        "SELECT i.channel, i.account, i.chat FROM sessions s
         JOIN inbound i ON i.id = (SELECT max(id) FROM inbound WHERE session_id = s.id)
         WHERE s.paused_by IS NOT NULL ORDER BY s.id",
    )
    .fetch_all(&mut *tx)
    .await?;
    let stopped: i64 = sqlx::query_scalar("SELECT count(*) FROM switches").fetch_one(&mut *tx).await?;
    Ok(OpenWork { runs, outbox, speeches, drafts, asking, paused, stopped: stopped > 0 })
}

/// Who was asked says something; but for approvals, which may expire. What stands still is let go on.
pub(crate) fn answer(world: &World, open: &OpenWork) {
    for place in &open.paused {
        say(world, place.conversation(), OWNER, "/resume");
    }
    if open.stopped {
        say(world, world.conversation(OWNER), OWNER, "/resume all");
    }
    for asking in &open.asking {
        let text = world.between(1, 3).to_string();
        say(world, asking.place.conversation(), &asking.sender, &text);
    }
}

fn say(world: &World, place: Conversation, who: &str, text: &str) {
    let at = world.now_ms() + i64::try_from(world.between(100, 4_000)).unwrap_or(0);
    let said = InboundEvent::Posted { text: text.to_owned() };
    world.post(at, &place.account, platform::from(world, place.channel, &place, who, said));
}
