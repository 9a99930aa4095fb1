//! A small simulated world: from bytes it makes causes that are plausible for where the run stands.

use std::collections::BTreeMap;

use super::elicited::form;
use super::{
    ANNA, BEN, accepted, agents, begun, completion, crash, done, fails, finished, hard_limit, panic, presses, steers,
    stop, system,
};
use crate::machine::batch::CallProgress;
use crate::machine::effect::ModelCallPurpose;
use crate::machine::event::{Event, JournalMismatch, RunEnd, ToolOutcome};
use crate::machine::human::Decision;
use crate::machine::policy::{DeclaredLoop, Policy, Termination};
use crate::machine::question::{Answer, Question};
use crate::machine::run_start::{RulesEdition, RunStart};
use crate::machine::state::{ActiveState, Phase, ResumePoint, State};
use crate::machine::stop::{BudgetStop, CancelReason, QuotaScope, QuotaStop};
use crate::machine::{Step, step};
use hob_core::domain::ids::RunId;
use hob_core::domain::money::Money;
use hob_core::domain::notebook::NotebookChange;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, Risk, ToolFacts};
use hob_core::policy::budget::CapScope;
use hob_model::error::ErrorClass;
use hob_model::message::{StopReason, Usage};

const TOOLS: [&str; 4] = ["look", "send", "ask_human", "request_more_iterations"];
/// The calls of these need a word in a careful household.
pub(crate) const HELD: [&str; 2] = ["look", "send"];
const CLASSES: [ErrorClass; 6] = [
    ErrorClass::Timeout,
    ErrorClass::RateLimit,
    ErrorClass::UnknownModel,
    ErrorClass::Server,
    ErrorClass::Auth,
    ErrorClass::Malformed,
];

/// A run that was driven through a world, step by step.
#[derive(Debug)]
pub(crate) struct DrivenRun {
    /// The steps, each with the state it led to.
    pub(crate) steps: Vec<(Step, State)>,
    /// How often a person had each call run again.
    pub(crate) allowed: BTreeMap<String, u32>,
}

impl DrivenRun {
    /// Drives a run with `choices`, and then to its end.
    pub(crate) fn new(choices: &[(u8, u8)]) -> Self {
        let mut driven = Self { steps: Vec::new(), allowed: BTreeMap::new() };
        let mut state = State::Empty;
        driven.take(&mut state, Event::Accepted(accepted()));
        for choice in choices {
            if state.status().is_final() {
                break;
            }
            let event = cause(&state, choice.0, choice.1);
            driven.take(&mut state, event);
        }
        for _ in 0..200 {
            let Some(event) = closing(&state) else { return driven };
            driven.take(&mut state, event);
        }
        panic!("no end: {state:?}");
    }

    fn take(&mut self, state: &mut State, event: Event) {
        if let Some(call) = allowance(state, &event) {
            *self.allowed.entry(call).or_default() += 1;
        }
        let step = step(state, event);
        self.steps.push((step, state.clone()));
    }

    /// Every event, in order.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.steps.iter().flat_map(|(step, _)| &step.events)
    }

    pub(crate) fn last(&self) -> &State {
        &self.steps.last().unwrap().1
    }
}

/// The call that this event lets run again.
fn allowance(state: &State, event: &Event) -> Option<String> {
    let Event::HumanAnswered(Answer { text, question: number, .. }) = event else { return None };
    let run = state.active()?;
    let Phase::Waiting { question: question @ Question::UnsafeCall { call, .. }, .. } = &run.phase else { return None };
    let meant = number.is_none_or(|number| number == run.questions);
    (meant && Decision::parse(text, question) == Some(Decision::RunAgain)).then(|| call.0.clone())
}

fn cause(state: &State, what: u8, how: u8) -> Event {
    let Some(run) = state.active() else { return before(what, how) };
    if what >= 200 {
        return anywhere(what, how);
    }
    match &run.phase {
        Phase::Calling(call) if call.purpose == ModelCallPurpose::Summary => summary(what),
        Phase::Calling(_) => model(what, how),
        Phase::Acting(batch) => {
            let calls: Vec<_> = batch.started().collect();
            let (call, _) = calls[usize::from(how) % calls.len()];
            tool(&call.id.0, what)
        }
        Phase::Waiting { question: Question::Agents, paused } if what < 160 => {
            agent_done(paused, how).unwrap_or_else(|| person(run, what, how))
        }
        Phase::Waiting { .. } => person(run, what, how),
        Phase::Replied | Phase::Done(_) => panic!("nobody drives {state:?}"),
    }
}

