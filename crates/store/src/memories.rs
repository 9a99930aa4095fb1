//! What people said and Hob remembers, in episodes: stretches of talk without a long pause.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, MemoryId, MessageId, RunId, SessionId, UserId};
use hob_core::domain::memory::Scope;

/// A longer pause ends an episode (a conversation is at its end when it has been idle for half an hour).
pub const PAUSE_MS: i64 = 30 * 60 * 1_000;
/// The most turns of an episode: all of it is ranked together.
pub const TURNS_MAX: i64 = 100;

/// Something said that is about to be remembered.
#[derive(Debug, Clone)]
pub struct NewMemory<'a> {
    pub scope: Scope,
    /// The conversation; none: it is brought in from elsewhere.
    pub session: Option<SessionId>,
    /// Who said it, as they are called.
    pub speaker: &'a str,
    /// Who said it, where Hob knows them.
    pub user: Option<UserId>,
    /// The message of the history.
    pub message: Option<MessageId>,
    pub text: &'a str,
    /// Hob's question that it answers.
    pub asked: Option<&'a str>,
    /// Row A12: the speaker's role, or `import`.
    pub origin: &'a str,
    /// Row A1: 0 to 1.
    pub importance: f64,
    /// When it was said.
    pub at: i64,
}

/// What recall wants to know of a memory's words, as stored.
#[derive(Debug, Clone)]
pub struct StoredGist {
    /// The bytes of its stems.
    pub stems: Vec<u8>,
    /// The manner, as bits.
    pub manner: i64,
}

/// Remembers it, at the end of the scope's last episode in its conversation, or in a new one.
pub async fn add(tx: &mut Tx, new: &NewMemory<'_>, gist: Option<&StoredGist>) -> Result<MemoryId, StoreError> {
    match extend_last_episode(tx, new).await? {
        Some(place) => insert(tx, place, new, gist).await,
        None => {
            let episode = begin_episode(tx, new.scope, new.session, new.at).await?;
            add_to(tx, episode, new, gist).await
        }
    }
}

