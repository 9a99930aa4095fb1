//! People of whom something is known, by what else they are known, and the facts about them.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, PersonId, UserId};
use hob_core::domain::memory::Scope;

/// A person, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRow {
    pub id: PersonId,
    /// Who knows of them.
    pub scope: Scope,
    pub name: String,
    pub relation: Option<String>,
    /// `YYYY-MM-DD` or `--MM-DD`.
    pub birthday: Option<String>,
    /// The user of Hob who this is.
    pub user: Option<UserId>,
    /// How that user is called.
    pub user_name: Option<String>,
}

/// What is stored of a person.
#[derive(Debug, Clone)]
pub struct PersonFields<'a> {
    pub name: &'a str,
    /// Who they are to those who know of them.
    pub relation: Option<&'a str>,
    /// `YYYY-MM-DD` or `--MM-DD`.
    pub birthday: Option<&'a str>,
    /// The user of Hob who this is.
    pub user: Option<UserId>,
}

/// By what else a person is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRow {
    pub person: PersonId,
    /// `name`, `email`, `telegram`, `phone` …
    pub kind: String,
    /// The name or address.
    pub value: String,
}

/// A current fact about a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactAbout {
    pub id: FactId,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Since when.
    pub created_at: i64,
    /// Another fact says otherwise, and nobody has said which is true.
    pub disputed: bool,
    /// What the run that kept it had read that nobody vouches for, as stored.
    pub taint: Option<String>,
}

