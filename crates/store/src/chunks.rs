//! Bytes in rows, so that every daemon on a server can read them: what came with messages, and long results of tools.
//!
//! Beside a file of SQLite's they are in the data directory alone, and nothing here is done. On a server the data directory has them as well,
//! as a copy that is nearer. Start at [`put`].

use std::sync::Arc;

use crate::error::StoreError;
use crate::tx::Engine;
use crate::{Store, Tx};

/// How many bytes a row has: one of these at a time keeps nobody waiting for the writer.
const CHUNK: usize = 256 << 10;

#[cfg(feature = "postgres")]
mod text {
    pub(super) const PUT: &str = "INSERT INTO chunks (name, place, bytes, kept_at) VALUES ($1, $2, $3, clock_ms())
        ON CONFLICT (name, place) DO UPDATE SET bytes = excluded.bytes, kept_at = excluded.kept_at";
    pub(super) const GET: &str = "SELECT bytes FROM chunks WHERE name = $1 ORDER BY place";
    pub(super) const NAMES: &str = "SELECT DISTINCT name FROM chunks WHERE starts_with(name, $1) ORDER BY name";
    pub(super) const DROP: &str = "DELETE FROM chunks WHERE name = $1";
    pub(super) const DROP_OLD: &str = "DELETE FROM chunks WHERE starts_with(name, $1) AND kept_at < $2";
}

/// Keeps bytes under a name, in place of what was kept under it; they are whole once this is over.
pub async fn put(store: &Store, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
    if store.is_file() {
        return Ok(());
    }
    let (name, bytes): (Arc<str>, Arc<[u8]>) = (Arc::from(name), Arc::from(bytes));
    for place in 0..bytes.len().div_ceil(CHUNK) {
        let (name, bytes) = (Arc::clone(&name), Arc::clone(&bytes));
        store.write(async move |tx| put_chunk(tx, &name, place, &bytes).await).await?;
    }
    Ok(())
}

/// The same within a transaction, for what is small.
pub async fn put_within(tx: &mut Tx, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    for place in 0..bytes.len().div_ceil(CHUNK) {
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
            let put = sqlx::query(text::PUT).bind(name).bind(i64::try_from(place).unwrap_or(i64::MAX)).bind(chunk);
            put.execute(connection).await?;
            Ok(())
        }
    }
}

/// What is kept under a name; none: nothing.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no server"))]
pub async fn get(tx: &mut Tx, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(None),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let get = sqlx::query_scalar::<_, Vec<u8>>(text::GET).bind(name);
            let chunks = get.fetch_all(connection).await?;
            Ok((!chunks.is_empty()).then(|| chunks.concat()))
        }
    }
}

/// The names that begin so, in order.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no server"))]
pub async fn names(tx: &mut Tx, beginning: &str) -> Result<Vec<String>, StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(Vec::new()),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            Ok(sqlx::query_scalar(text::NAMES).bind(beginning).fetch_all(connection).await?)
        }
    }
}

/// Drops what is kept under these names.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no server"))]
pub async fn drop_all(tx: &mut Tx, names: &[String]) -> Result<(), StoreError> {
    for name in names {
        match tx.engine() {
            Engine::Sqlite(_) => {}
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => {
                sqlx::query(text::DROP).bind(name).execute(connection).await?;
            }
        }
    }
    Ok(())
}

/// Drops what begins so and was kept before then, in Unix milliseconds.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no server"))]
pub async fn drop_old(tx: &mut Tx, beginning: &str, before: i64) -> Result<(), StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => {}
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            sqlx::query(text::DROP_OLD).bind(beginning).bind(before).execute(connection).await?;
        }
    }
    Ok(())
}
