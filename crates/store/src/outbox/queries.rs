//! What is in the outbox, to look at: how much waits and since when, and the questions that are open.

use std::fmt::Display;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{OutboxId, RunId, SessionId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Choice, Destination};

/// The sessions with open chunks.
pub async fn list_open_sessions(tx: &mut Tx) -> Result<Vec<(SessionId, String)>, StoreError> {
    let rows = sql::query!(
        r#"SELECT DISTINCT session_id AS "session!: SessionId", channel FROM outbox
           WHERE state IN ('pending', 'sending', 'unknown')"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.session, row.channel)).collect())
}

/// A line of `/status` about the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCount {
    pub state: String,
    pub count: i64,
    /// When the oldest was queued.
    pub oldest: i64,
}

/// Counts what is not delivered: open chunks, and those given up since `since`.
pub async fn count(tx: &mut Tx, since: Timestamp) -> Result<Vec<StateCount>, StoreError> {
    let since = millis(since);
    let counts = sql::query_as!(
        StateCount,
        r#"SELECT state AS "state!", count(*) AS "count!: i64", min(created_at) AS "oldest!: i64" FROM (
             SELECT state, created_at FROM outbox WHERE state IN ('pending', 'sending', 'unknown')
             UNION ALL
             SELECT CASE WHEN EXISTS (SELECT 1 FROM held_letters h WHERE h.outbox_id = outbox.id AND h.state = 'held')
                    THEN 'held' ELSE state END,
                    created_at
             FROM outbox WHERE state IN ('failed', 'abandoned') AND ended_at >= $1)
           GROUP BY 1 ORDER BY 1"#,
        since
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(counts)
}

/// A question that was put before somebody, and that nothing has taken the place of yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionChunk {
    pub key: String,
    /// The conversation that it stands in.
    pub session: SessionId,
    /// Where it was sent.
    pub destination: Destination,
    pub text: String,
    /// The buttons under it.
    pub choices: Vec<Choice>,
}

/// The chunks in which a run put its questions, wherever; of one question, or of all (`None`).
pub async fn questions(tx: &mut Tx, run: RunId, number: Option<u32>) -> Result<Vec<QuestionChunk>, StoreError> {
    let rows = sql::query!(
        r#"SELECT id AS "id!: OutboxId", key, session_id AS "session_id!: SessionId", channel, account, chat, thread, reply_to,
                  text, choices
           FROM outbox q WHERE run_id = $1 AND question IS NOT NULL AND ($2 IS NULL OR question = $2)
             AND NOT EXISTS (SELECT 1 FROM outbox r WHERE r.key = q.key || ':end') ORDER BY id"#,
        run,
        number
    )
    .fetch_all(&mut *tx)
    .await?;
    let chunks = rows.into_iter().map(|row| {
        let bad = |what: &dyn Display| StoreError::inconsistent("outbox", row.id, what);
        let channel = row.channel.parse::<ChannelKind>().map_err(|error| bad(&error))?;
        let choices = serde_json::from_str(&row.choices).map_err(|error| bad(&error))?;
        let conversation = Conversation { channel, account: row.account, chat: row.chat, thread: row.thread };
        let destination = Destination { conversation, reply_to: row.reply_to };
        Ok(QuestionChunk { key: row.key, session: row.session_id, destination, text: row.text, choices })
    });
    chunks.collect()
}

/// What is not delivered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenChunkCount {
    /// How many chunks.
    pub count: i64,
    /// Since when the oldest waits, in Unix milliseconds.
    pub oldest: Option<i64>,
}

/// How much is not delivered yet.
pub async fn open(tx: &mut Tx) -> Result<OpenChunkCount, StoreError> {
    let open = sql::query_as!(
        OpenChunkCount,
        r#"SELECT count(*) AS "count!: i64", min(created_at) AS "oldest: i64" FROM outbox
           WHERE state IN ('pending', 'sending', 'unknown')"#
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(open)
}

/// Has the session anything open to be said?
pub async fn is_open(tx: &mut Tx, session: SessionId) -> Result<bool, StoreError> {
    let open = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM outbox WHERE session_id = $1 AND state IN ('pending', 'sending', 'unknown'))
           AS "open!: bool""#,
        session
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(open)
}
