//! Ending what waits or is at work.

use jiff::Timestamp;

use crate::intake::Router;
use crate::stopping;
use hob_agent::journal::RunKey;
use hob_agent::projection::agents::stop_one;
use hob_agent::write_off::write_off;
use hob_core::domain::ids::{RunId, SessionId, UserId};
use hob_store::agents::OpenAgent;
use hob_store::error::StoreError;
use hob_store::{Tx, agents, operations};

/// What came of the wish to end a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndRunOutcome {
    /// It is taken back, or told to stop, in this conversation.
    Done(SessionId),
    Over,
    /// It has not begun, and this run waits for what it is to find out: that one can be ended.
    WaitedFor(RunId),
}

/// Ends a run.
pub(crate) async fn end(
    tx: &mut Tx,
    run: RunId,
    by: UserId,
    at_once: bool,
    now: Timestamp,
) -> Result<(EndRunOutcome, Option<OpenAgent>), StoreError> {
    let Some(found) = operations::stoppable(tx, run).await? else { return Ok((EndRunOutcome::Over, None)) };
    let operations::StoppableRun { session, channel, user, state } = found;
    if state == "parked" {
        write_off(tx, &RunKey { run, session }, now).await?;
        return Ok((EndRunOutcome::Done(session), None));
    }
    let open = OpenAgent { id: run, session, user, state, channel };
    // What is taken back before it has begun tells nobody; what has begun tells whoever waits for it.
    if let Some(parent) = agents::parent(tx, run).await?.filter(|parent| parent.open && open.is_queued()) {
        return Ok((EndRunOutcome::WaitedFor(parent.run), None));
    }
    stop_one(tx, &open, stopping::reason(by, at_once), now).await?;
    Ok((EndRunOutcome::Done(session), Some(open)))
}

impl Router {
    /// Ends a run: one that waits for its lane is taken back, another stops where it safely can.
    pub async fn end_run(&self, run: RunId, by: UserId) -> Result<EndRunOutcome, StoreError> {
        let now = self.clock.now();
        let (ended, open) = self.store.write(async move |tx| end(tx, run, by, false, now).await).await?;
        if let Some(open) = &open {
            tracing::info!(%run, %by, "agent_run.ended_by_owner");
            self.lanes.wake_served(open.session, &open.channel);
            self.delivery.wake(open.session);
        }
        Ok(ended)
    }
}
