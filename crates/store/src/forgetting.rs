//! Taking words out of what is kept beside memory: the history, journals, envelopes, what was delivered.
//!
//! Of an event only its kind and the names of what it refers to are looked at here; `agent::journal` knows the rest.

pub mod deferred;
pub mod rewriting;

use serde::Deserialize;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, InboundId, MemoryId, MessageId, RunId, SessionId};

/// What stands where words were.
pub const FORGOTTEN: &str = "[forgotten]";

/// Which part of a run's record is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum Part {
    /// The words of its message, and all that rests on them.
    Words,
    Journal,
    /// What was recalled for it.
    Tail,
}

impl Part {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Journal => "journal",
            Self::Tail => "tail",
        }
    }
}

hob_core::sql_names!(Part);

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLocation {
    pub message: MessageId,
    pub session: SessionId,
    /// Its place there.
    pub ordinal: i64,
    /// The run in which it was said.
    pub run: RunId,
}

/// Where a memory was said; none: it was brought in from elsewhere.
pub async fn location_of_memory(tx: &mut Tx, memory: MemoryId) -> Result<Option<MessageLocation>, StoreError> {
    let said = sql::query_as!(
        MessageLocation,
        r#"SELECT g.id AS "message!: MessageId", g.session_id AS "session!: SessionId", g.ordinal,
                  g.run_id AS "run!: RunId"
           FROM memories m JOIN messages g ON g.id = m.message_id WHERE m.id = $1"#,
        memory
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(said)
}

/// Where a message stands.
pub async fn location_of_message(tx: &mut Tx, message: MessageId) -> Result<Option<MessageLocation>, StoreError> {
    let said = sql::query_as!(
        MessageLocation,
        r#"SELECT id AS "message!: MessageId", session_id AS "session!: SessionId", ordinal, run_id AS "run!: RunId"
           FROM messages WHERE id = $1"#,
        message
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(said)
}

/// What people said in a conversation, from this place on: the next of it.
pub async fn messages_of_people(
    tx: &mut Tx,
    session: SessionId,
    after: i64,
    limit: i64,
) -> Result<Vec<MessageLocation>, StoreError> {
    let said = sql::query_as!(
        MessageLocation,
        r#"SELECT id AS "message!: MessageId", session_id AS "session!: SessionId", ordinal, run_id AS "run!: RunId"
           FROM messages WHERE session_id = $1 AND ordinal > $2 AND role = 'user' ORDER BY ordinal LIMIT $3"#,
        session,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(said)
}

/// The memories that were made of a message.
pub async fn memories_of(tx: &mut Tx, message: MessageId) -> Result<Vec<MemoryId>, StoreError> {
    let memories = sql::query_scalar!(r#"SELECT id AS "id!: MemoryId" FROM memories WHERE message_id = $1"#, message)
        .fetch_all(&mut *tx)
        .await?;
    Ok(memories)
}

/// The runs for which a memory was recalled, or what was said right after it: that may have brought it along.
pub async fn recalled_memory(tx: &mut Tx, memory: MemoryId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT DISTINCT r.run_id AS "run!: RunId"
           FROM memories m JOIN memories n ON n.episode_id = m.episode_id AND n.place BETWEEN m.place AND m.place + 3
             JOIN recalled r ON r.memory_id = n.id
           WHERE m.id = $1"#,
        memory
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The runs for which a fact was recalled, or what contradicts it or took its place: a contradiction tells both sides.
pub async fn recalled_fact(tx: &mut Tx, fact: FactId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"WITH told (id) AS (
             SELECT $1 UNION SELECT id FROM facts WHERE rival_of = $1 UNION SELECT superseded_by FROM facts WHERE id = $1)
           SELECT run_id AS "run!: RunId" FROM recalled WHERE fact_id IN (SELECT id FROM told)
           UNION SELECT r.run_id FROM fact_set_members m CROSS JOIN recalled r ON r.set_id = m.set_id WHERE m.fact_id IN (SELECT id FROM told)"#,
        fact
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The heartbeats since a time whose context is still kept: they tell facts, and there is no row for each of them.
pub async fn heartbeats_since(tx: &mut Tx, at: i64) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT r.id AS "run!: RunId" FROM inbound i CROSS JOIN runs r ON r.inbound_id = i.id
             CROSS JOIN run_events e ON e.run_id = r.id AND e.kind = 'run.begun'
           WHERE i.external_id >= 'heartbeat:' AND i.external_id < 'heartbeat;' AND i.received_at >= $1
             AND EXISTS (SELECT 1 FROM blobs b WHERE b.hash = e.body ->> '$.body.context.tail')"#,
        at
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The runs whose messages joined this one on its way.
pub async fn joined(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT CAST(body ->> '$.body.run' AS INTEGER) AS "run!: RunId" FROM run_events WHERE run_id = $1 AND kind = 'input.steered'"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The runs after this place of a conversation that began with words about what was before it (a summary, results of
/// tools, notes), or summed it up.
pub async fn runs_with_earlier_context(
    tx: &mut Tx,
    session: SessionId,
    ordinal: i64,
) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT DISTINCT m.run_id AS "run!: RunId" FROM messages m
           WHERE m.session_id = $1 AND m.ordinal > $2 AND EXISTS (
             SELECT 1 FROM run_events e WHERE e.run_id = m.run_id AND (e.kind = 'summary.made'
               OR (e.kind = 'run.begun' AND coalesce(
                 e.body -> '$.body.room.carried', e.body -> '$.body.room.pins', e.body -> '$.body.notebook'
               ) IS NOT NULL)))"#,
        session,
        ordinal
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// Whether a run is over.
pub async fn is_over(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let over = sql::query_scalar!(r#"SELECT ended_at IS NOT NULL AS "over!: bool" FROM runs WHERE id = $1"#, run)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(over.unwrap_or(true))
}

/// Whether anything of a run's journal is there.
pub async fn has_journal(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let there =
        sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM run_events WHERE run_id = $1) AS "there!: bool""#, run)
            .fetch_one(&mut *tx)
            .await?;
    Ok(there)
}

/// Whether nothing of what a run said is still to be delivered.
pub async fn is_delivered(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let mut open = 0;
    for prefix in outbox_key_prefixes(run) {
        let (from, to) = chunks(&prefix);
        open += sql::query_scalar!(
            r#"SELECT count(*) AS "count!: i64" FROM outbox WHERE key >= $1 AND key < $2 AND ended_at IS NULL"#,
            from,
            to
        )
        .fetch_one(&mut *tx)
        .await?;
    }
    Ok(open == 0)
}

/// Under what a run says something: itself, by its calls, and, of an agent, what came when nobody waited for it any more.
fn outbox_key_prefixes(run: RunId) -> [String; 3] {
    [format!("run:{run}"), format!("call:{run}"), format!("agent:{run}")]
}

/// The keys of all chunks of what is said under `prefix`.
fn chunks(prefix: &str) -> (String, String) {
    // In ASCII the semicolon comes right after the colon.
    (format!("{prefix}:"), format!("{prefix};"))
}

/// Takes a run's journal away: its events, the words to it from outside, and the hash of what they fold to.
pub async fn drop_journal(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM run_events WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("DELETE FROM signals WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("UPDATE runs SET state_hash = NULL WHERE id = $1", run).execute(&mut *tx).await?;
    Ok(())
}

/// A text that a run began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpeningText {
    /// What was recalled for it.
    Tail,
    /// An agent's prompt: its mission is in it.
    Prompt,
}

impl OpeningText {
    /// Where `run.begun` has its hash.
    fn path(self) -> &'static str {
        match self {
            Self::Tail => "$.body.context.tail",
            Self::Prompt => "$.body.context.system",
        }
    }
}

/// Takes away a text that a run began with, unless a run that is not over began with the very same: gives whether it is
/// gone.
pub async fn drop_opening(tx: &mut Tx, run: RunId, opening: OpeningText) -> Result<bool, StoreError> {
    let path = opening.path();
    let hash = sql::query_scalar!(
        r#"SELECT body ->> $1 AS "hash: String" FROM run_events WHERE run_id = $2 AND kind = 'run.begun'"#,
        path,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(hash) = hash.flatten() else { return Ok(true) };
    let needed = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM runs r CROSS JOIN run_events e ON e.run_id = r.id
           WHERE r.state IN ('running', 'waiting') AND r.id <> $1 AND e.kind = 'run.begun' AND e.body ->> $2 = $3"#,
        run,
        path,
        hash
    )
    .fetch_one(&mut *tx)
    .await?;
    if needed > 0 {
        return Ok(false);
    }
    sql::query!("DELETE FROM blobs WHERE hash = $1", hash).execute(&mut *tx).await?;
    Ok(true)
}

/// What was answered next, and in the same run, may keep Hob's question, and that may repeat the words. Gives what was rid of
/// one.
pub async fn drop_questions(tx: &mut Tx, said: &MessageLocation) -> Result<Vec<MemoryId>, StoreError> {
    let answers = sql::query_scalar!(
        r#"SELECT m.id AS "id!: MemoryId" FROM messages g CROSS JOIN memories m ON m.message_id = g.id
           WHERE g.session_id = $1 AND g.ordinal > $2 AND m.asked IS NOT NULL AND g.ordinal <= coalesce(
             (SELECT n.ordinal FROM messages n
              WHERE n.session_id = $1 AND n.ordinal > $2 AND n.run_id <> $3 AND n.role = 'user' ORDER BY n.ordinal LIMIT 1),
             9223372036854775807)"#,
        said.session,
        said.ordinal,
        said.run
    )
    .fetch_all(&mut *tx)
    .await?;
    for answer in &answers {
        sql::query!("UPDATE memories SET asked = NULL WHERE id = $1", answer).execute(&mut *tx).await?;
    }
    Ok(answers)
}

/// Takes the words out of what came in for a run, of its calls, and of what was said in it.
pub async fn blank_run(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE inbound SET text = $1, envelope = NULL WHERE id = (SELECT inbound_id FROM runs WHERE id = $2)",
        FORGOTTEN,
        run
    )
    .execute(&mut *tx)
    .await?;
    // What was said to its questions: in the same chat, while it was not over.
    sql::query!(
        "UPDATE inbound SET text = $1, envelope = NULL WHERE id IN (
           SELECT a.id FROM runs r CROSS JOIN inbound i ON i.id = r.inbound_id
             CROSS JOIN inbound a ON a.channel = i.channel AND a.account = i.account AND a.chat = i.chat
           WHERE r.id = $2 AND a.disposition = 'answer' AND a.session_id = r.session_id
             AND a.received_at BETWEEN r.created_at AND coalesce(r.ended_at, 9223372036854775807))",
        FORGOTTEN,
        run
    )
    .execute(&mut *tx)
    .await?;
    // A provider may repeat in its error what it was sent.
    sql::query!("UPDATE model_calls SET error = $1 WHERE run_id = $2 AND error IS NOT NULL", FORGOTTEN, run)
        .execute(&mut *tx)
        .await?;
    sql::query!(
        "UPDATE tool_calls SET arguments = '{}', result = CASE WHEN result IS NULL THEN NULL ELSE $1 END WHERE run_id = $2",
        FORGOTTEN,
        run
    )
    .execute(&mut *tx)
    .await?;
    // What takes its effects back names what was said.
    sql::query!("DELETE FROM undos WHERE run_id = $1", run).execute(&mut *tx).await?;
    for prefix in outbox_key_prefixes(run) {
        blank_delivered(tx, &prefix).await?;
    }
    Ok(())
}

/// Takes the words out of chunks that need not be delivered any more.
async fn blank_delivered(tx: &mut Tx, prefix: &str) -> Result<(), StoreError> {
    let (from, to) = chunks(prefix);
    sql::query!(
        "UPDATE outbox SET text = $1, markup = NULL, choices = '[]' WHERE key >= $2 AND key < $3 AND ended_at IS NOT NULL",
        FORGOTTEN,
        from,
        to
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes the words out of why calls on memory's behalf failed: a provider may repeat what it was sent.
pub async fn blank_errors(tx: &mut Tx) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE memory_calls SET error = $1 WHERE id IN (SELECT id FROM memory_calls WHERE error <> '[forgotten]')",
        FORGOTTEN
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes the words out of commands that asked what is remembered, and out of their answers, once these are delivered.
pub async fn blank_listings(tx: &mut Tx) -> Result<(), StoreError> {
    let listings = sql::query!(
        r#"SELECT i.id AS "id!: InboundId", i.text FROM inbound i
           WHERE i.disposition = 'command' AND instr(i.text, $1) = 0
             AND (i.text LIKE '/why%' OR i.text LIKE '/memory%' OR i.text LIKE '/facts%' OR i.text LIKE '/forget%')
             AND NOT EXISTS (SELECT 1 FROM outbox o
               WHERE o.key >= 'inbound:' || i.id || ':' AND o.key < 'inbound:' || i.id || ';' AND o.ended_at IS NULL)"#,
        FORGOTTEN
    )
    .fetch_all(&mut *tx)
    .await?;
    for listing in listings {
        blank_delivered(tx, &format!("inbound:{}", listing.id)).await?;
        let name = listing.text.split_whitespace().next().unwrap_or_default();
        let text = format!("{name} {FORGOTTEN}");
        sql::query!("UPDATE inbound SET text = $1 WHERE id = $2", text, listing.id).execute(&mut *tx).await?;
    }
    Ok(())
}

/// Drops the summaries of a conversation that stand for this place of it, and what was noted since that run.
pub async fn drop_summaries(tx: &mut Tx, said: &MessageLocation) -> Result<(), StoreError> {
    sql::query!("DELETE FROM summaries WHERE session_id = $1 AND through >= $2", said.session, said.ordinal)
        .execute(&mut *tx)
        .await?;
    sql::query!(
        "UPDATE sessions SET run_journal = NULL WHERE id = $1 AND CAST(run_journal ->> '$.run' AS INTEGER) >= $2",
        said.session,
        said.run
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
