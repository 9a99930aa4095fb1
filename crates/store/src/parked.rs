//! Runs that stand beside their lanes because this Hob cannot read their record.
//!
//! In `runs` such a run counts as queued and is claimed by nobody. Its journal is left as it is.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{RunId, SessionId, UserId};
use hob_core::domain::principal::Role;

/// Puts a run aside that is not over: its lane goes on without it. Gives the edition of Hob that wrote its journal last.
pub async fn put_aside(tx: &mut Tx, run: RunId, why: &str) -> Result<Option<String>, StoreError> {
    let edition = sql::query_scalar!(
        "UPDATE runs SET state = 'queued', parked_why = $2, lease_owner = NULL, lease_until = NULL
         WHERE id = $1 AND ended_at IS NULL RETURNING edition",
        run,
        why
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(edition.flatten())
}

/// A run that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRun {
    pub run: RunId,
    pub session: SessionId,
    /// Whose message it answers.
    pub user: UserId,
    pub role: Role,
}

/// The runs that were put aside: all, or those of one conversation with the agents that work for it; the oldest first.
pub async fn list(tx: &mut Tx, home: Option<SessionId>) -> Result<Vec<ParkedRun>, StoreError> {
    let parked = sql::query_as!(
        ParkedRun,
        r#"SELECT r.id AS "run!: RunId", r.session_id AS "session!: SessionId", r.user_id AS "user!: UserId",
                  u.role AS "role!: Role"
           FROM runs r INDEXED BY runs_parked JOIN users u ON u.id = r.user_id
           WHERE r.parked_why IS NOT NULL AND ($1 IS NULL OR coalesce(r.home_session, r.session_id) = $1)
           ORDER BY r.id"#,
        home
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(parked)
}

/// Gives a run back to its lane.
///
/// One that `waits` for somebody does so again, if nothing else has the lane; whoever claims another goes on from where its
/// journal stands. A question whose time came meanwhile is looked at anew.
pub async fn take_up(tx: &mut Tx, run: RunId, waits: bool) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE runs SET parked_why = NULL, waits_until = coalesce(waits_until, 0),
           state = CASE WHEN $2 = 1 AND NOT EXISTS (
             SELECT 1 FROM runs a WHERE a.session_id = runs.session_id AND a.state IN ('running', 'waiting'))
           THEN 'waiting' ELSE state END
         WHERE id = $1",
        run,
        waits
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
