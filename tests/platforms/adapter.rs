//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::Adapter;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hob_testkit::grounds::{PlatformServer, PlatformState};
use hob_testkit::intake::Memory;

/// How long is waited before a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// An adapter at work.
pub(crate) struct RunningAdapter<A> {
    pub(crate) adapter: Arc<A>,
    pub(crate) intake: Arc<Memory>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<()>,
}

impl<A: Adapter + 'static> RunningAdapter<A> {
    /// Starts this one on what an earlier one left.
    pub(crate) fn of(adapter: A, intake: Arc<Memory>) -> Self {
        let (adapter, stop) = (Arc::new(adapter), CancellationToken::new());
        let task = tokio::spawn(Arc::clone(&adapter).run(intake.clone(), stop.clone()));
        Self { adapter, intake, stop, task }
    }

    /// Stops it and waits for its end; a panic in it fails the test. Gives what is stored.
    pub(crate) async fn end(self) -> Arc<Memory> {
        self.stop.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.expect("the adapter does not stop").expect("the adapter panicked");
        self.intake
    }

    /// Waits until `/status` says this.
    pub(crate) async fn until_health<W: PlatformState>(&self, fake: &PlatformServer<W>, says: &str) {
        let health = || self.adapter.health().to_string();
        let said = async {
            while !health().contains(says) {
                // Health has no bell: whoever notes it yields to others.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let said = tokio::time::timeout(PATIENCE, said).await;
        assert!(said.is_ok(), "health says {:?}, not {says:?}: {:#?}", health(), fake.look(|world| world.clone()));
    }
}
