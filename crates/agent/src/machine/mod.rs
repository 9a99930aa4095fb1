//! A run as a fold over its journal: `apply(&mut State, &Event) -> Vec<Effect>`.
//!
//! Never: a clock, randomness, I/O, a channel, `async`. What the world knows comes in as an event.
//! Start here, then [`state`]; what happens after a crash is `resume`, all of it.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod accepted_input;
pub mod agents;
pub mod answer_rights;
pub mod approval;
pub mod batch;
pub(crate) mod claims;
pub mod compaction;
pub(crate) mod detached_agents;
pub(crate) mod digest;
pub(crate) mod draft;
pub mod effect;
pub mod event;
pub mod fingerprint;
pub(crate) mod guards;
pub mod ledger;
pub(crate) mod note;
pub mod notebook;
pub mod plan;
pub mod policy;
pub mod question;
pub mod run_start;
pub mod state;
pub mod status;
pub mod stop;
pub(crate) mod tool_disclosure;
pub mod transcript;
pub(crate) mod undo;

mod canonical_json;
mod control;
pub(crate) mod declared_loop;
mod elicitation;
mod ending;
pub mod human;
mod input;
mod message_context;
mod model;
mod model_calls;
pub(crate) mod outbound_allowance;
mod pause;
pub(crate) mod reading;
mod resume;
pub mod texts;
mod tools;

#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

use crate::machine::effect::Effect;
use crate::machine::event::{Event, JournalMismatch, RunReply};
use crate::machine::state::{ActiveState, State};

/// Whether a value is the one that a record without it means: then it is not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Takes one event in and says what is to be done now. Dispatch only: the files decide.
pub fn apply(state: &mut State, event: &Event) -> Vec<Effect> {
    match state {
        State::Empty | State::Queued(_) => input::on_waiting(state, event),
        State::Closed(_) => vec![Effect::Ignored { why: "the run was over before it began" }],
        State::Active(active) if active.end().is_some() => vec![Effect::Ignored { why: "the run is over" }],
        State::Active(active) => {
            let effects = on_active(active, event);
            draft::add_dropped_notice(active, effects)
        }
    }
}

fn on_active(run: &mut ActiveState, event: &Event) -> Vec<Effect> {
    let was_suspended = run.suspended;
    // Words from outside may come before a process takes the run up again: they make no crash of a good stop.
    let taken_up = matches!(event, Event::Resumed { .. } | Event::Mismatched(_));
    run.suspended = matches!(event, Event::Suspended) || (was_suspended && !taken_up);
    match event {
        Event::ModelAsked { .. } | Event::ToolStarted { .. } | Event::SummaryAsked { .. } | Event::Replied(_) => {
            ending::on_started(run, event)
        }
        Event::ToolRetried(_)
        | Event::LoopDetected(_)
        | Event::Escalated(_)
        | Event::PhantomCaught(_)
        | Event::Compacted(_)
        | Event::RecoveryFired(_)
        | Event::SoftExhausted
        | Event::Terminated(_) => Vec::new(),
        Event::HumanAsked(question) => human::on_asked(run, question),
        Event::Ended(end) => ending::on_ended(run, end),
        Event::ModelAnswered(completion) => {
            let effects = model::on_answered(run, completion);
            // What was known of its calls is of no use to the next reply.
            run.assessed.clear();
            effects
        }
        Event::ModelFailed { class, message, retry_after_ms, pictures } => {
            match model::without_pictures(run, *class, *pictures) {
                Some(again) => again,
                None => model::on_failed(run, *class, message, *retry_after_ms),
            }
        }
        Event::Assessed { calls } => {
            run.assessed.clone_from(calls);
            Vec::new()
        }
        Event::Looked { call, known } => approval::on_looked(run, call, known),
        Event::ToolFinished { call, outcome, source, draft, undo } => {
            undo::on_done(run, call, outcome, undo.as_deref());
            tools::on_finished(run, call, outcome, source.as_ref(), draft.as_deref())
        }
        Event::ChildEnded(end) => agents::on_ended(run, end),
        Event::HumanAnswered(answer) => human::on_answered(run, answer),
        Event::Steered(steered) => control::on_steered(run, steered),
        Event::CancelRequested(reason) => control::on_cancel(run, *reason),
        Event::SoftLimit => control::on_soft_limit(run),
        Event::CompactRequested { .. } => compaction::on_requested(run),
        Event::SummaryMade { text, usage } => compaction::summary::on_made(run, text, *usage),
        Event::SummaryFailed { why, late } => compaction::summary::on_failed(run, why, *late),
        Event::BudgetReached(stop) => control::on_budget(run, stop),
        Event::Expired { question } => answer_rights::on_expired(run, *question),
        Event::GrantRevoked { tool } => approval::on_revoked(run, tool),
        Event::PauseRequested { by } => pause::on_requested(run, *by),
        Event::PauseLifted { .. } => pause::on_lifted(run),
        Event::QuotaReached(stop) => control::on_quota(run, stop),
        Event::Suspended => Vec::new(),
        Event::Resumed { system } => resume::on_resumed(run, system, was_suspended),
        Event::Mismatched(mismatch) => resume::on_mismatch(run, mismatch),
        Event::Panicked { message } => control::on_panic(run, message),
        Event::Accepted(_) | Event::Edited { .. } | Event::Withdrawn | Event::Joined { .. } | Event::Begun(_) => {
            vec![Effect::Ignored { why: "the run has begun already" }]
        }
    }
}

