//! A conversation's history.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{MessageId, RunId, SessionId, UserId};
use hob_core::domain::memory::Scope;

/// A message about to be added.
#[derive(Debug, Clone)]
pub struct NewMessage<'a> {
    pub session: SessionId,
    /// The run it was said in.
    pub run: RunId,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// Who said it, where a person did.
    pub user: Option<UserId>,
    /// The message, encoded.
    pub body: &'a str,
    pub text: &'a str,
    /// How many tokens it is, as counted here.
    pub tokens: i64,
    /// What its run had read by then that nobody vouches for, as stored.
    pub taint: Option<&'a str>,
    /// It is what a person of the house said themselves, and nothing in it is anybody else's.
    pub own: bool,
    /// Who may find it again, if it is an answer of Hob's.
    pub scope: Option<Scope>,
    pub at: i64,
}

/// Adds a message at the end of its session.
///
/// An answer that tells what Hob answered before is not found again: it would only
/// stand before that.
pub async fn append(tx: &mut Tx, new: &NewMessage<'_>) -> Result<MessageId, StoreError> {
    let id = sql::query_scalar!(
        r#"INSERT INTO messages (session_id, ordinal, run_id, role, user_id, body, text, tokens, taint, scope, at, own)
           SELECT id, last_ordinal + 1, $2, $3, $4, $5, $6, $7, $8,
             CASE WHEN NOT EXISTS (SELECT 1 FROM recalled WHERE run_id = $2 AND leg = 'answer') THEN $9 END, $10, $11 FROM sessions WHERE id = $1
           RETURNING id AS "id!: MessageId""#,
        new.session,
        new.run,
        new.role,
        new.user,
        new.body,
        new.text,
        new.tokens,
        new.taint,
        new.scope,
        new.at,
        new.own
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// What was said last in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMessage {
    /// `user` or `assistant`.
    pub role: String,
    pub text: String,
    /// The run they were said in.
    pub run: RunId,
    /// What that run had read by then that nobody vouches for, as stored.
    pub taint: Option<String>,
    pub at: i64,
}

/// The last words of a person or of Hob since the conversation began afresh.
pub async fn last_message(tx: &mut Tx, session: SessionId) -> Result<Option<LastMessage>, StoreError> {
    let last = sql::query_as!(
        LastMessage,
        r#"SELECT role, text, run_id AS "run!: RunId", taint, at FROM messages
           WHERE session_id = $1 AND ordinal > (SELECT context_from FROM sessions WHERE id = $1)
             AND pruned = 0 AND role <> 'tool' AND text <> ''
           ORDER BY ordinal DESC LIMIT 1"#,
        session
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(last)
}

/// A person's words, or Hob's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageText {
    /// Their place in the conversation.
    pub ordinal: i64,
    pub text: String,
    /// What the run had read by then that nobody vouches for, as stored.
    pub taint: Option<String>,
}

/// The latest words of one role that models still read, the newest first.
pub async fn latest(tx: &mut Tx, session: SessionId, role: &str, limit: i64) -> Result<Vec<MessageText>, StoreError> {
    let words = sql::query_as!(
        MessageText,
        "SELECT ordinal, text, taint FROM messages WHERE session_id = $1 AND role = $2 AND pruned = 0 ORDER BY ordinal DESC LIMIT $3",
        session,
        role,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(words)
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub id: MessageId,
    /// Its place in the conversation.
    pub ordinal: i64,
    /// The message, encoded.
    pub body: String,
    /// Who said it, where a person did.
    pub user: Option<UserId>,
    /// How they are called.
    pub author: Option<String>,
    /// Whose message the run answers that it was said in.
    pub run_user: UserId,
    /// How many tokens it is, as counted here; none: it was not counted.
    pub tokens: Option<i64>,
    /// What its run had read by then that nobody vouches for, as stored.
    pub taint: Option<String>,
}

/// The messages from one ordinal through another, in order.
pub async fn list(tx: &mut Tx, session: SessionId, from: i64, through: i64) -> Result<Vec<MessageRow>, StoreError> {
    let rows = sql::query_as!(
        MessageRow,
        r#"SELECT m.id AS "id!: MessageId", m.ordinal, m.body, m.user_id AS "user: UserId", u.name AS "author?",
                  r.user_id AS "run_user!: UserId", m.tokens, m.taint
           FROM messages m JOIN runs r ON r.id = m.run_id LEFT JOIN users u ON u.id = m.user_id
           WHERE m.session_id = $1 AND m.ordinal BETWEEN $2 AND $3 AND m.pruned = 0 ORDER BY m.ordinal"#,
        session,
        from,
        through
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// What a run had read at its last message that nobody vouches for, as stored; none: nothing.
pub async fn taint_of(tx: &mut Tx, run: RunId) -> Result<Option<String>, StoreError> {
    let taint = sql::query_scalar!(
        r#"SELECT taint AS "taint!: String" FROM messages WHERE run_id = $1 AND taint IS NOT NULL
           ORDER BY id DESC LIMIT 1"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(taint)
}

/// Leaves a run's messages, after this ordinal, out of what models read (row E14).
pub async fn prune(tx: &mut Tx, session: SessionId, run: RunId, after: i64) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE messages SET pruned = 1 WHERE session_id = $1 AND ordinal > $2 AND run_id = $3",
        session,
        after,
        run
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A message that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The run it was said in.
    pub run: RunId,
    /// `user`, `assistant` or `tool`.
    pub role: String,
}

/// Leaves out of what models read whatever words that nobody vouches for are behind, since the conversation began.
///
/// What people of the house said themselves stays, and nothing is behind it but them. Answers that are left out are found by nobody
/// any more.
pub async fn leave_out_tainted(tx: &mut Tx, session: SessionId) -> Result<Vec<LeftOut>, StoreError> {
    let left = sql::query_as!(
        LeftOut,
        r#"UPDATE messages SET pruned = 1, scope = NULL
           WHERE session_id = $1 AND ordinal > (SELECT context_from FROM sessions WHERE id = $1)
             AND taint IS NOT NULL AND own = 0 AND pruned = 0
           RETURNING run_id AS "run!: RunId", role"#,
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    sql::query!(
        "UPDATE messages SET taint = NULL
         WHERE session_id = $1 AND ordinal > (SELECT context_from FROM sessions WHERE id = $1)
           AND taint IS NOT NULL AND own = 1 AND pruned = 0",
        session
    )
    .execute(&mut *tx)
    .await?;
    Ok(left)
}

/// The ordinal of the `n`th newest of a session's messages after this ordinal that models still read.
pub async fn nth_newest(tx: &mut Tx, session: SessionId, after: i64, n: i64) -> Result<Option<i64>, StoreError> {
    let skipped = (n - 1).max(0);
    let ordinal = sql::query_scalar!(
        r#"SELECT ordinal FROM messages WHERE session_id = $1 AND ordinal > $2 AND pruned = 0
           ORDER BY ordinal DESC LIMIT 1 OFFSET $3"#,
        session,
        after,
        skipped
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(ordinal)
}
