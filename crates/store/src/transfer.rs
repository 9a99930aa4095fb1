//! All that is remembered, row by row, on its way out of a house and into another.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, FactId, MemoryId, PersonId, UserId};
use hob_core::domain::memory::Scope;

/// A memory with all that matters of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeMemory {
    pub id: MemoryId,
    /// Its stretch of talk.
    pub episode: EpisodeId,
    pub scope: Scope,
    /// Who said it, as they are called.
    pub speaker: String,
    /// Who said it.
    pub user: Option<UserId>,
    pub text: String,
    /// Hob's question that it answers.
    pub asked: Option<String>,
    /// The speaker's role, or `import`.
    pub origin: String,
    /// From 0 to 1.
    pub importance: f64,
    /// Whether it is pinned.
    pub pinned: bool,
    /// How often it was used.
    pub uses: i64,
    /// When, the last time.
    pub used_at: Option<i64>,
    /// When it was said.
    pub at: i64,
}

/// The memories after `after`, in the order in which they came.
pub async fn memories(tx: &mut Tx, after: MemoryId, limit: i64) -> Result<Vec<WholeMemory>, StoreError> {
    let memories = sql::query_as!(
        WholeMemory,
        r#"SELECT id AS "id!: MemoryId", episode_id AS "episode!: EpisodeId", scope AS "scope!: Scope", speaker,
                  user_id AS "user: UserId", text, asked, origin, importance, pinned AS "pinned!: bool", uses, used_at, at
           FROM memories WHERE id > $1 ORDER BY id LIMIT $2"#,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(memories)
}

/// A fact with all that matters of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeFact {
    pub id: FactId,
    pub scope: Scope,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Whom it is about, by their name in `people`.
    pub about: Option<String>,
    /// Who told it, as they are called.
    pub speaker: String,
    /// Who told it.
    pub user: Option<UserId>,
    /// `told`, `extracted` or `import`.
    pub source: String,
    /// From 0 to 1.
    pub confidence: f64,
    /// From 0 to 1.
    pub importance: f64,
    /// Whether it is pinned.
    pub pinned: bool,
    /// How often it was used.
    pub uses: i64,
    /// When, the last time.
    pub used_at: Option<i64>,
    /// Since when it holds.
    pub valid_from: Option<i64>,
    pub valid_until: Option<i64>,
    /// Whether it contradicts the current one.
    pub disputed: bool,
    /// Since when it is known.
    pub created_at: i64,
    /// Until when it was held for true.
    pub superseded_at: Option<i64>,
    /// What nobody vouches for in what it rests on, as stored.
    pub taint: Option<String>,
}

/// The facts after `after`, old values too.
pub async fn facts(tx: &mut Tx, after: FactId, limit: i64) -> Result<Vec<WholeFact>, StoreError> {
    let facts = sql::query_as!(
        WholeFact,
        r#"SELECT f.id AS "id!: FactId", f.scope AS "scope!: Scope", f.category, f.key, f.value, p.name AS "about?",
                  f.speaker, f.user_id AS "user: UserId", f.source, f.confidence, f.importance,
                  f.pinned AS "pinned!: bool", f.uses, f.used_at, f.valid_from, f.valid_until,
                  f.rival_of IS NOT NULL AS "disputed!: bool", f.created_at, f.superseded_at, f.taint
           FROM facts f LEFT JOIN people p ON p.id = f.person_id WHERE f.id > $1 ORDER BY f.id LIMIT $2"#,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// Somebody of whom something is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholePerson {
    pub id: PersonId,
    pub scope: Scope,
    pub name: String,
    pub user: Option<UserId>,
    /// What they are to whoever told of them.
    pub relation: Option<String>,
    /// `YYYY-MM-DD` or `--MM-DD`.
    pub birthday: Option<String>,
    /// Since when they are known.
    pub created_at: i64,
    /// When that was changed last.
    pub updated_at: i64,
}

pub async fn people(tx: &mut Tx) -> Result<Vec<WholePerson>, StoreError> {
    let people = sql::query_as!(
        WholePerson,
        r#"SELECT id AS "id!: PersonId", scope AS "scope!: Scope", name, user_id AS "user: UserId", relation, birthday,
                  created_at, updated_at
           FROM people ORDER BY id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(people)
}

/// The names that somebody goes by besides, each as (kind, value).
pub async fn names(tx: &mut Tx, person: PersonId) -> Result<Vec<(String, String)>, StoreError> {
    let rows =
        sql::query!("SELECT kind, value FROM person_identities WHERE person_id = $1 ORDER BY kind, value", person)
            .fetch_all(&mut *tx)
            .await?;
    Ok(rows.into_iter().map(|row| (row.kind, row.value)).collect())
}

/// What platforms call a user, each as (platform, id).
pub async fn identities(tx: &mut Tx, user: UserId) -> Result<Vec<(String, String)>, StoreError> {
    let rows = sql::query!(
        "SELECT DISTINCT channel, external_id FROM identities WHERE user_id = $1 ORDER BY channel, external_id",
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.channel, row.external_id)).collect())
}