/// Those known in a scope, by name; at most `limit`.
pub async fn list(tx: &mut Tx, scope: Scope, limit: i64) -> Result<Vec<PersonRow>, StoreError> {
    let people = sql::query_as!(
        PersonRow,
        r#"SELECT p.id AS "id!: PersonId", p.scope AS "scope!: Scope", p.name, p.relation, p.birthday,
                  p.user_id AS "user: UserId", u.name AS "user_name?"
           FROM people p LEFT JOIN users u ON u.id = p.user_id
           WHERE p.scope = $1 ORDER BY p.name COLLATE NOCASE LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(people)
}

/// By what else those in a scope are known.
pub async fn identities(tx: &mut Tx, scope: Scope) -> Result<Vec<IdentityRow>, StoreError> {
    let identities = sql::query_as!(
        IdentityRow,
        r#"SELECT i.person_id AS "person!: PersonId", i.kind, i.value
           FROM people p JOIN person_identities i ON i.person_id = p.id WHERE p.scope = $1
           ORDER BY i.person_id, i.kind, i.value"#,
        scope
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(identities)
}

/// Adds somebody; no other in the scope may have the name.
pub async fn add(tx: &mut Tx, scope: Scope, fields: &PersonFields<'_>, at: i64) -> Result<PersonId, StoreError> {
    let id = sql::query_scalar!(
        r#"INSERT INTO people (scope, name, relation, birthday, user_id, created_at, updated_at)
           VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id AS "id!: PersonId""#,
        scope,
        fields.name,
        fields.relation,
        fields.birthday,
        fields.user,
        at
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// Stores somebody anew.
pub async fn update(tx: &mut Tx, person: PersonId, fields: &PersonFields<'_>, at: i64) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE people SET name = $2, relation = $3, birthday = $4, user_id = $5, updated_at = $6 WHERE id = $1",
        person,
        fields.name,
        fields.relation,
        fields.birthday,
        fields.user,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// From now on they are known by this, too.
pub async fn identify(tx: &mut Tx, person: PersonId, kind: &str, value: &str) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO person_identities (person_id, kind, value) VALUES ($1, $2, $3)
         ON CONFLICT (person_id, kind, value) DO UPDATE SET value = excluded.value",
        person,
        kind,
        value
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// They are not known by this any more.
pub async fn drop_identity(tx: &mut Tx, person: PersonId, kind: &str, value: &str) -> Result<(), StoreError> {
    sql::query!("DELETE FROM person_identities WHERE person_id = $1 AND kind = $2 AND value = $3", person, kind, value)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// What `from` is known by, `into` is known by as well.
pub async fn move_identities(tx: &mut Tx, from: PersonId, into: PersonId) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE person_identities SET person_id = $2
         WHERE person_id = $1 AND NOT EXISTS (
           SELECT 1 FROM person_identities o
           WHERE o.person_id = $2 AND o.kind = person_identities.kind AND o.value = person_identities.value)",
        from,
        into
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A fact about a person on its way to another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedFact {
    pub id: FactId,
    /// What it is about.
    pub key: String,
    /// Who told it.
    pub user: Option<UserId>,
    /// It holds, and contradicts nothing.
    pub current: bool,
}

/// All facts about somebody that are or were known.
pub async fn all_facts(tx: &mut Tx, person: PersonId) -> Result<Vec<KeyedFact>, StoreError> {
    let facts = sql::query_as!(
        KeyedFact,
        r#"SELECT id AS "id!: FactId", key, user_id AS "user: UserId",
                  (superseded_at IS NULL AND rival_of IS NULL) AS "current!: bool"
           FROM facts WHERE person_id = $1 ORDER BY id"#,
        person
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// Makes a fact one about `person`, under this key. Where another is current there, one that says the same gives way to it,
/// and one that says otherwise is kept as its rival.
pub async fn move_fact(tx: &mut Tx, fact: &KeyedFact, person: PersonId, key: &str, at: i64) -> Result<(), StoreError> {
    if fact.current && fact.key != key {
        let there = sql::query!(
            r#"SELECT kept.id AS "id!: FactId", kept.value = moved.value AS "same!: bool"
               FROM facts moved JOIN facts kept ON kept.scope = moved.scope AND kept.category = moved.category
                 AND kept.key = $2 AND kept.superseded_at IS NULL AND kept.rival_of IS NULL
               WHERE moved.id = $1"#,
            fact.id,
            key
        )
        .fetch_optional(&mut *tx)
        .await?;
        if let Some(there) = there {
            sql::query!("UPDATE facts SET rival_of = $2 WHERE rival_of = $1", fact.id, there.id)
                .execute(&mut *tx)
                .await?;
            if there.same {
                let superseded = sql::query!(
                    "UPDATE facts SET superseded_at = $3, superseded_by = $2 WHERE id = $1",
                    fact.id,
                    there.id,
                    at
                );
                superseded.execute(&mut *tx).await?;
            } else {
                let rival = sql::query!("UPDATE facts SET rival_of = $2 WHERE id = $1", fact.id, there.id);
                rival.execute(&mut *tx).await?;
            }
        }
    }
    sql::query!("UPDATE facts SET key = $2, person_id = $3 WHERE id = $1", fact.id, key, person)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// What is known of somebody at a time, the newest first.
pub async fn facts(tx: &mut Tx, person: PersonId, at: i64, limit: i64) -> Result<Vec<FactAbout>, StoreError> {
    let facts = sql::query_as!(
        FactAbout,
        r#"SELECT f.id AS "id!: FactId", f.category, f.key, f.value, f.created_at, f.taint,
             (f.rival_of IS NOT NULL OR EXISTS (SELECT 1 FROM facts r WHERE r.rival_of = f.id AND r.superseded_at IS NULL))
               AS "disputed!: bool"
           FROM facts f
           WHERE f.person_id = $1 AND f.superseded_at IS NULL AND (f.valid_until IS NULL OR f.valid_until > $2)
           ORDER BY f.created_at DESC, f.id DESC LIMIT $3"#,
        person,
        at,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// A fact that is about nobody yet is about this person.
pub async fn link_fact(tx: &mut Tx, fact: FactId, person: PersonId) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET person_id = $2 WHERE id = $1 AND person_id IS NULL", fact, person)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// When somebody was born is not known any more.
pub async fn drop_birthday(tx: &mut Tx, person: PersonId) -> Result<(), StoreError> {
    sql::query!("UPDATE people SET birthday = NULL WHERE id = $1", person).execute(&mut *tx).await?;
    Ok(())
}

/// The users of Hob, by how they are called.
pub async fn users(tx: &mut Tx) -> Result<Vec<(UserId, String)>, StoreError> {
    let users = sql::query!(r#"SELECT id AS "id!: UserId", name FROM users ORDER BY id"#).fetch_all(&mut *tx).await?;
    Ok(users.into_iter().map(|user| (user.id, user.name)).collect())
}
