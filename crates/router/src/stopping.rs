//! `/stop` and `/stop now` (row B7): what is at work here ends.

use crate::command_handlers::{Caller, CommandContext};
use crate::texts;
use hob_agent::driver::encode_signal;
use hob_agent::journal::{self, RunKey};
use hob_agent::machine::stop::CancelReason;
use hob_agent::projection::agents::stop_one;
use hob_agent::signal::Signal;
use hob_agent::write_off::write_off;
use hob_core::domain::ids::{RunId, UserId};
use hob_store::error::StoreError;
use hob_store::{Tx, agents, open_runs, parked, runs, signals, users};

/// What `/stop` and `/stop now` mean to a run.
pub(crate) fn reason(by: UserId, at_once: bool) -> CancelReason {
    if at_once { CancelReason::StoppedNow { by } } else { CancelReason::Stopped { by } }
}

/// The tools of a run that are at work now and have an effect.
pub(crate) async fn effects_under_way(tx: &mut Tx, run: RunId) -> Result<Vec<String>, StoreError> {
    match journal::load(tx, run).await {
        Ok(folded) => {
            let names = folded.replay.state.active().map(|run| run.effects_under_way()).unwrap_or_default();
            Ok(names.into_iter().map(str::to_owned).collect())
        }
        // What cannot be read is stopped all the same.
        Err(StoreError::Inconsistent { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Somebody wants it to end.
pub(crate) struct StopCommand<'a> {
    /// What is known of the house.
    pub(crate) context: &'a CommandContext,
    pub(crate) caller: &'a Caller<'a>,
    /// Effects that are under way are cut off.
    pub(crate) at_once: bool,
}

impl StopCommand<'_> {
    /// Ends what is at work in the conversation, and says so.
    pub(crate) async fn stop(&self, tx: &mut Tx) -> Result<String, StoreError> {
        let active = runs::find_active(tx, self.caller.session.id).await?;
        if active.as_ref().is_some_and(|run| !self.caller.principal.may_act_for(run.user, run.role)) {
            return Ok(texts::NOT_YOURS.to_owned());
        }
        let agents = self.agents(tx).await?;
        let mut at_work = effects_of(tx, active.iter().map(|run| run.id)).await?;
        at_work.extend(effects_of(tx, agents.iter().map(|agent| agent.id)).await?);
        if let Some(run) = active {
            self.cancel(tx, run.id).await?;
            return Ok(texts::stopping(&at_work, self.at_once));
        }
        let events = self.event_runs(tx).await?;
        for run in &events {
            at_work.extend(effects_under_way(tx, *run).await?);
            self.cancel(tx, *run).await?;
        }
        for agent in &agents {
            stop_one(tx, agent, self.reason(), self.context.now).await?;
        }
        let parked = self.give_up_parked(tx).await?;
        Ok(match (events.is_empty() && agents.is_empty(), parked) {
            (false, _) => texts::stopping(&at_work, self.at_once),
            (true, true) => texts::PARKED_GIVEN_UP.to_owned(),
            (true, false) => texts::NOTHING_RUNS.to_owned(),
        })
    }

    fn reason(&self) -> CancelReason {
        reason(self.caller.principal.user, self.at_once)
    }

    async fn cancel(&self, tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
        let cancel = encode_signal(&Signal::Cancel { reason: self.reason() })?;
        signals::add(tx, run, &cancel, self.context.now).await
    }

    /// What events have begun, which speaks here.
    async fn event_runs(&self, tx: &mut Tx) -> Result<Vec<RunId>, StoreError> {
        let beside = open_runs::beside(tx, self.caller.session.id).await?;
        let own = beside.into_iter().filter(|(run, _)| self.caller.principal.may_act_for(run.user, run.role));
        Ok(own.map(|(run, _)| run.id).collect())
    }

    /// The agents at work for this conversation. They end with the run that they work for; where that is over, by themselves.
    async fn agents(&self, tx: &mut Tx) -> Result<Vec<agents::OpenAgent>, StoreError> {
        let mut own = Vec::new();
        for agent in agents::open_at_home(tx, self.caller.session.id).await? {
            let whose = users::find_by_id(tx, agent.user).await?;
            if whose.is_some_and(|(_, role)| self.caller.principal.may_act_for(agent.user, role)) {
                own.push(agent);
            }
        }
        Ok(own)
    }

    /// What was put aside here, because this Hob cannot read it, is given up at the word of whoever may say so.
    async fn give_up_parked(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        let mut any = false;
        for run in parked::list(tx, Some(self.caller.session.id)).await? {
            if self.caller.principal.may_act_for(run.user, run.role) {
                write_off(tx, &RunKey { run: run.run, session: run.session }, self.context.now).await?;
                any = true;
            }
        }
        Ok(any)
    }
}

async fn effects_of(tx: &mut Tx, of: impl Iterator<Item = RunId>) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for run in of {
        names.extend(effects_under_way(tx, run).await?);
    }
    Ok(names)
}
