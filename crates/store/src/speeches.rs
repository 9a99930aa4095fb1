//! Answers that are still to be spoken (row F10). What is paid for that is in [`crate::recordings`].
//!
//! A row is the claim: it is made as the answer is on record as delivered, and goes in the transaction that queues what is said
//! in its place, be it the voice or why there is none.

use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{OutboxId, RunId, SessionId, UserId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::principal::Role;

/// An answer that was delivered longer ago is not spoken any more.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(1);

/// An answer that is to be spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSpeech {
    /// Its first chunk.
    pub outbox: OutboxId,
    /// That chunk's key, which names the event that made the answer.
    pub key: String,
    /// How often it was begun.
    pub attempts: i64,
    /// It was delivered too long ago.
    pub is_old: bool,
    /// Who answered.
    pub run: RunId,
    /// Where its words wait to be sent.
    pub session: SessionId,
    /// Whom it answers.
    pub user: UserId,
    /// What they may.
    pub role: Role,
    /// The persona that was chosen in the conversation.
    pub persona: Option<String>,
    /// The server that the conversation is on.
    pub server: Option<String>,
    pub place: Conversation,
}

/// Notes that what was delivered is to be spoken, if it is a run's answer where answers are: by choice, or because what it answers was
/// spoken. Gives whether it is.
pub async fn note(tx: &mut Tx, delivered: OutboxId) -> Result<bool, StoreError> {
    let noted = sql::query!(
        "INSERT INTO speeches (outbox_id)
         SELECT o.id FROM outbox o CROSS JOIN runs r ON r.id = o.run_id CROSS JOIN sessions s ON s.id = o.session_id
         WHERE o.id = $1 AND o.takes_draft = 1 AND CASE WHEN s.voice IS NOT NULL THEN s.voice = 'on' ELSE EXISTS (
           SELECT 1 FROM inbound i WHERE i.id >= r.inbound_id AND i.session_id = r.session_id AND i.spoken = 1
             AND (i.id = r.inbound_id OR i.disposition = 'answer'
                  OR EXISTS (SELECT 1 FROM runs j WHERE j.inbound_id = i.id AND j.state = 'joined'))) END
         ON CONFLICT (outbox_id) DO NOTHING",
        delivered
    )
    .execute(&mut *tx)
    .await?;
    Ok(noted.rows_affected() > 0)
}

/// The first that is to be spoken.
pub async fn next(tx: &mut Tx, now: Timestamp) -> Result<Option<DueSpeech>, StoreError> {
    let oldest = millis(now - AGE_MAX);
    let row = sql::query!(
        r#"SELECT d.outbox_id AS "outbox!: OutboxId", o.key, d.attempts, coalesce(o.ended_at, o.created_at) < $1 AS "is_old!: bool",
                  r.id AS "run!: RunId", o.session_id AS "session!: SessionId", u.id AS "user!: UserId", u.role AS "role!: Role",
                  s.persona, s.server, o.channel, o.account, o.chat, o.thread
           FROM speeches d CROSS JOIN outbox o ON o.id = d.outbox_id CROSS JOIN runs r ON r.id = o.run_id
             CROSS JOIN users u ON u.id = r.user_id CROSS JOIN sessions s ON s.id = o.session_id
           ORDER BY d.outbox_id LIMIT 1"#,
        oldest
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let channel = row.channel.parse::<ChannelKind>();
    let channel = channel.map_err(|error| StoreError::inconsistent("outbox", row.outbox, error))?;
    Ok(Some(DueSpeech {
        outbox: row.outbox,
        key: row.key,
        attempts: row.attempts,
        is_old: row.is_old,
        run: row.run,
        session: row.session,
        user: row.user,
        role: row.role,
        persona: row.persona,
        server: row.server,
        place: Conversation { channel, account: row.account, chat: row.chat, thread: row.thread },
    }))
}

/// One more beginning.
pub async fn begin(tx: &mut Tx, outbox: OutboxId) -> Result<(), StoreError> {
    sql::query!("UPDATE speeches SET attempts = attempts + 1 WHERE outbox_id = $1", outbox).execute(&mut *tx).await?;
    Ok(())
}

/// It need not be spoken any more; false: it was settled before.
pub async fn settle(tx: &mut Tx, outbox: OutboxId) -> Result<bool, StoreError> {
    let gone = sql::query!("DELETE FROM speeches WHERE outbox_id = $1", outbox).execute(&mut *tx).await?;
    Ok(gone.rows_affected() > 0)
}
