//! The idempotency envelope of tool calls (row B10), as the journal projects it.

use std::ops::Range;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{CallId, RunId, UserId};

/// A call about to be run.
#[derive(Debug, Clone)]
pub struct NewToolCall<'a> {
    pub run: RunId,
    pub call: &'a CallId,
    /// The tool.
    pub name: &'a str,
    pub arguments: &'a str,
    /// 1 for the first time.
    pub attempt: u32,
    /// On whose quota it counts; none: it is not made.
    pub user: Option<UserId>,
    pub at: i64,
}

/// Records that a call is about to be run, for the first time or again.
pub async fn start(tx: &mut Tx, started: &NewToolCall<'_>) -> Result<(), StoreError> {
    let call = started.call.0.as_str();
    sql::query!(
        "INSERT INTO tool_calls (run_id, call_id, name, arguments, attempts, started_at, user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (run_id, call_id) DO UPDATE SET attempts = excluded.attempts, started_at = excluded.started_at",
        started.run,
        call,
        started.name,
        started.arguments,
        started.attempt,
        started.at,
        started.user
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Records what came of a call, unless that is recorded already.
pub async fn finish(tx: &mut Tx, run: RunId, call: &CallId, result: (&str, bool), at: i64) -> Result<(), StoreError> {
    let (call, (text, is_error)) = (call.0.as_str(), result);
    sql::query!(
        "UPDATE tool_calls SET finished_at = $1, is_error = $2, result = $3 
         WHERE run_id = $4 AND call_id = $5 AND finished_at IS NULL",
        at,
        is_error,
        text,
        run,
        call
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What became of the calls of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTally {
    /// So many were made.
    pub done: i64,
    pub failed: i64,
    /// Of so many nobody knows whether they took effect.
    pub open: i64,
}

impl CallTally {
    /// With these as well.
    pub fn add(&mut self, other: Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.open += other.open;
    }
}

/// The tools that a run and its agents have called, and what became of it.
pub async fn tally(tx: &mut Tx, run: RunId) -> Result<Vec<(String, CallTally)>, StoreError> {
    let rows = sql::query!(
        r#"SELECT name, count(*) FILTER (WHERE is_error = 0) AS "done!: i64",
                  count(*) FILTER (WHERE is_error = 1) AS "failed!: i64",
                  count(*) FILTER (WHERE finished_at IS NULL) AS "open!: i64"
           FROM tool_calls
           WHERE run_id = $1 OR run_id IN (SELECT id FROM runs WHERE root_run = $1)
           GROUP BY name ORDER BY name"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    let tally = |done, failed, open| CallTally { done, failed, open };
    Ok(rows.into_iter().map(|row| (row.name, tally(row.done, row.failed, row.open))).collect())
}

/// Calls made for one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCount {
    pub count: i64,
    /// When the first of them was started.
    pub oldest: Option<i64>,
}

/// The calls that were started for one person within a time.
pub async fn within(tx: &mut Tx, user: UserId, time: Range<i64>) -> Result<CallCount, StoreError> {
    let made = sql::query_as!(
        CallCount,
        r#"SELECT count(*) AS "count!: i64", min(started_at) AS "oldest: i64" FROM tool_calls
           WHERE user_id = $1 AND started_at > $2 AND started_at < $3"#,
        user,
        time.start,
        time.end
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(made)
}
