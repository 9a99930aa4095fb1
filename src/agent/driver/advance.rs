//! One transaction of a run: cause, start records, projections. The only way a begun run's journal grows.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agent::journal::{self, QueueChange, RunKey};
use crate::agent::machine::effect::Effect;
use crate::agent::machine::event::{Event, Steered, ToolOutcome};
use crate::agent::machine::state::{Phase, State};
use crate::agent::machine::{Step, step};
use crate::agent::projection::{self, Target};
use crate::agent::signal::Signal;
use crate::domain::outgoing::Destination;
use crate::store::error::StoreError;
use crate::store::runs::Reached;
use crate::store::{Statement, Tx, blobs, millis, runs, signals};

/// Something whose start is in the journal. Only a commit makes one, and only a driver takes it apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Committed<T>(T);

impl<T> Committed<T> {
    pub(super) fn into_inner(self) -> T {
        self.0
    }
}

/// What moves a run on.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// The world said something.
    Event(Event),
    /// Nothing but that there may be signals.
    Signals,
}

/// Moves a run on.
pub(super) struct Advance {
    pub(super) key: RunKey,
    pub(super) owner: String,
    pub(super) destination: Destination,
    pub(super) state: Arc<State>,
    pub(super) seq: i64,
    pub(super) cause: Cause,
    /// Texts that the cause refers to.
    pub(super) blobs: Vec<(String, String)>,
    pub(super) at: Timestamp,
}

/// What came of it.
pub(super) struct Advanced {
    pub(super) state: State,
    /// The number of the last event.
    pub(super) seq: i64,
    pub(super) effects: Vec<Committed<Effect>>,
    /// Another run waits in the lane.
    pub(super) more: bool,
}

#[async_trait]
impl Statement for Advance {
    type Output = Advanced;

    async fn run(&self, tx: &mut Tx) -> Result<Advanced, StoreError> {
        let mut state = State::clone(&self.state);
        let (mut seq, mut effects, mut rows) = (self.seq, Vec::new(), Vec::new());
        let mut recorded = Step::default();
        for cause in self.events(tx).await? {
            if state.status().is_final() {
                break;
            }
            let before = state.clone();
            let step = step(&mut state, cause);
            rows.extend(projection::rows(&self.key, seq + 1, &before, &step, &state));
            seq += i64::try_from(step.events.len()).unwrap_or(0);
            recorded.events.extend(step.events);
            effects.extend(step.effects.into_iter().map(Committed));
        }
        let status = state.status();
        let ended_at = status.is_final().then(|| millis(self.at));
        let reached = Reached { state: status.as_str(), ended_at };
        // Whoever has lost the lease takes nothing with them: the whole transaction is void.
        let more = runs::advance(tx, self.key.run, &self.owner, reached).await?.ok_or(StoreError::LeaseLost)?;
        if !self.blobs.is_empty() {
            blobs::put(tx, &self.blobs).await?;
        }
        if !recorded.events.is_empty() {
            journal::append_step(tx, self.key.run, self.seq, &recorded, self.at).await?;
        }
        let target = Target { key: &self.key, destination: &self.destination, at: self.at };
        projection::write(tx, &target, &rows).await?;
        Ok(Advanced { state, seq, effects, more })
    }
}

impl Advance {
    /// The events of this transaction. What people said up to now goes before what the world says now: a stop that is
    /// committed is carried out, whatever else comes and however often the process dies. At a safe boundary, those who
    /// may join come next.
    async fn events(&self, tx: &mut Tx) -> Result<Vec<Event>, StoreError> {
        let mut events = self.take_signals(tx).await?;
        let Cause::Event(event) = &self.cause else {
            return Ok(events);
        };
        if matches!(event, Event::Begun(_) | Event::Mismatched(_)) {
            // These open the run, or close it for anything but an answer: nothing can be said to it before.
            events.insert(0, event.clone());
            return Ok(events);
        }
        let ends = events.iter().any(|event| matches!(event, Event::CancelRequested(_)));
        if settles(event) && self.is_boundary() && !ends {
            events.extend(self.take_joining(tx).await?);
        }
        events.push(event.clone());
        Ok(events)
    }

    /// The last open call is about to be settled, and the model will be asked next.
    fn is_boundary(&self) -> bool {
        self.state.active().is_some_and(|active| match &active.phase {
            Phase::Acting(batch) => {
                let person_is_next = batch.asking().is_some() || batch.doubtful().is_some();
                active.cancel.is_none() && batch.started().count() == 1 && !person_is_next
            }
            Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => false,
        })
    }

    async fn take_signals(&self, tx: &mut Tx) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        for row in signals::take(tx, self.key.run).await? {
            let signal: Signal = serde_json::from_str(&row.body).map_err(|error| StoreError::Inconsistent {
                table: "signals",
                id: row.id.to_string(),
                what: error.to_string(),
            })?;
            events.push(signal.into());
        }
        Ok(events)
    }

    async fn take_joining(&self, tx: &mut Tx) -> Result<Vec<Event>, StoreError> {
        let Some(active) = self.state.active() else {
            return Ok(Vec::new());
        };
        let mut events = Vec::new();
        for run in runs::list_joinable(tx, self.key.session, active.input.principal.user).await? {
            let change = QueueChange::Joined { run: self.key.run };
            if let Some(accepted) = journal::change_queued(tx, run, change, self.at).await? {
                events.push(Event::Steered(Steered { run, principal: accepted.principal, text: accepted.text }));
            }
        }
        Ok(events)
    }
}

/// Is this the end of a tool after which the model can be asked?
fn settles(event: &Event) -> bool {
    matches!(event, Event::ToolFinished { outcome, .. } if !matches!(outcome, ToolOutcome::Ask { .. }))
}
