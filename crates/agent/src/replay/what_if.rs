//! What another policy would have decided about a recorded run (row N2). Nothing is called and nothing is guessed.
//!
//! Two folds go over the recorded events of the world side by side: one under the run's own policy, one under the other.
//! What they decide is compared event by event. It ends where the record has no answer to what would have been asked.

pub mod continuation;
mod file;
mod record;

use serde::Serialize;
use serde_json::Value;

use crate::machine::effect::{Effect, ModelCall};
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::run_start::{ModelBill, RunStart};
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::{Step, step, texts};
use crate::replay::RecordedRun;
use crate::replay::tree::build::fields_of;
use crate::replay::what_if::continuation::{ContinuedRun, OpenEffects};
pub use crate::replay::what_if::file::{LimitsChange, WhatIf};
use crate::replay::what_if::record::RecordedAnswers;
use hob_core::domain::money::Money;
use hob_model::message::Usage;
use hob_model::tokens;

/// What is to be otherwise, with what is known of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WhatIfChange {
    pub what: WhatIf,
    /// What each of its models costs.
    pub bills: Vec<ModelBill>,
}

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhatIfReport {
    /// What has to be known to read it.
    pub notes: Vec<String>,
    /// Events of the world that both folds have taken.
    pub compared: usize,
    /// Where they decided differently, in order.
    pub differences: Vec<Difference>,
    /// Calls of a model that would have been made as well, but with another content or of another model.
    pub asked_otherwise: Vec<ChangedRequest>,
    /// Where the comparison had to end before the journal does.
    pub stopped: Option<RecordEnd>,
    pub was: RunTotals,
    /// The run as it would have been, with the recorded replies, as far as it was compared.
    pub would_be: RunTotals,
}

/// Something was decided differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The number of the event after which.
    pub seq: i64,
    /// That event's name.
    pub after: &'static str,
    /// What was decided.
    pub was: Vec<String>,
    pub would_be: Vec<String>,
}

/// A call of a model, and what it would have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedRequest {
    /// The number of the event that led to it.
    pub seq: i64,
    pub was: RequestEstimate,
    pub would_be: RequestEstimate,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestEstimate {
    pub model: String,
    /// The tokens it reads, estimated.
    pub estimate: u64,
    /// The most that it may cost, in nano-dollars; none: nobody knows its price.
    #[serde(rename = "most_nano_usd")]
    pub most: Option<Money>,
}

/// The record has no answer any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordEnd {
    /// The number of the event at which.
    pub seq: i64,
    pub why: String,
}

/// What a run took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunTotals {
    /// Replies of the model.
    pub cycles: u32,
    /// Tokens.
    pub usage: Usage,
    /// Money, in nano-dollars, as far as prices are known.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Money,
    /// One of its models has no known price.
    pub unpriced: bool,
    /// Where it stands.
    pub status: &'static str,
}

/// Compares what was decided with what would have been. Pure.
///
/// # Errors
/// When the change does not fit the run.
pub fn what_if(recorded: &RecordedRun, change: &WhatIfChange) -> Result<WhatIfReport, String> {
    Ok(compared(recorded, change, ReplyValidity::NothingFits)?.0)
}

/// The same up to the first request that was not made, and the run that goes on from there; none: there is nothing to be asked.
///
/// # Errors
/// When the change does not fit the run.
pub fn what_if_until_request(
    recorded: &RecordedRun,
    change: &WhatIfChange,
) -> Result<(WhatIfReport, Option<ContinuedRun>), String> {
    compared(recorded, change, ReplyValidity::AskedOtherwise)
}

/// How long the recorded replies hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyValidity {
    /// For as long as they have a place in the other run.
    NothingFits,
    /// For as long as they answer the very same requests.
    AskedOtherwise,
}

