//! One transaction of a run: cause, start records, projections. The only way a begun run's journal grows.

mod limits;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::driver::procedures;
use crate::journal::{self, QueueChange, RunKey};
use crate::machine::accepted_input::{AcceptedInput, RunKind, SteeringMessage};
use crate::machine::agents::ChildEnd;
use crate::machine::effect::{Effect, ModelCall, ModelCallPurpose};
use crate::machine::event::Event;
use crate::machine::fingerprint::fingerprint;
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::status::Status;
use crate::machine::{Step, step};
use crate::machine::{answer_rights, compaction};
use crate::projection::agents::{self, AgentChange};
use crate::projection::write::{RunRowTarget, WriteOutcome, write};
use crate::projection::{self, HistoryMessage, ProjectionRow, question_attachment};
use crate::quota::QuotaChecker;
use crate::signal::Signal;
use crate::write_off::change_queued;
use hob_core::domain::ids::{CallId, SessionId};
use hob_core::domain::outgoing::Destination;
use hob_core::domain::tool_class::ServerClassification;
use hob_core::policy::access::AccessList;
use hob_memory::forget;
use hob_model::budget_guard::BudgetGuard;
use hob_model::message::ToolCall;
use hob_store::contents::{Contents, KeptContent};
use hob_store::error::StoreError;
use hob_store::outbox::PendingChunk;
use hob_store::runs::{QuestionDeadline, ReachedState};
use hob_store::{Tx, blobs, millis, runs, signals};

/// Something whose start is in the journal. Only a commit makes one, and only a driver takes it apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Committed<T>(T);

impl<T> Committed<T> {
    pub(super) fn inner(&self) -> &T {
        &self.0
    }

    pub(super) fn into_inner(self) -> T {
        self.0
    }
}

/// What moves a run on.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each lane at work: a box would save nothing that counts"
)]
pub(super) enum AdvanceCause {
    /// The world said something.
    Event(Event),
    /// Something that was under way is done: all that there is to say of it, in order.
    World(Vec<Event>),
    /// Nothing but that there may be signals.
    Signals,
}

/// Moves a run on.
pub(super) struct AdvanceTransaction {
    pub(super) key: RunKey,
    /// The conversation that it belongs to.
    pub(super) home: SessionId,
    pub(super) owner: String,
    pub(super) destination: Destination,
    pub(super) state: Arc<State>,
    pub(super) seq: i64,
    pub(super) cause: AdvanceCause,
    /// The household's caps on money.
    pub(super) budget_guard: Arc<BudgetGuard>,
    /// The limits of each person.
    pub(super) meter: Arc<QuotaChecker>,
    /// Who is let in.
    pub(super) access: Arc<AccessList>,
    /// Where files are kept.
    pub(super) contents: Contents,
    /// The last of its events that are in no journal yet.
    pub(super) unwritten: Vec<Event>,
    /// Texts that the cause refers to.
    pub(super) blobs: Vec<(String, String)>,
    /// Its first words are taken to be sent: nobody else sends in its conversation.
    pub(super) takes_words: bool,
    pub(super) at: Timestamp,
}

/// What came of it.
pub(super) struct AdvanceOutcome {
    pub(super) state: State,
    /// The number of the last event.
    pub(super) seq: i64,
    pub(super) effects: Vec<Committed<Effect>>,
    /// Somebody said something that is now remembered.
    pub(super) remembered: bool,
    /// These tools of MCP servers were classed.
    pub(super) classed: Vec<ServerClassification>,
    /// Something is to be said in these sessions besides.
    pub(super) told: Vec<SessionId>,
    /// The lanes of other sessions in which something is due now.
    pub(super) due: Vec<SessionId>,
    /// Another run waits in the lane.
    pub(super) more: bool,
    /// Files whose records this transaction makes: no sweep takes them before it is committed.
    pub(super) kept: Vec<KeptContent>,
    /// The words that were taken to be sent.
    pub(super) words: Option<PendingChunk>,
}

impl AdvanceTransaction {
    pub(super) async fn run(&self, tx: &mut Tx) -> Result<AdvanceOutcome, StoreError> {
        // Mostly there is nothing: a step that does not look goes nowhere if there is something.
        if !self.is_said_to()
            && let Some(done) = self.advance_with(tx, Vec::new()).await?
        {
            return Ok(done);
        }
        let signals = self.take_signals(tx).await?;
        // Whoever has lost the lease takes nothing with them: the whole transaction is void.
        self.advance_with(tx, signals).await?.ok_or(StoreError::LeaseLost)
    }

