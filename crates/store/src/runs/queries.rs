//! Runs, to look at: what is due, what waits, and how it went.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, SessionId};

/// A session with something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    pub session: SessionId,
    pub channel: String,
}

/// The sessions in which a run could be claimed now; with `owner`, also those that it counts as driving.
pub async fn list_due(tx: &mut Tx, owner: &str, now: Timestamp) -> Result<Vec<DueLane>, StoreError> {
    let now = millis(now);
    let due = sql::query_as!(
        DueLane,
        r#"SELECT DISTINCT r.session_id AS "session!: SessionId", s.channel
           FROM runs r JOIN sessions s ON s.id = r.session_id
           WHERE r.state IN ('queued', 'running', 'waiting') AND (
             (r.state = 'running' AND (r.lease_owner IS NULL OR r.lease_owner = $1 OR r.lease_until <= $2))
             OR (r.state = 'waiting' AND EXISTS (SELECT 1 FROM signals g WHERE g.run_id = r.id AND g.taken = 0))
             OR (r.state = 'queued' AND r.parked_why IS NULL AND NOT EXISTS (
                   SELECT 1 FROM runs a WHERE a.session_id = r.session_id AND a.state IN ('running', 'waiting'))
                     AND NOT EXISTS (SELECT 1 FROM switches w WHERE w.name = 'paused')
                     AND NOT EXISTS (SELECT 1 FROM sessions p
                       WHERE p.id = coalesce(r.home_session, r.session_id) AND p.paused_by IS NOT NULL)))
           ORDER BY 1"#,
        owner,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(due)
}

/// How many runs are in each open state: for `/status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCount {
    pub state: String,
    pub count: i64,
}

/// Counts the open runs by state.
pub async fn count_open(tx: &mut Tx) -> Result<Vec<StateCount>, StoreError> {
    let counts = sql::query_as!(
        StateCount,
        r#"SELECT CASE WHEN parked_why IS NULL THEN state ELSE 'parked' END AS "state!: String", count(*) AS "count!: i64"
           FROM runs WHERE state IN ('queued', 'running', 'waiting') GROUP BY 1 ORDER BY 1"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(counts)
}

/// What waits in all lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSummary {
    /// How many runs.
    pub count: i64,
    /// When the oldest of them was taken in, in Unix milliseconds; none if there is none.
    pub oldest: Option<i64>,
}

/// Looks at what waits in all lanes.
pub async fn queue(tx: &mut Tx) -> Result<QueueSummary, StoreError> {
    let queue = sql::query_as!(
        QueueSummary,
        r#"SELECT count(*) AS "count!: i64", min(created_at) AS "oldest: i64" FROM runs INDEXED BY runs_queue
           WHERE state = 'queued' AND parked_why IS NULL"#
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(queue)
}

/// A run and the session it belongs to, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: RunId,
    pub session: SessionId,
    /// The session's published name.
    pub key: String,
    pub state: String,
    /// When its message came.
    pub created_at: i64,
}

pub async fn lookup(tx: &mut Tx, id: RunId) -> Result<Option<RunRow>, StoreError> {
    let run = sql::query_as!(
        RunRow,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.key, r.state, r.created_at
           FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(run)
}

/// How a conversation went lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecentActivity {
    /// The most tool calls that one of its last three runs made.
    pub tool_calls: usize,
    /// Whether the last of them failed.
    pub failed: bool,
}

/// How a session's last runs went.
pub async fn recent(tx: &mut Tx, session: SessionId) -> Result<RecentActivity, StoreError> {
    let rows = sql::query!(
        r#"SELECT r.state, (SELECT count(*) FROM tool_calls t WHERE t.run_id = r.id) AS "calls!: i64"
           FROM runs r WHERE r.session_id = $1 AND r.state IN ('completed', 'cancelled', 'failed')
           ORDER BY r.id DESC LIMIT 3"#,
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(RecentActivity {
        tool_calls: rows.iter().filter_map(|row| usize::try_from(row.calls).ok()).max().unwrap_or(0),
        failed: rows.first().is_some_and(|row| row.state == "failed"),
    })
}

/// The run of a session that was the last to end, if it failed.
pub async fn failed_last(tx: &mut Tx, session: SessionId) -> Result<Option<RunId>, StoreError> {
    let last = sql::query!(
        r#"SELECT id AS "id!: RunId", state FROM runs
           WHERE session_id = $1 AND state IN ('completed', 'cancelled', 'failed') ORDER BY id DESC LIMIT 1"#,
        session
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(last.filter(|last| last.state == "failed").map(|last| last.id))
}

/// Do these two runs belong to the same conversation and the same person?
pub async fn are_same_conversation_and_user(tx: &mut Tx, one: RunId, other: RunId) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT a.id AS "id!: RunId" FROM runs a
           JOIN runs b ON b.session_id = a.session_id AND b.user_id = a.user_id WHERE a.id = $1 AND b.id = $2"#,
        one,
        other
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found.is_some())
}
