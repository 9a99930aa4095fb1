//! What delivery asks of the database besides its turns.

use async_trait::async_trait;

use hob_agent::journal;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::outgoing::Destination;
use hob_store::error::StoreError;
use hob_store::{Statement, Tx, outbox, runs};

/// What was being sent when Hob ended has an unknown outcome.
pub(super) struct Sweep;

#[async_trait]
impl Statement for Sweep {
    type Output = u64;

    async fn run(&self, tx: &mut Tx) -> Result<u64, StoreError> {
        outbox::sweep(tx).await
    }
}

/// Which of these runs are over.
pub(super) struct Over {
    pub(super) runs: Vec<RunId>,
}

#[async_trait]
impl Statement for Over {
    type Output = Vec<RunId>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RunId>, StoreError> {
        let mut over = Vec::new();
        for run in &self.runs {
            let row = runs::look::lookup(tx, *run).await?;
            let open = row.is_some_and(|row| matches!(row.state.as_str(), "queued" | "running" | "waiting"));
            over.extend((!open).then_some(*run));
        }
        Ok(over)
    }
}

/// The messages that wait for their turn, at most so many.
pub(super) struct Queued {
    pub(super) most: i64,
}

#[async_trait]
impl Statement for Queued {
    type Output = Vec<(RunId, Destination)>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<(RunId, Destination)>, StoreError> {
        let mut queued = Vec::new();
        for run in runs::list_waiting(tx, self.most).await? {
            let accepted = journal::first(tx, run).await?;
            queued.extend(accepted.map(|accepted| (run, accepted.destination)));
        }
        Ok(queued)
    }
}

/// The sessions with something to be said, and their platforms.
pub(super) struct ListOpen;

#[async_trait]
impl Statement for ListOpen {
    type Output = Vec<(SessionId, String)>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<(SessionId, String)>, StoreError> {
        outbox::look::list_open_sessions(tx).await
    }
}
