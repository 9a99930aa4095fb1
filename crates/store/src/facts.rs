//! Remembered facts: (scope, category, key) → value; a new value supersedes, the old one is kept.
//!
//! Never: a decision about what supersedes what; that is `memory::facts`'.

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, MessageId, PersonId, RunId, UserId};
use hob_core::domain::memory::Scope;

/// How a fact came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum Source {
    /// It was drawn from what a person said.
    Extracted,
    /// It was brought in from elsewhere.
    Import,
    /// A person asked for it to be remembered.
    Told,
}

impl Source {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extracted => "extracted",
            Self::Import => "import",
            Self::Told => "told",
        }
    }
}

hob_core::sql_names!(Source);

/// A fact about to be stored.
#[derive(Debug, Clone)]
pub struct NewFact<'a> {
    pub scope: Scope,
    /// What it is about, broadly.
    pub category: &'a str,
    /// What it is about.
    pub key: &'a str,
    /// What is known.
    pub value: &'a str,
    /// Whom it is about, where that is somebody in `people`.
    pub person: Option<PersonId>,
    /// Whose words it rests on.
    pub user: Option<UserId>,
    /// How they are called.
    pub speaker: &'a str,
    pub message: Option<MessageId>,
    /// The run in which it was said.
    pub run: Option<RunId>,
    /// How it came to be known.
    pub source: Source,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub importance: f64,
    /// Since when it holds, where that is not now, in Unix milliseconds.
    pub valid_from: Option<i64>,
    pub valid_until: Option<i64>,
    /// The current fact that it contradicts.
    pub rival_of: Option<FactId>,
    /// What the run had read by then that nobody vouches for, as stored.
    pub taint: Option<&'a str>,
}

/// A current fact, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRow {
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

/// A fact with all that is known of it. Times are in Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub id: FactId,
    pub scope: Scope,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Whom it is about.
    pub person: Option<PersonId>,
    /// Whose words it rests on.
    pub user: Option<UserId>,
    /// How they were called.
    pub speaker: String,
    pub message: Option<MessageId>,
    /// How it came to be known.
    pub source: Source,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub importance: f64,
    /// Whether it is to stay in front of the model.
    pub pinned: bool,
    /// How often it was put before a model.
    pub uses: i64,
    /// When, the last time.
    pub used_at: Option<i64>,
    /// Since when it holds.
    pub since: i64,
    /// Until when it holds.
    pub valid_until: Option<i64>,
    /// The current fact that it contradicts.
    pub rival_of: Option<FactId>,
    /// When another took its place; none: it is current, or a rival of one that is.
    pub superseded_at: Option<i64>,
    /// What the run that kept it had read that nobody vouches for, as stored.
    pub taint: Option<String>,
}

impl Fact {
    /// Whether the time in which it held is over.
    pub fn is_over(&self, now: i64) -> bool {
        self.valid_until.is_some_and(|until| until <= now)
    }
}

/// All facts of which the rest of the query is true.
macro_rules! facts {
    ($tx:ident, $rest:tt $(, $argument:expr)*) => {
        sql::query_as!(
            Fact,
            r#"SELECT f.id AS "id!: FactId", f.scope AS "scope!: Scope", f.category, f.key, f.value,
                      f.person_id AS "person: PersonId", f.user_id AS "user: UserId", f.speaker,
                      f.message_id AS "message: MessageId", f.source AS "source!: Source", f.confidence, f.importance,
                      f.pinned AS "pinned!: bool", f.uses, f.used_at,
                      coalesce(f.valid_from, f.created_at) AS "since!: i64", f.valid_until,
                      f.rival_of AS "rival_of: FactId", f.superseded_at, f.taint FROM "#
                + $rest
            $(, $argument)*
        )
        .fetch_all(&mut *$tx)
        .await?
    };
}

/// Stores a fact.
///
/// # Errors
/// When there is a current fact under this key already.
pub async fn add(tx: &mut Tx, new: &NewFact<'_>, at: i64) -> Result<FactId, StoreError> {
    let id = sql::query_scalar!(
        r#"INSERT INTO facts (scope, category, key, value, person_id, user_id, speaker, message_id, run_id, source,
                              confidence, importance, valid_from, valid_until, rival_of, created_at, taint)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING id AS "id!: FactId""#,
        new.scope,
        new.category,
        new.key,
        new.value,
        new.person,
        new.user,
        new.speaker,
        new.message,
        new.run,
        new.source,
        new.confidence,
        new.importance,
        new.valid_from,
        new.valid_until,
        new.rival_of,
        at,
        new.taint
    )
    .fetch_one(&mut *tx)
    .await?;
    sql::query!("INSERT INTO facts_changed (scope, since) VALUES ($1, $2) ON CONFLICT DO NOTHING", new.scope, at)
        .execute(&mut *tx)
        .await?;
    Ok(id)
}

