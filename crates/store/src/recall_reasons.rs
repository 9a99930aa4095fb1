//! What was recalled for an answer.

use crate::Tx;
use crate::error::StoreError;
use hob_core::domain::ids::{FactId, MemoryId, MessageId, RunId, SessionId};
use hob_core::domain::memory::Leg;

/// The run in which something was last said in a conversation by Hob.
pub async fn last_answer(tx: &mut Tx, session: SessionId) -> Result<Option<RunId>, StoreError> {
    let run = sqlx::query_scalar!(
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
    pub leg: Leg,
    /// How well it fitted, in thousandths.
    pub score: i64,
    /// JSON: what each signal brought to that, in thousandths.
    pub parts: String,
}

/// What was recalled for a run, in order.
pub async fn recalled(tx: &mut Tx, run: RunId) -> Result<Vec<RecalledRow>, StoreError> {
    let recalled = sqlx::query_as!(
        RecalledRow,
        r#"SELECT memory_id AS "memory: MemoryId", fact_id AS "fact: FactId", message_id AS "answer: MessageId",
                  leg AS "leg!: Leg", score, parts
           FROM recalled WHERE run_id = $1 ORDER BY place"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(recalled)
}
