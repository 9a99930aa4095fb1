//! One transaction of a run: cause, start records, projections. The only way a begun run's journal grows.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agent::budget::{Purse, Spender};
use crate::agent::journal::{self, QueueChange, RunKey};
use crate::agent::machine::effect::Effect;
use crate::agent::machine::event::{BudgetStop, Event, Steered};
use crate::agent::machine::fingerprint::fingerprint;
use crate::agent::machine::state::{Active, Phase, State};
use crate::agent::machine::{Step, step};
use crate::agent::projection::{self, Row, Target};
use crate::agent::signal::Signal;
use crate::agent::write_off::change_queued;
use crate::domain::money::Money;
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
    /// The household's caps on money.
    pub(super) purse: Arc<Purse>,
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
        let events = self.events(tx).await?;
        let mut moved = self.fold(&events);
        if let Some(stop) = self.refusal(tx, &moved).await? {
            moved = self.fold(&[vec![Event::BudgetReached(stop)], events].concat());
        }
        let Moved { state, seq, recorded, effects, rows } = moved;
        let status = state.status();
        let ended_at = status.is_final().then(|| millis(self.at));
        let hash = fingerprint(&state);
        let reached = Reached { state: status.as_str(), ended_at, hash: Some(&hash.0) };
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
        if rows.iter().any(|row| matches!(row, Row::ModelEnded(_))) {
            self.tell_of_budgets(tx, &target, seq).await?;
        }
        Ok(Advanced { state, seq, effects, more })
    }
}

/// A run after some events, with everything that follows from them.
struct Moved {
    state: State,
    seq: i64,
    recorded: Step,
    effects: Vec<Committed<Effect>>,
    rows: Vec<Row>,
}

impl Advance {
    /// The events, one after another, until the run is over.
    fn fold(&self, events: &[Event]) -> Moved {
        let mut state = State::clone(&self.state);
        let (mut seq, mut recorded, mut effects, mut rows) = (self.seq, Step::default(), Vec::new(), Vec::new());
        for cause in events {
            if state.status().is_final() {
                break;
            }
            let before = state.clone();
            let step = step(&mut state, cause.clone());
            rows.extend(projection::rows(&self.key, seq + 1, &before, &step, &state));
            seq += i64::try_from(step.events.len()).unwrap_or(0);
            recorded.events.extend(step.events);
            effects.extend(step.effects.into_iter().map(Committed));
        }
        Moved { state, seq, recorded, effects, rows }
    }

    fn spender(&self, run: &Active) -> Spender {
        Spender { run: self.key.run, user: run.input.principal.user }
    }

    /// The budget that the model call which would follow does not fit. Between this look and the call's own record
    /// there is no other transaction: there is one writer.
    async fn refusal(&self, tx: &mut Tx, moved: &Moved) -> Result<Option<BudgetStop>, StoreError> {
        let call = moved.effects.iter().find_map(|Committed(effect)| match effect {
            Effect::CallModel(call) => Some(call),
            _ => None,
        });
        let (Some(call), Some(run)) = (call, moved.state.active()) else {
            return Ok(None);
        };
        if self.purse.budget.is_unlimited() {
            return Ok(None);
        }
        // The call that this one follows is still open, and has set something aside that is now spent or free.
        let ended = moved.rows.iter().find_map(|row| match row {
            Row::ModelEnded(end) => Some(Money::from_nanos(end.cost.unwrap_or(0))),
            _ => None,
        });
        let open = self.state.active().and_then(Active::open_reserve).unwrap_or_default();
        let wanted = call.reserve.unwrap_or_default();
        let wanted = match ended {
            Some(spent) => Money::from_nanos(wanted.plus(spent).nanos().saturating_sub(open.nanos())),
            None => wanted,
        };
        self.purse.refuses(tx, self.spender(run), wanted, self.at).await
    }

    async fn tell_of_budgets(&self, tx: &mut Tx, target: &Target<'_>, seq: i64) -> Result<(), StoreError> {
        let Some(run) = self.state.active().filter(|_| !self.purse.budget.is_unlimited()) else {
            return Ok(());
        };
        for (index, note) in self.purse.notes(tx, self.spender(run), self.at).await?.iter().enumerate() {
            projection::say(tx, target, &format!("note:{}:{seq}:budget:{index}", self.key.run), (note, &[])).await?;
        }
        Ok(())
    }

    /// The events of this transaction. What people said up to now goes before what the world says now: a stop that is
    /// committed is carried out, whatever else comes and however often the process dies. If the model is asked next,
    /// those who may join do so before.
    async fn events(&self, tx: &mut Tx) -> Result<Vec<Event>, StoreError> {
        let mut events = self.take_signals(tx).await?;
        match &self.cause {
            Cause::Signals => {}
            // These open the run, or close it for anything but an answer: nothing can be said to it before.
            Cause::Event(event @ (Event::Begun(_) | Event::Mismatched(_))) => {
                events.insert(0, event.clone());
                return Ok(events);
            }
            Cause::Event(event) => events.push(event.clone()),
        }
        let mut all = self.take_joining(tx, &events).await?;
        all.append(&mut events);
        Ok(all)
    }

    /// Is this a safe boundary: will the model be asked with the results of its tools, or a person's answer?
    ///
    /// A run that goes on to wait for a person, or to its end, takes nobody along.
    fn is_boundary(&self, events: &[Event]) -> bool {
        let settles = self.state.active().is_some_and(|active| match &active.phase {
            Phase::Acting(_) | Phase::Waiting { .. } => true,
            Phase::Calling(_) | Phase::Replied | Phase::Done(_) => false,
        });
        let mut after = State::clone(&self.state);
        for event in events.iter().filter(|_| settles) {
            step(&mut after, event.clone());
        }
        settles && after.active().is_some_and(|active| matches!(active.phase, Phase::Calling(_)))
    }

    async fn take_signals(&self, tx: &mut Tx) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        for row in signals::take(tx, self.key.run).await? {
            match serde_json::from_str::<Signal>(&row.body) {
                Ok(signal) => events.push(signal.into()),
                // A damaged word costs itself, not the run.
                Err(error) => {
                    tracing::error!(signal = %row.id, line = error.line(), "a signal cannot be read; left out")
                }
            }
        }
        Ok(events)
    }

    async fn take_joining(&self, tx: &mut Tx, next: &[Event]) -> Result<Vec<Event>, StoreError> {
        let Some(active) = self.state.active() else {
            return Ok(Vec::new());
        };
        let waiting = runs::list_joinable(tx, self.key.session, active.input.principal.user).await?;
        if waiting.is_empty() || !self.is_boundary(next) {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        for run in waiting {
            let change = QueueChange::Joined { run: self.key.run };
            let key = RunKey { run, session: self.key.session };
            if let Some(accepted) = change_queued(tx, &key, change, self.at).await? {
                events.push(Event::Steered(Steered { run, principal: accepted.principal, text: accepted.text }));
            }
        }
        Ok(events)
    }
}
