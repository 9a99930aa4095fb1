//! Bytes in rows, so that every daemon on a server can read them: what came with messages, and long results of tools.
//!
//! A data directory has them as files, and beside a file of SQLite's in files alone: nothing is put here. What is here all the same came with
//! a server's state, and is read and dropped as there. Start at [`put`].

use std::sync::Arc;

use crate::error::StoreError;
use crate::tx::Engine;
use crate::{Store, Tx, sql};

/// How many bytes a row has: one of these at a time keeps nobody waiting for the writer.
const CHUNK: usize = 256 << 10;

#[cfg(feature = "postgres")]
const PUT: &str = "INSERT INTO chunks (name, place, bytes, kept_at) VALUES ($1, $2, $3, clock_ms())
    ON CONFLICT (name, place) DO UPDATE SET bytes = excluded.bytes, kept_at = excluded.kept_at";

/// Keeps bytes under a name, in place of what was kept under it; they are whole once this is over.
pub async fn put(store: &Store, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
    if store.is_file() {
        return Ok(());
    }
    let (name, bytes): (Arc<str>, Arc<[u8]>) = (Arc::from(name), Arc::from(bytes));
    for place in 0..bytes.len().div_ceil(CHUNK).max(1) {
        let (name, bytes) = (Arc::clone(&name), Arc::clone(&bytes));
        store.write(async move |tx| put_chunk(tx, &name, place, &bytes).await).await?;
    }
    Ok(())
}

/// The same within a transaction, for what is small.
pub async fn put_within(tx: &mut Tx, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    for place in 0..bytes.len().div_ceil(CHUNK).max(1) {
        put_chunk(tx, name, place, bytes).await?;
    }
    Ok(())
}

#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no server"))]
async fn put_chunk(tx: &mut Tx, name: &str, place: usize, bytes: &[u8]) -> Result<(), StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(()),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let from = place * CHUNK;
            let chunk = bytes.get(from..bytes.len().min(from + CHUNK)).unwrap_or_default();
            let put = sqlx::query(PUT).bind(name).bind(i64::try_from(place).unwrap_or(i64::MAX)).bind(chunk);
            put.execute(&mut *connection).await?;
            if from + CHUNK >= bytes.len() {
                let rest = sqlx::query("DELETE FROM chunks WHERE name = $1 AND place > $2");
                rest.bind(name).bind(i64::try_from(place).unwrap_or(i64::MAX)).execute(connection).await?;
            }
            Ok(())
        }
    }
}

/// What is kept under a name; none: nothing.
pub async fn get(tx: &mut Tx, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let get = sql::query_scalar!("SELECT bytes FROM chunks WHERE name = $1 ORDER BY place", name);
    let chunks = get.fetch_all(&mut *tx).await?;
    Ok((!chunks.is_empty()).then(|| chunks.concat()))
}

/// The names that begin so, in order.
pub async fn names(tx: &mut Tx, beginning: &str) -> Result<Vec<String>, StoreError> {
    let names = sql::query_scalar!(
        "SELECT DISTINCT name FROM chunks WHERE name >= $1 AND substr(name, 1, length($1)) = $1 ORDER BY name",
        beginning
    );
    Ok(names.fetch_all(&mut *tx).await?)
}

/// Drops what is kept under these names.
pub async fn drop_all(tx: &mut Tx, names: &[String]) -> Result<(), StoreError> {
    for name in names {
        sql::query!("DELETE FROM chunks WHERE name = $1", name).execute(&mut *tx).await?;
    }
    Ok(())
}

/// Drops what begins so and was kept before then, in Unix milliseconds.
pub async fn drop_old(tx: &mut Tx, beginning: &str, before: i64) -> Result<(), StoreError> {
    sql::query!(
        "DELETE FROM chunks WHERE name >= $1 AND substr(name, 1, length($1)) = $1 AND kept_at < $2",
        beginning,
        before
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
