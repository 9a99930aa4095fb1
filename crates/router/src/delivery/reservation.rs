//! A session's outbox that is kept for who is about to add to it.

use crate::delivery::Delivery;
use hob_agent::ports::OutboxReservation;
use hob_core::domain::ids::SessionId;
use hob_core::domain::lock::lock;
use hob_store::outbox::PendingChunk;

/// A worker's place that is kept. Whoever was woken meanwhile goes on from there when it is dropped.
pub(super) struct WorkerReservation {
    delivery: Delivery,
    session: SessionId,
    first: Option<Box<PendingChunk>>,
}

impl WorkerReservation {
    pub(super) fn new(delivery: Delivery, session: SessionId) -> Self {
        Self { delivery, session, first: None }
    }
}

impl OutboxReservation for WorkerReservation {
    fn begin_with(&mut self, first: PendingChunk) {
        self.first = Some(Box::new(first));
    }
}

impl Drop for WorkerReservation {
    fn drop(&mut self) {
        let first = self.first.take();
        let mut workers = lock(&self.delivery.inner.workers);
        if first.is_none() && workers.get(&self.session).is_some_and(|worker| !worker.again) {
            workers.remove(&self.session);
            return;
        }
        drop(workers);
        self.delivery.begin(self.session, first);
    }
}