fn before(what: u8, how: u8) -> Event {
    match what {
        0..8 => Event::Edited { text: format!("edit {how}") },
        8..10 => Event::Withdrawn,
        10..12 => Event::Joined { run: RunId(3) },
        12..14 => panic(),
        14..16 => crash(),
        _ => Event::Begun(Box::new(household(how))),
    }
}

/// Runs of several kinds: plain, careful, one call after another, in a small window, in a declared loop.
fn household(how: u8) -> RunStart {
    let mut policy = Policy::default();
    let facts = |changes, approval, exclusive| ToolFacts { changes, approval, exclusive, ..ToolFacts::default() };
    let ask = |tool: &str| (tool.to_owned(), ToolFacts::default());
    let steers = [ask("ask_human"), ask("request_more_iterations")];
    let tools = |look, send| [("look".to_owned(), look), ("send".to_owned(), send)].into_iter().chain(steers.clone());
    let tools = match how % 6 {
        0 => return begun(),
        1 => tools(facts(false, Approval::Ask, false), facts(true, Approval::Critical, false)),
        2 => tools(facts(false, Approval::Free, true), facts(true, Approval::Ask, false)),
        3 => {
            policy.context.window_tokens = Some(200 + u64::from(how));
            policy.context.keep_messages = 2;
            policy.context.prune_keep_messages = 1;
            tools(facts(false, Approval::Free, false), facts(true, Approval::Free, false))
        }
        4 => {
            let terminate = vec![Termination::TextIncludes { text: "done".to_owned() }];
            policy.declared = Some(DeclaredLoop { max_cycles: 6, terminate });
            tools(facts(false, Approval::Free, false), facts(true, Approval::Ask, false))
        }
        _ => tools(facts(false, Approval::Free, false), facts(true, Approval::Free, false)),
    };
    let rules = if how.is_multiple_of(2) { RulesEdition::default() } else { RulesEdition::CURRENT };
    RunStart { tools: tools.collect(), policy: Some(Box::new(policy)), rules, ..begun() }
}

fn budget() -> Event {
    let nano = Money::from_nanos(1);
    Event::BudgetReached(BudgetStop { scope: CapScope::Run, cap: nano, used: nano, resets: None, persona: None })
}

fn quota() -> Event {
    let words = || "hour".to_owned();
    Event::QuotaReached(QuotaStop {
        name: words(),
        key: words(),
        cap: 1,
        used: 1,
        resets: words(),
        whose: QuotaScope::House,
    })
}

fn anywhere(what: u8, how: u8) -> Event {
    match what {
        200..225 => crash(),
        225..227 => assessed(how),
        227..230 => Event::Resumed { system: system(how % 3) },
        230..234 => Event::Suspended,
        234 => budget(),
        235 => quota(),
        236..240 => steers(if how.is_multiple_of(2) { ANNA } else { BEN }, "and this"),
        240 | 241 => Event::SoftLimit,
        242 => Event::CompactRequested { by: ANNA },
        243..246 => stop(),
        246 => hard_limit(),
        247 => Event::CancelRequested(CancelReason::Interrupted { by: BEN }),
        248 => panic(),
        249 => {
            Event::Mismatched(JournalMismatch { seq: i64::from(how), expected: "a".to_owned(), actual: "b".to_owned() })
        }
        250 => presses(u32::from(how) % 4, "1"),
        251 => done("9.9"),
        252 => fails(ErrorClass::Server),
        253 => Event::PauseRequested { by: BEN },
        254 => Event::PauseLifted { by: ANNA },
        _ => Event::ModelAnswered(completion("late", &[])),
    }
}

fn model(what: u8, how: u8) -> Event {
    match what {
        0..30 => fails(CLASSES[usize::from(how) % CLASSES.len()]),
        30..40 => Event::ModelAnswered(completion("", &[])),
        40..50 => {
            let mut cut = completion(if how.is_multiple_of(2) { "NO_REPLY" } else { "half" }, &[]);
            cut.stop = StopReason::MaxTokens;
            Event::ModelAnswered(cut)
        }
        50..60 => Event::ModelAnswered(completion("done", &[])),
        60..80 => {
            let words = ["Sent.", "KEEP", "NO_REPLY", "Nothing."];
            Event::ModelAnswered(completion(words[usize::from(how) % words.len()], &[]))
        }
        _ => {
            let names: Vec<&str> =
                (0..=how % 4).map(|index| TOOLS[usize::from((how >> (2 * index)) % 4) % TOOLS.len()]).collect();
            Event::ModelAnswered(completion(if how.is_multiple_of(5) { "let me see" } else { "" }, &names))
        }
    }
}

