//! What stands in a conversation's lane and around it, in one look: most of it is not there most of the time.

use crate::domain::ids::SessionId;
use crate::store::Tx;
use crate::store::error::StoreError;

/// What is there; each of it is looked at closely only where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneStanding {
    /// Runs that wait their turn.
    pub queued: i64,
    /// A run is at work, or waits for something.
    pub is_active: bool,
    /// Runs that work for it elsewhere are not over, or what an event has begun speaks here.
    pub has_others: bool,
    /// It is paused, or the house is.
    pub is_paused: bool,
    /// Something was said in the group, and nobody was told of it yet.
    pub has_overheard: bool,
}

/// Looks at a conversation's lane.
///
/// # Errors
/// When the database fails.
pub async fn standing(tx: &mut Tx, session: SessionId) -> Result<LaneStanding, StoreError> {
    let standing = sqlx::query_as!(
        LaneStanding,
        r#"SELECT
             (SELECT count(*) FROM runs WHERE session_id = $1 AND state = 'queued') AS "queued!: i64",
             EXISTS (SELECT 1 FROM runs WHERE session_id = $1 AND state IN ('running', 'waiting')) AS "is_active!: bool",
             EXISTS (SELECT 1 FROM runs WHERE home_session = $1 AND state IN ('queued', 'running', 'waiting'))
               OR EXISTS (SELECT 1 FROM runs r CROSS JOIN sessions s ON s.id = r.session_id
                          WHERE r.state IN ('running', 'waiting') AND s.speaks_in = $1) AS "has_others!: bool",
             EXISTS (SELECT 1 FROM switches WHERE name = 'paused')
               OR EXISTS (SELECT 1 FROM sessions WHERE id = $1 AND paused_by IS NOT NULL) AS "is_paused!: bool",
             EXISTS (SELECT 1 FROM overheard WHERE taken = 0 AND session_id = $1) AS "has_overheard!: bool""#,
        session
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(standing)
}
