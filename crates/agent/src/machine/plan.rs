//! What a run has planned, and which calls are those (row N16).
//!
//! Never: a plan of a run that has read what nobody vouches for, or has a reader's answer, or that works for another; a step that counts twice. Whatever
//! becomes of the call that a step was taken for, the step is used up.
//! Start at `on_planned`; which call was planned says `policy::plan`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::machine::accepted_input::RunKind;
use crate::machine::approval::words::{doubt, quotable, source};
use crate::machine::batch::{Batch, CallFate, OpenCall};
use crate::machine::run_start::RulesEdition;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{approval, undo};
use hob_core::domain::ids::CallId;
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::plan::{PlannedArgument, PlannedCall, PlannedValue, UnvouchedValue, ValueSource};
use hob_core::domain::tools::{DangerGrade, PLAN, Risk};
use hob_core::policy::arguments::{WrittenValue, parse};
use hob_core::policy::lookup;
use hob_core::policy::plan::{look_words, unvouched_values};
use hob_core::policy::sources::{is_said, leads, own_words};
use hob_core::policy::undo::names_a_thing;
use hob_model::message::Message;

/// So many leads of a call are shown: one is enough to ask.
const LEADS_MAX: usize = 8;
/// So many deeds are told of.
const TOLD_MAX: usize = 8;
/// For the model: its plan came too late.
pub(super) const TOO_LATE: &str = "Not planned: what nobody here vouches for was read before, so a plan counts for nothing now. \
     Go on; the user is asked where it is needed.";
/// For the model: nobody's own words are behind it.
pub(super) const NOT_HERE: &str = "Not planned: only in answer to a person's own message can something be planned.";
/// For the model: nothing in it could be planned.
pub(super) const NOTHING: &str = "Not planned: each step needs the `tool`, one that you have, and its `arguments`.";

/// What a run intends.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunPlan {
    /// The calls, in the order of the plan.
    pub steps: Vec<PlannedCall>,
    /// Which of them a call was taken for.
    pub used: BTreeSet<usize>,
    /// Whose words each result is that nobody vouches for, since there is a plan.
    pub read: BTreeMap<CallId, OriginSource>,
    /// What was done unasked because it was planned, in words.
    pub(crate) spared: Vec<String>,
    /// What calls have found that the plan names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FoundArgument>,
}

/// What a call has found for an argument of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundArgument {
    pub step: usize,
    pub argument: String,
    /// The value; none: nothing that counts.
    pub value: Option<String>,
}

impl RunPlan {
    /// Is nothing planned?
    pub fn is_none(&self) -> bool {
        self.steps.is_empty() && self.spared.is_empty()
    }

    /// The step that a call was taken for, and what of the call nobody has said; none: it was not planned.
    pub fn doubts(&self, open: &OpenCall) -> Option<Vec<UnvouchedValue>> {
        let index = open.planned?;
        // What is found says nothing of money.
        let spends = open.assessed.as_ref().is_some_and(|known| known.risk == Risk::Spend);
        let found = |argument: &str| self.found(index, argument).filter(|_| !spends).map(str::to_owned);
        unvouched_values(self.steps.get(index)?, &open.call.name, &open.call.arguments, &found)
    }

    /// What was found for an argument of a step, each time.
    fn found(&self, step: usize, argument: &str) -> Option<&str> {
        let mut found = self.found.iter().filter(|found| found.step == step && found.argument == argument);
        let first = found.next()?.value.as_deref()?;
        found.all(|other| other.value.as_deref() == Some(first)).then_some(first)
    }
}