/// What follows from one event: everything to be recorded in one transaction, and what may be performed after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// The event and the start records of its effects, in order.
    pub events: Vec<Event>,
    /// The effects, in order.
    pub effects: Vec<Effect>,
}

/// Applies `event` and the start record of everything it causes.
pub fn step(state: &mut State, event: Event) -> Step {
    let mut events = Vec::new();
    let mut effects = Vec::new();
    let mut next = VecDeque::from([event]);
    while let Some(event) = next.pop_front() {
        for effect in apply(state, &event) {
            next.extend(effect.start_record());
            effects.push(effect);
        }
        events.push(event);
    }
    Step { events, effects }
}

/// Folds a recorded journal and checks that it replays to the same effects (row B11).
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The state so far.
    pub state: State,
    /// The last event's number; 0 before the first.
    pub seq: i64,
    expected: VecDeque<Event>,
    mismatch: Option<JournalMismatch>,
}

impl Default for Replay {
    fn default() -> Self {
        Self { state: State::Empty, seq: 0, expected: VecDeque::new(), mismatch: None }
    }
}

impl Replay {
    /// Takes the next recorded event.
    pub fn feed(&mut self, event: &Event) {
        self.seq += 1;
        self.compare(event);
        if let Event::Mismatched(known) = event
            && self.mismatch.as_ref().is_some_and(|found| found.seq == known.seq)
        {
            // A person has been told of this one: it no longer stands in the way.
            self.mismatch = None;
            self.expected.clear();
        }
        let effects = apply(&mut self.state, event);
        self.expected.extend(effects.iter().filter_map(Effect::start_record));
    }

    /// The state, or where the journal and the machine part ways. A journal may end with nothing open.
    pub fn mismatch(&self) -> Option<JournalMismatch> {
        self.mismatch.clone().or_else(|| {
            self.expected.front().map(|expected| JournalMismatch {
                seq: self.seq + 1,
                expected: expected.kind().to_owned(),
                actual: "missing".to_owned(),
            })
        })
    }

    fn compare(&mut self, event: &Event) {
        let expected = self.expected.pop_front();
        let same = match (&expected, event.is_start_record()) {
            (Some(expected), _) => same_start(expected, event),
            (None, true) => false,
            (None, false) => true,
        };
        if same {
            return;
        }
        // From here on the recorded journal is what happened; what the machine would have done is void.
        self.expected.clear();
        self.mismatch.get_or_insert_with(|| JournalMismatch {
            seq: self.seq,
            expected: expected.map_or_else(|| "no start of an effect".to_owned(), |event| describe(&event)),
            actual: describe(event),
        });
    }
}

/// Digests made by another recipe can't be compared: then only whom is asked counts. Hob's own notices, and what it adds
/// below an answer, may have been reworded since: then what was said counts.
fn same_start(expected: &Event, actual: &Event) -> bool {
    if let (Event::ModelAsked { digest: a, model: m, .. }, Event::ModelAsked { digest: b, model: n, .. }) =
        (expected, actual)
    {
        return m == n && (a == b || a.scheme() != b.scheme());
    }
    if let (Event::Replied(RunReply::Notice { .. }), Event::Replied(RunReply::Notice { .. })) = (expected, actual) {
        return true;
    }
    if let (Event::Replied(RunReply::Answer { text: a }), Event::Replied(RunReply::Answer { text: b })) =
        (expected, actual)
    {
        return texts::without_record(a) == texts::without_record(b);
    }
    expected == actual
}

fn describe(event: &Event) -> String {
    if let Event::ModelAsked { digest, model, .. } = event {
        return format!("model.asked {model} {digest}");
    }
    if let Event::ToolStarted { call, name, attempt } = event {
        return format!("tool.started {call} {name} attempt {attempt}");
    }
    event.kind().to_owned()
}
