//! Keeps the config that runs, as it was loaded, once a model has answered with it (row A8).
//!
//! Never: the file as it is on the disk now, or an error of a turn.
//! Start at `keep_up`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::Blueprint;
use crate::daemon::reload::running::{CurrentConfig, RunningConfig};
use crate::daemon::shutdown::ShutdownStages;
use hob_config::environment::Environment;
use hob_config::good_configs::GoodConfigHistory;
use hob_config::good_configs::entry::GoodConfig;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};
use hob_model::guarded_provider::LastAnswerReceiver;

/// After a failure it is tried again after so long.
const AGAIN_AFTER: Duration = Duration::from_secs(300);

/// Keeps configs that are good.
struct LastGoodKeeper {
    history: GoodConfigHistory,
    environment: Environment,
    clock: Arc<dyn Clock>,
    conditions: Conditions,
}

/// Keeps what runs as soon as a model has answered with it, as long as Hob runs; without a file there is nothing to keep.
pub(super) fn keep_up(
    shutdown: &ShutdownStages,
    blueprint: &Blueprint,
    running: CurrentConfig,
    answers_seen: LastAnswerReceiver,
) {
    let Some(file) = &blueprint.config_file else { return };
    let keeper = LastGoodKeeper {
        history: GoodConfigHistory::of(file, Some(&blueprint.data_dir)),
        environment: blueprint.environment.clone(),
        clock: Arc::clone(&blueprint.clock),
        conditions: blueprint.conditions.clone(),
    };
    // What is answered while Hob stops counts as well.
    let stop = shutdown.cut.clone();
    shutdown.keep("the last good config", keeper.run(running, answers_seen, stop));
}

impl LastGoodKeeper {
    async fn run(self, mut running: CurrentConfig, mut answers_seen: LastAnswerReceiver, stop: CancellationToken) {
        // Nothing that was asked before is an answer to this config.
        let (mut since, mut is_kept, mut wait) = (Instant::now(), false, None);
        loop {
            let is_good = answers_seen.borrow_and_update().is_some_and(|asked| asked >= since);
            if is_good && !is_kept && wait.is_none() {
                let current = Arc::clone(&running.borrow_and_update());
                is_kept = self.keep(&current).await;
                wait = (!is_kept).then(|| Instant::now() + AGAIN_AFTER);
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                changed = running.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    (since, is_kept, wait) = (Instant::now(), false, None);
                }
                changed = answers_seen.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
                () = until(wait) => wait = None,
            }
        }
        let is_good = answers_seen.borrow().is_some_and(|asked| asked >= since);
        if is_good && !is_kept {
            let current = Arc::clone(&running.borrow());
            self.keep(&current).await;
        }
    }

    /// Whether it is kept now.
    async fn keep(&self, running: &RunningConfig) -> bool {
        let good = GoodConfig::new(self.history.file(), &running.source, &running.config, self.clock.now());
        let (history, environment) = (self.history.clone(), self.environment.clone());
        let keep = move || history.keep(&good, &mut |_| {}).map(|path| (path, history.note(&environment)));
        let done = tokio::task::spawn_blocking(keep).await;
        match done.map_err(io::Error::other).and_then(|done| done) {
            Ok((path, noted)) => {
                self.kept(path);
                if let Err(error) = noted {
                    tracing::warn!(%error, "config.place_not_noted: were the config file gone, nobody would know where it is kept");
                }
                true
            }
            Err(error) => {
                let what = format!("{} cannot be kept as the last good config: {error}", self.history.file().display());
                let fix = "make room, or let Hob write to the data directory; it is tried again by itself".to_owned();
                tracing::warn!(%error, "config.not_kept: {what}; {fix}");
                self.conditions.report(SystemPart::LastGood, Trouble { since: self.clock.now(), what, fix });
                false
            }
        }
    }

    fn kept(&self, path: Option<PathBuf>) {
        self.conditions.clear(&SystemPart::LastGood);
        if let Some(path) = path {
            tracing::info!(path = %path.display(), "config.kept: a model answered with this config");
        }
    }
}

/// Until then; without a time, for ever.
async fn until(wait: Option<Instant>) {
    match wait {
        Some(wait) => tokio::time::sleep_until(wait).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
mod tests {
    use tempfile::TempDir;

    use tokio::sync::watch;

    use super::*;
    use hob_config::good_configs::KeptConfigs;
    use hob_core::domain::clock::SystemClock;
    use hob_core::domain::secret::Secret;

    struct Harness {
        dir: TempDir,
        running: watch::Sender<Arc<RunningConfig>>,
        answers_seen: watch::Sender<Option<Instant>>,
        conditions: Conditions,
        stop: CancellationToken,
    }

    fn running(text: &str) -> Arc<RunningConfig> {
        let source = Secret::new(text.to_owned());
        Arc::new(RunningConfig { config: Arc::default(), source, at: SystemClock.now() })
    }

    impl Harness {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let (running, _) = watch::channel(running("# one\n"));
            Self {
                dir,
                running,
                answers_seen: watch::Sender::default(),
                conditions: Conditions::default(),
                stop: CancellationToken::new(),
            }
        }

        fn history(&self) -> GoodConfigHistory {
            GoodConfigHistory::of(&self.dir.path().join("config.toml"), None)
        }

        fn begin(&self) -> tokio::task::JoinHandle<()> {
            let clock: Arc<dyn Clock> = Arc::new(SystemClock);
            let (environment, conditions) = (Environment::default(), self.conditions.clone());
            let keeper = LastGoodKeeper { history: self.history(), environment, clock, conditions };
            tokio::spawn(keeper.run(self.running.subscribe(), self.answers_seen.subscribe(), self.stop.clone()))
        }

        fn shelf(&self) -> Vec<String> {
            let KeptConfigs { good, .. } = self.history().shelf();
            good.iter().map(|kept| kept.good.text.expose().to_owned()).collect()
        }
    }

    #[tokio::test]
    async fn a8_a_config_is_kept_when_a_model_has_answered_with_it_and_not_before() {
        let harness = Harness::new();
        let before = Instant::now();
        let task = harness.begin();
        tokio::task::yield_now().await;
        // What was asked under the config before says nothing about this one.
        harness.answers_seen.send_replace(Some(before.checked_sub(Duration::from_secs(1)).unwrap()));
        harness.running.send_replace(running("# two\n"));
        tokio::task::yield_now().await;
        assert_eq!(harness.shelf(), Vec::<String>::new());
        harness.answers_seen.send_replace(Some(Instant::now()));
        harness.stop.cancel();
        task.await.unwrap();
        assert_eq!(harness.shelf(), ["# two\n"]);
    }

    #[tokio::test(start_paused = true)]
    async fn n9_what_cannot_be_kept_is_told_and_tried_again() {
        let harness = Harness::new();
        // A folder stands in the file's place.
        let place = harness.dir.path().join("config.toml.lastgood");
        std::fs::create_dir_all(place.join("inner")).unwrap();
        let task = harness.begin();
        let mut told = harness.conditions.subscribe();
        tokio::task::yield_now().await;
        harness.answers_seen.send_replace(Some(Instant::now()));
        told.wait_for(|all| all.contains_key(&SystemPart::LastGood)).await.unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        told.wait_for(|all| all.is_empty()).await.unwrap();
        assert_eq!(harness.shelf(), ["# one\n"]);
        harness.stop.cancel();
        task.await.unwrap();
    }
}