    /// Is it moved by what people say, or may it take along what they say?
    fn is_said_to(&self) -> bool {
        matches!(self.cause, AdvanceCause::Signals) || self.state.active().is_some_and(|active| settles(&active.phase))
    }

    /// One step with these signals; none: there are others, or the lease is lost.
    async fn advance_with(&self, tx: &mut Tx, signals: Vec<Event>) -> Result<Option<AdvanceOutcome>, StoreError> {
        let mut events = self.events(tx, signals).await?;
        let (mut moved, unmade) = self.settle_refused(tx, &mut events).await?;
        let mut refused = 0;
        while moved.starts_summary() && self.refusal(tx, &moved).await?.is_some() {
            // The run can do without it, and perhaps afford its own call, or another summary that it then wants.
            events.push(Event::SummaryFailed { why: compaction::texts::NO_BUDGET.to_owned(), late: false });
            refused += 1;
            moved = self.fold(&events);
        }
        moved.forget_summaries(refused);
        if let Some(stop) = self.refusal(tx, &moved).await? {
            moved = self.fold(&[vec![stop], events].concat());
        }
        moved.forget_calls(&unmade);
        let FoldedStep { state, seq, mut recorded, effects, rows, changes, unheard } = moved;
        let status = state.status();
        let ended_at = status.is_final().then(|| millis(self.at));
        let hash = fingerprint(&state);
        let waits = self.wait_time(&state, &recorded);
        let edition = Some(journal::EDITION.as_str());
        let reached = ReachedState { state: status.as_str(), ended_at, hash: Some(&hash.0), waits, edition };
        let Some(advanced) = runs::advance(tx, self.key.run, &self.owner, reached).await? else { return Ok(None) };
        if !self.blobs.is_empty() {
            blobs::put(tx, &self.blobs).await?;
        }
        recorded.events.splice(0..0, self.unwritten.iter().cloned());
        if !recorded.events.is_empty() {
            let before = self.seq - i64::try_from(self.unwritten.len()).unwrap_or(0);
            journal::append_step(tx, self.key.run, before, &recorded, self.at).await?;
        }
        let target = RunRowTarget { key: &self.key, home: self.home, destination: &self.destination, at: self.at };
        // In place before their records: these are few, and small.
        let kept = question_attachment::keep(tx, &self.contents, &rows).await?;
        let WriteOutcome { elsewhere: told, taken: words } =
            write(tx, &target, &self.access, &rows, self.takes_words).await?;
        let mut due = Vec::new();
        for change in &changes {
            due.extend(agents::carry_out(tx, &target, change).await?);
        }
        if state.active().is_none_or(|run| run.cancel.is_none()) {
            agents::tell_unheard(tx, &target, &unheard).await?;
        }
        if rows.iter().any(|row| matches!(row, ProjectionRow::ModelEnded(_))) {
            self.tell_of_budgets(tx, &target, seq).await?;
        }
        if let Some(run) = state.active().filter(|_| status == Status::Completed) {
            procedures::record_procedure(tx, &target, run).await?;
        }
        if status.is_final() && advanced.forgets {
            forget::after(tx, self.key.run).await?;
        }
        let remembered =
            rows.iter().any(|row| matches!(row, ProjectionRow::Message(HistoryMessage { said: Some(_), .. })));
        let classed = rows.iter().filter_map(|row| match row {
            ProjectionRow::Classed(classing) => Some(classing.clone()),
            _ => None,
        });
        let (classed, more) = (classed.collect(), advanced.more);
        Ok(Some(AdvanceOutcome { state, seq, effects, remembered, classed, told, due, more, kept, words }))
    }
}

/// A run after some events, with everything that follows from them.
struct FoldedStep {
    state: State,
    seq: i64,
    recorded: Step,
    effects: Vec<Committed<Effect>>,
    rows: Vec<ProjectionRow>,
    /// What it changes for other runs.
    changes: Vec<AgentChange>,
    /// Agents whose end came when the run was over.
    unheard: Vec<ChildEnd>,
}

