//! What is remembered, as people look at it: one by one, newest first, in numbers; and taking it away.

use crate::answers;
use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, FactId, MemoryId, MessageId, PersonId, SessionId, UserId};
use hob_core::domain::memory::Scope;

/// A memory with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRow {
    pub id: MemoryId,
    /// The stretch of talk in which it was said.
    pub episode: EpisodeId,
    pub scope: Scope,
    /// Who said it, as they are called.
    pub speaker: String,
    /// Who said it, where Hob knows them.
    pub user: Option<UserId>,
    pub text: String,
    /// The speaker's role, or `import`.
    pub origin: String,
    /// From 0 to 1.
    pub importance: f64,
    /// Whether it is pinned.
    pub pinned: bool,
    /// When it was said.
    pub at: i64,
    /// The conversation in which.
    pub session: Option<SessionId>,
    pub channel: Option<String>,
}

pub async fn memory(tx: &mut Tx, id: MemoryId) -> Result<Option<MemoryRow>, StoreError> {
    let memory = sql::query_as!(
        MemoryRow,
        r#"SELECT m.id AS "id!: MemoryId", m.episode_id AS "episode!: EpisodeId", m.scope AS "scope!: Scope", m.speaker,
                  m.user_id AS "user: UserId", m.text, m.origin, m.importance, m.pinned AS "pinned!: bool", m.at, e.session_id AS "session: SessionId",
                  s.channel AS "channel?"
           FROM memories m JOIN episodes e ON e.id = m.episode_id LEFT JOIN sessions s ON s.id = e.session_id
           WHERE m.id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(memory)
}

/// The newest memories of a scope, or the newest pinned ones, newest first.
pub async fn newest(tx: &mut Tx, scope: Scope, pinned: bool, limit: i64) -> Result<Vec<MemoryId>, StoreError> {
    let ids = if pinned {
        sql::query_scalar!(
            r#"SELECT id AS "id!: MemoryId" FROM memories
               WHERE scope = $1 AND (pinned = 1 OR importance >= 0.8) AND pinned = 1 ORDER BY at DESC, id DESC LIMIT $2"#,
            scope,
            limit
        )
        .fetch_all(&mut *tx)
        .await?
    } else {
        sql::query_scalar!(
            r#"SELECT id AS "id!: MemoryId" FROM memories WHERE scope = $1 ORDER BY at DESC, id DESC LIMIT $2"#,
            scope,
            limit
        )
        .fetch_all(&mut *tx)
        .await?
    };
    Ok(ids)
}

/// How much is remembered in a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Things said.
    pub memories: i64,
    /// Current facts.
    pub facts: i64,
    /// People of whom something is known.
    pub people: i64,
}

/// How much is remembered in a scope.
pub async fn counts(tx: &mut Tx, scope: Scope) -> Result<MemoryCounts, StoreError> {
    let counts = sql::query_as!(
        MemoryCounts,
        r#"SELECT (SELECT count(*) FROM memories WHERE scope = $1) AS "memories!: i64",
                  (SELECT count(*) FROM facts WHERE scope = $1 AND superseded_at IS NULL) AS "facts!: i64",
                  (SELECT count(*) FROM people WHERE scope = $1) AS "people!: i64""#,
        scope
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(counts)
}

/// A fact with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct FactWithSource {
    pub id: FactId,
    pub scope: Scope,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Who told it, as they are called.
    pub speaker: String,
    /// Who told it, where Hob knows them.
    pub user: Option<UserId>,
    /// The memory that it rests on, if that is still there.
    pub memory: Option<MemoryId>,
    /// `told`, `extracted` or `import`.
    pub source: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// Another one says otherwise, and nobody has said yet which is true.
    pub disputed: bool,
    /// Since when it is known.
    pub created_at: i64,
    /// Until when it was held for true; none: it is.
    pub superseded_at: Option<i64>,
}

