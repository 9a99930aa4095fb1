//! Memories that are let go with time: looked through and removed in slices.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, MemoryId};
use hob_core::domain::memory::Scope;

/// What decides whether a memory is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetentionCandidate {
    pub id: MemoryId,
    /// What it mattered when it was said.
    pub importance: f64,
    /// How often it was of use.
    pub uses: i64,
    /// When it was said.
    pub at: i64,
    /// When it was of use last.
    pub used_at: Option<i64>,
}

/// The newest memory's row.
pub async fn last(tx: &mut Tx) -> Result<Option<MemoryId>, StoreError> {
    let last = sql::query_scalar!(r#"SELECT max(id) AS "id: MemoryId" FROM memories"#).fetch_one(&mut *tx).await?;
    Ok(last)
}

/// What nobody has pinned, from before `before`, in the rows after one and through another.
pub async fn slice(
    tx: &mut Tx,
    after: MemoryId,
    through: MemoryId,
    before: i64,
) -> Result<Vec<RetentionCandidate>, StoreError> {
    let rows = sql::query_as!(
        RetentionCandidate,
        r#"SELECT id AS "id!: MemoryId", importance, uses, at, used_at FROM memories
           WHERE id > $1 AND id <= $2 AND +at < $3 AND pinned = 0"#,
        after,
        through,
        before
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// Removes a memory, with its vectors and words, unless it was pinned or of use since it was looked at. Gives whose it was.
///
/// What was said stays in the history.
pub async fn remove(tx: &mut Tx, seen: &RetentionCandidate) -> Result<Option<Scope>, StoreError> {
    let gone = sql::query!(
        r#"DELETE FROM memories WHERE id = $1 AND pinned = 0 AND used_at IS NOT DISTINCT FROM $2
           RETURNING scope AS "scope!: Scope", episode_id AS "episode!: EpisodeId""#,
        seen.id,
        seen.used_at
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(gone) = gone else {
        return Ok(None);
    };
    drop_empty(tx, gone.episode).await?;
    Ok(Some(gone.scope))
}

/// Removes an episode in which nothing is left.
pub async fn drop_empty(tx: &mut Tx, episode: EpisodeId) -> Result<(), StoreError> {
    sql::query!(
        "DELETE FROM episodes WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM memories WHERE episode_id = $1)",
        episode
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
