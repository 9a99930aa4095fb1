//! A run that begins in the transaction that takes its message in: what it begins with is made before, as if it had been taken in.
//!
//! Never: a run that begins otherwise than one that waited. Where anything has moved meanwhile, it is as if nobody had foreseen it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::driver::advance::{AdvanceCause, AdvanceOutcome, AdvanceTransaction};
use crate::driver::begin::{PreparedRun, RunPreparation};
use crate::driver::claim::OpenedRun;
use crate::driver::redaction;
use crate::journal::{self, RunKey};
use crate::machine::accepted_input::AcceptedInput;
use crate::machine::event::Event;
use crate::ports::Ports;
use crate::prompt::PromptInputs;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::run_context::StoredRunContext;
use hob_store::runs::Lease;
use hob_store::sessions::Session;

/// A run that is about to be taken in, and what it begins with.
pub struct SpeculativeRun {
    ports: Arc<Ports>,
    session: Session,
    with: StoredRunContext,
    /// Its message; which row that becomes is not known yet.
    accepted: AcceptedInput,
    prepared: PreparedRun,
}

/// A run that began as it was taken in.
pub struct ImmediateStart {
    pub(super) ports: Arc<Ports>,
    pub(super) advanced: AdvanceOutcome,
    pub(super) material: Arc<PromptInputs>,
}

impl ImmediateStart {
    /// What it began with: it is driven with the same.
    pub fn ports(&self) -> &Arc<Ports> {
        &self.ports
    }
}

impl SpeculativeRun {
    /// Is it made quickly? No message is to wait for another machine that makes a vector of it.
    pub fn is_quick(ports: &Ports) -> bool {
        ports.memory.embedding_service.serving().is_none_or(|serving| serving.embedder.is_here())
    }

    /// Makes what the run of this message begins with.
    pub async fn of(
        ports: Arc<Ports>,
        accepted: AcceptedInput,
        session: Session,
        with: StoredRunContext,
    ) -> Result<Self, StoreError> {
        let beginner = RunPreparation { ports: &ports, session: &session, with: &with, accepted: &accepted };
        let prepared = beginner.prepare().await?;
        Ok(Self { ports, session, with, accepted, prepared })
    }

    /// Is it this that was foreseen?
    pub fn matches(&self, accepted: &AcceptedInput, session: &Session, with: &StoredRunContext) -> bool {
        let inbound = accepted.inbound;
        (session, with) == (&self.session, &self.with)
            && *accepted == AcceptedInput { inbound, ..self.accepted.clone() }
    }

    /// Makes a run of the message, and has it begin.
    pub async fn open(
        &self,
        tx: &mut Tx,
        accepted: AcceptedInput,
        lease: &Lease,
        at: Timestamp,
    ) -> Result<OpenedRun, StoreError> {
        let (ports, session) = (&self.ports, &self.session);
        let (run, state, step) = journal::insert_run(tx, session.id, accepted.clone(), Some(lease), at).await?;
        let key = RunKey { run, session: session.id };
        let begun = Event::Begun(Box::new(self.prepared.begun.clone()));
        let advance = AdvanceTransaction {
            key: key.clone(),
            home: accepted.home(session.id),
            owner: lease.owner.clone(),
            destination: accepted.destination.clone(),
            state: Arc::new(state),
            seq: 1,
            cause: AdvanceCause::Event(redaction::event(&ports.redactor, begun)),
            unwritten: step.events,
            blobs: self.prepared.blobs.clone(),
            // Whoever begins says nothing yet.
            takes_words: false,
            budget_guard: Arc::clone(&ports.budget_guard),
            meter: Arc::clone(&ports.meter),
            access: Arc::clone(&ports.access),
            contents: ports.contents.clone(),
            at,
        };
        let advanced = advance.run(tx).await?;
        let begun =
            ImmediateStart { ports: Arc::clone(ports), advanced, material: Arc::clone(&self.prepared.material) };
        let (session, with) = (session.clone(), self.with.clone());
        Ok(OpenedRun { key, session, with, accepted: Box::new(accepted), at, begun: Some(begun) })
    }
}
