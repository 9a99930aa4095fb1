//! Durable words to a run from outside its lane, each taken once.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, SignalId};

/// A word that has not been taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalRow {
    pub id: SignalId,
    /// What it says, encoded by `agent::signal`.
    pub body: String,
}

/// Leaves a word for a run.
pub async fn add(tx: &mut Tx, run: RunId, body: &str, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!("INSERT INTO signals (run_id, body, created_at) VALUES ($1, $2, $3)", run, body, now)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Takes the words for a run, oldest first, in the transaction that records what they led to.
pub async fn take(tx: &mut Tx, run: RunId) -> Result<Vec<SignalRow>, StoreError> {
    let signals = sql::query_as!(
        SignalRow,
        r#"SELECT id AS "id!: SignalId", body FROM signals WHERE run_id = $1 AND taken = 0 ORDER BY id"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    if !signals.is_empty() {
        sql::query!("UPDATE signals SET taken = 1 WHERE run_id = $1 AND taken = 0", run).execute(&mut *tx).await?;
    }
    Ok(signals)
}
