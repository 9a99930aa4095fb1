//! What Hob answered, as far as it may be found again: messages that have a scope.
//!
//! The index of their words follows them by
//! triggers, and so does forgetting: with the memory of what it answers, an answer loses its scope.
//!
//! `scopes` and `ids` are JSON lists everywhere, as for recall.

use crate::error::StoreError;
use crate::forgetting::MessageLocation;
use crate::recall::{OrdinalRange, list};
use crate::{Tx, sql};
use hob_core::domain::ids::{MessageId, RunId};
use hob_core::domain::memory::Scope;

/// So many messages after what it answers, an answer is still looked for.
const REACH: i64 = 200;

/// The answers that match each of FTS5's `queries` (a JSON list), in their order: of each at most so many, the newest first.
///
/// # Errors
/// When one of them is not FTS5's syntax, or the database fails.
pub async fn matching(tx: &mut Tx, queries: &str, limit: i64) -> Result<Vec<Vec<i64>>, StoreError> {
    let rows = sql::query_scalar!(
        [
            r#"SELECT '[' || coalesce(group_concat((
             SELECT '[' || coalesce(group_concat(id), '') || ']' FROM (
               SELECT rowid AS id FROM answers_fts WHERE answers_fts MATCH wanted.value ORDER BY rowid DESC LIMIT $2)
             )), '') || ']' AS "rows!: String" FROM json_each($1) wanted"#,
            r#"SELECT '[' || coalesce(string_agg((
             SELECT '[' || coalesce(string_agg(id::text, ','), '') || ']' FROM (
               SELECT id FROM messages WHERE words @@ matching(wanted.value) ORDER BY id DESC LIMIT $2) found
             ), ','), '') || ']' AS "rows!: String" FROM json_elements($1) wanted"#
        ],
        queries,
        limit
    )
    .fetch_one(&mut *tx)
    .await?;
    list("answers", &rows)
}

/// An answer of Hob's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    pub id: MessageId,
    pub scope: Scope,
    pub text: String,
    /// What it answers, as far as that is remembered.
    pub asked: Option<String>,
    /// What its run had read by then that nobody vouches for, as stored.
    pub taint: Option<String>,
    pub at: i64,
}

/// These answers, and those to what these `memories` tell, as far as they are in the scopes and not in the stretch.
pub async fn by_id_or_memory(
    tx: &mut Tx,
    ids: &str,
    memories: &str,
    scopes: &str,
    stretch: Option<OrdinalRange>,
) -> Result<Vec<StoredAnswer>, StoreError> {
    let session = stretch.map(|of| of.session);
    let (from, through) = stretch.map(|of| (of.from, of.through)).unzip();
    let answers = sql::query_as!(
        StoredAnswer,
        r#"WITH wanted (id) AS (
             SELECT CAST(value AS INTEGER) FROM json_each($1)
             UNION
             SELECT a.id FROM json_each($2) w CROSS JOIN memories m ON m.id = CAST(w.value AS INTEGER) CROSS JOIN messages g ON g.id = m.message_id
               CROSS JOIN messages a ON a.session_id = g.session_id AND a.ordinal BETWEEN g.ordinal + 1 AND g.ordinal + $7
             WHERE a.run_id = g.run_id AND a.scope IS NOT NULL)
           SELECT a.id AS "id!: MessageId", a.scope AS "scope!: Scope", a.text, a.taint, a.at,
             (SELECT m.text FROM messages g CROSS JOIN memories m ON m.message_id = g.id
              WHERE g.session_id = a.session_id AND g.ordinal BETWEEN a.ordinal - $7 AND a.ordinal - 1 AND g.run_id = a.run_id
              ORDER BY g.ordinal DESC LIMIT 1) AS "asked?: String"
           FROM wanted CROSS JOIN messages a ON a.id = wanted.id
           WHERE a.scope IN (SELECT value FROM json_each($3))
             AND NOT (a.session_id IS NOT DISTINCT FROM $4 AND a.ordinal BETWEEN coalesce($5, 1) AND coalesce($6, 0))
           ORDER BY a.id"#,
        ids,
        memories,
        scopes,
        session,
        from,
        through,
        REACH
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(answers)
}

/// One answer, if it may still be found.
pub async fn find(tx: &mut Tx, id: MessageId) -> Result<Option<StoredAnswer>, StoreError> {
    let answer = sql::query_as!(
        StoredAnswer,
        r#"SELECT id AS "id!: MessageId", scope AS "scope!: Scope", text, taint, at, NULL AS "asked?: String"
           FROM messages WHERE id = $1 AND scope IS NOT NULL"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(answer)
}

/// The runs for which an answer to this was recalled.
pub async fn recalled(tx: &mut Tx, said: &MessageLocation) -> Result<Vec<RunId>, StoreError> {
    let through = said.ordinal.saturating_add(REACH);
    let runs = sql::query_scalar!(
        r#"SELECT DISTINCT r.run_id AS "run!: RunId"
           FROM messages a CROSS JOIN recalled r ON r.message_id = a.id
           WHERE a.session_id = $1 AND a.ordinal > $2 AND a.ordinal <= $3 AND a.run_id = $4"#,
        said.session,
        said.ordinal,
        through,
        said.run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// Nobody finds any more what Hob answered in this scope until now.
pub async fn forget(tx: &mut Tx, scope: Scope) -> Result<(), StoreError> {
    let of_scope = format!("scope : \"{scope}\"");
    sql::query!(
        [
            "UPDATE messages SET scope = NULL WHERE id IN (SELECT rowid FROM answers_fts WHERE answers_fts MATCH $1)",
            "UPDATE messages SET scope = NULL WHERE words @@ matching($1)"
        ],
        of_scope
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