/// A plan was made: what it names counts from now on, instead of what was planned before. The words for the model, and whether
/// it was for nothing.
pub(super) fn on_planned(run: &mut ActiveState, id: &CallId) -> (String, bool) {
    // A value that a reader took out of somebody's words before this message says nothing; one of this run has chosen already.
    if run.taint.has_words() || !run.read.is_empty() {
        return (TOO_LATE.to_owned(), true);
    }
    // Nor does a value say how often: by a plan after a plan it could.
    if !run.taint.is_clean() && !run.intent.steps.is_empty() {
        return (TOO_LATE.to_owned(), true);
    }
    let is_own = run.input.order == RunKind::Answer && run.input.agent.is_none();
    let is_handed_on = run.input.around.as_ref().is_some_and(|around| around.forwarded_from.is_some());
    if !is_own || is_handed_on {
        return (NOT_HERE.to_owned(), true);
    }
    let Phase::Acting(batch) = &run.phase else { return (NOTHING.to_owned(), true) };
    let known = batch.get(id).and_then(|open| open.assessed.as_ref());
    let steps: Vec<PlannedCall> = known.map(|known| known.plan.clone()).unwrap_or_default();
    let mut steps: Vec<PlannedCall> = steps.into_iter().filter(|step| run.tools.contains_key(&step.tool)).collect();
    if !run.taint.is_clean() {
        steps = once(steps);
    }
    if steps.is_empty() {
        return (NOTHING.to_owned(), true);
    }
    let told = answer(&steps);
    run.intent.steps = steps;
    run.intent.used.clear();
    run.intent.found.clear();
    (told, false)
}

/// How often something is done follows from no value that was read: of steps that are steered alike one counts.
fn once(steps: Vec<PlannedCall>) -> Vec<PlannedCall> {
    let mut kept: Vec<PlannedCall> = Vec::new();
    for step in steps {
        let steering = |step: &PlannedCall| {
            let is_none = |value: &PlannedValue| matches!(value, PlannedValue::Is { written, .. } if written == "null");
            let of = step.arguments.iter().filter(|planned| !step.content.contains(&planned.name));
            let mut of: Vec<PlannedArgument> = of.filter(|planned| !is_none(&planned.value)).cloned().collect();
            of.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            of
        };
        if !kept.iter().any(|other| other.tool == step.tool && steering(other) == steering(&step)) {
            kept.push(step);
        }
    }
    kept
}

/// For the model: what was understood, and about what the user will be asked.
fn answer(steps: &[PlannedCall]) -> String {
    let open = steps.iter().flat_map(|step| {
        let is_open = |planned: &&PlannedArgument| match &planned.value {
            PlannedValue::From(_) | PlannedValue::Is { whence: None, .. } => !step.content.contains(&planned.name),
            PlannedValue::Found(look) => !step.content.contains(&planned.name) && !is_said_whole(look),
            PlannedValue::Is { .. } => false,
        };
        let name = |planned: &PlannedArgument| match &planned.value {
            // Where it is to be found, or why it is not.
            PlannedValue::From(words) => format!("{}.{} ({words})", step.tool, planned.name),
            PlannedValue::Is { .. } | PlannedValue::Found(_) => format!("{}.{}", step.tool, planned.name),
        };
        step.arguments.iter().filter(is_open).map(name)
    });
    let open: Vec<String> = open.collect();
    let count = if steps.len() == 1 { "1 call".to_owned() } else { format!("{} calls", steps.len()) };
    if open.is_empty() {
        return format!("Planned: {count}, each once and just so.");
    }
    let open = open.iter().map(|name| quotable(name)).collect::<Vec<_>>().join(", ");
    format!(
        "Planned: {count}, each once and just so. The user will be asked about what they have not said themselves: {open}."
    )
}

/// The calls of a fresh reply are those that were planned, as far as they are: of two alike only the first is.
pub(super) fn assign(run: &mut ActiveState) {
    let intent = &mut run.intent;
    let Some(batch) = run.phase.batch_mut().filter(|_| !intent.steps.is_empty()) else { return };
    for open in &mut batch.calls {
        let (tool, arguments) = (open.call.name.as_str(), open.call.arguments.as_str());
        let fits = intent.steps.iter().enumerate().filter(|(index, _)| !intent.used.contains(index));
        let found = |index: usize, argument: &str| intent.found(index, argument).map(str::to_owned);
        let doubts = |index: usize, step: &PlannedCall| {
            unvouched_values(step, tool, arguments, &|argument: &str| found(index, argument))
        };
        let fits = fits.filter_map(|(index, step)| Some((index, doubts(index, step)?.len())));
        open.planned = fits.min_by_key(|(index, doubts)| (*doubts, *index)).map(|(index, _)| index);
        intent.used.extend(open.planned);
    }
}

