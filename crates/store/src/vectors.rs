//! The vectors of memories, each with the model that made it. What is in them is opaque here.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::tx::Engine;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;

/// A model that makes vectors, or made them once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorModel {
    pub id: i64,
    /// What people call it.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: i64,
    /// What tells it from others of that name.
    pub digest: String,
    /// All memories through this one have their vectors, but for what cannot be embedded.
    pub through: MemoryId,
}

/// All models that have a row.
pub async fn list_models(tx: &mut Tx) -> Result<Vec<VectorModel>, StoreError> {
    let models = sql::query_as!(
        VectorModel,
        r#"SELECT id AS "id!", name, dimensions, digest, through AS "through!: MemoryId" FROM embedding_models ORDER BY id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(models)
}

/// A model that is to have a row.
#[derive(Debug, Clone, Copy)]
pub struct NewModel<'a> {
    /// What people call it.
    pub name: &'a str,
    /// How many numbers a vector has.
    pub dimensions: i64,
    /// What tells it from others of that name.
    pub digest: &'a str,
}

/// The model's row, made if there is none; it goes by the name that it has now.
pub async fn register(tx: &mut Tx, new: NewModel<'_>, now: Timestamp) -> Result<VectorModel, StoreError> {
    let now = millis(now);
    let model = sql::query_as!(
        VectorModel,
        r#"INSERT INTO embedding_models (name, dimensions, digest, created_at) VALUES ($1, $2, $3, $4)
           ON CONFLICT (digest) DO UPDATE SET name = excluded.name
           RETURNING id AS "id!", name, dimensions, digest, through AS "through!: MemoryId""#,
        new.name,
        new.dimensions,
        new.digest,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(model)
}

/// The model's row, if it is still there.
pub async fn find(tx: &mut Tx, model: i64) -> Result<Option<VectorModel>, StoreError> {
    let found = sql::query_as!(
        VectorModel,
        r#"SELECT id AS "id!", name, dimensions, digest, through AS "through!: MemoryId"
           FROM embedding_models WHERE id = $1"#,
        model
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found)
}

/// The first memory after `after`, through `upto`, that has no vector of this model.
pub async fn first_without(
    tx: &mut Tx,
    model: i64,
    after: MemoryId,
    upto: MemoryId,
) -> Result<Option<MemoryId>, StoreError> {
    let first = sql::query_scalar!(
        r#"SELECT id AS "id!: MemoryId" FROM memories
           WHERE id > $2 AND id <= $3 AND NOT EXISTS
             (SELECT 1 FROM vectors WHERE model_id = $1 AND memory_id = memories.id)
           ORDER BY id LIMIT 1"#,
        model,
        after,
        upto
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(first)
}

/// The newest memory; zero: there is none.
pub async fn last_memory(tx: &mut Tx) -> Result<MemoryId, StoreError> {
    let last = sql::query_scalar!(r#"SELECT coalesce(max(id), 0) AS "id!: MemoryId" FROM memories"#)
        .fetch_one(&mut *tx)
        .await?;
    Ok(last)
}

/// How many memories after `after` have no vector of this model.
pub async fn count_without(tx: &mut Tx, model: i64, after: MemoryId) -> Result<u64, StoreError> {
    let count = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM memories
           WHERE id > $2 AND NOT EXISTS (SELECT 1 FROM vectors WHERE model_id = $1 AND memory_id = memories.id)"#,
        model,
        after
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Whether the memory has a vector of this model.
pub async fn exists(tx: &mut Tx, model: i64, memory: MemoryId) -> Result<bool, StoreError> {
    let there = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM vectors WHERE model_id = $1 AND memory_id = $2) AS "there!: bool""#,
        model,
        memory
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(there)
}

/// A memory's vector, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVector {
    pub memory: MemoryId,
    pub vector: Vec<u8>,
    /// The signs of its tokens, where the model tells them.
    pub binary_codes: Option<Vec<u8>>,
}

/// Stores a vector, in place of the one before.
///
/// # Errors
/// When the memory is gone, or the database fails.
pub async fn put(tx: &mut Tx, model: i64, new: &NewVector) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO vectors (model_id, memory_id, vector) VALUES ($1, $2, $3)
         ON CONFLICT (model_id, memory_id) DO UPDATE SET vector = excluded.vector",
        model,
        new.memory,
        new.vector
    )
    .execute(&mut *tx)
    .await?;
    let Some(binary_codes) = &new.binary_codes else { return Ok(()) };
    sql::query!(
        "INSERT INTO token_signs (model_id, memory_id, signs) VALUES ($1, $2, $3)
         ON CONFLICT (model_id, memory_id) DO UPDATE SET signs = excluded.signs",
        model,
        new.memory,
        binary_codes
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Transactions of a server, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransactions {
    /// The oldest that is not over.
    pub oldest: i64,
    /// The one that begins next.
    pub next: i64,
}

/// Which are at work; none for a file, where each waits for the one before.
pub async fn transactions(tx: &mut Tx) -> Result<Option<OpenTransactions>, StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(None),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let numbers = "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint
                FROM pg_current_snapshot() AS s";
            let (oldest, next) = sqlx::query_as(numbers).fetch_one(connection).await?;
            Ok(Some(OpenTransactions { oldest, next }))
        }
    }
}

