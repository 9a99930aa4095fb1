//! What goes wrong around a process.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::block_on;
use hob_store::error::StoreError;
use hob_store::{Statement, Store, Tx};
use sqlx::Executor;
use tokio::time::sleep;

use crate::plan::Trouble;
use crate::world::World;

/// Sets one of SQLite's knobs on the writer's own connection.
struct Set(String);

#[async_trait]
impl Statement for Set {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        sqlx::query(sqlx::AssertSqlSafe(self.0.clone())).execute(&mut *tx).await?;
        Ok(())
    }
}

/// Begins what goes wrong, or ends it.
pub(crate) async fn begin(world: &World, store: &Store, path: &Path, trouble: Trouble) {
    world.note(format!("{trouble:?}"));
    match trouble {
        // Below the pages in use: SQLite takes the smallest number that it can.
        Trouble::DiskFull => store.write(Set("PRAGMA max_page_count = 1".to_owned())).await.expect("it is set"),
        Trouble::DiskFree => store.write(Set("PRAGMA max_page_count = 1000000".to_owned())).await.expect("it is set"),
        Trouble::Locked(ms) => {
            store.write(Set("PRAGMA busy_timeout = 1".to_owned())).await.expect("it is set");
            let mut other = block_on(Store::raw(path)).expect("a second connection");
            block_on(other.execute("BEGIN IMMEDIATE")).expect("the lock");
            sleep(Duration::from_millis(ms)).await;
            block_on(other.execute("ROLLBACK")).expect("no lock any more");
        }
        Trouble::ClockOff(ms) => world.state().skew_ms = ms,
        Trouble::PlatformDown => world.state().unreachable = true,
        Trouble::PlatformUp => world.state().unreachable = false,
        Trouble::LabelPanics => world.state().label_panics = true,
    }
}
