//! Trees, verdicts and comparisons for people. Pure.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cli::replay::ComparisonReport;
use crate::cli::replay::continuation::{Caps, Continuation, ContinuationStep};
use crate::cli::replay::phrases::{count_of, cut, duration_text, utc_text};
use hob_agent::machine::effect::ModelCallPurpose;
use hob_agent::replay::tree::{Cycle, ModelRequest, ModelRequestOutcome, RecordedCall, Remark, RunTree};
use hob_agent::replay::verify::{HashVerdict, ReplayVerdict};
use hob_agent::replay::what_if::continuation::AnsweredCall;
use hob_agent::replay::what_if::{RequestEstimate as ModelAsked, RunTotals, WhatIfReport};
use hob_core::domain::money::Money;
use hob_core::domain::text::grouped;
use hob_model::message::Usage;

/// Words, results and remarks are cut here; `--json` has them whole.
const LINE_MAX: usize = 200;
/// Arguments are cut here.
const ARGUMENTS_MAX: usize = 100;

/// Lines that are put together.
#[derive(Default)]
struct TextPage(String);

impl TextPage {
    fn line(&mut self, indent: usize, text: impl AsRef<str>) {
        // Writing to a string does not fail.
        let _written = writeln!(self.0, "{:indent$}{}", "", text.as_ref());
    }
}

pub(super) fn tree(tree: &RunTree) -> String {
    let mut page = TextPage::default();
    page.line(0, format!("Run {} of {} in {}: {}", tree.run, tree.who, tree.session, tree.state));
    if let Some(at) = tree.accepted_at {
        let took = tree
            .ended_at
            .map(|end| format!(", over after {}", duration_text(end.as_millisecond() - at.as_millisecond())));
        page.line(0, format!("{} UTC{}", utc_text(at), took.unwrap_or_default()));
    }
    if let Some(parent) = tree.parent {
        page.line(0, format!("An agent of run {parent}"));
    }
    if !tree.agents.is_empty() {
        let runs = tree.agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        page.line(0, format!("Its agents: {runs}"));
    }
    page.line(0, format!("> {}", cut(&tree.message, LINE_MAX)));
    if !tree.taint.is_clean() {
        let sources: Vec<String> = tree.taint.sources().map(ToString::to_string).collect();
        page.line(0, format!("tainted by {}", cut(&sources.join(", "), LINE_MAX)));
    }
    remarks(&mut page, 0, &tree.before);
    for cycle in &tree.cycles {
        cycle_lines(&mut page, cycle);
    }
    page.line(0, "");
    let evaluation = &tree.evaluation;
    let end = evaluation.terminated_by.as_ref().map_or_else(|| "not over".to_owned(), |by| format!("ended by {by}"));
    let spent = spent(&tree.usage, priced(tree.cost, tree.unpriced));
    page.line(0, format!("{end}: {}, {spent}", count_of(u64::from(evaluation.cycles), "cycle")));
    if let Some((seq, why)) = &tree.unreadable {
        page.line(0, format!("Event {seq} cannot be read, nor what comes after it: {why}"));
    }
    page.0
}

fn cycle_lines(page: &mut TextPage, cycle: &Cycle) {
    page.line(0, "");
    let answered = cycle.asks.iter().any(|ask| ask.outcome == ModelRequestOutcome::Answered);
    let spent = if answered { format!(": {}", spent(&cycle.usage, cycle.cost)) } else { String::new() };
    page.line(0, format!("Cycle {}{spent}", cycle.number));
    for ask in &cycle.asks {
        page.line(2, ask_line(ask));
    }
    if !cycle.text.trim().is_empty() {
        page.line(2, format!("said: {}", cut(&cycle.text, LINE_MAX)));
    }
    for call in &cycle.calls {
        call_lines(page, call);
    }
    remarks(page, 2, &cycle.remarks);
}

fn ask_line(ask: &ModelRequest) -> String {
    let why = match ask.purpose {
        Some(ModelCallPurpose::Work) | None => String::new(),
        Some(purpose) => format!(" to {}", stored_name(&purpose)),
    };
    let took = ask.took_ms.map(duration_text).unwrap_or_default();
    let came = match &ask.outcome {
        ModelRequestOutcome::Open => "no answer yet".to_owned(),
        ModelRequestOutcome::Answered => format!("answered in {took}"),
        ModelRequestOutcome::Failed { class, message } => {
            format!("failed in {took} ({class}): {}", cut(message, LINE_MAX))
        }
        ModelRequestOutcome::Unheard => "the answer was not heard".to_owned(),
    };
    format!("asked {}{why}: {came}", ask.model)
}

