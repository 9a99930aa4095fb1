//! What was recalled for an answer.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, MemoryId, MessageId, RunId, SessionId};
use hob_core::domain::memory::RecallCause;

/// The run in which something was last said in a conversation by Hob.
pub async fn last_answer(tx: &mut Tx, session: SessionId) -> Result<Option<RunId>, StoreError> {
    let run = sql::query_scalar!(
        r#"SELECT run_id AS "run!: RunId" FROM messages
           WHERE session_id = $1 AND role = 'assistant' AND text <> '' AND pruned = 0 ORDER BY ordinal DESC LIMIT 1"#,
        session
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(run)
}

/// Something that was recalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledRow {
    /// A memory, if it is one and was not forgotten since.
    pub memory: Option<MemoryId>,
    pub fact: Option<FactId>,
    /// An answer of Hob's.
    pub answer: Option<MessageId>,
    /// What brought it up.
    pub leg: RecallCause,
    /// How well it fitted, in thousandths.
    pub score: i64,
    /// JSON: what each signal brought to that, in thousandths.
    pub parts: String,
}

/// What was recalled for a run, in order: what has a row of its own, then the facts that it was told besides.
///
/// What was forgotten since is empty, and there once: a fact's own row says nothing then that its place in the set does not.
pub async fn recalled(tx: &mut Tx, run: RunId) -> Result<Vec<RecalledRow>, StoreError> {
    let recalled = sql::query_as!(
        RecalledRow,
        r#"SELECT memory_id AS "memory: MemoryId", fact_id AS "fact: FactId", message_id AS "answer: MessageId",
                  leg AS "leg!: RecallCause", score AS "score!: i64", parts AS "parts!: String"
           FROM (
             SELECT 0 AS in_set, o.place, o.memory_id, o.fact_id, o.message_id, o.leg, o.score, o.parts
             FROM recalled o
             WHERE o.run_id = $1 AND o.set_id IS NULL AND (o.leg <> 'fact' OR o.fact_id IS NOT NULL
               OR NOT EXISTS (SELECT 1 FROM recalled r WHERE r.run_id = $1 AND r.set_id IS NOT NULL))
             UNION ALL
             SELECT 1, e.key, NULL, f.id, NULL, r.leg, r.score, r.parts
             FROM recalled r CROSS JOIN fact_sets s ON s.id = r.set_id CROSS JOIN json_each(s.facts) e LEFT JOIN facts f ON f.id = CAST(e.value AS INTEGER)
             WHERE r.run_id = $1 AND NOT EXISTS (SELECT 1 FROM recalled o WHERE o.run_id = $1 AND o.fact_id = CAST(e.value AS INTEGER)))
           ORDER BY in_set, place"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(recalled)
}