impl FoldedStep {
    /// The model call that this step starts, and that is still wanted at its end.
    fn started_model_call(&self) -> Option<(&ActiveState, &ModelCall)> {
        let run = self.state.active()?;
        let call = run.open_call()?;
        let started = |effect: &Committed<Effect>| matches!(effect.0, Effect::CallModel(_) | Effect::Summarise(_));
        self.effects.iter().any(started).then_some((run, call))
    }

    /// Does this step start a summary?
    fn starts_summary(&self) -> bool {
        self.started_model_call().is_some_and(|(_, call)| call.purpose == ModelCallPurpose::Summary)
    }

    /// The tool calls that this step starts, and which try that is.
    fn started_tool_calls(&self) -> impl Iterator<Item = (&ToolCall, u32)> {
        self.effects.iter().filter_map(|Committed(effect)| match effect {
            Effect::RunTool { call, attempt, .. } => Some((call, *attempt)),
            _ => None,
        })
    }

    /// These tool calls are on record as refused: nobody makes them, and they count on nobody's quota.
    fn forget_calls(&mut self, unmade: &BTreeSet<CallId>) {
        self.effects
            .retain(|Committed(effect)| !matches!(effect, Effect::RunTool { call, .. } if unmade.contains(&call.id)));
        for row in &mut self.rows {
            if let ProjectionRow::ToolStarted { call, user, .. } = row
                && unmade.contains(&call.id)
            {
                *user = None;
            }
        }
    }

    /// The first summaries of this step were refused: they are on record, and nobody makes them.
    fn forget_summaries(&mut self, mut refused: usize) {
        self.effects.retain(|effect| {
            let gone = refused > 0 && matches!(effect.0, Effect::Summarise(_));
            refused -= usize::from(gone);
            !gone
        });
    }
}

impl AdvanceTransaction {
    /// The events, one after another, until the run is over.
    fn fold(&self, events: &[Event]) -> FoldedStep {
        let mut state = State::clone(&self.state);
        let (mut seq, mut recorded, mut effects, mut rows) = (self.seq, Step::default(), Vec::new(), Vec::new());
        let (mut changes, mut unheard) = (Vec::new(), Vec::new());
        for cause in events {
            if state.status().is_final() {
                unheard.extend(late_child_end(cause));
                continue;
            }
            let before = state.clone();
            let step = step(&mut state, cause.clone());
            rows.extend(projection::rows(&self.key, seq + 1, &before, &step, &state));
            changes.extend(agents::changes(&self.key, seq + 1, &before, &state, &step));
            seq += i64::try_from(step.events.len()).unwrap_or(0);
            recorded.events.extend(step.events);
            effects.extend(step.effects.into_iter().map(Committed));
        }
        FoldedStep { state, seq, recorded, effects, rows, changes, unheard }
    }

    /// How long the question that the run waits with stays open (lesson 17).
    fn wait_time(&self, state: &State, recorded: &Step) -> QuestionDeadline {
        let open = state.active().and_then(|run| Some((run, answer_rights::stays_open_secs(run)?)));
        let Some((run, secs)) = open else {
            return QuestionDeadline::WithoutEnd;
        };
        let open = answer_rights::pending_question(run);
        if !recorded.events.iter().any(|event| matches!(event, Event::HumanAsked(asked) if Some(asked) == open)) {
            return QuestionDeadline::AsBefore;
        }
        let ms = i64::try_from(secs.saturating_mul(1_000)).unwrap_or(i64::MAX);
        QuestionDeadline::Until(millis(self.at).saturating_add(ms))
    }

    /// The events of this transaction. What people said up to now (`events`) goes before what the world says now: a stop that is
    /// committed is carried out, whatever else comes and however often the process dies. If the model is asked next,
    /// those who may join do so before.
    async fn events(&self, tx: &mut Tx, mut events: Vec<Event>) -> Result<Vec<Event>, StoreError> {
        match &self.cause {
            AdvanceCause::Signals => {}
            // These open the run, or close it for anything but an answer: nothing can be said to it before.
            AdvanceCause::Event(event @ (Event::Begun(_) | Event::Mismatched(_))) => {
                events.insert(0, event.clone());
                return Ok(events);
            }
            AdvanceCause::Event(event) => events.push(event.clone()),
            AdvanceCause::World(all) => events.extend(all.iter().cloned()),
        }
        let mut all = self.take_joining(tx, &events).await?;
        all.append(&mut events);
        Ok(all)
    }

