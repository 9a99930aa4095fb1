//! What a process does with a run first: it begins, does not add up, is not wanted any more, or goes on.

use std::sync::Arc;

use crate::driver::advance::AdvanceCause;
use crate::driver::begin::{PreparedRun, RunPreparation, system_of};
use crate::driver::claim::{self, ClaimedRun, RunBeginning};
use crate::driver::{Driver, NextStep};
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::Event;
use crate::machine::state::{Phase, State};
use crate::prompt::system_digest;
use hob_store::error::StoreError;
use hob_store::occurrences;
use hob_store::sessions::Session;

impl Driver {
    /// What this process does with the run first.
    pub(super) async fn first(&mut self, mut claimed: ClaimedRun) -> Result<NextStep, StoreError> {
        let begins = claimed.begins.as_mut();
        if let Some((at, begun)) = begins.and_then(|begins| Some((begins.taken_in_at, begins.begun.take()?))) {
            self.stages.begun(Some(at), self.ports.clock.now());
            tracing::info!(run = %self.key.run, "agent_run.started");
            self.material = Some(begun.material);
            return Ok(NextStep::Done(self.reached(begun.advanced)));
        }
        self.first_cause(claimed).await.map(NextStep::Cause)
    }

    /// What this process tells the run first: that it begins, that it does not add up, or that it goes on.
    async fn first_cause(&mut self, claimed: ClaimedRun) -> Result<AdvanceCause, StoreError> {
        if let Some(mismatch) = claimed.folded.replay.mismatch() {
            tracing::error!(run = %self.key.run, %mismatch, "the run's journal does not add up");
            return Ok(AdvanceCause::Event(Event::Mismatched(mismatch)));
        }
        if let (State::Queued(accepted), Some(begins)) = (&*Arc::clone(&self.state), &claimed.begins) {
            if !begins.is_new && !self.is_let_in(accepted).await? {
                tracing::info!(run = %self.key.run, "its sender is not let in any more: withdrawn");
                return Ok(AdvanceCause::Event(Event::Withdrawn));
            }
            let run = self.key.run;
            if accepted.order == RunKind::Scheduled
                && self.read(async move |tx| occurrences::is_called_off(tx, run).await).await?
            {
                tracing::info!(run = %self.key.run, "its schedule was deleted meanwhile: withdrawn");
                return Ok(AdvanceCause::Event(Event::Withdrawn));
            }
            let PreparedRun { begun, blobs, material } = self.prepare(accepted, &claimed.session, begins).await?;
            (self.blobs, self.material) = (blobs, Some(material));
            self.stages.begun(Some(begins.taken_in_at), self.ports.clock.now());
            tracing::info!(run = %self.key.run, "agent_run.started");
            return Ok(AdvanceCause::Event(Event::Begun(Box::new(begun))));
        }
        let waits = matches!(self.state.active().map(|active| &active.phase), Some(Phase::Waiting { .. }));
        if waits {
            // A person's word has come. It is also their word to go on with the prompt that the run began with.
            return Ok(AdvanceCause::Signals);
        }
        tracing::info!(run = %self.key.run, "agent_run.resumed");
        Ok(AdvanceCause::Event(Event::Resumed { system: system_digest(&self.system()) }))
    }

    /// Whether the sender of a message that waited is still let in.
    async fn is_let_in(&mut self, accepted: &AcceptedInput) -> Result<bool, StoreError> {
        let place = accepted.destination.conversation.clone();
        let user = accepted.principal.user;
        let access = Arc::clone(&self.ports.access);
        self.read(async |tx| claim::is_let_in(tx, user, &place, &access).await).await
    }

    /// The system prompt that the run would begin with now, as the one it began as.
    fn system(&self) -> String {
        let active = self.state.active();
        let persona = active.and_then(|active| active.persona.as_ref());
        let agent = active.and_then(|active| active.input.agent.as_deref());
        system_of(&self.ports, persona.map(|persona| persona.name.as_str()), agent)
    }

    /// What the run begins with.
    async fn prepare(
        &mut self,
        accepted: &AcceptedInput,
        session: &Session,
        begins: &RunBeginning,
    ) -> Result<PreparedRun, StoreError> {
        let ports = Arc::clone(&self.ports);
        let beginner = RunPreparation { ports: &ports, session, with: &begins.with, accepted };
        self.retry_read(|| beginner.prepare()).await
    }
}
