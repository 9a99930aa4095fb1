//! Remembered facts: (scope, category, key) → value; a new value supersedes, the old one is kept.

use crate::domain::ids::{FactId, RunId, UserId};
use crate::domain::memory::Scope;
use crate::store::Tx;
use crate::store::error::StoreError;

/// A fact about to be remembered.
#[derive(Debug, Clone)]
pub struct NewFact<'a> {
    /// Whose.
    pub scope: Scope,
    /// Who told it.
    pub user: UserId,
    /// What it is about, broadly.
    pub category: &'a str,
    /// What it is about.
    pub key: &'a str,
    /// What is known.
    pub value: &'a str,
    /// The run in which it was said.
    pub run: Option<RunId>,
}

/// A current fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRow {
    /// Its row.
    pub id: FactId,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Since when.
    pub created_at: i64,
}

/// Remembers a fact; the same fact again changes nothing. Gives the value that it superseded.
///
/// # Errors
/// When the database fails.
pub async fn remember(tx: &mut Tx, new: &NewFact<'_>, at: i64) -> Result<Option<String>, StoreError> {
    let known = sqlx::query!(
        r#"SELECT id AS "id!: FactId", value FROM facts
           WHERE scope = $1 AND category = $2 AND key = $3 AND superseded_at IS NULL AND rival_of IS NULL"#,
        new.scope,
        new.category,
        new.key
    )
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(known) = &known {
        if known.value == new.value {
            return Ok(None);
        }
        sqlx::query!("UPDATE facts SET superseded_at = $1 WHERE id = $2", at, known.id).execute(&mut *tx).await?;
    }
    sqlx::query!(
        "INSERT INTO facts (scope, user_id, speaker, category, key, value, run_id, source, confidence, importance, created_at)
         SELECT $1, id, name, $3, $4, $5, $6, 'told', 1.0, 0.5, $7 FROM users WHERE id = $2",
        new.scope,
        new.user,
        new.category,
        new.key,
        new.value,
        new.run,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(known.map(|known| known.value))
}

/// The newest current facts of a scope.
///
/// # Errors
/// When the database fails.
pub async fn list(tx: &mut Tx, scope: Scope, limit: i64) -> Result<Vec<FactRow>, StoreError> {
    let facts = sqlx::query_as!(
        FactRow,
        r#"SELECT id AS "id!: FactId", category, key, value, created_at FROM facts
           WHERE scope = $1 AND superseded_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $2"#,
        scope,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// Current facts that match; the best first. `query` is FTS5's, over the columns `scope`, `category`, `key` and `value`.
///
/// # Errors
/// When `query` is not FTS5's syntax, or the database fails.
pub async fn search(tx: &mut Tx, query: &str, limit: i64) -> Result<Vec<FactRow>, StoreError> {
    let facts = sqlx::query_as!(
        FactRow,
        r#"SELECT f.id AS "id!: FactId", f.category, f.key, f.value, f.created_at
           FROM facts_fts t JOIN facts f ON f.id = t.rowid
           WHERE facts_fts MATCH $1 AND f.superseded_at IS NULL
           ORDER BY bm25(facts_fts, 0.0), f.id DESC LIMIT $2"#,
        query,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// A fact was of use.
///
/// # Errors
/// When the database fails.
pub async fn mark_used(tx: &mut Tx, fact: FactId, at: i64) -> Result<(), StoreError> {
    sqlx::query!("UPDATE facts SET uses = uses + 1, used_at = $2 WHERE id = $1", fact, at).execute(&mut *tx).await?;
    Ok(())
}
