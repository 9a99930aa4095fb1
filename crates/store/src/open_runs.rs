//! Runs that are not over, across all sessions: those that a pause stops, and those whose question expires.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::runs::ActiveRun;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, SessionId, UserId};
use hob_core::domain::principal::Role;

/// When the next open question expires, in Unix milliseconds.
pub async fn next_expiry(tx: &mut Tx) -> Result<Option<i64>, StoreError> {
    let next = sql::query_scalar!(
        r#"SELECT waits_until AS "until!: i64" FROM runs
           WHERE waits_until IS NOT NULL AND state = 'waiting' ORDER BY waits_until LIMIT 1"#
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(next)
}

/// A run that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    pub id: RunId,
    pub session: SessionId,
    /// Its session's platform.
    pub channel: String,
}

/// The runs whose questions have expired, each once.
pub async fn take_expired(tx: &mut Tx, now: Timestamp) -> Result<Vec<OpenRun>, StoreError> {
    let expired = expired(tx, now).await?;
    let now = millis(now);
    if !expired.is_empty() {
        sql::query!("UPDATE runs SET waits_until = NULL WHERE waits_until IS NOT NULL AND waits_until <= $1 AND state = 'waiting'",
            now
        )
            .execute(&mut *tx)
            .await?;
    }
    Ok(expired)
}

/// The runs whose question is open no longer, the oldest first.
pub async fn expired(tx: &mut Tx, now: Timestamp) -> Result<Vec<OpenRun>, StoreError> {
    let now = millis(now);
    let expired = sql::query_as!(
        OpenRun,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.channel
           FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.waits_until IS NOT NULL AND r.waits_until <= $1
             AND r.state = 'waiting'
           ORDER BY r.waits_until, r.id"#,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(expired)
}

/// The runs at work, of sessions that are no conversations, that ask and answer in `session`, the oldest first.
pub async fn beside(tx: &mut Tx, session: SessionId) -> Result<Vec<(ActiveRun, OpenRun)>, StoreError> {
    // Sessions of events only grow in number; what is at work is little.
    let found = sql::query!(
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.channel, r.user_id AS "user!: UserId",
                  u.role AS "role!: Role", r.state,
                  EXISTS (SELECT 1 FROM signals w WHERE w.run_id = r.id AND w.taken = 0) AS "signalled!: bool"
           FROM runs r CROSS JOIN sessions s ON s.id = r.session_id CROSS JOIN users u ON u.id = r.user_id
           WHERE r.state IN ('running', 'waiting') AND s.speaks_in = $1 ORDER BY r.session_id"#,
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    let beside = found.into_iter().map(|run| {
        let active =
            ActiveRun { id: run.id, user: run.user, role: run.role, state: run.state, signalled: run.signalled };
        (active, OpenRun { id: run.id, session: run.session, channel: run.channel })
    });
    Ok(beside.collect())
}

/// Every run that is not over.
pub async fn list_open(tx: &mut Tx) -> Result<Vec<OpenRun>, StoreError> {
    let open = sql::query_as!(
        OpenRun,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.channel
           FROM runs r JOIN sessions s ON s.id = r.session_id
           WHERE r.state IN ('queued', 'running', 'waiting') ORDER BY r.session_id, r.id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(open)
}

/// Every run that has its session's lane.
pub async fn list_active(tx: &mut Tx) -> Result<Vec<OpenRun>, StoreError> {
    let active = sql::query_as!(
        OpenRun,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.channel
           FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.state IN ('running', 'waiting')
           ORDER BY r.session_id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(active)
}