    /// Is this a safe boundary: will the model be asked with the results of its tools, or a person's answer?
    ///
    /// A run that goes on to wait for a person, or to its end, takes nobody along.
    fn is_boundary(&self, events: &[Event]) -> bool {
        let settles = self.state.active().is_some_and(|active| settles(&active.phase));
        let mut after = State::clone(&self.state);
        for event in events.iter().filter(|_| settles) {
            step(&mut after, event.clone());
        }
        // Whoever only sums up answers nobody.
        let asks = |run: &ActiveState| matches!(run.phase, Phase::Calling(_)) && run.input.order != RunKind::Compact;
        settles && after.active().is_some_and(asks)
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
        // Who is asked by a model, or has said the last word, takes nobody along.
        if !settles(&active.phase) {
            return Ok(Vec::new());
        }
        let waiting = runs::list_joinable(tx, self.key.session, active.input.principal.user).await?;
        if waiting.is_empty() || !self.is_boundary(next) {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        for run in waiting {
            let change = QueueChange::Joined { run: self.key.run };
            let key = RunKey { run, session: self.key.session };
            if let Some(accepted) = change_queued(tx, &key, change, self.at).await? {
                let AcceptedInput { principal, text, taint, pictures, .. } = accepted;
                events.push(Event::Steered(SteeringMessage { run, principal, text, taint, pictures }));
            }
        }
        Ok(events)
    }
}

/// Can what comes next be the results of tools, or a person's answer?
fn settles(phase: &Phase) -> bool {
    match phase {
        Phase::Acting(_) | Phase::Waiting { .. } => true,
        Phase::Calling(_) | Phase::Replied | Phase::Done(_) => false,
    }
}

/// An agent's end that came when the run was over.
fn late_child_end(event: &Event) -> Option<ChildEnd> {
    match event {
        Event::ChildEnded(end) => Some(ChildEnd::clone(end)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::policy::Policy;
    use crate::machine::run_start::{PastMessage, PastRole, RunStart};
    use crate::machine::tests::{accepted, begun, stop};

    /// A run in a window that is full when it begins: what follows from `events`.
    fn moved(events: &[Event]) -> FoldedStep {
        let past = (1..=40).map(|ordinal| PastMessage { ordinal, tokens: 50, role: PastRole::User }).collect();
        let mut policy = Policy::default();
        policy.context.window_tokens = Some(2_400);
        let mut begun = RunStart { past, policy: Some(Box::new(policy)), ..begun() };
        begun.billing.context_tokens = 2_050;
        let (mut state, mut effects) = (State::Empty, Vec::new());
        for event in [&[Event::Accepted(accepted()), Event::Begun(Box::new(begun))], events].concat() {
            effects.extend(step(&mut state, event).effects.into_iter().map(Committed));
        }
        FoldedStep {
            state,
            seq: 0,
            recorded: Step::default(),
            effects,
            rows: Vec::new(),
            changes: Vec::new(),
            unheard: Vec::new(),
        }
    }

    fn summaries(moved: &FoldedStep) -> usize {
        moved.effects.iter().filter(|effect| matches!(effect.0, Effect::Summarise(_))).count()
    }

    #[test]
    fn n10_a_budget_is_asked_about_the_call_that_is_open_at_the_end() {
        let failed = Event::SummaryFailed { why: "no money".to_owned(), late: false };
        assert!(moved(&[]).starts_summary());
        let after = moved(&[failed]);
        assert_eq!((after.starts_summary(), summaries(&after)), (false, 1));
        assert_eq!(after.started_model_call().map(|(_, call)| call.purpose), Some(ModelCallPurpose::Work));
        assert!(moved(&[stop()]).started_model_call().is_none(), "who is stopped asks nobody");
    }

    #[test]
    fn n10_summaries_that_were_refused_are_made_by_nobody_and_the_others_are() {
        for (refused, left) in [(0, 2), (1, 1), (2, 0)] {
            let mut both = moved(&[]);
            both.effects.extend(moved(&[]).effects);
            both.forget_summaries(refused);
            assert_eq!(summaries(&both), left);
        }
    }
}
