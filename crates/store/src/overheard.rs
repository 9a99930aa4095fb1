//! What people said in groups and not to Hob: context for a while, and nothing else.

use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::message_context::OverheardMessage;

/// So many are kept of a conversation.
pub const KEPT_MAX: i64 = 50;
/// So long they are kept.
pub const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);
/// The longest text that is kept, in characters.
pub const TEXT_CHARS_MAX: usize = 2_000;
/// The most characters of all texts that a run is told.
const TOLD_CHARS_MAX: usize = 12_000;

/// Something that was said.
#[derive(Debug, Clone)]
pub struct NewOverheard<'a> {
    pub session: SessionId,
    /// Where it was said.
    pub conversation: &'a Conversation,
    /// The platform's id of it.
    pub external_id: &'a str,
    /// The platform's id of whoever said it.
    pub sender: &'a str,
    pub message: &'a OverheardMessage,
}

/// Keeps it, and lets go of what is too much; false if it was kept before.
pub async fn add(tx: &mut Tx, new: &NewOverheard<'_>) -> Result<bool, StoreError> {
    let (channel, at) = (new.conversation.channel.as_str(), millis(new.message.at));
    let text: String = new.message.text.chars().take(TEXT_CHARS_MAX).collect();
    let added = sql::query!(
        "INSERT INTO overheard (session_id, channel, account, chat, external_id, sender, name, text, member, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (channel, account, chat, external_id) DO NOTHING",
        new.session,
        channel,
        new.conversation.account,
        new.conversation.chat,
        new.external_id,
        new.sender,
        new.message.name,
        text,
        new.message.member,
        at
    )
    .execute(&mut *tx)
    .await?;
    // The newest stay.
    sql::query!(
        "UPDATE overheard SET taken = 1, name = '', text = '' WHERE taken = 0 AND session_id = $1 AND id <= (
           SELECT id FROM overheard WHERE taken = 0 AND session_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
        new.session,
        KEPT_MAX
    )
    .execute(&mut *tx)
    .await?;
    Ok(added.rows_affected() > 0)
}

/// Takes what is kept of a conversation, oldest first: what is taken once is taken for good. Of too much the oldest is left
/// out.
pub async fn take(tx: &mut Tx, session: SessionId, now: Timestamp) -> Result<Vec<OverheardMessage>, StoreError> {
    let since = millis(now.saturating_sub(KEPT_FOR).unwrap_or(Timestamp::MIN));
    let rows = sql::query!(
        r#"SELECT name, text, member AS "member!: bool", at FROM overheard
           WHERE taken = 0 AND session_id = $1 ORDER BY id DESC"#,
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    let (mut left, mut heard) = (TOLD_CHARS_MAX, Vec::new());
    for row in rows.into_iter().filter(|row| row.at >= since) {
        let Some(rest) = left.checked_sub(row.text.chars().count()) else { break };
        left = rest;
        let at = Timestamp::from_millisecond(row.at).unwrap_or(now);
        heard.push(OverheardMessage { name: row.name, text: row.text, at, member: row.member });
    }
    heard.reverse();
    drop_open(tx, session).await?;
    Ok(heard)
}

/// Lets go of what is kept of a conversation and not taken yet.
pub async fn drop_open(tx: &mut Tx, session: SessionId) -> Result<(), StoreError> {
    sql::query!("UPDATE overheard SET taken = 1, name = '', text = '' WHERE taken = 0 AND session_id = $1", session)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Lets go of everything that somebody said, wherever it was.
pub async fn drop_of_user(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE overheard SET taken = 1, name = '', text = '' WHERE id IN (
           SELECT o.id FROM identities i CROSS JOIN overheard o
             ON o.channel = i.channel AND o.account = i.account AND o.sender = i.external_id
           WHERE i.user_id = $1)",
        user
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The words changed, by whoever said them, or are gone; false if they are not kept.
pub async fn edit(
    tx: &mut Tx,
    conversation: &Conversation,
    external_id: &str,
    change: Option<(&str, &str)>,
) -> Result<bool, StoreError> {
    let channel = conversation.channel.as_str();
    let (account, chat) = (&conversation.account, &conversation.chat);
    let done = match change {
        Some((sender, text)) => {
            let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
            sql::query!(
                "UPDATE overheard SET text = $1 WHERE channel = $2 AND account = $3 AND chat = $4 AND external_id = $5
                   AND sender = $6 AND taken = 0",
                text,
                channel,
                account,
                chat,
                external_id,
                sender
            )
            .execute(&mut *tx)
            .await?
        }
        None => {
            sql::query!(
                "UPDATE overheard SET taken = 1, name = '', text = ''
                 WHERE channel = $1 AND account = $2 AND chat = $3 AND external_id = $4 AND taken = 0",
                channel,
                account,
                chat,
                external_id
            )
            .execute(&mut *tx)
            .await?
        }
    };
    Ok(done.rows_affected() > 0)
}

/// The latest things that members of the household said in a conversation, as they are kept.
pub async fn of_members(tx: &mut Tx, session: SessionId) -> Result<Vec<String>, StoreError> {
    let texts = sql::query_scalar!(
        "SELECT text FROM overheard WHERE taken = 0 AND session_id = $1 AND member = 1 ORDER BY id DESC",
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(texts)
}

/// Lets go of what is old, and of the places of what was taken; gives how many rows are gone.
pub async fn sweep(tx: &mut Tx, now: Timestamp) -> Result<u64, StoreError> {
    let before = millis(now.saturating_sub(KEPT_FOR).unwrap_or(Timestamp::MIN));
    Ok(sql::query!("DELETE FROM overheard WHERE at < $1", before).execute(&mut *tx).await?.rows_affected())
}
