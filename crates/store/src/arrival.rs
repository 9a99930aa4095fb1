//! What is known of a message that arrives, in one look: its conversation and what stands in its lane, who speaks and what they
//! may, and what a run of theirs would begin with.

use crate::error::StoreError;
use crate::run_context::{StoredRunContext, tools};
use crate::sessions::Session;
use crate::summaries::Summary;
use crate::users::KnownUser;
use crate::{Tx, sql};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::Role;

/// What is known of a message that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its conversation; none: nothing was said there before.
    pub session: Option<Session>,
    pub lane: LaneStanding,
    /// Who speaks; none: nobody who is known.
    pub user: Option<KnownUser>,
    /// What they may by having been paired.
    pub member: Option<Role>,
    /// It is where somebody talked with Hob alone the last time, and it was them.
    pub is_latest_chat: bool,
    /// What a run of this person's begins with there.
    pub begins: StoredRunContext,
}

/// What stands in a lane; each of it is looked at closely only where there is something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub struct LaneStanding {
    /// Runs that wait their turn.
    pub queued: i64,
    /// A run is at work, or waits for something.
    pub is_active: bool,
    /// Runs that work for it elsewhere are not over, or what an event has begun speaks here.
    pub(crate) has_others: bool,
    /// It is paused, or the house is.
    pub is_paused: bool,
    /// Something was said in the group, and nobody was told of it yet.
    pub has_overheard: bool,
}

impl LaneStanding {
    /// May a run wait for a word that is said here?
    pub fn may_ask(&self) -> bool {
        self.is_active || self.has_others
    }

    /// Does nothing stand before what comes next?
    pub fn is_free(&self) -> bool {
        !self.is_active && !self.is_paused && self.queued == 0
    }
}

/// Looks for what is known of a message of this sender here.
pub async fn look(tx: &mut Tx, place: &Conversation, sender: &str) -> Result<Arrival, StoreError> {
    let (key, channel) = (place.session_key().0, place.channel.as_str());
    let row = sql::query!(
        r#"SELECT h.id AS "session?: SessionId", h.channel AS "channel?", h.queue_mode, h.model, h.persona, h.server,
             h.context_from AS "context_from?", h.last_ordinal AS "last_ordinal?",
             (SELECT count(*) FROM runs WHERE session_id = h.id AND state = 'queued' AND parked_why IS NULL) AS "queued!: i64",
             EXISTS (SELECT 1 FROM runs WHERE session_id = h.id AND state IN ('running', 'waiting')) AS "is_active!: bool",
             EXISTS (SELECT 1 FROM runs WHERE home_session = h.id AND state IN ('queued', 'running', 'waiting'))
               OR EXISTS (SELECT 1 FROM runs r CROSS JOIN sessions s ON s.id = r.session_id
                          WHERE r.state IN ('running', 'waiting') AND s.speaks_in = h.id) AS "has_others!: bool",
             h.paused_by IS NOT NULL OR EXISTS (SELECT 1 FROM switches WHERE name = 'paused') AS "is_paused!: bool",
             EXISTS (SELECT 1 FROM overheard WHERE taken = 0 AND session_id = h.id) AS "has_overheard!: bool",
             u.id AS "user?: UserId", u.role AS "role?", u.name AS "name?",
             (SELECT role FROM members WHERE channel = $2 AND account = $3 AND external_id = $4) AS "member?: Role",
             EXISTS (SELECT 1 FROM private_chats p
                     WHERE p.user_id = u.id AND p.channel = $2 AND p.account = $3 AND p.chat = $5
                       AND p.at >= (SELECT max(at) FROM private_chats)) AS "is_latest_chat!: bool",
             h.run_journal, y.through AS "through?", y.text AS "text?", y.taint AS "taint?",
             (SELECT json_group_array(tool) FROM (
                SELECT tool FROM grants WHERE session_id = h.id AND user_id = u.id AND revoked_at IS NULL ORDER BY tool))
               AS "granted!: String",
             (SELECT count(*) FROM messages m WHERE m.session_id = h.id AND m.pruned = 1
                AND m.ordinal > max(h.context_from, coalesce(y.through, 0))) AS "pruned!: i64"
           FROM (SELECT 1) LEFT JOIN sessions h ON h.key = $1
             LEFT JOIN identities i ON i.channel = $2 AND i.account = $3 AND i.external_id = $4
             LEFT JOIN users u ON u.id = i.user_id
             LEFT JOIN summaries y ON y.session_id = h.id AND y.user_id = u.id"#,
        key,
        channel,
        place.account,
        sender,
        place.chat
    )
    .fetch_one(&mut *tx)
    .await?;
    let user = row.user.zip(row.role).zip(row.name).map(|((id, role), name)| KnownUser { id, role, name });
    let lane = LaneStanding {
        queued: row.queued,
        is_active: row.is_active,
        has_others: row.has_others,
        is_paused: row.is_paused,
        has_overheard: row.has_overheard,
    };
    let session = row.session.zip(row.channel).map(|(id, channel)| Session {
        id,
        key,
        channel,
        queue_mode: row.queue_mode,
        model: row.model,
        persona: row.persona,
        server: row.server,
        context_from: row.context_from.unwrap_or_default(),
        last_ordinal: row.last_ordinal.unwrap_or_default(),
    });
    let summary = row.through.zip(row.text).map(|(through, text)| Summary { through, text, taint: row.taint });
    let (run_journal, granted, pruned) = (row.run_journal, tools(&row.granted)?, row.pruned);
    let begins = StoredRunContext { run_journal, granted, summary, pruned };
    Ok(Arrival { session, lane, user, member: row.member, is_latest_chat: row.is_latest_chat, begins })
}