fn call_lines(page: &mut TextPage, call: &RecordedCall) {
    let attempts = match call.attempts {
        0 => ", not run".to_owned(),
        1 => String::new(),
        attempts => format!(", {attempts} attempts"),
    };
    let took = call.took_ms.map(|took| format!(", {}", duration_text(took))).unwrap_or_default();
    let arguments = cut(&call.arguments, ARGUMENTS_MAX);
    page.line(2, format!("{} {arguments} ({}{}{attempts}{took})", call.name, call.id, assessment_note(call)));
    match &call.result {
        None => page.line(4, "no result yet"),
        Some(result) => {
            let failed = if result.is_error { "failed: " } else { "" };
            page.line(4, format!("= {failed}{}", cut(&result.text, LINE_MAX)));
        }
    }
    if let Some(source) = &call.source {
        page.line(4, format!("from {}, for which nobody vouches", cut(&source.to_string(), LINE_MAX)));
    }
}

/// What was known of a call beforehand, if it was more than a harmless look.
fn assessment_note(call: &RecordedCall) -> String {
    let Some(known) = &call.assessed else { return String::new() };
    let risk = Some(known.risk).filter(|risk| !risk.is_read()).map(|risk| format!(", {}", risk.as_str()));
    let grade = Some(known.grade).filter(|grade| !grade.is_safe()).map(|grade| format!(", {}", grade.as_str()));
    [risk, grade].into_iter().flatten().collect()
}

fn remarks(page: &mut TextPage, indent: usize, remarks: &[Remark]) {
    for remark in remarks {
        let text = cut(&remark.text, LINE_MAX);
        page.line(indent, format!("* {} {text}", remark.kind).trim_end());
    }
}

fn spent(usage: &Usage, cost: Option<Money>) -> String {
    let cached = match usage.cached_tokens {
        0 => String::new(),
        cached => format!(" ({} from cache)", grouped(cached)),
    };
    let cost = cost.map_or_else(|| "price unknown".to_owned(), |cost| cost.to_string());
    format!("{} tokens read{cached}, {} written, {cost}", grouped(usage.input_tokens), grouped(usage.output_tokens))
}

/// A sum of money, if it means anything.
fn priced(cost: Money, unpriced: bool) -> Option<Money> {
    (!unpriced || cost > Money::ZERO).then_some(cost)
}

fn stored_name<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name.replace('_', " "),
        Ok(_) | Err(_) => String::new(),
    }
}

/// What a check found.
pub(super) fn verdict(run: i64, verdict: &ReplayVerdict) -> String {
    let mut page = TextPage::default();
    page.line(0, format!("Run {run}: {} folded.", count_of(verdict.events as u64, "event")));
    if let Some((seq, why)) = &verdict.unreadable {
        page.line(0, format!("NOT READABLE from event {seq} on: {why}"));
    }
    match &verdict.mismatch {
        None => page.line(0, "The journal replays to the same effects."),
        Some(mismatch) => page.line(0, format!("NOT THE SAME EFFECTS: {mismatch}.")),
    }
    for told in &verdict.told {
        page.line(0, format!("A person was told of this one while the run lived: {told}."));
    }
    match &verdict.hash {
        HashVerdict::Same { hash } => page.line(0, format!("The state is the one that was written down: {hash}.")),
        HashVerdict::Different { stored, folded } => {
            page.line(0, "NOT THE SAME STATE:");
            page.line(2, format!("written down {stored}"));
            page.line(2, format!("folded       {folded}"));
        }
        HashVerdict::OtherScheme { stored } => {
            page.line(
                0,
                format!("The state's hash was made by another edition ({}) and cannot be compared.", stored.scheme()),
            );
        }
        HashVerdict::NotStored => {
            page.line(
                0,
                "No hash of the state was written down: the run is older than such hashes, or was written off.",
            );
        }
    }
    page.0
}

/// A comparison.
pub(super) fn report(run: i64, report: &WhatIfReport) -> String {
    let mut page = TextPage::default();
    let compared = count_of(report.compared as u64, "event");
    page.line(0, format!("Run {run} under another policy: {compared} compared, nothing was called."));
    comparison(&mut page, report);
    page.0
}