fn compared(
    recorded: &RecordedRun,
    change: &WhatIfChange,
    until: ReplyValidity,
) -> Result<(WhatIfReport, Option<ContinuedRun>), String> {
    let mut pair = StatePair { was: State::Empty, would_be: State::Empty };
    let mut report = WhatIfReport::new(recorded, change, until);
    let mut open = OpenEffects::default();
    let mut last = 0;
    let mut events = recorded.numbered().peekable();
    while let Some((seq, timed)) = events.next() {
        last = seq;
        if let Event::Mismatched(mismatch) = &timed.event {
            report.stop(seq, format!("here the record parts from the rules, and a person took over ({mismatch})"));
            report.sum(&pair);
            return Ok((report, None));
        }
        let was = step(&mut pair.was, timed.event.clone());
        for derived in was.events.iter().skip(1) {
            let recorded = events.next_if(|(_, next)| next.event.is_start_record());
            if recorded.is_none_or(|(_, recorded)| recorded.event.kind() != derived.kind()) {
                let why = "the record is not what this Hob's rules derive from it: see --verify".to_owned();
                report.stop(seq, why);
                report.sum(&pair);
                return Ok((report, None));
            }
        }
        let event = changed(&timed.event, recorded, change)?;
        let would_be = step(&mut pair.would_be, event.clone());
        open.take(&event, &would_be.effects);
        report.compared += 1;
        let is_last = events.peek().is_none();
        let why = report.compare(seq, &timed.event, &was, &would_be).or_else(|| divergence(&pair));
        let otherwise = || {
            let is_otherwise = report.asked_otherwise.last().is_some_and(|ask| ask.seq == seq);
            (is_otherwise && until == ReplyValidity::AskedOtherwise).then(|| OTHERWISE.to_owned())
        };
        if let Some(why) = why.or_else(otherwise).filter(|_| !is_last) {
            report.stop(seq, why);
            break;
        }
    }
    report.sum(&pair);
    let is_over = pair.would_be.active().is_none_or(|run| matches!(run.phase, Phase::Done(_)));
    let going = (!is_over).then(|| ContinuedRun::new(pair.would_be, RecordedAnswers::of(recorded, last), open));
    Ok((report, going))
}

/// Why the recorded replies hold no longer.
const OTHERWISE: &str =
    "here the model would have been asked otherwise, and what it would have answered is not on record";

/// The run as it was, and as it would have been.
struct StatePair {
    was: State,
    would_be: State,
}

impl WhatIfReport {
    fn new(recorded: &RecordedRun, change: &WhatIfChange, until: ReplyValidity) -> Self {
        let sum = RunTotals::default();
        let mut report = Self {
            notes: Vec::new(),
            compared: 0,
            differences: Vec::new(),
            asked_otherwise: Vec::new(),
            stopped: None,
            was: sum.clone(),
            would_be: sum,
        };
        if !recorded.events.iter().any(|timed| matches!(timed.event, Event::Begun(_))) {
            report.notes.push("the run has not begun: nothing was decided yet".to_owned());
        }
        let is_given = until == ReplyValidity::NothingFits;
        if is_given && (!change.what.models.is_empty() || change.what.system.is_some()) {
            report.notes.push(
                "what another model or another prompt would have answered cannot be known: the recorded replies are taken as given"
                    .to_owned(),
            );
        }
        if change.what.system.is_some() && recorded.system.is_none() {
            report.notes.push("the recorded prompt cannot be read: the estimates leave its size as it was".to_owned());
        }
        report
    }

    fn stop(&mut self, seq: i64, why: String) {
        self.stopped = Some(RecordEnd { seq, why });
    }

    fn sum(&mut self, pair: &StatePair) {
        (self.was, self.would_be) = (sum(&pair.was), sum(&pair.would_be));
    }

    /// Compares what follows from one event. Gives the reason why the comparison cannot go on, if there is one.
    fn compare(&mut self, seq: i64, event: &Event, was: &Step, would_be: &Step) -> Option<String> {
        let not_run = matches!(event, Event::ToolFinished { .. }) && ignored(would_be) && !ignored(was);
        let lists = [was, would_be].map(|step| step.effects.iter().map(effect_text).collect::<Vec<_>>());
        let [told_was, told_would_be] = lists;
        if !not_run && told_was != told_would_be {
            self.differences.push(Difference { seq, after: event.kind(), was: told_was, would_be: told_would_be });
        }
        if let (Some(was), Some(would_be)) = (asks(was), asks(would_be))
            && (&was.digest, &was.label) != (&would_be.digest, &would_be.label)
            && was.purpose == would_be.purpose
        {
            self.asked_otherwise.push(ChangedRequest { seq, was: asked(was), would_be: asked(would_be) });
        }
        if ignored(would_be) && !ignored(was) && !not_run {
            return Some(format!("the next thing on record, {}, has no place in the other run", event.kind()));
        }
        None
    }
}

