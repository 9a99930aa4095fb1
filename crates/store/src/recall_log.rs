//! What was recalled for which run, and why (`/why`).

use serde::Serialize;

use crate::Tx;
use crate::error::StoreError;
use hob_core::domain::ids::{FactId, MemoryId, MessageId, RunId};
use hob_core::domain::memory::Leg;

/// A memory, a fact or an answer of Hob's that was put before a run's model.
#[derive(Debug, Clone, Serialize)]
pub struct NewRecalled {
    /// Its place in the context, from 1.
    pub place: i64,
    pub memory: Option<MemoryId>,
    pub fact: Option<FactId>,
    /// The answer of Hob's.
    pub answer: Option<MessageId>,
    /// What brought it up.
    pub leg: Leg,
    /// How well it fits, in thousandths.
    pub score: i64,
    /// JSON: what each signal brought to that, in thousandths.
    pub parts: String,
}

/// Stores what was recalled for a run. What was forgotten meanwhile leaves its row, and nothing in it.
pub async fn add_all(tx: &mut Tx, run: RunId, all: &[NewRecalled]) -> Result<(), StoreError> {
    if all.is_empty() {
        return Ok(());
    }
    let rows = serde_json::to_string(all).map_err(|error| StoreError::Database(error.to_string()))?;
    sqlx::query!(
        "INSERT INTO recalled (run_id, place, memory_id, fact_id, message_id, leg, score, parts)
         SELECT $1, r.value ->> 'place', (SELECT id FROM memories WHERE id = r.value ->> 'memory'),
                (SELECT id FROM facts WHERE id = r.value ->> 'fact'),
                (SELECT id FROM messages WHERE id = r.value ->> 'answer' AND scope IS NOT NULL), r.value ->> 'leg', r.value ->> 'score',
                r.value ->> 'parts'
         FROM json_each($2) r",
        run,
        rows
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
