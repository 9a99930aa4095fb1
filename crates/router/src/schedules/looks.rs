//! Looks beside the timer: a few at once, each of a schedule that is not due again before its own is over.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use hob_core::domain::ids::ScheduleId;
use hob_core::domain::lock::lock;
use hob_telemetry::tasks;

/// So many are made at once.
const AT_ONCE_MAX: usize = 4;

/// The looks that are being made, or wait for their turn.
pub(super) struct LookQueue {
    open: Mutex<BTreeSet<ScheduleId>>,
    slots: Semaphore,
    tracker: TaskTracker,
    stop: CancellationToken,
    /// Rung when one is over.
    alarm: Arc<Notify>,
}

impl LookQueue {
    /// None yet. `stop` ends those that wait.
    pub(super) fn new(stop: CancellationToken, alarm: Arc<Notify>) -> Self {
        let (slots, tracker) = (Semaphore::new(AT_ONCE_MAX), TaskTracker::new());
        Self { open: Mutex::default(), slots, tracker, stop, alarm }
    }

    /// Whose they are, as JSON.
    pub(super) fn open(&self) -> String {
        let open: Vec<String> = lock(&self.open).iter().map(|id| id.0.to_string()).collect();
        format!("[{}]", open.join(","))
    }

    /// Makes one for a schedule that has none open.
    pub(super) fn begin(self: &Arc<Self>, id: ScheduleId, look: impl Future<Output = ()> + Send + 'static) {
        lock(&self.open).insert(id);
        let open = OpenLook { looks: Arc::clone(self), id };
        let task = tasks::spawn_among(&self.tracker, "a look", async move {
            let slot = open.looks.stop.run_until_cancelled(open.looks.slots.acquire()).await;
            if let Some(Ok(_slot)) = slot {
                look.await;
            }
        });
        // Whoever waits for the tracker waits for it.
        drop(task);
    }

    /// Waits until all are over.
    pub(super) async fn end(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// One that is open, until this is dropped.
struct OpenLook {
    looks: Arc<LookQueue>,
    id: ScheduleId,
}

impl Drop for OpenLook {
    fn drop(&mut self) {
        lock(&self.looks.open).remove(&self.id);
        self.looks.alarm.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn f1_a_few_look_at_once_and_one_that_panics_is_over() {
        let (stop, alarm) = (CancellationToken::new(), Arc::new(Notify::new()));
        let looks = Arc::new(LookQueue::new(stop.clone(), Arc::clone(&alarm)));
        let (at_work, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        for id in 1..=6 {
            let (at_work, go) = (Arc::clone(&at_work), Arc::clone(&go));
            looks.begin(ScheduleId(id), async move {
                at_work.fetch_add(1, Ordering::Relaxed);
                go.acquire().await.unwrap().forget();
                assert_ne!(id, 2, "simulated");
            });
        }
        assert_eq!(looks.open(), "[1,2,3,4,5,6]");
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(at_work.load(Ordering::Relaxed), AT_ONCE_MAX);
        go.add_permits(4);
        while looks.open() != "[5,6]" {
            alarm.notified().await;
        }
        stop.cancel();
        go.add_permits(2);
        looks.end().await;
        assert_eq!((looks.open().as_str(), at_work.load(Ordering::Relaxed)), ("[]", 6));
    }
}