/// What a run took so far.
fn sum(state: &State) -> RunTotals {
    RunTotals {
        status: state.status().as_str(),
        ..state.active().map_or_else(RunTotals::default, |run| RunTotals {
            cycles: run.cycles,
            usage: run.usage,
            cost: run.cost,
            unpriced: !run.is_priced(),
            status: "",
        })
    }
}

/// Why the record has no answer for where the other run stands.
fn divergence(pair: &StatePair) -> Option<String> {
    let (Some(was), Some(would_be)) = (pair.was.active(), pair.would_be.active()) else {
        return None;
    };
    match (&was.phase, &would_be.phase) {
        (Phase::Done(_), Phase::Done(_)) => None,
        (_, Phase::Done(end)) => Some(format!("here the run would have been over ({})", end_name(end))),
        (Phase::Calling(was), Phase::Calling(would_be)) if was.purpose != would_be.purpose => Some(format!(
            "the model would have been asked for something else ({} instead of {}), and what it would have answered is not on record",
            name_of(&would_be.purpose),
            name_of(&was.purpose)
        )),
        (Phase::Waiting { .. }, Phase::Waiting { .. }) => None,
        (_, Phase::Waiting { .. }) => {
            Some("a person would have been asked, and what they would have answered is not on record".to_owned())
        }
        (_, Phase::Acting(batch)) => {
            let also = |name: &str| started(was).any(|other| other == name);
            let unknown = batch.started().map(|(call, _)| call).find(|call| !also(&call.id.0));
            unknown.map(|call| {
                format!("{} would have been run, and what it would have brought is not on record", call.name)
            })
        }
        _ => None,
    }
}

fn started(run: &ActiveState) -> impl Iterator<Item = &str> {
    let batch = match &run.phase {
        Phase::Acting(batch) => Some(batch),
        _ => None,
    };
    batch.into_iter().flat_map(|batch| batch.started().map(|(call, _)| call.id.0.as_str()))
}

fn ignored(step: &Step) -> bool {
    step.effects.iter().any(|effect| matches!(effect, Effect::Ignored { .. }))
}

fn asks(step: &Step) -> Option<&ModelCall> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::CallModel(call) => Some(call),
        _ => None,
    })
}

fn asked(call: &ModelCall) -> RequestEstimate {
    RequestEstimate { model: call.label.clone(), estimate: call.input_estimate, most: call.reserve }
}

/// An effect in words; what is only said or asked otherwise has the same ones.
fn effect_text(effect: &Effect) -> String {
    let after = |delay_ms: u64| if delay_ms == 0 { String::new() } else { format!(", after {delay_ms} ms") };
    match effect {
        Effect::CallModel(call) => format!("ask the model: {}{}", name_of(&call.purpose), after(call.delay_ms)),
        Effect::RunTool { call, attempt, delay_ms } => {
            format!("run {} ({}), attempt {attempt}{}", call.name, call.id, after(*delay_ms))
        }
        Effect::Look(call) => format!("look at {} ({}) as things stand", call.name, call.id),
        Effect::Summarise(_) => "sum up the older part of the context".to_owned(),
        Effect::AbortTools(calls) => format!("stop {} calls", calls.len()),
        Effect::AskHuman(question) => format!("ask a person: {}", texts::question(question)),
        Effect::Reply(RunReply::Answer { text }) => format!("answer: {text}"),
        Effect::Reply(RunReply::Notice { text }) => format!("tell: {text}"),
        Effect::Reply(RunReply::Silence) => "say nothing".to_owned(),
        Effect::End(end) => format!("end: {}", end_name(end)),
        Effect::Note(event) => format!("note {}: {}", event.kind(), fields_of(event)),
        Effect::Ignored { why } => format!("nothing: {why}"),
    }
}

