//! What was recalled for which run, and why (`/why`).

use crate::domain::ids::{FactId, MemoryId, RunId};
use crate::domain::memory::Leg;
use crate::store::Tx;
use crate::store::error::StoreError;

/// A memory or a fact that was put before a run's model.
#[derive(Debug, Clone)]
pub struct NewRecalled<'a> {
    /// The run.
    pub run: RunId,
    /// Its place in the context, from 1.
    pub place: i64,
    /// The memory; none: it is a fact.
    pub memory: Option<MemoryId>,
    /// The fact.
    pub fact: Option<FactId>,
    /// What brought it up.
    pub leg: Leg,
    /// How well it fits, in thousandths.
    pub score: i64,
    /// JSON: what each signal brought to that, in thousandths.
    pub parts: &'a str,
}

/// Stores that it was recalled. What was forgotten meanwhile leaves its row, and nothing in it.
///
/// # Errors
/// When the database fails.
pub async fn add(tx: &mut Tx, new: &NewRecalled<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO recalled (run_id, place, memory_id, fact_id, leg, score, parts)
         VALUES ($1, $2, (SELECT id FROM memories WHERE id = $3), (SELECT id FROM facts WHERE id = $4), $5, $6, $7)",
        new.run,
        new.place,
        new.memory,
        new.fact,
        new.leg,
        new.score,
        new.parts
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
