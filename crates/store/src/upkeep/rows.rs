//! Rows that nobody needs after some time, found in windows of their numbers and deleted by them.
//!
//! The newest row of a table stays in any case: its number would be given a second time.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};

/// What can be old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OldRowKind {
    /// What was delivered or given up, of runs that are over.
    Outbox,
    /// Claims on messages that began no run: commands and answers.
    Claims,
    /// Words to runs that are over.
    Signals,
    /// Calls of models, by their runs; their sums stay.
    ModelCalls,
    /// Calls of models on memory's behalf.
    MemoryCalls,
    /// Runs that are over, of which the journal is there.
    Journals,
}

impl OldRowKind {
    /// What it is called in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outbox => "outbox",
            Self::Claims => "claims",
            Self::Signals => "signals",
            Self::ModelCalls => "model_calls",
            Self::MemoryCalls => "memory_calls",
            Self::Journals => "journals",
        }
    }
}

/// The lowest and the highest number that there is; none: there are no rows.
pub async fn bounds(tx: &mut Tx, kind: OldRowKind) -> Result<Option<(i64, i64)>, StoreError> {
    // Each of them alone is a step in an index; both in one query would be a walk through the table.
    let (min, max) = match kind {
        OldRowKind::Outbox => (
            sql::query_scalar!(r#"SELECT min(id) AS "id: i64" FROM outbox"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(id) AS "id: i64" FROM outbox"#).fetch_one(&mut *tx).await?,
        ),
        OldRowKind::Claims => (
            sql::query_scalar!(r#"SELECT min(id) AS "id: i64" FROM inbound"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(id) AS "id: i64" FROM inbound"#).fetch_one(&mut *tx).await?,
        ),
        OldRowKind::Signals => (
            sql::query_scalar!(r#"SELECT min(id) AS "id: i64" FROM signals"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(id) AS "id: i64" FROM signals"#).fetch_one(&mut *tx).await?,
        ),
        OldRowKind::MemoryCalls => (
            sql::query_scalar!(r#"SELECT min(id) AS "id: i64" FROM memory_calls"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(id) AS "id: i64" FROM memory_calls"#).fetch_one(&mut *tx).await?,
        ),
        OldRowKind::ModelCalls => (
            sql::query_scalar!(r#"SELECT min(run_id) AS "id: i64" FROM model_calls"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(run_id) AS "id: i64" FROM model_calls"#).fetch_one(&mut *tx).await?,
        ),
        OldRowKind::Journals => (
            sql::query_scalar!(r#"SELECT min(id) AS "id: i64" FROM runs"#).fetch_one(&mut *tx).await?,
            sql::query_scalar!(r#"SELECT max(id) AS "id: i64" FROM runs"#).fetch_one(&mut *tx).await?,
        ),
    };
    Ok(min.zip(max))
}

/// The numbers of rows from before a time, after the first and through the second number; of model calls and journals, numbers of runs.
pub async fn find_old(
    tx: &mut Tx,
    kind: OldRowKind,
    window: (i64, i64),
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    let ((after, through), before) = (window, millis(before));
    let found = match kind {
        OldRowKind::Outbox => {
            sql::query_scalar!(
                r#"SELECT o.id AS "id!: i64" FROM outbox o
                   WHERE o.id > $1 AND o.id <= $2 AND o.ended_at < $3 AND o.id < (SELECT max(id) FROM outbox)
                     AND NOT EXISTS (SELECT 1 FROM held_letters h WHERE h.outbox_id = o.id AND h.state = 'held')
                     AND (o.run_id IS NULL OR EXISTS (
                       SELECT 1 FROM runs r WHERE r.id = o.run_id AND r.ended_at IS NOT NULL))"#,
                after,
                through,
                before
            )
            .fetch_all(&mut *tx)
            .await?
        }
        OldRowKind::Claims => {
            sql::query_scalar!(
                r#"SELECT i.id AS "id!: i64" FROM inbound i
                   WHERE i.id > $1 AND i.id <= $2 AND i.received_at < $3 AND i.id < (SELECT max(id) FROM inbound)
                     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.inbound_id = i.id)
                     AND NOT EXISTS (SELECT 1 FROM files f WHERE f.inbound_id = i.id)"#,
                after,
                through,
                before
            )
            .fetch_all(&mut *tx)
            .await?
        }
        OldRowKind::Signals => {
            sql::query_scalar!(
                r#"SELECT s.id AS "id!: i64" FROM signals s
                   WHERE s.id > $1 AND s.id <= $2 AND s.created_at < $3 AND s.id < (SELECT max(id) FROM signals)
                     AND EXISTS (SELECT 1 FROM runs r WHERE r.id = s.run_id AND r.ended_at IS NOT NULL)"#,
                after,
                through,
                before
            )
            .fetch_all(&mut *tx)
            .await?
        }
        _ => calls(tx, kind, window, before).await?,
    };
    Ok(found)
}

async fn calls(tx: &mut Tx, kind: OldRowKind, window: (i64, i64), before: i64) -> Result<Vec<i64>, StoreError> {
    let (after, through) = window;
    let found = match kind {
        OldRowKind::ModelCalls => {
            sql::query_scalar!(
                r#"SELECT DISTINCT c.run_id AS "id!: i64" FROM model_calls c
                   WHERE c.run_id > $1 AND c.run_id <= $2 AND +c.asked_at < $3 AND +c.state <> 'asked'
                     AND EXISTS (SELECT 1 FROM runs r WHERE r.id = c.run_id AND r.ended_at IS NOT NULL)"#,
                after,
                through,
                before
            )
            .fetch_all(&mut *tx)
            .await?
        }
        OldRowKind::MemoryCalls => {
            sql::query_scalar!(
                r#"SELECT c.id AS "id!: i64" FROM memory_calls c
                   WHERE c.id > $1 AND c.id <= $2 AND +c.asked_at < $3 AND +c.state <> 'asked'
                     AND c.id < (SELECT max(id) FROM memory_calls)"#,
                after,
                through,
                before
            )
            .fetch_all(&mut *tx)
            .await?
        }
        _ => journals(tx, after, through, before).await?,
    };
    Ok(found)
}

/// Nothing is to be said for them any more, nobody they work for is at work, and nothing of them waits to be forgotten.
async fn journals(tx: &mut Tx, after: i64, through: i64, before: i64) -> Result<Vec<i64>, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT r.id AS "id!: i64" FROM runs r
           WHERE r.id > $1 AND r.id <= $2 AND r.ended_at < $3
             AND EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.id)
             AND NOT EXISTS (SELECT 1 FROM forgettings f WHERE f.run_id = r.id)
             AND NOT EXISTS (SELECT 1 FROM runs w WHERE w.id IN (r.parent_run, r.root_run) AND w.ended_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM runs a WHERE a.parent_run = r.id AND a.ended_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.session_id = r.session_id AND o.run_id = r.id
               AND o.state IN ('pending', 'sending', 'unknown'))"#,
        after,
        through,
        before
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(found)
}

/// Deletes rows that were found; not of journals, which are let go. What was old stays old: it is not looked at again.
pub async fn drop_old(tx: &mut Tx, kind: OldRowKind, ids: &[i64], before: Timestamp) -> Result<u64, StoreError> {
    let ids = serde_json::to_string(ids).map_err(|error| StoreError::Database(error.to_string()))?;
    let before = millis(before);
    let gone = match kind {
        // One that was let out meanwhile by an owner is not over any more.
        OldRowKind::Outbox => {
            sql::query!(
                "DELETE FROM outbox WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1)) AND ended_at < $2",
                ids,
                before
            )
            .execute(&mut *tx)
            .await?
        }
        OldRowKind::Claims => {
            sql::query!("DELETE FROM inbound WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1))", ids)
                .execute(&mut *tx)
                .await?
        }
        OldRowKind::Signals => {
            sql::query!("DELETE FROM signals WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1))", ids)
                .execute(&mut *tx)
                .await?
        }
        OldRowKind::ModelCalls => {
            sql::query!(
                "DELETE FROM model_calls WHERE run_id IN (SELECT CAST(value AS INTEGER) FROM json_each($1)) AND +asked_at < $2",
                ids,
                before
            )
            .execute(&mut *tx)
            .await?
        }
        OldRowKind::MemoryCalls => {
            sql::query!("DELETE FROM memory_calls WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1))", ids)
                .execute(&mut *tx)
                .await?
        }
        OldRowKind::Journals => return Ok(0),
    };
    Ok(gone.rows_affected())
}