fn end_name(end: &RunEnd) -> String {
    match end {
        RunEnd::Failed { why } => format!("failed, {why}"),
        RunEnd::Completed | RunEnd::Cancelled | RunEnd::GivenUp | RunEnd::Withdrawn | RunEnd::Joined => name_of(end),
    }
}

/// The stored name of a variant.
fn name_of<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value).unwrap_or_default() {
        Value::String(name) => name,
        Value::Object(fields) => fields.get("is").and_then(Value::as_str).unwrap_or_default().to_owned(),
        other => other.to_string(),
    }
}

/// The event as the other run takes it.
fn changed(event: &Event, recorded: &RecordedRun, change: &WhatIfChange) -> Result<Event, String> {
    let other_system = change.what.system.as_deref().map(crate::prompt::system_digest);
    match (event, other_system) {
        (Event::Begun(begun), _) => Ok(Event::Begun(Box::new(other_begin(begun, recorded, change)?))),
        // A process that took the run up again had the prompt that the run began with: so would the other.
        (Event::Resumed { system }, Some(other)) if Some(system) == recorded_system(recorded) => {
            Ok(Event::Resumed { system: other })
        }
        (event, _) => Ok(event.clone()),
    }
}

fn recorded_system(recorded: &RecordedRun) -> Option<&crate::machine::digest::Digest> {
    recorded.events.iter().find_map(|timed| match &timed.event {
        Event::Begun(begun) => Some(&begun.context.system),
        _ => None,
    })
}

fn other_begin(begun: &RunStart, recorded: &RecordedRun, change: &WhatIfChange) -> Result<RunStart, String> {
    let mut begun = begun.clone();
    let WhatIf { policy, limits, models, system } = &change.what;
    if let (Some(patch), Some(known)) = (policy, &begun.policy) {
        let mut value = serde_json::to_value(known).map_err(|error| error.to_string())?;
        merge_patch(&mut value, serde_json::to_value(patch).map_err(|error| error.to_string())?);
        let policy = serde_json::from_value(value).map_err(|error| format!("[policy] does not fit: {error}"))?;
        begun.policy = Some(Box::new(policy));
    }
    begun.limits.iterations = limits.iterations.unwrap_or(begun.limits.iterations);
    begun.limits.iterations_step = limits.iterations_step.unwrap_or(begun.limits.iterations_step);
    begun.limits.iterations_cap = limits.iterations_cap.unwrap_or(begun.limits.iterations_cap);
    if !models.is_empty() {
        let known = |label: &String| {
            let index = begun.models.iter().position(|known| known == label)?;
            begun.billing.models.get(index).copied()
        };
        let bill = |(label, bill): (&String, Option<&ModelBill>)| known(label).or(bill.copied()).unwrap_or(UNKNOWN);
        let bills = change.bills.iter().map(Some).chain(std::iter::repeat(None));
        begun.billing.models = models.iter().zip(bills).map(bill).collect();
        begun.models.clone_from(models);
    }
    if let Some(system) = system {
        if let Some(known) = &recorded.system {
            let tokens = |text: &str| tokens::estimate(text, &[], &[]);
            begun.billing.context_tokens =
                (begun.billing.context_tokens + tokens(system)).saturating_sub(tokens(known));
            begun.context.chars = (begun.context.chars + system.len() as u64).saturating_sub(known.len() as u64);
        }
        begun.context.system = crate::prompt::system_digest(system);
    }
    Ok(begun)
}

/// A model of which nothing is known.
const UNKNOWN: ModelBill = ModelBill { rates: None, per_mille: 1_000, window: None, assumed: None };

/// Puts the fields of `patch` over those of `value`; tables are joined, anything else is replaced.
fn merge_patch(value: &mut Value, patch: Value) {
    match (value, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, patch) in patch {
                merge_patch(fields.entry(name).or_insert(Value::Null), patch);
            }
        }
        (value, patch) => *value = patch,
    }
}
