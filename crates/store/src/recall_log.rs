//! What was recalled for which run, and why (`/why`).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, MemoryId, MessageId, RunId};
use hob_core::domain::memory::RecallCause;

/// A memory, a fact or an answer of Hob's that was put before a run's model, and what brought it up.
#[derive(Debug, Clone, Serialize)]
pub struct NewRecalled {
    /// Its place in the context, from 1.
    pub place: i64,
    pub memory: Option<MemoryId>,
    pub fact: Option<FactId>,
    /// The answer of Hob's.
    pub answer: Option<MessageId>,
    /// What brought it up.
    pub leg: RecallCause,
    /// How well it fits, in thousandths.
    pub score: i64,
    /// JSON: what each signal brought to that, in thousandths.
    pub parts: String,
}

/// Stores what was recalled for a run: the facts that it was told as one set, and what else there was row by row. What was forgotten
/// meanwhile leaves its row, and nothing in it.
pub async fn add_all(
    tx: &mut Tx,
    run: RunId,
    told: &BTreeSet<FactId>,
    others: &[NewRecalled],
) -> Result<(), StoreError> {
    if told.is_empty() && others.is_empty() {
        return Ok(());
    }
    let json = |error: serde_json::Error| StoreError::Database(error.to_string());
    let rows = serde_json::to_string(others).map_err(json)?;
    let told = if told.is_empty() { None } else { Some(serde_json::to_string(told).map_err(json)?) };
    if add_rows(tx, run, told.as_deref(), &rows).await? {
        return Ok(());
    }
    if let Some(told) = &told {
        add_set(tx, told).await?;
    }
    add_rows(tx, run, told.as_deref(), &rows).await?;
    Ok(())
}

/// Adds the rows, unless the set of facts is not there yet.
async fn add_rows(tx: &mut Tx, run: RunId, told: Option<&str>, rows: &str) -> Result<bool, StoreError> {
    let added = sql::query!(
        "INSERT INTO recalled (run_id, place, memory_id, fact_id, message_id, leg, score, parts, set_id)
         SELECT $1, CAST(r.value ->> 'place' AS INTEGER), (SELECT id FROM memories WHERE id = CAST(r.value ->> 'memory' AS INTEGER)),
                (SELECT id FROM facts WHERE id = CAST(r.value ->> 'fact' AS INTEGER)),
                (SELECT id FROM messages WHERE id = CAST(r.value ->> 'answer' AS INTEGER) AND scope IS NOT NULL), r.value ->> 'leg',
                CAST(r.value ->> 'score' AS INTEGER),
                r.value ->> 'parts', NULL
         FROM json_each($2) r WHERE $3 IS NULL OR EXISTS (SELECT 1 FROM fact_sets WHERE facts = $3)
         UNION ALL SELECT $1, 0, NULL, NULL, NULL, 'fact', 0, '{}', id FROM fact_sets WHERE facts = $3",
        run,
        rows,
        told
    )
    .execute(&mut *tx)
    .await?;
    Ok(added.rows_affected() > 0)
}

/// Adds a set of facts, which no run was told before.
async fn add_set(tx: &mut Tx, told: &str) -> Result<(), StoreError> {
    let set = sql::query_scalar!(r#"INSERT INTO fact_sets (facts) VALUES ($1) RETURNING id AS "id!: i64""#, told)
        .fetch_one(&mut *tx)
        .await?;
    sql::query!(
        "INSERT INTO fact_set_members (fact_id, set_id)
         SELECT f.id, $1 FROM json_each($2) e CROSS JOIN facts f ON f.id = CAST(e.value AS INTEGER)",
        set,
        told
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