/// Somebody vouches for a fact: it is theirs from now on, whatever it was drawn from.
pub async fn vouch(tx: &mut Tx, id: FactId) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET taint = NULL WHERE id = $1", id).execute(&mut *tx).await?;
    Ok(())
}

/// A fact by its row.
pub async fn find(tx: &mut Tx, id: FactId) -> Result<Option<Fact>, StoreError> {
    Ok(facts!(tx, "facts f WHERE f.id = $1", id).pop())
}

/// The current fact under exactly this key.
pub async fn current(tx: &mut Tx, scope: Scope, category: &str, key: &str) -> Result<Option<Fact>, StoreError> {
    let found = facts!(
        tx,
        "facts f WHERE f.scope = $1 AND f.category = $2 AND f.key = $3 AND f.superseded_at IS NULL AND f.rival_of IS NULL",
        scope,
        category,
        key
    );
    Ok(found.into_iter().next())
}

/// Current facts of a category, and their rivals, that match; the best first. `query` is FTS5's.
///
/// # Errors
/// When `query` is not FTS5's syntax, or the database fails.
pub async fn matching(tx: &mut Tx, query: &str, limit: i64) -> Result<Vec<Fact>, StoreError> {
    Ok(facts!(
        tx,
        [
            "facts_fts t JOIN facts f ON f.id = t.rowid
         WHERE facts_fts MATCH $1 AND f.superseded_at IS NULL ORDER BY bm25(facts_fts, 0.0), f.id DESC LIMIT $2",
            "facts f WHERE f.words @@ matching($1) AND f.superseded_at IS NULL
         ORDER BY ts_rank(f.words, matching($1), 1) DESC, f.id DESC LIMIT $2"
        ],
        query,
        limit
    ))
}

/// What contradicts a current fact, the oldest first.
pub async fn rivals(tx: &mut Tx, of: FactId) -> Result<Vec<Fact>, StoreError> {
    Ok(facts!(tx, "facts f WHERE f.rival_of = $1 AND f.superseded_at IS NULL ORDER BY f.id", of))
}

/// The newest current facts of a scope, rivals not among them.
pub async fn newest(tx: &mut Tx, scope: Scope, limit: i64) -> Result<Vec<Fact>, StoreError> {
    Ok(facts!(
        tx,
        "facts f WHERE f.scope = $1 AND f.superseded_at IS NULL AND f.rival_of IS NULL
         ORDER BY f.created_at DESC, f.id DESC LIMIT $2",
        scope,
        limit
    ))
}

/// What goes along whatever is asked.
#[derive(Debug, Clone, Default)]
pub struct AlwaysIncludedFacts {
    /// Facts that nothing contradicts, and current ones that something does.
    pub facts: Vec<Fact>,
    /// Current facts, each with what contradicts it and was not asked about; the oldest first.
    pub open: Vec<(Fact, Fact)>,
}

/// What of the scopes (a JSON list) goes along whatever is asked.
///
/// Of each scope at most so many that are pinned, as many of the newest, and as many of those that were used last.
pub async fn always_included(tx: &mut Tx, scopes: &str, limit: i64) -> Result<AlwaysIncludedFacts, StoreError> {
    let mut facts = facts!(
        tx,
        "(SELECT 0 AS part, 0 AS pair, CAST(i.value AS INTEGER) AS id FROM json_each($1) s, json_each((SELECT json_group_array(id) FROM (
             SELECT id FROM facts WHERE scope = s.value AND pinned = 1 AND superseded_at IS NULL AND rival_of IS NULL
             ORDER BY id DESC LIMIT $2))) i
           UNION SELECT 0, 0, CAST(i.value AS INTEGER) FROM json_each($1) s, json_each((SELECT json_group_array(id) FROM (
             SELECT id FROM facts WHERE scope = s.value AND superseded_at IS NULL AND rival_of IS NULL
             ORDER BY created_at DESC, id DESC LIMIT $2))) i
           UNION SELECT 0, 0, CAST(i.value AS INTEGER) FROM json_each($1) s, json_each((SELECT json_group_array(id) FROM (
             SELECT id FROM facts
             WHERE scope = s.value AND used_at IS NOT NULL AND superseded_at IS NULL AND rival_of IS NULL
             ORDER BY used_at DESC LIMIT $2))) i
           UNION ALL SELECT 1 + s.key, r.id, CAST(p.value AS INTEGER) FROM json_each($1) s CROSS JOIN facts r ON r.scope = s.value
               CROSS JOIN json_each(json_array(r.rival_of, r.id)) p
             WHERE r.rival_of IS NOT NULL AND r.superseded_at IS NULL AND r.asked_at IS NULL
           ORDER BY 1, 2, 3) w CROSS JOIN facts f ON f.id = w.id ORDER BY w.part, w.pair, f.rival_of IS NOT NULL",
        scopes,
        limit
    );
    // The pairs come last, and nothing before them contradicts anything.
    let pairs =
        facts.iter().position(|fact| fact.rival_of.is_some()).map_or(facts.len(), |first| first.saturating_sub(1));
    let mut last = facts.split_off(pairs).into_iter();
    let mut open = Vec::new();
    while let Some(pair) = last.next().zip(last.next()) {
        open.push(pair);
    }
    Ok(AlwaysIncludedFacts { facts, open })
}

