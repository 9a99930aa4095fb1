//! What stands in a conversation's lane and around it, in one look: most of it is not there most of the time.

use crate::Tx;
use crate::error::StoreError;
use hob_core::domain::ids::SessionId;

/// What stands in a lane; each of it is looked at closely only where there is something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub struct LaneStanding {
    /// Whose it is.
    pub session: SessionId,
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

impl LaneStanding {
    /// May a run wait for a word that is said here?
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.is_active || self.has_others
    }
}

/// Looks at the lane of the session with this key; none: there is no such session.
///
/// # Errors
/// When the database fails.
pub async fn standing(tx: &mut Tx, key: &str) -> Result<Option<LaneStanding>, StoreError> {
    let standing = sqlx::query_as!(
        LaneStanding,
        r#"SELECT h.id AS "session!: SessionId",
             (SELECT count(*) FROM runs WHERE session_id = h.id AND state = 'queued' AND parked_why IS NULL) AS "queued!: i64",
             EXISTS (SELECT 1 FROM runs WHERE session_id = h.id AND state IN ('running', 'waiting')) AS "is_active!: bool",
             EXISTS (SELECT 1 FROM runs WHERE home_session = h.id AND state IN ('queued', 'running', 'waiting'))
               OR EXISTS (SELECT 1 FROM runs r CROSS JOIN sessions s ON s.id = r.session_id
                          WHERE r.state IN ('running', 'waiting') AND s.speaks_in = h.id) AS "has_others!: bool",
             h.paused_by IS NOT NULL OR EXISTS (SELECT 1 FROM switches WHERE name = 'paused') AS "is_paused!: bool",
             EXISTS (SELECT 1 FROM overheard WHERE taken = 0 AND session_id = h.id) AS "has_overheard!: bool"
           FROM sessions h WHERE h.key = $1"#,
        key
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(standing)
}
