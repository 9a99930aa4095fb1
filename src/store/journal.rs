//! The runs' events, as opaque rows. Only `agent::journal` reads and writes them.

use serde::Serialize;

use crate::domain::ids::RunId;
use crate::store::Tx;
use crate::store::error::StoreError;

/// One stored event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// Appends events in one statement. Their numbers must be the next: a second writer of one run fails here.
///
/// # Errors
/// When a number is taken, or the database fails.
pub async fn append(tx: &mut Tx, run: RunId, events: &[EventRow]) -> Result<(), StoreError> {
    let events = serde_json::to_string(events).map_err(|error| StoreError::Database(error.to_string()))?;
    sqlx::query!(
        "INSERT INTO run_events (run_id, seq, kind, version, body, at)
         SELECT $1, value ->> 'seq', value ->> 'kind', value ->> 'version', value ->> 'body', value ->> 'at'
         FROM json_each($2)",
        run,
        events
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

/// A run's first event.
///
/// # Errors
/// When the database fails.
pub async fn first(tx: &mut Tx, run: RunId) -> Result<Option<EventRow>, StoreError> {
    let event = sqlx::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 ORDER BY seq LIMIT 1",
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(event)
}
