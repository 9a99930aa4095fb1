//! What clients of the OpenAI API said, and what was answered them: read from the same rows as the page's conversations.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{InboundId, OutboxId, RunId, SessionId};

/// So many conversations that began alike are told apart.
const ALIKE_MAX: i64 = 20;
/// So many of the newest rows of a conversation are looked at for an answer.
const ROWS_MAX: i64 = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConversation {
    pub session: SessionId,
    /// The session's key.
    pub key: String,
}

/// The newest conversations whose keys lie between these two.
pub async fn newest_conversations(tx: &mut Tx, from: &str, to: &str) -> Result<Vec<ApiConversation>, StoreError> {
    let all = sql::query_as!(
        ApiConversation,
        r#"SELECT id AS "session!: SessionId", key FROM sessions WHERE key >= $1 AND key < $2 ORDER BY id DESC LIMIT $3"#,
        from,
        to,
        ALIKE_MAX
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// What Hob said first in a conversation.
pub async fn first_words(tx: &mut Tx, session: SessionId) -> Result<Vec<String>, StoreError> {
    let texts = sql::query_scalar!(
        "SELECT text FROM outbox WHERE channel = 'web' AND session_id = $1 ORDER BY id LIMIT 5",
        session
    );
    Ok(texts.fetch_all(&mut *tx).await?)
}

/// What its newest message is called, and when it came in milliseconds.
pub async fn newest(tx: &mut Tx, session: SessionId) -> Result<Option<(String, i64)>, StoreError> {
    let newest = sql::query!(
        "SELECT external_id, received_at FROM inbound WHERE channel = 'web' AND session_id = $1 ORDER BY id DESC LIMIT 1",
        session
    );
    Ok(newest.fetch_optional(&mut *tx).await?.map(|row| (row.external_id, row.received_at)))
}

/// A message that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiInboundRow {
    pub id: InboundId,
    pub session: SessionId,
    /// What became of it: `run`, `command`, `answer` or `refused`.
    pub disposition: String,
    /// When, in milliseconds.
    pub at: i64,
    pub run: Option<RunId>,
    /// The run's state.
    pub state: Option<String>,
}

/// The message of a conversation that its sender called so.
pub async fn find_inbound(tx: &mut Tx, chat: &str, external_id: &str) -> Result<Option<ApiInboundRow>, StoreError> {
    let found = sql::query_as!(
        ApiInboundRow,
        r#"SELECT i.id AS "id!: InboundId", i.session_id AS "session!: SessionId", i.disposition, i.received_at AS at,
             r.id AS "run?: RunId", r.state AS "state?"
           FROM inbound i LEFT JOIN runs r ON r.inbound_id = i.id
           WHERE i.channel = 'web' AND i.account = 'default' AND i.chat = $1 AND i.external_id = $2"#,
        chat,
        external_id
    );
    Ok(found.fetch_optional(&mut *tx).await?)
}

/// The run that a conversation was at when a message came that became none itself.
pub async fn at_work(tx: &mut Tx, session: SessionId, at: i64) -> Result<Option<RunId>, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT coalesce(
             (SELECT min(id) FROM (
                SELECT id, ended_at FROM runs WHERE session_id = $1 AND state IN ('completed', 'cancelled', 'failed')
                ORDER BY id DESC LIMIT 20) WHERE ended_at >= $2),
             (SELECT id FROM runs WHERE session_id = $1 AND state IN ('running', 'waiting'))) AS "run: RunId""#,
        session,
        at
    );
    Ok(found.fetch_one(&mut *tx).await?)
}

/// A run's state; `parked` where nobody waits for it any more.
pub async fn state_of(tx: &mut Tx, run: RunId) -> Result<Option<String>, StoreError> {
    let state = sql::query_scalar!(
        r#"SELECT CASE WHEN parked_why IS NULL THEN state ELSE 'parked' END AS "state!: String" FROM runs WHERE id = $1"#,
        run
    );
    Ok(state.fetch_optional(&mut *tx).await?)
}

/// Something that was said for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiReplyRow {
    pub id: OutboxId,
    /// What it is the delivery of.
    pub key: String,
    /// The run that said it: the run itself, or an agent's.
    pub run: Option<RunId>,
    /// The words, without markup.
    pub text: String,
    /// It is the run's last word.
    pub is_reply: bool,
    /// It is the question of this number.
    pub question: Option<i64>,
    /// It stands for the chunk with this key.
    pub replaces: Option<String>,
    /// The file that goes with it.
    pub file: Option<i64>,
    pub file_name: Option<String>,
}

/// What was said in a conversation for a run, and for the agents that work for it, from a moment on, in order.
pub async fn replies_of_run(
    tx: &mut Tx,
    session: SessionId,
    run: RunId,
    from: i64,
) -> Result<Vec<ApiReplyRow>, StoreError> {
    let all = sql::query_as!(
        ApiReplyRow,
        r#"SELECT o.id AS "id!: OutboxId", o.key AS "key!", o.run_id AS "run: RunId", o.text AS "text!",
             o.takes_draft AS "is_reply!: bool", o.question, o.replaces_key AS replaces, o.file_id AS file, f.name AS "file_name?"
           FROM (SELECT * FROM outbox WHERE channel = 'web' AND session_id = $1 AND state <> 'abandoned'
                 ORDER BY id DESC LIMIT $4) o
           JOIN runs r ON r.id = o.run_id LEFT JOIN files f ON f.id = o.file_id
           WHERE o.created_at >= $3 AND (r.id = $2 OR r.session_id <> $1) ORDER BY o.id"#,
        session,
        run,
        from,
        ROWS_MAX
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// What a message was answered with at once, without a run.
pub async fn direct_reply(tx: &mut Tx, inbound: InboundId) -> Result<Vec<(OutboxId, String)>, StoreError> {
    let (from, to) = (format!("inbound:{inbound}:"), format!("inbound:{inbound};"));
    let all = sql::query!(
        r#"SELECT id AS "id!: OutboxId", text FROM outbox WHERE key >= $1 AND key < $2 ORDER BY id"#,
        from,
        to
    );
    Ok(all.fetch_all(&mut *tx).await?.into_iter().map(|row| (row.id, row.text)).collect())
}

/// Tokens that a run has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApiTokenUsage {
    /// Read.
    pub input: i64,
    /// Written.
    pub output: i64,
    /// Of those read, from the provider's cache.
    pub cached: i64,
    /// Of those written, thinking.
    pub reasoning: i64,
}

/// What a run has used from a moment on.
pub async fn used(tx: &mut Tx, run: RunId, from: i64) -> Result<ApiTokenUsage, StoreError> {
    let used = sql::query_as!(
        ApiTokenUsage,
        r#"SELECT coalesce(sum(input_tokens), 0) AS "input!: i64", coalesce(sum(output_tokens), 0) AS "output!: i64",
             coalesce(sum(cached_tokens), 0) AS "cached!: i64", coalesce(sum(reasoning_tokens), 0) AS "reasoning!: i64"
           FROM model_calls WHERE run_id = $1 AND asked_at >= $2"#,
        run,
        from
    );
    Ok(used.fetch_one(&mut *tx).await?)
}