/// Calls are done: what was found for what the plan is still to do.
pub(super) fn on_done(run: &mut ActiveState, batch: &Batch) {
    let intent = &run.intent;
    let all = intent.steps.iter().enumerate();
    let all = all.flat_map(|(step, planned)| planned.arguments.iter().map(move |argument| (step, planned, argument)));
    let looks = all.filter_map(|(step, planned, argument)| match &argument.value {
        PlannedValue::Found(look) => Some((step, planned.tool.as_str(), argument.name.as_str(), look)),
        PlannedValue::Is { .. } | PlannedValue::From(_) => None,
    });
    let mut found = Vec::new();
    for (step, tool, argument, look) in looks {
        let is_it = |open: &&OpenCall| {
            let doubts = unvouched_values(look, &open.call.name, &open.call.arguments, &|_| None);
            open.fate == CallFate::Done && open.reading.is_none() && doubts.is_some_and(|doubts| doubts.is_empty())
        };
        let results = batch.calls.iter().filter(is_it).filter_map(|open| open.progress.result());
        let answers = results.map(|result| result.text.as_str());
        found.extend(answers.map(|answer| FoundArgument {
            step,
            argument: argument.to_owned(),
            value: lookup::found(look, tool, argument, answer),
        }));
    }
    run.intent.found.extend(found);
}

/// Has somebody who counts said all of this call?
fn is_said_whole(look: &PlannedCall) -> bool {
    look.arguments.iter().all(|planned| matches!(planned.value, PlannedValue::Is { whence: Some(_), .. }))
}

/// A result that nobody vouches for: where a value was read can be told later.
pub(super) fn on_read(run: &mut ActiveState, from: &OriginSource, call: Option<&CallId>) {
    if let Some(call) = call.filter(|_| !run.intent.steps.is_empty()) {
        run.intent.read.insert(call.clone(), from.clone());
    }
}

