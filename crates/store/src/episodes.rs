//! Episodes from which facts are yet to be drawn, and how far that has come.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, MemoryId, MessageId, UserId};
use hob_core::domain::memory::Scope;

/// An episode with turns that nobody has gone through for facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnextractedEpisode {
    pub id: EpisodeId,
    pub scope: Scope,
    /// Facts were drawn from the first so many turns.
    pub extracted: i64,
    /// How many there are.
    pub turns: i64,
    /// How often it was tried to draw facts from the next.
    pub tries: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeTurn {
    pub memory: MemoryId,
    /// Its place in the episode.
    pub place: i64,
    /// Who said it, as they are called.
    pub speaker: String,
    /// Who said it.
    pub user: Option<UserId>,
    /// The message of the history.
    pub message: Option<MessageId>,
    pub text: String,
    /// Hob's question that they answer.
    pub asked: Option<String>,
    /// The speaker's role, or `import`.
    pub origin: String,
    /// When it was said.
    pub at: i64,
}

/// Episodes that ended before `before` and are not gone through; those first that ended first.
pub async fn unextracted(tx: &mut Tx, before: i64, limit: i64) -> Result<Vec<UnextractedEpisode>, StoreError> {
    let unread = sql::query_as!(
        UnextractedEpisode,
        r#"SELECT id AS "id!: EpisodeId", scope AS "scope!: Scope", extracted, turns, tries FROM episodes
           WHERE extracted < turns AND ended_at <= $1 ORDER BY ended_at, id LIMIT $2"#,
        before,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(unread)
}

/// The turns of an episode after a place, in order.
pub async fn turns(tx: &mut Tx, episode: EpisodeId, after: i64, limit: i64) -> Result<Vec<EpisodeTurn>, StoreError> {
    let turns = sql::query_as!(
        EpisodeTurn,
        r#"SELECT id AS "memory!: MemoryId", place, speaker, user_id AS "user: UserId", message_id AS "message: MessageId",
                  text, asked, origin, at
           FROM memories WHERE episode_id = $1 AND place > $2 ORDER BY place LIMIT $3"#,
        episode,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(turns)
}

/// Notes that it is tried to draw facts from the turns after `from`; none: somebody has done so, else the number of the try.
pub async fn try_from(tx: &mut Tx, episode: EpisodeId, from: i64) -> Result<Option<i64>, StoreError> {
    let tries = sql::query_scalar!(
        r#"UPDATE episodes SET tries = tries + 1 WHERE id = $1 AND extracted = $2 RETURNING tries AS "tries!: i64""#,
        episode,
        from
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(tries)
}

/// A try did not count: nobody could be asked.
pub async fn uncount_try(tx: &mut Tx, episode: EpisodeId) -> Result<(), StoreError> {
    sql::query!("UPDATE episodes SET tries = max(tries - 1, 0) WHERE id = $1", episode).execute(&mut *tx).await?;
    Ok(())
}

/// Facts are drawn from the turns after `from` through `through`; false: somebody has done so, or they are forgotten.
pub async fn advance(tx: &mut Tx, episode: EpisodeId, from: i64, through: i64) -> Result<bool, StoreError> {
    let moved = sql::query!(
        "UPDATE episodes SET extracted = $3, tries = 0 WHERE id = $1 AND extracted = $2",
        episode,
        from,
        through
    )
    .execute(&mut *tx)
    .await?;
    Ok(moved.rows_affected() > 0)
}

/// Whether a memory is still there.
pub async fn is_remembered(tx: &mut Tx, memory: MemoryId) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(r#"SELECT id AS "id!" FROM memories WHERE id = $1"#, memory)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(found.is_some())
}