/// Sets the model's cursor.
pub async fn move_to(tx: &mut Tx, model: i64, through: MemoryId) -> Result<(), StoreError> {
    sql::query!("UPDATE embedding_models SET through = $2 WHERE id = $1", model, through).execute(&mut *tx).await?;
    Ok(())
}

/// A memory's vector and whose the memory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedVector {
    pub memory: MemoryId,
    pub scope: Scope,
    pub vector: Vec<u8>,
}

/// The next vectors of a model after the memory `after`, in the order of their memories.
pub async fn page(tx: &mut Tx, model: i64, after: MemoryId, limit: i64) -> Result<Vec<IndexedVector>, StoreError> {
    let page = sql::query_as!(
        IndexedVector,
        r#"SELECT v.memory_id AS "memory!: MemoryId", m.scope AS "scope!: Scope", v.vector
           FROM vectors v JOIN memories m ON m.id = v.memory_id
           WHERE v.model_id = $1 AND v.memory_id > $2 ORDER BY v.memory_id LIMIT $3"#,
        model,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(page)
}

/// Deletes some of what a model made that is not wanted any more; with the last of it, its row. Whether it is gone.
pub async fn drop_some(tx: &mut Tx, model: i64, limit: i64) -> Result<bool, StoreError> {
    // Should it be wanted again before it is gone, nothing counts as made.
    sql::query!("UPDATE embedding_models SET through = 0 WHERE id = $1 AND through <> 0", model)
        .execute(&mut *tx)
        .await?;
    let vectors = sql::query!(
        "DELETE FROM vectors WHERE model_id = $1 AND memory_id IN
           (SELECT memory_id FROM vectors WHERE model_id = $1 ORDER BY memory_id LIMIT $2)",
        model,
        limit
    )
    .execute(&mut *tx)
    .await?;
    let binary_codes = sql::query!(
        "DELETE FROM token_signs WHERE model_id = $1 AND memory_id IN
           (SELECT memory_id FROM token_signs WHERE model_id = $1 ORDER BY memory_id LIMIT $2)",
        model,
        limit
    )
    .execute(&mut *tx)
    .await?;
    if vectors.rows_affected() + binary_codes.rows_affected() > 0 {
        return Ok(false);
    }
    sql::query!("DELETE FROM embedding_models WHERE id = $1", model).execute(&mut *tx).await?;
    Ok(true)
}

/// What was made of a memory does not stand for it any more: it is deleted, and made anew.
///
/// Whoever forgets a memory says it of the one that follows in its episode, as the words before a memory are in its vector.
pub async fn invalidate(tx: &mut Tx, memory: MemoryId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM vectors WHERE memory_id = $1", memory).execute(&mut *tx).await?;
    sql::query!("DELETE FROM token_signs WHERE memory_id = $1", memory).execute(&mut *tx).await?;
    let before = MemoryId(memory.0 - 1);
    sql::query!("UPDATE embedding_models SET through = $1 WHERE through > $1", before).execute(&mut *tx).await?;
    Ok(())
}