pub async fn fact(tx: &mut Tx, id: FactId) -> Result<Option<FactWithSource>, StoreError> {
    let fact = sql::query_as!(
        FactWithSource,
        r#"SELECT f.id AS "id!: FactId", f.scope AS "scope!: Scope", f.category, f.key, f.value, f.speaker,
                  f.user_id AS "user: UserId", m.id AS "memory?: MemoryId", f.source, f.pinned AS "pinned!: bool",
                  f.rival_of IS NOT NULL AS "disputed!: bool", f.created_at, f.superseded_at
           FROM facts f LEFT JOIN memories m ON m.message_id = f.message_id WHERE f.id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(fact)
}

/// The current facts of a scope, by category and key.
pub async fn current(tx: &mut Tx, scope: Scope, limit: i64) -> Result<Vec<FactId>, StoreError> {
    let facts = sql::query_scalar!(
        r#"SELECT id AS "id!: FactId" FROM facts WHERE scope = $1 AND superseded_at IS NULL
           ORDER BY category, key, id LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// Everything that was ever held for true under a key of a scope, in whatever category; the newest first.
pub async fn history(tx: &mut Tx, scope: Scope, key: &str, limit: i64) -> Result<Vec<FactId>, StoreError> {
    let facts = sql::query_scalar!(
        r#"SELECT id AS "id!: FactId" FROM facts WHERE scope = $1 AND key = $2 COLLATE NOCASE
           ORDER BY created_at DESC, id DESC LIMIT $3"#,
        scope,
        key,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

pub async fn resting_on(tx: &mut Tx, message: MessageId) -> Result<Vec<FactId>, StoreError> {
    let facts = sql::query_scalar!(r#"SELECT id AS "id!: FactId" FROM facts WHERE message_id = $1"#, message)
        .fetch_all(&mut *tx)
        .await?;
    Ok(facts)
}

pub async fn about(tx: &mut Tx, person: PersonId) -> Result<Vec<FactId>, StoreError> {
    let facts = sql::query_scalar!(r#"SELECT id AS "id!: FactId" FROM facts WHERE person_id = $1"#, person)
        .fetch_all(&mut *tx)
        .await?;
    Ok(facts)
}

/// A fact, and the values before it: what goes together. What others told before of what is shared is theirs.
pub async fn with_history(tx: &mut Tx, fact: FactId) -> Result<Vec<FactId>, StoreError> {
    let facts = sql::query_scalar!(
        r#"SELECT b.id AS "id!: FactId" FROM facts f JOIN facts b
             ON b.scope = f.scope AND b.category = f.category AND b.key = f.key
           WHERE f.id = $1 AND (b.id = f.id OR (
             (f.scope LIKE 'p%' OR b.user_id IS NOT DISTINCT FROM f.user_id) AND f.rival_of IS NULL AND b.superseded_at IS NOT NULL AND (b.created_at, b.id) < (f.created_at, f.id)))
           ORDER BY b.id"#,
        fact
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// Takes a fact away. What contradicted it takes its place (`facts_heir`).
pub async fn delete_fact(tx: &mut Tx, fact: FactId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM facts WHERE id = $1", fact).execute(&mut *tx).await?;
    Ok(())
}

/// Takes a memory away, with its vectors and its entries in the index of words.
pub async fn delete_memory(tx: &mut Tx, memory: MemoryId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM memories WHERE id = $1", memory).execute(&mut *tx).await?;
    Ok(())
}

/// Takes a person away, with the names they go by.
pub async fn delete_person(tx: &mut Tx, person: PersonId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM people WHERE id = $1", person).execute(&mut *tx).await?;
    Ok(())
}

/// Pins a memory, or takes the pin out.
pub async fn pin_memory(tx: &mut Tx, memory: MemoryId, pinned: bool) -> Result<(), StoreError> {
    sql::query!("UPDATE memories SET pinned = $1 WHERE id = $2", pinned, memory).execute(&mut *tx).await?;
    Ok(())
}

/// Pins a fact, or takes the pin out.
pub async fn pin_fact(tx: &mut Tx, fact: FactId, pinned: bool) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET pinned = $1 WHERE id = $2", pinned, fact).execute(&mut *tx).await?;
    Ok(())
}

/// Begins to forget all that a scope holds now.
pub async fn begin_forgetting_scope(tx: &mut Tx, scope: Scope) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO forgotten_scopes (scope, memories_through, facts_through, people_through)
         VALUES ($1, coalesce((SELECT max(id) FROM memories), 0), coalesce((SELECT max(id) FROM facts), 0),
                 coalesce((SELECT max(id) FROM people), 0))
         ON CONFLICT (scope) DO UPDATE SET memories_through = excluded.memories_through,
           facts_through = excluded.facts_through, people_through = excluded.people_through",
        scope
    )
    .execute(&mut *tx)
    .await?;
    answers::forget(tx, scope).await
}

/// The scopes of which everything is still being forgotten.
pub async fn scopes_being_forgotten(tx: &mut Tx) -> Result<Vec<Scope>, StoreError> {
    let scopes = sql::query_scalar!(r#"SELECT scope AS "scope!: Scope" FROM forgotten_scopes ORDER BY scope"#)
        .fetch_all(&mut *tx)
        .await?;
    Ok(scopes)
}

/// What of such a scope goes next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetSlice {
    pub memories: Vec<MemoryId>,
    /// Facts, old values too.
    pub facts: Vec<FactId>,
    pub people: Vec<PersonId>,
}

/// What of such a scope goes next: so many of each at most.
pub async fn slice(tx: &mut Tx, scope: Scope, limit: i64) -> Result<ForgetSlice, StoreError> {
    let memories = sql::query_scalar!(
        r#"SELECT m.id AS "id!: MemoryId" FROM forgotten_scopes s JOIN memories m ON m.scope = s.scope
           WHERE s.scope = $1 AND m.id <= s.memories_through LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    let facts = sql::query_scalar!(
        r#"SELECT f.id AS "id!: FactId" FROM forgotten_scopes s JOIN facts f ON f.scope = s.scope
           WHERE s.scope = $1 AND f.id <= s.facts_through LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    let people = sql::query_scalar!(
        r#"SELECT p.id AS "id!: PersonId" FROM forgotten_scopes s JOIN people p ON p.scope = s.scope
           WHERE s.scope = $1 AND p.id <= s.people_through LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(ForgetSlice { memories, facts, people })
}

/// All of it is gone: also the stretches of talk in which nothing is left.
pub async fn finish_forgetting_scope(tx: &mut Tx, scope: Scope) -> Result<(), StoreError> {
    sql::query!(
        "DELETE FROM episodes WHERE scope = $1 AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.episode_id = episodes.id)",
        scope
    )
    .execute(&mut *tx)
    .await?;
    sql::query!(
        "DELETE FROM facts_changed WHERE scope = $1 AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.scope = facts_changed.scope)",
        scope
    )
    .execute(&mut *tx)
    .await?;
    sql::query!("DELETE FROM forgotten_scopes WHERE scope = $1", scope).execute(&mut *tx).await?;
    Ok(())
}

/// All scopes in which something is remembered: read by jumping from one to the next, as there are few of them in
/// indexes of a million rows.
pub async fn scopes(tx: &mut Tx) -> Result<Vec<Scope>, StoreError> {
    let scopes = sql::query_scalar!(
        r#"WITH RECURSIVE
             said (scope) AS (
               SELECT (SELECT scope FROM memories ORDER BY scope LIMIT 1)
               UNION ALL
               SELECT (SELECT m.scope FROM memories m WHERE m.scope > said.scope ORDER BY m.scope LIMIT 1)
               FROM said WHERE said.scope IS NOT NULL),
             known (scope) AS (
               SELECT (SELECT scope FROM facts WHERE superseded_at IS NULL ORDER BY scope LIMIT 1)
               UNION ALL
               SELECT (SELECT f.scope FROM facts f WHERE f.superseded_at IS NULL AND f.scope > known.scope
                       ORDER BY f.scope LIMIT 1)
               FROM known WHERE known.scope IS NOT NULL),
             told_of (scope) AS (
               SELECT (SELECT scope FROM people ORDER BY scope LIMIT 1)
               UNION ALL
               SELECT (SELECT p.scope FROM people p WHERE p.scope > told_of.scope ORDER BY p.scope LIMIT 1)
               FROM told_of WHERE told_of.scope IS NOT NULL)
           SELECT scope AS "scope!: Scope" FROM (
             SELECT scope FROM said UNION SELECT scope FROM known UNION SELECT scope FROM told_of)
           WHERE scope IS NOT NULL ORDER BY scope"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(scopes)
}

/// The newest embedding model, and how many vectors it has made.
pub async fn embedding(tx: &mut Tx) -> Result<Option<(String, i64)>, StoreError> {
    let row = sql::query!(
        r#"SELECT name, (SELECT count(*) FROM vectors v WHERE v.model_id = m.id) AS "vectors!: i64"
           FROM embedding_models m ORDER BY id DESC LIMIT 1"#
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row.map(|row| (row.name, row.vectors)))
}

/// When the first and the last thing was said that is remembered, in the order in which they came to be.
pub async fn span(tx: &mut Tx) -> Result<(Option<i64>, Option<i64>), StoreError> {
    let row = sql::query!(
        r#"SELECT (SELECT at FROM memories WHERE id > 0 ORDER BY id LIMIT 1) AS "oldest: i64",
                  (SELECT at FROM memories WHERE id > 0 ORDER BY id DESC LIMIT 1) AS "newest: i64""#
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok((row.oldest, row.newest))
}
