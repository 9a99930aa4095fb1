//! The file's form: small pages, and those that are free can be given back in small steps. Once per file, at a start, as it
//! rewrites all of it.
//!
//! Files that were made before that was so take a `VACUUM`, which keeps every commit waiting until it is done. It therefore
//! happens while the database is opened, when nobody waits yet and the platforms keep what comes in. The copy from before the
//! migration is there by then; the `VACUUM` itself happens whole or not at all, whatever kills it.

use std::path::Path;

use sqlx::SqliteConnection;

use crate::error::StoreError;
use crate::{PAGE_BYTES, space};

/// `PRAGMA auto_vacuum` of a file that can give pages back.
const INCREMENTAL: i64 = 2;
/// A larger file would delay the start by more than about ten seconds: its free pages are used again, and stay in it.
const BYTES_MAX: u64 = 1 << 30;
/// So many times the file's size is needed meanwhile: the new one, and the log that it goes through.
const ROOM_TIMES: u64 = 3;

/// Brings the file into that form, if it is not in it and there is room. Without it Hob works as well.
pub(crate) async fn apply_page_layout(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let form: i64 = sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(&mut *connection).await?;
    if form == INCREMENTAL && page_bytes(connection).await? == u64::from(PAGE_BYTES) {
        return Ok(());
    }
    let bytes = size(connection).await?;
    let free = path.parent().and_then(|dir| space::free(dir).ok()).unwrap_or(0);
    if let Some(why) = objection(bytes, free) {
        tracing::info!(bytes, free, "store.shape: the file keeps the form that it has: {why}");
        return Ok(());
    }
    let vacuumed = rewrite(connection).await;
    sqlx::raw_sql("PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY").execute(&mut *connection).await?;
    match vacuumed {
        Ok(_) => {
            tracing::info!(bytes, "store.shape: the file has small pages, and can give free ones back, from now on")
        }
        Err(error) => tracing::warn!(%error, "the file stays as it is; that is tried again at the next start"),
    }
    Ok(())
}

/// Pages keep their size as long as there is a write-ahead log; whatever ends this meanwhile, the next to open the file begins one
/// again.
async fn rewrite(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Fails while somebody else has the file open.
    sqlx::raw_sql("PRAGMA journal_mode = DELETE").execute(&mut *connection).await?;
    // The new file grows beside the old one, not in memory as what is set aside otherwise.
    let vacuum =
        format!("PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA page_size = {PAGE_BYTES}; VACUUM;");
    sqlx::raw_sql(sqlx::AssertSqlSafe(vacuum)).execute(&mut *connection).await?;
    Ok(())
}

/// How many bytes the file has.
pub(crate) async fn size(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await?;
    Ok(pages.unsigned_abs().saturating_mul(page_bytes(connection).await?))
}

async fn page_bytes(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let bytes: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut *connection).await?;
    Ok(bytes.unsigned_abs())
}

/// Why a file of this size is not rewritten.
fn objection(bytes: u64, free: u64) -> Option<&'static str> {
    if bytes > BYTES_MAX {
        return Some("it is too large to be rewritten at a start");
    }
    (free < bytes.saturating_mul(ROOM_TIMES)).then_some("there is no room to rewrite it; that is tried again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_a_file_is_rewritten_where_that_is_quick_and_there_is_room() {
        let megabytes = |count: u64| count << 20;
        assert_eq!(objection(megabytes(10), megabytes(30)), None);
        assert!(objection(megabytes(10), megabytes(29)).unwrap().contains("no room"));
        assert_eq!(objection(megabytes(1024), megabytes(9_000)), None);
        assert!(objection(megabytes(1025), megabytes(9_000)).unwrap().contains("too large"));
    }
}
