//! A task that ends and begins anew when what it goes by has changed.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use hob_telemetry::tasks;

/// The place of such a task; there is one at a time.
#[derive(Default)]
pub(super) struct RestartableTask(Option<(CancellationToken, JoinHandle<Option<()>>)>);

impl RestartableTask {
    /// What is at work ends, and once it has, this begins, with its own stop below `stop`.
    pub(super) fn begin<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        tracker: &TaskTracker,
        stop: &CancellationToken,
        task: impl FnOnce(CancellationToken) -> F,
    ) {
        let former = self.0.take();
        let own = stop.child_token();
        let task = task(own.clone());
        let ended = tasks::spawn_among(tracker, name, async move {
            if let Some((stop, ended)) = former {
                stop.cancel();
                if let Err(error) = ended.await {
                    tracing::warn!(%error, "the task before this one did not end well");
                }
            }
            task.await;
        });
        self.0 = Some((own, ended));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn one_ends_before_the_next_begins() {
        let (log, tracker, stop) = (Arc::new(Mutex::new(Vec::new())), TaskTracker::new(), CancellationToken::new());
        let mut slot = RestartableTask::default();
        for name in ["one", "two"] {
            let log = Arc::clone(&log);
            slot.begin("a test", &tracker, &stop, |stop| async move {
                log.lock().unwrap().push(format!("{name} begins"));
                stop.cancelled().await;
                log.lock().unwrap().push(format!("{name} ends"));
            });
            tokio::task::yield_now().await;
        }
        stop.cancel();
        tracker.close();
        tracker.wait().await;
        assert_eq!(*log.lock().unwrap(), ["one begins", "one ends", "two begins", "two ends"]);
    }
}