/// The user whom a platform calls so.
pub async fn user_by_identity(tx: &mut Tx, channel: &str, external_id: &str) -> Result<Option<UserId>, StoreError> {
    let user = sql::query_scalar!(
        r#"SELECT min(user_id) AS "user: UserId" FROM identities WHERE channel = $1 AND external_id = $2"#,
        channel,
        external_id
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(user)
}

/// The users of this name, whatever the case.
pub async fn users_by_name(tx: &mut Tx, name: &str) -> Result<Vec<UserId>, StoreError> {
    let users =
        sql::query_scalar!(r#"SELECT id AS "id!: UserId" FROM users WHERE name = $1 COLLATE NOCASE ORDER BY id"#, name)
            .fetch_all(&mut *tx)
            .await?;
    Ok(users)
}

/// What was said in a scope at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeStatement {
    /// Its stretch of talk.
    pub episode: EpisodeId,
    /// Who said it, as they are called.
    pub speaker: String,
    pub text: String,
}

/// All that was said in a scope at this moment.
pub async fn said_at(tx: &mut Tx, scope: Scope, at: i64) -> Result<Vec<EpisodeStatement>, StoreError> {
    let said = sql::query_as!(
        EpisodeStatement,
        r#"SELECT episode_id AS "episode!: EpisodeId", speaker, text FROM memories WHERE scope = $1 AND at = $2"#,
        scope,
        at
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(said)
}

/// Writes down what `memories::add_to` does not know of.
pub async fn set_use(
    tx: &mut Tx,
    id: MemoryId,
    pinned: bool,
    uses: i64,
    used_at: Option<i64>,
) -> Result<(), StoreError> {
    sql::query!("UPDATE memories SET pinned = $1, uses = $2, used_at = $3 WHERE id = $4", pinned, uses, used_at, id)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Nothing is to be drawn from an episode: its facts come along by themselves.
pub async fn set_extracted(tx: &mut Tx, episode: EpisodeId) -> Result<(), StoreError> {
    sql::query!("UPDATE episodes SET extracted = turns WHERE id = $1", episode).execute(&mut *tx).await?;
    Ok(())
}

pub async fn person_by_name(tx: &mut Tx, scope: Scope, name: &str) -> Result<Option<PersonId>, StoreError> {
    let person = sql::query_scalar!(
        r#"SELECT id AS "id!: PersonId" FROM people WHERE scope = $1 AND name = $2 COLLATE NOCASE"#,
        scope,
        name
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(person)
}

/// Adds a person; of one who is known already only what was not known is filled in. Gives whether they are new.
pub async fn put_person(tx: &mut Tx, person: &WholePerson, names: &[(String, String)]) -> Result<bool, StoreError> {
    let known = person_by_name(tx, person.scope, &person.name).await?;
    let id = match known {
        Some(id) => {
            sql::query!(
                "UPDATE people SET relation = coalesce(relation, $1), birthday = coalesce(birthday, $2),
                   user_id = coalesce(user_id, $3) WHERE id = $4",
                person.relation,
                person.birthday,
                person.user,
                id
            )
            .execute(&mut *tx)
            .await?;
            id
        }
        None => {
            sql::query_scalar!(
                r#"INSERT INTO people (scope, name, user_id, relation, birthday, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id AS "id!: PersonId""#,
                person.scope,
                person.name,
                person.user,
                person.relation,
                person.birthday,
                person.created_at,
                person.updated_at
            )
            .fetch_one(&mut *tx)
            .await?
        }
    };
    for (kind, value) in names {
        sql::query!(
            "INSERT INTO person_identities (person_id, kind, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            id,
            kind,
            value
        )
        .execute(&mut *tx)
        .await?;
    }
    Ok(known.is_none())
}

/// A current fact, as far as another one may take its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentFact {
    pub id: FactId,
    /// What is known.
    pub value: String,
    /// Since when.
    pub created_at: i64,
}

/// The current fact under the same key.
pub async fn current(tx: &mut Tx, fact: &WholeFact) -> Result<Option<CurrentFact>, StoreError> {
    let current = sql::query_as!(
        CurrentFact,
        r#"SELECT id AS "id!: FactId", value, created_at FROM facts
           WHERE scope = $1 AND category = $2 AND key = $3 AND superseded_at IS NULL AND rival_of IS NULL"#,
        fact.scope,
        fact.category,
        fact.key
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(current)
}

/// Whether the same value is known under the same key since the same moment.
pub async fn is_known(tx: &mut Tx, fact: &WholeFact) -> Result<bool, StoreError> {
    let known = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM facts
           WHERE scope = $1 AND category = $2 AND key = $3 AND value = $4 AND created_at = $5"#,
        fact.scope,
        fact.category,
        fact.key,
        fact.value,
        fact.created_at
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(known > 0)
}

/// A fact is no longer held for true.
pub async fn supersede(tx: &mut Tx, fact: FactId, at: i64) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET superseded_at = $1 WHERE id = $2", at, fact).execute(&mut *tx).await?;
    Ok(())
}

/// Adds a fact as it is.
///
/// # Errors
/// When there is a current one under its key and it is neither old nor a rival of that, or the database fails.
pub async fn add_fact(
    tx: &mut Tx,
    fact: &WholeFact,
    person: Option<PersonId>,
    rival_of: Option<FactId>,
) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO facts (scope, category, key, value, person_id, user_id, speaker, source, confidence, importance,
           pinned, uses, used_at, valid_from, valid_until, rival_of, created_at, superseded_at, taint)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
        fact.scope,
        fact.category,
        fact.key,
        fact.value,
        person,
        fact.user,
        fact.speaker,
        fact.source,
        fact.confidence,
        fact.importance,
        fact.pinned,
        fact.uses,
        fact.used_at,
        fact.valid_from,
        fact.valid_until,
        rival_of,
        fact.created_at,
        fact.superseded_at,
        fact.taint
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