fn summary(what: u8) -> Event {
    match what {
        0..100 => Event::SummaryMade { text: "short".to_owned(), usage: Usage::default() },
        _ => Event::SummaryFailed { why: "no luck".to_owned(), late: what.is_multiple_of(2) },
    }
}

fn tool(call: &str, what: u8) -> Event {
    match what {
        0..20 => finished(call, ToolOutcome::Interrupted),
        20..50 => finished(call, ToolOutcome::Ask { question: "which?".to_owned(), form: None }),
        50..60 => finished(call, ToolOutcome::Ask { question: "how many?".to_owned(), form: Some(Box::new(form())) }),
        60..80 => finished(call, ToolOutcome::MoreIterations { reason: "much".to_owned() }),
        80..90 => finished(call, ToolOutcome::Notebook { change: noting("see the fence") }),
        100..120 => finished(call, ToolOutcome::Transient { text: "busy".to_owned() }),
        130..150 => agents::spawns(call),
        120..130 => finished(call, ToolOutcome::Denied { reason: "not now".to_owned() }),
        90..100 => finished(call, ToolOutcome::Text { text: "broken".to_owned(), is_error: true }),
        150..170 => from(call, ["a", "b"][usize::from(what % 2)]),
        _ => done(call),
    }
}

/// Words of a page.
fn from(call: &str, page: &str) -> Event {
    let Event::ToolFinished { call, outcome, .. } = done(call) else { unreachable!("it is done") };
    Event::ToolFinished { call, outcome, source: Some(OriginSource::new(Origin::Web, page)), draft: None, undo: None }
}

/// What tools say of the calls that come next.
fn assessed(how: u8) -> Event {
    let risks = [Risk::Read, Risk::Write, Risk::Send];
    let grades = [DangerGrade::Safe, DangerGrade::Medium, DangerGrade::High, DangerGrade::Refused];
    let calls = (0..4).map(|index| Assessment {
        risk: risks[usize::from(how >> index) % risks.len()],
        grade: grades[usize::from(how >> (index + 1)) % grades.len()],
        site: (how & 1 == 0).then(|| "a.example".to_owned()),
        ..Assessment::default()
    });
    Event::Assessed { calls: calls.collect() }
}

/// One of the agents that are waited for is done.
fn agent_done(paused: &ResumePoint, how: u8) -> Option<Event> {
    let ResumePoint::Batch(batch) = paused else { return None };
    let mut open = batch.calls.iter().filter(|open| open.progress == CallProgress::Child);
    let end = if how.is_multiple_of(3) { RunEnd::Completed } else { RunEnd::Failed { why: "panic".to_owned() } };
    Some(agents::ended(&open.next()?.call.id.0, "Dug.", end))
}

/// A tool that notes this as what is to be reached.
pub(crate) fn noting(objective: &str) -> NotebookChange {
    NotebookChange::Update { objective: Some(objective.to_owned()), current_state: None, handoff_next_action: None }
}

fn person(run: &ActiveState, what: u8, how: u8) -> Event {
    let texts = ["1", "2", "it happened", "run it again", "carry on", "what?", "1", "2", "3", "give up"];
    let text = texts[usize::from(how) % texts.len()];
    match what {
        0..30 => presses(run.questions, text),
        30..40 => presses(run.questions.saturating_sub(1), text),
        _ => super::answers(text),
    }
}

/// What brings the run nearer to its end; `None` when it is over.
fn closing(state: &State) -> Option<Event> {
    let Some(run) = state.active() else {
        return match state {
            State::Queued(_) => Some(Event::Begun(Box::new(begun()))),
            State::Empty | State::Active(_) | State::Closed(_) => None,
        };
    };
    match &run.phase {
        Phase::Calling(call) if call.purpose == ModelCallPurpose::Summary => Some(summary(0)),
        Phase::Calling(_) => Some(Event::ModelAnswered(completion("done", &[]))),
        Phase::Acting(batch) => batch.started().next().map(|(call, _)| done(&call.id.0)),
        Phase::Waiting { question: Question::Agents, paused } => agent_done(paused, 0),
        Phase::Waiting { question: Question::Paused { .. }, .. } => Some(Event::PauseLifted { by: ANNA }),
        Phase::Waiting { .. } => Some(super::answers("1")),
        Phase::Replied => panic!("a run that has replied must have ended: {run:?}"),
        Phase::Done(_) => None,
    }
}