/// The same was said again: it is at least so sure, and holds at least so long.
pub async fn confirm(
    tx: &mut Tx,
    id: FactId,
    source: Source,
    confidence: f64,
    valid_until: Option<i64>,
) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE facts SET source = $2, confidence = max(confidence, $3), valid_until = $4 WHERE id = $1",
        id,
        source,
        confidence,
        valid_until
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Another takes the fact's place; none: nothing does, it is merely over.
pub async fn supersede(tx: &mut Tx, id: FactId, by: Option<FactId>, at: i64) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE facts SET superseded_at = $2, superseded_by = $3 WHERE id = $1 AND superseded_at IS NULL",
        id,
        at,
        by
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A rival becomes the current fact, or the rival of another.
///
/// # Errors
/// When there still is a current fact under its key.
pub async fn set_rival_of(tx: &mut Tx, id: FactId, of: Option<FactId>) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET rival_of = $2 WHERE id = $1", id, of).execute(&mut *tx).await?;
    Ok(())
}

/// Notes that a person was asked which of two is true.
pub async fn note_asked(tx: &mut Tx, id: FactId, at: i64) -> Result<(), StoreError> {
    sql::query!("UPDATE facts SET asked_at = $2 WHERE id = $1", id, at).execute(&mut *tx).await?;
    Ok(())
}

/// Notes that these facts were put before a model.
pub async fn note_used(tx: &mut Tx, facts: &[FactId], at: i64) -> Result<(), StoreError> {
    if facts.is_empty() {
        return Ok(());
    }
    let ids = serde_json::to_string(facts).map_err(|error| StoreError::Database(error.to_string()))?;
    sql::query!(
        "UPDATE facts SET uses = uses + 1, used_at = $2 WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each($1))",
        ids,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The newest current facts of a scope, in short.
pub async fn list(tx: &mut Tx, scope: Scope, limit: i64) -> Result<Vec<FactRow>, StoreError> {
    let facts = sql::query_as!(
        FactRow,
        r#"SELECT id AS "id!: FactId", category, key, value, created_at FROM facts
           WHERE scope = $1 AND superseded_at IS NULL AND rival_of IS NULL ORDER BY created_at DESC, id DESC LIMIT $2"#,
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
    let facts = sql::query_as!(
        FactRow,
        [
            r#"SELECT f.id AS "id!: FactId", f.category, f.key, f.value, f.created_at
           FROM facts_fts t JOIN facts f ON f.id = t.rowid
           WHERE facts_fts MATCH $1 AND f.superseded_at IS NULL AND f.rival_of IS NULL
           ORDER BY bm25(facts_fts, 0.0), f.id DESC LIMIT $2"#,
            r#"SELECT f.id AS "id!: FactId", f.category, f.key, f.value, f.created_at
           FROM facts f
           WHERE f.words @@ matching($1) AND f.superseded_at IS NULL AND f.rival_of IS NULL
           ORDER BY ts_rank(f.words, matching($1), 1) DESC, f.id DESC LIMIT $2"#
        ],
        query,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(facts)
}

/// The scope that has waited longest to be consolidated, of those that have changed before `before`.
pub async fn changed_before(tx: &mut Tx, before: i64) -> Result<Option<Scope>, StoreError> {
    let scope = sql::query_scalar!(
        r#"SELECT scope AS "scope!: Scope" FROM facts_changed WHERE since <= $1 ORDER BY since LIMIT 1"#,
        before
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(scope)
}

/// Notes that a scope is consolidated.
pub async fn consolidated(tx: &mut Tx, scope: Scope) -> Result<(), StoreError> {
    sql::query!("DELETE FROM facts_changed WHERE scope = $1", scope).execute(&mut *tx).await?;
    Ok(())
}