/// A comparison that went on by asking.
pub(super) fn continuation_text(run: i64, asked: &ComparisonReport, caps: Caps) -> String {
    let ComparisonReport { report, went_on } = asked;
    let mut page = TextPage::default();
    let compared = count_of(report.compared as u64, "event");
    page.line(0, format!("Run {run} under another policy: {compared} compared, then asked."));
    comparison(&mut page, report);
    let Some(Continuation { steps, ended, spent, would_be }) = went_on else {
        page.line(0, "There was nothing to ask.");
        return page.0;
    };
    page.line(0, "");
    page.line(0, "From here on the model was asked. No tool was run, and nothing of it is recorded:");
    for step in steps {
        push_step(&mut page, step);
    }
    page.line(0, format!("It ends here: {}.", cut(ended, LINE_MAX)));
    page.line(0, format!("Would be: {}", sum(would_be)));
    let calls = count_of(u64::from(spent.calls), "call");
    let unpriced = match spent.unpriced_tokens {
        0 => String::new(),
        tokens => {
            let (tokens, most) = (grouped(tokens), grouped(caps.tokens));
            format!(", and {tokens} tokens of unknown price of at most {most}")
        }
    };
    page.line(0, format!("Asking took {calls}, {} of at most {}{unpriced}.", spent.cost, caps.usd));
    page.line(0, "Your provider bills that; Hob's own sums and budgets leave it out.");
    page.0
}

fn push_step(page: &mut TextPage, step: &ContinuationStep) {
    match step {
        ContinuationStep::Answered { model, text, usage, cost } => {
            page.line(2, format!("asked {model}: {}", spent(usage, *cost)));
            if !text.trim().is_empty() {
                page.line(4, format!("said: {}", cut(text, LINE_MAX)));
            }
        }
        ContinuationStep::Failed { model, why } => {
            page.line(2, format!("asked {model}: no answer: {}", cut(why, LINE_MAX)))
        }
        ContinuationStep::Called(AnsweredCall { name, arguments, is_recorded }) => {
            let came = if *is_recorded { "answered from the record" } else { "not performed in a what-if" };
            page.line(4, format!("{name} {}: {came}", cut(arguments, ARGUMENTS_MAX)));
        }
    }
}

fn comparison(page: &mut TextPage, report: &WhatIfReport) {
    for note in &report.notes {
        page.line(0, format!("Note: {note}."));
    }
    if report.differences.is_empty() {
        page.line(0, "It would have decided the same.");
    }
    for difference in &report.differences {
        page.line(0, format!("After event {} ({}):", difference.seq, difference.after));
        push_section(page, "was:     ", &difference.was);
        push_section(page, "would be:", &difference.would_be);
    }
    for ask in &report.asked_otherwise {
        let same = ask.was == ask.would_be;
        let (was, would_be) = (model_asked(&ask.was), model_asked(&ask.would_be));
        let words = if same { format!("{was}, with other words in it") } else { format!("{was}; would be {would_be}") };
        page.line(0, format!("Asked after event {}: {words}", ask.seq));
    }
    match &report.stopped {
        Some(stopped) => page.line(0, format!("It ends at event {}: {}.", stopped.seq, stopped.why)),
        None => page.line(0, "The record was followed to its end."),
    }
    let there = if report.stopped.is_some() { ", up to there" } else { "" };
    page.line(0, format!("Was{there}: {}", sum(&report.was)));
    page.line(0, format!("Would be{there}: {}", sum(&report.would_be)));
}

fn push_section(page: &mut TextPage, name: &str, words: &[String]) {
    if words.is_empty() {
        page.line(2, format!("{name} nothing"));
    }
    for word in words {
        page.line(2, format!("{name} {}", cut(word, LINE_MAX)));
    }
}

fn model_asked(asked: &ModelAsked) -> String {
    let most = asked.most.map_or_else(|| "price unknown".to_owned(), |most| format!("at most {most}"));
    format!("{}, {} tokens, {most}", asked.model, grouped(asked.estimate))
}

fn sum(sum: &RunTotals) -> String {
    format!(
        "{} after {}, {}",
        sum.status,
        count_of(u64::from(sum.cycles), "cycle"),
        spent(&sum.usage, priced(sum.cost, sum.unpriced))
    )
}

#[cfg(test)]
mod tests;
