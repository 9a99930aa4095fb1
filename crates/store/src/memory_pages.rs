//! What is remembered, a page at a time: by key, so that the last page costs what the first does.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{FactId, MemoryId, MessageId, PersonId, RunId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::principal::Role;

/// Where a page of what is remembered begins: below this moment, and among what is of that moment below this row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCursor {
    /// In milliseconds.
    pub at: i64,
    pub id: i64,
}

impl PageCursor {
    /// Before everything.
    pub const NEWEST: Self = Self { at: i64::MAX, id: i64::MAX };
}

/// The name of something in a list, and what it is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageKey<Id> {
    pub id: Id,
    /// When it was said, or since when it is known.
    pub at: i64,
}

/// What was said in a scope, the newest first.
pub async fn said(
    tx: &mut Tx,
    scope: Scope,
    before: PageCursor,
    limit: i64,
) -> Result<Vec<PageKey<MemoryId>>, StoreError> {
    let rows = sql::query_as!(
        PageKey,
        r#"SELECT id AS "id!: MemoryId", at FROM memories WHERE scope = $1 AND at <= $2 AND (at < $2 OR id < $3)
           ORDER BY at DESC, id DESC LIMIT $4"#,
        scope,
        before.at,
        before.id,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// What is pinned of what was said in a scope, the newest first. There is little of it.
pub async fn pinned_said(
    tx: &mut Tx,
    scope: Scope,
    before: PageCursor,
    limit: i64,
) -> Result<Vec<PageKey<MemoryId>>, StoreError> {
    let rows = sql::query_as!(
        PageKey,
        r#"SELECT id AS "id!: MemoryId", at FROM memories INDEXED BY memories_pinned
           WHERE scope = $1 AND pinned = 1 AND (at < $2 OR (at = $2 AND id < $3)) ORDER BY at DESC, id DESC LIMIT $4"#,
        scope,
        before.at,
        before.id,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// The facts of a scope that hold, the newest first.
pub async fn known(
    tx: &mut Tx,
    scope: Scope,
    before: PageCursor,
    limit: i64,
) -> Result<Vec<PageKey<FactId>>, StoreError> {
    let rows = sql::query_as!(
        PageKey,
        r#"SELECT id AS "id!: FactId", created_at AS at FROM facts
           WHERE scope = $1 AND superseded_at IS NULL AND created_at <= $2 AND (created_at < $2 OR id < $3)
           ORDER BY created_at DESC, id DESC LIMIT $4"#,
        scope,
        before.at,
        before.id,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// The pinned facts of a scope that hold, the newest first.
pub async fn pinned_known(
    tx: &mut Tx,
    scope: Scope,
    before: PageCursor,
    limit: i64,
) -> Result<Vec<PageKey<FactId>>, StoreError> {
    let rows = sql::query_as!(
        PageKey,
        r#"SELECT id AS "id!: FactId", created_at AS at FROM facts INDEXED BY facts_pinned
           WHERE scope = $1 AND pinned = 1 AND superseded_at IS NULL
             AND (created_at < $2 OR (created_at = $2 AND id < $3))
           ORDER BY created_at DESC, id DESC LIMIT $4"#,
        scope,
        before.at,
        before.id,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// The message that something remembered comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginMessage {
    /// Its row in the history.
    pub message: MessageId,
    /// What is remembered of it; none: it was let go, and the history has it still.
    pub memory: Option<MemoryId>,
    /// Who said it, as they are called.
    pub speaker: String,
    pub text: String,
    pub at: i64,
    /// The run that it began.
    pub run: RunId,
    /// The conversation's name.
    pub conversation: String,
}

/// The message that a fact rests on.
pub async fn source_of_fact(tx: &mut Tx, fact: FactId) -> Result<Option<OriginMessage>, StoreError> {
    let row = sql::query_as!(
        OriginMessage,
        r#"SELECT g.id AS "message!: MessageId", m.id AS "memory?: MemoryId", coalesce(u.name, f.speaker) AS "speaker!",
                  g.text, g.at, g.run_id AS "run!: RunId", s.key AS conversation
           FROM facts f JOIN messages g ON g.id = f.message_id JOIN sessions s ON s.id = g.session_id
             LEFT JOIN users u ON u.id = g.user_id LEFT JOIN memories m ON m.message_id = g.id
           WHERE f.id = $1"#,
        fact
    );
    Ok(row.fetch_optional(&mut *tx).await?)
}

/// The message in which something was said.
pub async fn source_of_memory(tx: &mut Tx, memory: MemoryId) -> Result<Option<OriginMessage>, StoreError> {
    let row = sql::query_as!(
        OriginMessage,
        r#"SELECT g.id AS "message!: MessageId", m.id AS "memory?: MemoryId", m.speaker, g.text, g.at,
                  g.run_id AS "run!: RunId", s.key AS conversation
           FROM memories m JOIN messages g ON g.id = m.message_id JOIN sessions s ON s.id = g.session_id
           WHERE m.id = $1"#,
        memory
    );
    Ok(row.fetch_optional(&mut *tx).await?)
}

/// An answer of Hob's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    /// Its row in the history.
    pub message: MessageId,
    pub run: RunId,
    pub text: String,
    pub at: i64,
    /// The conversation's name.
    pub conversation: String,
    pub recalled: i64,
}

/// What Hob answered, the newest first, below `before`.
pub async fn answers(tx: &mut Tx, before: i64, limit: i64) -> Result<Vec<AnswerRow>, StoreError> {
    let rows = sql::query_as!(
        AnswerRow,
        r#"SELECT g.id AS "message!: MessageId", g.run_id AS "run!: RunId", g.text, g.at, s.key AS conversation,
                  (SELECT coalesce(max(json_array_length(s.facts)) + count(CASE WHEN r.leg <> 'fact' THEN 1 END), count(*))
                   FROM recalled r LEFT JOIN fact_sets s ON s.id = r.set_id WHERE r.run_id = g.run_id) AS "recalled!: i64"
           FROM messages g CROSS JOIN sessions s ON s.id = g.session_id
           WHERE g.id < $1 AND g.role = 'assistant' AND g.text <> '' AND g.pruned = 0
           ORDER BY g.id DESC LIMIT $2"#,
        before,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// What a run answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredMessage {
    /// The words that began it.
    pub text: String,
    /// When they came.
    pub at: i64,
    /// The conversation's name.
    pub conversation: String,
}

pub async fn asked(tx: &mut Tx, run: RunId) -> Result<Option<AnsweredMessage>, StoreError> {
    let row = sql::query_as!(
        AnsweredMessage,
        r#"SELECT i.text, i.received_at AS at, s.key AS conversation
           FROM runs r JOIN inbound i ON i.id = r.inbound_id JOIN sessions s ON s.id = r.session_id WHERE r.id = $1"#,
        run
    );
    Ok(row.fetch_optional(&mut *tx).await?)
}

/// What a run said, chunk by chunk.
pub async fn replied(tx: &mut Tx, run: RunId, limit: i64) -> Result<Vec<String>, StoreError> {
    // In ASCII the semicolon comes right after the colon.
    let (from, until) = (format!("run:{run}:"), format!("run:{run};"));
    let rows = sql::query_scalar!(
        "SELECT text FROM outbox WHERE key >= $1 AND key < $2 ORDER BY id LIMIT $3",
        from,
        until,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// Somebody who talks with Hob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    pub id: UserId,
    pub name: String,
    pub role: Role,
    /// Since when they are known, in milliseconds.
    pub since: i64,
}

/// Those who talk with Hob, in the order in which they came, above `after`.
pub async fn users(tx: &mut Tx, after: i64, limit: i64) -> Result<Vec<UserRow>, StoreError> {
    let rows = sql::query_as!(
        UserRow,
        r#"SELECT id AS "id!: UserId", name, role AS "role!: Role", created_at AS since FROM users
           WHERE id > $1 ORDER BY id LIMIT $2"#,
        after,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// Somebody of whom something is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonPageRow {
    pub id: PersonId,
    /// Who knows of them.
    pub scope: Scope,
    pub name: String,
    pub relation: Option<String>,
    /// `YYYY-MM-DD` or `--MM-DD`.
    pub birthday: Option<String>,
    pub user: Option<UserId>,
    /// Since when they are known, in milliseconds.
    pub since: i64,
    /// How many facts are about them.
    pub facts: i64,
}

/// Those of whom something is known, the newest first, below `before`.
pub async fn people(tx: &mut Tx, before: i64, limit: i64) -> Result<Vec<PersonPageRow>, StoreError> {
    let rows = sql::query_as!(
        PersonPageRow,
        r#"SELECT p.id AS "id!: PersonId", p.scope AS "scope!: Scope", p.name, p.relation, p.birthday,
                  p.user_id AS "user: UserId", p.created_at AS since,
                  (SELECT count(*) FROM facts f WHERE f.person_id = p.id AND f.superseded_at IS NULL) AS "facts!: i64"
           FROM people p WHERE p.id < $1 ORDER BY p.id DESC LIMIT $2"#,
        before,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// The facts about a person that hold, the newest first.
pub async fn known_of(tx: &mut Tx, person: PersonId, limit: i64) -> Result<Vec<FactId>, StoreError> {
    let rows = sql::query_scalar!(
        r#"SELECT id AS "id!: FactId" FROM facts WHERE person_id = $1 AND superseded_at IS NULL
           ORDER BY id DESC LIMIT $2"#,
        person,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// In which scope somebody is known, if they are.
pub async fn scope_of(tx: &mut Tx, person: PersonId) -> Result<Option<Scope>, StoreError> {
    let row = sql::query_scalar!(r#"SELECT scope AS "scope!: Scope" FROM people WHERE id = $1"#, person);
    Ok(row.fetch_optional(&mut *tx).await?)
}

/// Everything that was held for true where this fact stands, the newest first.
pub async fn values(tx: &mut Tx, fact: FactId, limit: i64) -> Result<Vec<FactId>, StoreError> {
    let rows = sql::query_scalar!(
        r#"SELECT b.id AS "id!: FactId" FROM facts f CROSS JOIN facts b
             ON b.scope = f.scope AND b.category = f.category AND b.key = f.key
           WHERE f.id = $1 AND b.id <> f.id ORDER BY b.created_at DESC, b.id DESC LIMIT $2"#,
        fact,
        limit
    );
    Ok(rows.fetch_all(&mut *tx).await?)
}

/// In how many runs something was recalled, and in which last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecallUsage {
    pub runs: i64,
    pub last: Option<RunId>,
}

/// In how many runs something that was said was recalled, and in which last.
pub async fn memory_recalled(tx: &mut Tx, memory: MemoryId) -> Result<RecallUsage, StoreError> {
    let row = sql::query_as!(
        RecallUsage,
        r#"SELECT count(*) AS "runs!: i64", max(run_id) AS "last: RunId" FROM recalled WHERE memory_id = $1"#,
        memory
    );
    Ok(row.fetch_one(&mut *tx).await?)
}

/// In how many runs a fact was recalled, and in which last.
pub async fn fact_recalled(tx: &mut Tx, fact: FactId) -> Result<RecallUsage, StoreError> {
    let row = sql::query_as!(
        RecallUsage,
        r#"SELECT count(*) AS "runs!: i64", max(run_id) AS "last: RunId" FROM (
             SELECT run_id FROM recalled WHERE fact_id = $1
             UNION SELECT r.run_id FROM fact_set_members m CROSS JOIN recalled r ON r.set_id = m.set_id WHERE m.fact_id = $1)"#,
        fact
    );
    Ok(row.fetch_one(&mut *tx).await?)
}
