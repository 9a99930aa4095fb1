//! The store on real files.

mod migrations;
mod readers;
mod runs;
mod snapshots;
mod writer;

use tempfile::TempDir;

use crate::{SchedulingMode, Store};

const FILE: &str = "hob.db";

/// A store in a folder of its own.
async fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join(FILE), SchedulingMode::Threaded).await.unwrap();
    (dir, store)
}
