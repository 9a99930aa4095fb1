//! What delivery asks of the database besides its turns.

use hob_agent::journal;
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Destination;
use hob_store::error::StoreError;
use hob_store::{Tx, runs};

/// Which of these runs are over.
pub(super) async fn finished_runs(tx: &mut Tx, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
    let mut over = Vec::new();
    for run in runs {
        let row = runs::queries::lookup(tx, *run).await?;
        let open = row.is_some_and(|row| matches!(row.state.as_str(), "queued" | "running" | "waiting"));
        over.extend((!open).then_some(*run));
    }
    Ok(over)
}

/// The messages that wait for their turn, at most so many.
pub(super) async fn queued_messages(tx: &mut Tx, most: i64) -> Result<Vec<(RunId, Destination)>, StoreError> {
    let mut queued = Vec::new();
    for run in runs::list_waiting(tx, most).await? {
        let accepted = journal::load_accepted(tx, run).await?;
        queued.extend(accepted.map(|accepted| (run, accepted.destination)));
    }
    Ok(queued)
}
