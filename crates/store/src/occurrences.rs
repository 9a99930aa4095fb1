//! The instants of schedules, and what came of each (row N13): one row, claimed once.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, ScheduleId};

/// What came of an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceRow {
    /// When it was due, in Unix milliseconds.
    pub due_at: i64,
    /// `queued`, `done`, `failed`, `stopped`, `missed` or `skipped`.
    pub state: String,
    pub run: Option<RunId>,
    /// What was found by looking first: `idle`, `woken`, or `failed: ` and why, in Hob's own words; none: nobody looked.
    pub look: Option<String>,
}

/// Was this instant claimed already?
pub async fn is_claimed(tx: &mut Tx, id: ScheduleId, due: Timestamp) -> Result<bool, StoreError> {
    let due = millis(due);
    let found = sql::query_scalar!(
        r#"SELECT 1 AS "one!: i64" FROM occurrences WHERE schedule_id = $1 AND due_at = $2"#,
        id,
        due
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found.is_some())
}

/// What an instant is claimed for.
#[derive(Debug, Clone, Copy)]
pub enum Claim<'a> {
    /// A run of its own; and what was found by looking first.
    Queued(RunId, Option<&'a str>),
    /// Nothing: it was noticed too late.
    Missed,
    /// Nothing: the run before it is still at work.
    Skipped,
    /// Nothing: it was looked first, with this result.
    Looked(&'a str),
}

/// Claims an instant.
pub async fn claim(
    tx: &mut Tx,
    id: ScheduleId,
    due: Timestamp,
    claim: Claim<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (state, run, look) = match claim {
        Claim::Queued(run, look) => ("queued", Some(run), look),
        Claim::Missed => ("missed", None, None),
        Claim::Skipped => ("skipped", None, None),
        Claim::Looked(look) => ("skipped", None, Some(look)),
    };
    let (due, now) = (millis(due), millis(now));
    sql::query!(
        "INSERT INTO occurrences (schedule_id, due_at, state, run_id, claimed_at, look) VALUES ($1, $2, $3, $4, $5, $6)",
        id,
        due,
        state,
        run,
        now,
        look
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes back that instants after this moment were missed: a clock that was ahead said so.
pub async fn take_back_missed(tx: &mut Tx, id: ScheduleId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "DELETE FROM occurrences WHERE schedule_id = $1 AND due_at > $2 AND claimed_at > $2 AND state = 'missed'",
        id,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Forgets the looks before this moment that began nothing: there are many.
pub async fn prune_looks(tx: &mut Tx, id: ScheduleId, before: Timestamp) -> Result<(), StoreError> {
    let before = millis(before);
    sql::query!(
        "DELETE FROM occurrences WHERE schedule_id = $1 AND due_at < $2 AND look IS NOT NULL AND run_id IS NULL",
        id,
        before
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Is a run of it queued or at work?
pub async fn is_open(tx: &mut Tx, id: ScheduleId) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT 1 AS "one!: i64" FROM occurrences WHERE schedule_id = $1 AND state = 'queued' LIMIT 1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found.is_some())
}

/// What came of its last instants, the newest first.
pub async fn history(tx: &mut Tx, id: ScheduleId, limit: i64) -> Result<Vec<OccurrenceRow>, StoreError> {
    let rows = sql::query_as!(
        OccurrenceRow,
        r#"SELECT due_at, state, run_id AS "run: RunId", look FROM occurrences
           WHERE schedule_id = $1 ORDER BY due_at DESC LIMIT $2"#,
        id,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// Was the schedule that this run is of taken away since it was claimed?
pub async fn is_called_off(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT 1 AS "one!: i64" FROM occurrences o CROSS JOIN schedules s ON s.id = o.schedule_id
           WHERE o.run_id = $1 AND s.state = 'removed'"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found.is_some())
}

/// The runs of what this run has had scheduled, where nothing more will come of it.
pub async fn runs_of_done(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT o.run_id AS "run!: RunId" FROM schedules s CROSS JOIN occurrences o ON o.schedule_id = s.id
           WHERE s.run_id = $1 AND s.state IN ('done', 'removed') AND o.run_id IS NOT NULL ORDER BY o.run_id"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}