/// What of a planned call a person is shown, with where it was read, the latest first; none: it was not planned.
pub(super) fn doubts(run: &ActiveState, open: &OpenCall) -> Option<Vec<UnvouchedValue>> {
    let mut doubts = unsaid(run, open)?;
    let results = run.transcript.messages().iter().rev().filter_map(|message| match message {
        Message::Tool(result) => Some((run.intent.read.get(&result.call)?, result.text.as_str())),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let results: Vec<(&OriginSource, &str)> = results.collect();
    for doubt in &mut doubts {
        let read = results.iter().find(|(_, text)| is_said(&doubt.value, text));
        doubt.read_in = read.map(|(from, _)| (*from).clone());
    }
    Some(doubts)
}

/// Was it planned, and has somebody who counts said all that steers it?
pub(super) fn is_vouched(run: &ActiveState, open: &OpenCall) -> bool {
    unsaid(run, open).is_some_and(|doubts| doubts.is_empty())
}

/// Was it planned, and leads no value of it anybody on that nobody has said, nor says which thing is meant?
pub(super) fn leads_nobody_on(run: &ActiveState, open: &OpenCall) -> bool {
    let is_plain = |doubt: &UnvouchedValue| {
        leads(&doubt.value).is_empty() && !doubt.value.contains('⟨') && !names_a_thing(&doubt.argument)
    };
    unsaid(run, open).is_some_and(|doubts| doubts.iter().all(is_plain))
}

/// What of a planned call nobody who counts has said: what steers it, and what leads somebody on in what it says.
fn unsaid(run: &ActiveState, open: &OpenCall) -> Option<Vec<UnvouchedValue>> {
    let mut doubts = run.intent.doubts(open)?;
    if run.rules >= RulesEdition::LEADS {
        let step = open.planned.and_then(|step| run.intent.steps.get(step));
        doubts.extend(step.into_iter().flat_map(|step| unsaid_leads(run, step, &open.call.arguments)));
    }
    Some(doubts)
}

/// The leads that no words of the person's have, in this run or in the plan, of what a call says that the plan left open.
fn unsaid_leads(run: &ActiveState, step: &PlannedCall, arguments: &str) -> Vec<UnvouchedValue> {
    let Some(WrittenValue::Object(members)) = parse(arguments) else { return Vec::new() };
    let person = run.input.principal.user;
    let later = run.transcript.entries().skip(1).filter(|entry| entry.author == Some(person));
    let mut told: Vec<String> = later.map(|entry| own_words(&entry.message.text())).collect();
    told.push(own_words(&run.input.text));
    let values = step.arguments.iter().filter_map(|planned| match &planned.value {
        PlannedValue::Is { written, whence: Some(_) } => Some(written.clone()),
        PlannedValue::Is { .. } | PlannedValue::From(_) | PlannedValue::Found(_) => None,
    });
    told.extend(values);
    let is_open = |name: &String| {
        let mut planned = step.arguments.iter().filter(|planned| planned.name == *name);
        step.content.contains(name) && !planned.any(|planned| matches!(planned.value, PlannedValue::Is { .. }))
    };
    let open = members.into_iter().filter_map(|(name, value)| match value {
        WrittenValue::Text(text) if is_open(&name) => Some((name, text)),
        WrittenValue::Text(_) | WrittenValue::Bare(_) | WrittenValue::List(_) | WrittenValue::Object(_) => None,
    });
    let unsaid = open.flat_map(|(name, text)| {
        let unsaid = leads(&text).into_iter().filter(|lead| !told.iter().any(|told| is_said(lead, told)));
        unsaid
            .map(|value| UnvouchedValue { argument: name.clone(), value, planned: String::new(), read_in: None })
            .collect::<Vec<_>>()
    });
    unsaid.take(LEADS_MAX).collect()
}

/// Was it planned, and has its person said all that steers it, in this conversation?
pub(super) fn is_own(run: &ActiveState, open: &OpenCall) -> bool {
    let step = open.planned.and_then(|step| run.intent.steps.get(step));
    let mut arguments = step.iter().flat_map(|step| &step.arguments);
    is_vouched(run, open)
        && arguments.all(|planned| match &planned.value {
            PlannedValue::Is {
                whence: Some(ValueSource::Fact | ValueSource::Config | ValueSource::Tool(_)), ..
            }
            | PlannedValue::Found(_) => false,
            PlannedValue::Is { .. } | PlannedValue::From(_) => true,
        })
}

/// A call that was done, unasked, because it was planned: what is told of it, to the model and in the answer.
pub(super) fn spared(run: &ActiveState, open: &OpenCall) -> Option<String> {
    let risk = open
        .assessed
        .as_ref()
        .map_or_else(|| run.tools.get(&open.call.name).map_or(Risk::Read, |facts| facts.most()), |known| known.risk);
    let is_medium = open.assessed.as_ref().is_some_and(|known| known.grade == DangerGrade::Medium) && is_own(run, open);
    let would_ask = is_medium || (!risk.is_read() && !run.taint.is_clean());
    let is_free = is_vouched(run, open) || undo::covers_open_values(run, open);
    // Of a high grade it was asked about all the same.
    let was_asked = run.rules >= RulesEdition::UNDONE && !approval::is_free(run, open);
    let is_spared = open.fate == CallFate::Done && would_ask && is_free && !was_asked;
    let index = open.planned?;
    let step = run.intent.steps.get(index).filter(|_| is_spared)?;
    let steering = step.arguments.iter().filter(|planned| !step.content.contains(&planned.name));
    let told = steering.filter_map(|planned| match &planned.value {
        PlannedValue::Is { written, whence: Some(whence) } => {
            Some(unasked_call_line(&planned.name, written, &format!("from {}", whence.as_words())))
        }
        PlannedValue::Found(look) => {
            let whence = format!("the only one that {}", found_by(look));
            run.intent.found(index, &planned.name).map(|value| unasked_call_line(&planned.name, value, &whence))
        }
        PlannedValue::Is { .. } | PlannedValue::From(_) => None,
    });
    // What the plan left open goes only where it can be taken back.
    let unsaid = doubts(run, open).unwrap_or_default().into_iter().map(|doubt| {
        let whence =
            doubt.read_in.as_ref().map_or_else(|| "said by nobody".to_owned(), |from| format!("from {}", source(from)));
        format!("{} \"{}\" ({whence})", doubt.argument, quotable(&doubt.value).replace('"', "'"))
    });
    let told = told.chain(unsaid);
    Some(format!("{}: {}", quotable(&open.call.name), told.collect::<Vec<_>>().join(", ")))
}

/// What is planned, a line for each call; for people.
pub fn steps(run: &ActiveState) -> Vec<String> {
    let argument = |planned: &PlannedArgument| match &planned.value {
        PlannedValue::Is { written, whence: Some(whence) } => {
            unasked_call_line(&planned.name, written, &format!("from {}", whence.as_words()))
        }
        PlannedValue::Found(look) => format!("{} to be the only one that {}", quotable(&planned.name), found_by(look)),
        PlannedValue::Is { written, whence: None } => {
            format!("{} {} (from nobody: I ask)", quotable(&planned.name), quotable(written))
        }
        PlannedValue::From(words) => format!("{} to be found: {} (I ask)", quotable(&planned.name), quotable(words)),
    };
    let line = |step: &PlannedCall| {
        let steering = step.arguments.iter().filter(|planned| !step.content.contains(&planned.name));
        format!("{}: {}", quotable(&step.tool), steering.map(argument).collect::<Vec<_>>().join(", "))
    };
    run.intent.steps.iter().map(line).collect()
}

/// Why a call with an effect was or was not taken for planned, for people; none: nothing is planned, or it only looks.
pub(crate) fn plan_explanation(run: &ActiveState, open: &OpenCall) -> Option<String> {
    let is_look = open.assessed.as_ref().is_some_and(|known| known.risk.is_read());
    if run.intent.steps.is_empty() || is_look || open.call.name == PLAN {
        return None;
    }
    let name = quotable(&open.call.name);
    let Some(doubts) = doubts(run, open) else { return Some(format!("{name}: not as planned")) };
    if doubts.is_empty() {
        return Some(format!("{name}: as planned"));
    }
    let doubts = doubts.iter().map(doubt).collect::<Vec<_>>().join("; ");
    Some(format!("{name}: planned, but {doubts}"))
}

/// What was planned and done in a run, and what it has read, for people; empty: nothing was planned.
pub fn plan_report(run: &ActiveState) -> Vec<String> {
    if run.intent.is_none() {
        return Vec::new();
    }
    let planned = steps(run).into_iter().map(|step| format!("- {step}"));
    let done = run.intent.spared.iter().map(|done| format!("- {done}"));
    let heads = |head: &str, lines: Vec<String>| {
        if lines.is_empty() { lines } else { [vec![head.to_owned()], lines].concat() }
    };
    let read = (!run.taint.is_clean())
        .then(|| format!("I ask before whatever else has an effect, because I have read: {}.", sources(&run.taint)));
    let mut told = heads("Planned before I read what others wrote:", planned.collect());
    told.extend(heads("Done without asking, because it was planned:", done.collect()));
    told.extend(read);
    told
}

fn unasked_call_line(name: &str, written: &str, whence: &str) -> String {
    let value = serde_json::from_str::<String>(written).unwrap_or_else(|_| written.to_owned());
    format!("{} \"{}\" ({whence})", quotable(name), quotable(&value).replace('"', "'"))
}

fn found_by(look: &PlannedCall) -> String {
    let words = look_words(look);
    let (tool, what) = words.split_once(' ').unwrap_or((&words, ""));
    format!("{} found {}", quotable(tool), quotable(what)).trim_end().to_owned()
}

/// Below the answer: what was done without a question, with whose words, and after whose. None: nothing was.
pub(super) fn unasked_calls_text(run: &ActiveState) -> Option<String> {
    let spared = &run.intent.spared;
    let more = spared.len().checked_sub(TOLD_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("; and {more} more")).unwrap_or_default();
    let done = spared.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("; ");
    let read = sources(&run.taint);
    let read = if read.is_empty() { read } else { format!(" What it says may come from what I read before: {read}.") };
    let told = format!("(Done as planned, without asking you: {done}{more}.{read})");
    (!spared.is_empty()).then_some(told)
}

fn sources(taint: &Taint) -> String {
    taint.sources().map(source).collect::<Vec<_>>().join(", ")
}