pub async fn begin_episode(
    tx: &mut Tx,
    scope: Scope,
    session: Option<SessionId>,
    at: i64,
) -> Result<EpisodeId, StoreError> {
    let episode = sql::query_scalar!(
        r#"INSERT INTO episodes (scope, session_id, began_at, ended_at) VALUES ($1, $2, $3, $3)
           RETURNING id AS "id!: EpisodeId""#,
        scope,
        session,
        at
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(episode)
}

/// A place at the end of an episode.
#[derive(Debug, Clone, Copy)]
struct EpisodePlace {
    episode: EpisodeId,
    place: i64,
}

/// Makes room at the end of the scope's last episode in the conversation, if this still belongs to it.
async fn extend_last_episode(tx: &mut Tx, new: &NewMemory<'_>) -> Result<Option<EpisodePlace>, StoreError> {
    let Some(session) = new.session else { return Ok(None) };
    let place = sql::query_as!(
        EpisodePlace,
        r#"UPDATE episodes SET turns = turns + 1, ended_at = max(ended_at, $3)
           WHERE id = (SELECT id FROM episodes WHERE session_id = $1 AND scope = $2 ORDER BY id DESC LIMIT 1)
             AND $3 - ended_at < $4 AND turns < $5
           RETURNING id AS "episode!: EpisodeId", turns AS "place!: i64""#,
        session,
        new.scope,
        new.at,
        PAUSE_MS,
        TURNS_MAX
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(place)
}

/// Remembers it at the end of this episode.
pub async fn add_to(
    tx: &mut Tx,
    episode: EpisodeId,
    new: &NewMemory<'_>,
    gist: Option<&StoredGist>,
) -> Result<MemoryId, StoreError> {
    let place = sql::query_scalar!(
        r#"UPDATE episodes SET turns = turns + 1, ended_at = max(ended_at, $2) WHERE id = $1
           RETURNING turns AS "turns!: i64""#,
        episode,
        new.at
    )
    .fetch_one(&mut *tx)
    .await?;
    insert(tx, EpisodePlace { episode, place }, new, gist).await
}

async fn insert(
    tx: &mut Tx,
    EpisodePlace { episode, place }: EpisodePlace,
    new: &NewMemory<'_>,
    gist: Option<&StoredGist>,
) -> Result<MemoryId, StoreError> {
    let (stems, manner) = gist.map(|gist| (gist.stems.as_slice(), gist.manner)).unzip();
    let id = sql::query_scalar!(
        r#"INSERT INTO memories
             (episode_id, place, scope, speaker, user_id, message_id, text, asked, origin, importance, at, stems, manner)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id AS "id!: MemoryId""#,
        episode,
        place,
        new.scope,
        new.speaker,
        new.user,
        new.message,
        new.text,
        new.asked,
        new.origin,
        new.importance,
        new.at,
        stems,
        manner
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// What was said right after it, in its episode.
pub async fn next(tx: &mut Tx, memory: MemoryId) -> Result<Option<MemoryId>, StoreError> {
    let next = sql::query_scalar!(
        r#"SELECT n.id AS "id!: MemoryId" FROM memories m JOIN memories n ON n.episode_id = m.episode_id AND n.place > m.place
           WHERE m.id = $1 ORDER BY n.place LIMIT 1"#,
        memory
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(next)
}

/// The message in which somebody said last, in a run, what is remembered of them.
pub async fn last_said(tx: &mut Tx, run: RunId, user: UserId) -> Result<Option<MessageId>, StoreError> {
    let said = sql::query_scalar!(
        r#"SELECT g.id AS "id!: MessageId" FROM runs r CROSS JOIN messages g ON g.session_id = r.session_id
           WHERE r.id = $1 AND g.run_id = r.id AND g.user_id = $2
             AND EXISTS (SELECT 1 FROM memories m WHERE m.message_id = g.id)
           ORDER BY g.ordinal DESC LIMIT 1"#,
        run,
        user
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(said)
}

pub async fn mark_used(tx: &mut Tx, memories: &[MemoryId], at: i64) -> Result<(), StoreError> {
    if memories.is_empty() {
        return Ok(());
    }
    let ids = serde_json::to_string(memories).map_err(|error| StoreError::Database(error.to_string()))?;
    sql::query!(
        "UPDATE memories SET uses = uses + 1, used_at = $2 WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1))",
        ids,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A memory, and what stands before it in its episode.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryWithContext {
    pub id: MemoryId,
    pub scope: Scope,
    /// Who said it.
    pub speaker: String,
    /// Which person that is, if it is known.
    pub user: Option<UserId>,
    pub text: String,
    /// Hob's question that it answers.
    pub asked: Option<String>,
    /// Who said what stands before it.
    pub before_speaker: Option<String>,
    /// What stands before it.
    pub before: Option<String>,
}

/// The next memories after `after`, in the order of their rows.
pub async fn said_after(tx: &mut Tx, after: MemoryId, limit: i64) -> Result<Vec<MemoryWithContext>, StoreError> {
    let said = sql::query_as!(
        MemoryWithContext,
        r#"SELECT m.id AS "id!: MemoryId", m.scope AS "scope!: Scope", m.speaker, m.user_id AS "user: UserId",
               m.text, m.asked, b.speaker AS "before_speaker?", b.text AS "before?"
           FROM memories m LEFT JOIN memories b ON b.id = (
               SELECT id FROM memories WHERE episode_id = m.episode_id AND place < m.place ORDER BY place DESC LIMIT 1)
           WHERE m.id > $1 ORDER BY m.id LIMIT $2"#,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(said)
}

/// What was remembered of the messages that a run answers, among the last of its conversation.
pub async fn of_run(tx: &mut Tx, run: RunId) -> Result<Vec<MemoryId>, StoreError> {
    let rows = sql::query_scalar!(
        r#"SELECT m.id AS "id!: MemoryId"
           FROM runs r JOIN sessions s ON s.id = r.session_id
             JOIN messages w ON w.session_id = s.id AND w.ordinal > s.last_ordinal - 200 AND w.run_id = r.id
             JOIN memories m ON m.message_id = w.id
           WHERE r.id = $1"#,
        run
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}
