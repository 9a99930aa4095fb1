//! The runs' events, as opaque rows. Only `agent::journal` reads and writes them.

use crate::domain::ids::RunId;
use crate::store::Tx;
use crate::store::error::StoreError;

/// One stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// 1 for a run's first.
    pub seq: i64,
    /// What kind of event it is.
    pub kind: String,
    /// The version of its encoding.
    pub version: i64,
    /// Its bytes.
    pub body: String,
    /// When it was committed.
    pub at: i64,
}

/// Appends one event. Its number must be the next: a second writer of one run fails here.
///
/// # Errors
/// When the number is taken, or the database fails.
pub async fn append(tx: &mut Tx, run: RunId, event: &EventRow) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO run_events (run_id, seq, kind, version, body, at) VALUES ($1, $2, $3, $4, $5, $6)",
        run,
        event.seq,
        event.kind,
        event.version,
        event.body,
        event.at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A run's events, in order.
///
/// # Errors
/// When the database fails.
pub async fn list(tx: &mut Tx, run: RunId) -> Result<Vec<EventRow>, StoreError> {
    let events = sqlx::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 ORDER BY seq",
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(events)
}
