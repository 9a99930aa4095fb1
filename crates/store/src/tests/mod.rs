//! The store on real files, and on a real server.
//!
//! What is not said of both engines: `migrations`, `readers` and `snapshots`, as they are about SQLite's file, and of the writer how it
//! waits for that file's lock. (Beside this folder: `backup`, `inspect` and `upkeep`, which are about the file as well.)

mod migrations;
#[cfg(feature = "postgres")]
mod postgres;
mod readers;
mod runs;
mod sessions;
mod snapshots;
mod writer;

use sqlx::{AssertSqlSafe, Executor, Row};
use tempfile::TempDir;

use crate::error::StoreError;
use crate::tx::Engine;
use crate::{SchedulingMode, Store, Tx};

const FILE: &str = "hob.db";

/// A store in a folder of its own.
async fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join(FILE), SchedulingMode::Threaded).await.unwrap();
    (dir, store)
}

/// Each of these tests is one for each engine.
macro_rules! on_both_engines {
    ($(#[tokio::test] async fn $test:ident($store:ident: Store) $body:block)*) => {
        $(async fn $test($store: Store) $body)*

        mod on_sqlite {
            $(
                #[tokio::test]
                async fn $test() {
                    let (_dir, store) = super::super::store().await;
                    super::$test(store).await;
                }
            )*
        }

        #[cfg(feature = "postgres")]
        mod on_postgres {
            $(
                #[tokio::test]
                async fn $test() {
                    let (_cluster, store) = super::super::postgres::store().await;
                    super::$test(store).await;
                }
            )*
        }
    };
}
use on_both_engines;

/// Runs a text of a test's own, which both engines take; gives what it returns, as texts.
async fn sql(tx: &mut Tx, sql: &str) -> Result<Vec<String>, StoreError> {
    let query = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    Ok(match tx.engine() {
        Engine::Sqlite(connection) => {
            connection.fetch_all(query).await?.iter().map(|row| row.get_unchecked(0)).collect()
        }
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            connection.fetch_all(query).await?.iter().map(|row| row.get_unchecked(0)).collect()
        }
    })
}
