//! The write-ahead log: folded into the file beside the commits, cut when it is quiet; whoever keeps it from that is told of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::daemon::background::sleep_unless_stopped;
use crate::daemon::upkeep::STEP_MAX;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};
use hob_core::policy::upkeep::WalMonitor;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::upkeep::log;
use hob_store::writer::StepMode;

/// How often the log is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A log of fewer bytes is left alone.
const FOLD_BYTES: u64 = 1 << 20;
/// A file of fewer bytes is not cut: it is written over from its beginning.
const CUT_BYTES: u64 = 8 << 20;

/// Looks after the log.
pub(super) struct WalKeeper {
    pub(super) store: Store,
    pub(super) file: PathBuf,
    pub(super) conditions: Conditions,
    pub(super) clock: Arc<dyn Clock>,
}

impl WalKeeper {
    /// Until the stop.
    pub(super) async fn run(self, stop: CancellationToken) {
        let (mut watch, mut groups) = (WalMonitor::default(), self.store.write_groups());
        while !sleep_unless_stopped(LOOK_EVERY, &stop).await {
            let quiet = std::mem::replace(&mut groups, self.store.write_groups()) == groups;
            match self.look(watch, quiet).await {
                Ok(next) => watch = next,
                Err(error) => tracing::debug!(%error, "the write-ahead log cannot be folded; that is tried again"),
            }
        }
    }

    async fn look(&self, watch: WalMonitor, quiet: bool) -> Result<WalMonitor, StoreError> {
        let bytes = tokio::fs::metadata(&self.file).await.map_or(0, |file| file.len());
        if bytes < FOLD_BYTES {
            return Ok(self.told(watch, watch.after(0, 0), 0));
        }
        let folded = self.store.checkpoint_wal().await?;
        tracing::debug!(bytes, pages = folded.pages, folded = folded.folded, "upkeep.log");
        if quiet && folded.is_whole() && bytes >= CUT_BYTES {
            self.store.step(log::truncate, StepMode::Bare, STEP_MAX).await?;
        }
        Ok(self.told(watch, watch.after(folded.pages, folded.folded), bytes))
    }

    /// Tells what changed; what others tell of the database is theirs to mend.
    fn told(&self, before: WalMonitor, watch: WalMonitor, bytes: u64) -> WalMonitor {
        if watch.is_stuck() {
            let what =
                "some program has been reading the database for minutes: its log can only grow meanwhile".to_owned();
            let fix = format!("end whatever else has {} open (`fuser` names it)", self.file.display());
            if self.conditions.report(SystemPart::Database, Trouble { since: self.clock.now(), what, fix }) {
                tracing::warn!(
                    bytes,
                    "upkeep.log_stuck: somebody who reads keeps the write-ahead log from being folded"
                );
            }
        } else if before.is_stuck() && self.conditions.clear(&SystemPart::Database).is_some() {
            tracing::info!("upkeep.log_free");
        }
        watch
    }
}
