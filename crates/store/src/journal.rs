//! The runs' events, as opaque rows. Only `agent::journal` reads and writes them.

use crate::error::StoreError;
use crate::packed_texts::PackedTexts;
use crate::{Tx, sql};
use hob_core::domain::ids::RunId;

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

/// Appends events in one statement. Their numbers must be the next: a second writer of one run fails here.
///
/// # Errors
/// When a number is taken, or the database fails.
pub async fn append(tx: &mut Tx, run: RunId, events: &[EventRow]) -> Result<(), StoreError> {
    let mut bodies = PackedTexts::default();
    let row = |event: &EventRow| {
        let EventRow { seq, kind, version, body, at } = event;
        let (from, length) = bodies.add(body);
        serde_json::json!([seq, kind, version, from, length, at])
    };
    let rows = events.iter().map(row).collect::<serde_json::Value>().to_string();
    let bodies = bodies.into_bytes();
    sql::query!(
        ["INSERT INTO run_events (run_id, seq, kind, version, body, at)
         SELECT $1, CAST(value ->> 0 AS INTEGER), value ->> 1, CAST(value ->> 2 AS INTEGER),
                CAST(substr($3, CAST(value ->> 3 AS INTEGER), CAST(value ->> 4 AS INTEGER)) AS TEXT), CAST(value ->> 5 AS INTEGER)
         FROM json_each($2)",
         "INSERT INTO run_events (run_id, seq, kind, version, body, at)
         SELECT $1, (value ->> 0)::bigint, value ->> 1, (value ->> 2)::bigint,
                convert_from(substr($3, (value ->> 3)::integer, (value ->> 4)::integer), 'UTF8'), (value ->> 5)::bigint
         FROM json_elements($2)"],
        run,
        rows,
        bodies
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A run's events, in order.
pub async fn list(tx: &mut Tx, run: RunId) -> Result<Vec<EventRow>, StoreError> {
    let events = sql::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 ORDER BY seq",
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(events)
}

/// A run's event of this number.
pub async fn find(tx: &mut Tx, run: RunId, seq: i64) -> Result<Option<EventRow>, StoreError> {
    let event = sql::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 AND seq = $2",
        run,
        seq
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(event)
}

/// A run's first event.
pub async fn first(tx: &mut Tx, run: RunId) -> Result<Option<EventRow>, StoreError> {
    let event = sql::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 ORDER BY seq LIMIT 1",
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(event)
}

/// A part of a run's events: after `after`, up to `through`, at most so many, in order.
pub async fn list_part(
    tx: &mut Tx,
    run: RunId,
    after: i64,
    through: i64,
    limit: i64,
) -> Result<Vec<EventRow>, StoreError> {
    let events = sql::query_as!(
        EventRow,
        "SELECT seq, kind, version, body, at FROM run_events WHERE run_id = $1 AND seq > $2 AND seq <= $3
         ORDER BY seq LIMIT $4",
        run,
        after,
        through,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(events)
}

/// The number of a run's last event; 0: it has none.
pub async fn last(tx: &mut Tx, run: RunId) -> Result<i64, StoreError> {
    let last = sql::query_scalar!("SELECT seq FROM run_events WHERE run_id = $1 ORDER BY seq DESC LIMIT 1", run);
    Ok(last.fetch_optional(&mut *tx).await?.unwrap_or(0))
}
