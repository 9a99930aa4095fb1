//! The stages in which a daemon stops, and the tasks that end with each of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::daemon::terminal_windows::{TerminalWindows, WindowService};
use hob_config::Config;
use hob_core::domain::inbound::ChannelKind;
use hob_router::intake::Router;
use hob_router::lanes::LaneSettings;
use hob_store::Store;
use hob_telemetry::tasks;

/// How long the outbox is given to empty itself when the daemon stops.
pub(super) const FLUSH: Duration = Duration::from_secs(4);

/// The stages of stopping, and the tasks that each of them ends.
#[derive(Clone)]
pub(super) struct ShutdownStages {
    /// Channels stop receiving.
    pub(super) intake: CancellationToken,
    /// Lanes take up no run.
    pub(super) drain: CancellationToken,
    /// Runs are cut off.
    pub(super) cut: CancellationToken,
    /// Nothing is delivered any more.
    pub(super) silence: CancellationToken,
    pub(super) channels: TaskTracker,
    pub(super) lanes: TaskTracker,
    pub(super) outbox: TaskTracker,
}

impl ShutdownStages {
    pub(super) fn new() -> Self {
        Self {
            intake: CancellationToken::new(),
            drain: CancellationToken::new(),
            cut: CancellationToken::new(),
            silence: CancellationToken::new(),
            channels: TaskTracker::new(),
            lanes: TaskTracker::new(),
            outbox: TaskTracker::new(),
        }
    }

    /// Begins what goes on as long as channels are served; one that panics is told.
    pub(super) fn keep(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        tasks::spawn_among(&self.channels, name, task);
    }

    /// Ends what a start had begun that came to nothing: nothing of it may be there when another is tried.
    pub(super) async fn end(&self, store: &Store) {
        for stage in [&self.intake, &self.drain, &self.cut, &self.silence] {
            stage.cancel();
        }
        let last = Instant::now() + FLUSH;
        for (what, tasks) in [("lanes", &self.lanes), ("outbox", &self.outbox), ("channels", &self.channels)] {
            ended(what, tasks, last).await;
        }
        if tokio::time::timeout(FLUSH, store.close()).await.is_err() {
            tracing::warn!("hob.stop_overdue: the database is left open");
        }
    }

    /// Where windows are opened until Hob stops.
    pub(super) fn window_service(&self, windows: &Arc<TerminalWindows>, router: &Arc<Router>) -> WindowService {
        let (windows, router) = (Arc::clone(windows), Arc::clone(router));
        WindowService { windows, router, intake: self.intake.clone(), stop: self.silence.clone() }
    }

    /// How the lanes are stopped, and how many runs they have at once.
    pub(super) fn lanes(&self, config: &Config, serves: BTreeSet<ChannelKind>, idle: &Arc<Notify>) -> LaneSettings {
        LaneSettings {
            serves,
            parallel_max: config.daemon.runs_parallel_max,
            drain: self.drain.clone(),
            cut: self.cut.clone(),
            tracker: self.lanes.clone(),
            idle: Arc::clone(idle),
        }
    }
}

/// Waits for the tasks' end, but not beyond the stop's.
pub(super) async fn ended(what: &str, tasks: &TaskTracker, last: Instant) {
    tasks.close();
    if tokio::time::timeout_at(last, tasks.wait()).await.is_err() {
        tracing::warn!(what, tasks = tasks.len(), "hob.stop_overdue: tasks that do not end are left");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tasks_that_do_not_end_are_left() {
        let (tasks, began) = (TaskTracker::new(), Instant::now());
        drop(tasks::spawn_among(&tasks, "one that stays", std::future::pending::<()>()));
        ended("lanes", &tasks, began + FLUSH).await;
        assert_eq!(began.elapsed(), FLUSH);
        ended("outbox", &TaskTracker::new(), began).await;
        assert_eq!(began.elapsed(), FLUSH);
    }
}
