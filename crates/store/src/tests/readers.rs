//! What only looks at a database opens one that was left in the middle of something.

use std::path::Path;

use sqlx::{ConnectOptions, Executor, SqliteConnection};

use super::{FILE, store};
use crate::bystander_reader::Reader;
use crate::error::StoreError;
use crate::{SchedulingMode, Store};

/// Leaves a copy of the database in `to` as it is while a large write is under way that keeps a rollback journal.
async fn cut_off(from: &Path, to: &Path) {
    let mut connection: SqliteConnection =
        sqlx::sqlite::SqliteConnectOptions::new().filename(from).create_if_missing(true).connect().await.unwrap();
    // With so small a cache the file itself is written to before the commit.
    let work = "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (x);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO half SELECT randomblob(2000) FROM n";
    connection.execute(sqlx::raw_sql(work)).await.unwrap();
    for suffix in ["", "-journal"] {
        std::fs::copy(format!("{}{suffix}", from.display()), format!("{}{suffix}", to.display())).unwrap();
    }
}

#[tokio::test]
async fn a_first_write_that_was_cut_off_leaves_no_database_yet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("left.db");
    cut_off(&dir.path().join(FILE), &path).await;
    let opened = Reader::open(&path).await.map(drop);
    assert!(matches!(opened, Err(StoreError::Missing(_))), "{opened:?}");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    Reader::open(&path).await.unwrap();
}

#[tokio::test]
async fn what_a_cut_off_write_left_is_taken_back_for_who_only_looks() {
    let (dir, store) = store().await;
    store.close().await;
    let path = dir.path().join("left.db");
    cut_off(&dir.path().join(FILE), &path).await;
    Reader::open(&path).await.unwrap();
}
