//! The lanes' workers, as others see them: who has one, what it is woken for, and the place that it waits for.
//!
//! Never: a worker that waits for a place while the run that it is to drive has one.
//! Start at [`Workers::call`].

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::lanes::slots::{RunSlot, RunSlots};
use hob_agent::driver::OpenedRun;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::lock::lock;

/// All workers, and the places for runs.
pub(super) struct Workers {
    pub(super) places: RunSlots,
    all: Mutex<BTreeMap<SessionId, Worker>>,
}

/// A lane's worker.
struct Worker {
    /// Wakes the run that it drives, or itself where it waits for a place.
    signal: Arc<Notify>,
    /// It has to look again before it goes.
    again: bool,
    drives: Option<RunId>,
    /// A run that this process claimed when it was taken in, and its place. Whoever loses it finds it in the database.
    opened: Option<(OpenedRun, RunSlot)>,
}

impl Workers {
    /// None yet, and so many places.
    pub(super) fn new(places: usize) -> Self {
        Self { places: RunSlots::new(places), all: Mutex::new(BTreeMap::new()) }
    }

    /// Wakes a lane, perhaps with the run that is next there; whether it has a new worker for that, if it `may_begin`.
    pub(super) fn wake_worker(
        &self,
        session: SessionId,
        opened: Option<(OpenedRun, RunSlot)>,
        may_begin: bool,
    ) -> bool {
        let mut all = lock(&self.all);
        if let Some(worker) = all.get_mut(&session) {
            worker.again = true;
            let is_driven = |run: RunId| worker.drives == Some(run);
            // Who has found it in the database already needs no second place.
            if let Some(opened) = opened.filter(|(opened, _)| !is_driven(opened.key.run)) {
                worker.opened = Some(opened);
            }
            worker.signal.notify_one();
            return false;
        }
        if may_begin {
            let signal = Arc::new(Notify::new());
            all.insert(session, Worker { signal, again: true, drives: None, opened });
        }
        may_begin
    }

    /// Has the lane a worker?
    pub(super) fn has(&self, session: SessionId) -> bool {
        lock(&self.all).contains_key(&session)
    }

    /// Is there a reason to look for a run? If not, the worker is gone when this returns.
    ///
    /// The signal is made anew before the claim: whatever is committed after the claim wakes the claimed run.
    pub(super) fn look_again(&self, session: SessionId) -> Option<Arc<Notify>> {
        let mut all = lock(&self.all);
        let worker = all.get_mut(&session)?;
        worker.drives = None;
        if !std::mem::take(&mut worker.again) {
            all.remove(&session);
            return None;
        }
        worker.signal = Arc::new(Notify::new());
        Some(Arc::clone(&worker.signal))
    }

    /// Waits for a place for the lane's next run, or for that run with the place that it has: it may be handed over meanwhile, and
    /// then its place is perhaps the very one that is waited for.
    pub(super) async fn wait_for_slot(
        &self,
        session: SessionId,
        signal: &Notify,
    ) -> (Option<OpenedRun>, Option<RunSlot>) {
        let mut taking = pin!(self.places.take());
        loop {
            let handed = lock(&self.all).get_mut(&session).and_then(|worker| worker.opened.take());
            if let Some((opened, place)) = handed {
                return (Some(opened), Some(place));
            }
            tokio::select! {
                biased;
                () = signal.notified() => {}
                place = &mut taking => return (None, place),
            }
        }
    }

    /// The worker drives this run, which it may have found in the database before it was handed over.
    pub(super) fn mark_driven(&self, session: SessionId, run: RunId) {
        if let Some(worker) = lock(&self.all).get_mut(&session) {
            worker.drives = Some(run);
            worker.opened.take_if(|(opened, _)| opened.key.run == run);
        }
    }

    pub(super) fn mark_again(&self, session: SessionId) {
        if let Some(worker) = lock(&self.all).get_mut(&session) {
            worker.again = true;
        }
    }

    pub(super) fn remove_worker(&self, session: SessionId) {
        lock(&self.all).remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use hob_agent::journal::RunKey;
    use hob_agent::machine::testkit::accepted;
    use hob_store::run_context::StoredRunContext;
    use hob_store::sessions::Session;
    use jiff::Timestamp;

    const LANE: SessionId = SessionId(1);

    fn opened() -> OpenedRun {
        let key = RunKey { run: RunId(7), session: LANE };
        let (session, with) = (session(), StoredRunContext::default());
        OpenedRun { key, session, with, accepted: Box::new(accepted()), at: Timestamp::UNIX_EPOCH, begun: None }
    }

    fn session() -> Session {
        Session {
            id: LANE,
            key: "terminal:1".to_owned(),
            channel: "terminal".to_owned(),
            queue_mode: None,
            model: None,
            persona: None,
            server: None,
            context_from: 0,
            last_ordinal: 0,
        }
    }

    #[tokio::test]
    async fn b8_a_lane_does_not_wait_for_the_place_that_its_run_has() {
        let workers = Workers::new(1);
        // A message is being taken in when another wakes its lane.
        let place = workers.places.take_free();
        assert!(workers.wake_worker(LANE, None, true));
        let signal = workers.look_again(LANE).unwrap();
        let mut waits = Box::pin(workers.wait_for_slot(LANE, &signal));
        assert!(waits.as_mut().now_or_never().is_none(), "there is no place left");
        assert!(!workers.wake_worker(LANE, place.map(|place| (opened(), place)), true));
        let (found, place) = waits.now_or_never().unwrap();
        assert_eq!((found.map(|found| found.key.run), place.is_some()), (Some(RunId(7)), true));
        assert_eq!(workers.places.taken(), 1);
    }

    #[tokio::test]
    async fn b8_whoever_drives_a_run_keeps_no_second_place_for_it() {
        let workers = Workers::new(2);
        assert!(!workers.wake_worker(LANE, None, false), "none begins any more");
        assert!(workers.wake_worker(LANE, None, true));
        let signal = workers.look_again(LANE).unwrap();
        let (found, _place) = workers.wait_for_slot(LANE, &signal).await;
        assert!(found.is_none());
        let hand_over = || {
            let place = workers.places.take_free();
            assert!(!workers.wake_worker(LANE, place.map(|place| (opened(), place)), true));
        };
        // Found in the database, it is handed over before the worker says which it is, and once more.
        hand_over();
        workers.mark_driven(LANE, RunId(7));
        assert_eq!(workers.places.taken(), 1);
        hand_over();
        assert_eq!(workers.places.taken(), 1);
    }
}
