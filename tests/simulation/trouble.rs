//! What goes wrong around a process.

use std::path::Path;
use std::time::Duration;

use futures::executor::block_on;
use hob_store::{Store, Tx};
use sqlx::Executor;
use tokio::time::sleep;

use crate::plan::ScheduledFault;
use crate::world::World;

/// Sets one of SQLite's knobs on the writer's own connection.
async fn set(store: &Store, pragma: &'static str) {
    let set = async move |tx: &mut Tx| Ok(sqlx::query(pragma).execute(tx).await?);
    store.write(set).await.expect("it is set");
}

/// Begins what goes wrong, or ends it.
pub(crate) async fn begin(world: &World, store: &Store, path: &Path, trouble: ScheduledFault) {
    world.note(format!("{trouble:?}"));
    match trouble {
        // Below the pages in use: SQLite takes the smallest number that it can.
        ScheduledFault::DiskFull => set(store, "PRAGMA max_page_count = 1").await,
        ScheduledFault::DiskFree => set(store, "PRAGMA max_page_count = 1000000").await,
        ScheduledFault::Locked(ms) => {
            set(store, "PRAGMA busy_timeout = 1").await;
            let mut other = block_on(Store::raw(path)).expect("a second connection");
            block_on(other.execute("BEGIN IMMEDIATE")).expect("the lock");
            sleep(Duration::from_millis(ms)).await;
            block_on(other.execute("ROLLBACK")).expect("no lock any more");
        }
        ScheduledFault::ClockOff(ms) => world.state().skew_ms = ms,
        ScheduledFault::PlatformDown => world.state().unreachable = true,
        ScheduledFault::PlatformUp => world.state().unreachable = false,
        ScheduledFault::LabelPanics => world.state().label_panics = true,
    }
}
