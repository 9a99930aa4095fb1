//! Builds the tree: one pass over the events, with the machine's fold beside it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::machine::Replay;
use crate::machine::effect::{ModelCall, ModelCallPurpose};
use crate::machine::event::{Event, RunEnd, RunReply, ToolOutcome};
use crate::machine::note::{DeclaredEnd, LoopCeiling};
use crate::machine::plan;
use crate::machine::policy::Termination;
use crate::machine::state::{ActiveState, Phase, ResumePoint, State};
use crate::machine::status::Status;
use crate::machine::stop::CancelReason;
use crate::machine::texts;
use crate::replay::tree::{
    CallResult, Cycle, Evaluation, ModelRequest, ModelRequestOutcome, RecordedCall, Remark, RunTree,
};
use crate::replay::{RecordedRun, TimedEvent};
use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::tools::Assessment;
use hob_model::message::{Message, ToolCall, ToolResult, Usage};

impl RunTree {
    /// The tree of a recorded run.
    pub fn of(recorded: &RecordedRun) -> Self {
        let mut builder = Builder::default();
        for (seq, timed) in recorded.numbered() {
            builder.take(seq, timed);
        }
        let Builder { replay, before, mut cycles, mut evaluation, last_purpose, declared_end, message, .. } = builder;
        let active = replay.state.active();
        settle(&mut cycles, active);
        evaluation.cycles = active.map_or(0, |run| run.cycles);
        evaluation.terminated_by = terminated_by(&replay.state, &evaluation, last_purpose, declared_end.as_ref());
        evaluation.ok = evaluation.terminated_by.is_some().then(|| replay.state.status() == Status::Completed);
        let results = active.into_iter().flat_map(|run| run.transcript.messages());
        evaluation.final_tool_result = results.filter_map(tool_result).next_back().map(|result| result.text.clone());
        let times = (recorded.events.first(), recorded.events.last());
        Self {
            run: recorded.run,
            session: recorded.session.clone(),
            who: recorded.who.clone(),
            state: recorded.state.clone(),
            parent: recorded.parent,
            agents: recorded.agents.clone(),
            message,
            accepted_at: times.0.map(|timed| timed.at),
            ended_at: times.1.filter(|_| replay.state.status().is_final()).map(|timed| timed.at),
            models: active.map(|run| run.models.clone()).unwrap_or_default(),
            evaluation,
            usage: active.map(|run| run.usage).unwrap_or_default(),
            cost: active.map(|run| run.cost).unwrap_or_default(),
            unpriced: active.is_some_and(|run| !run.is_priced()),
            taint: active.map(|run| run.taint.clone()).unwrap_or_default(),
            before,
            cycles,
            unreadable: recorded.broken.as_ref().map(|broken| (broken.seq, broken.what.clone())),
        }
    }
}

#[derive(Default)]
struct Builder {
    replay: Replay,
    message: String,
    before: Vec<Remark>,
    cycles: Vec<Cycle>,
    evaluation: Evaluation,
    /// Why the model was asked that answered last.
    last_purpose: Option<ModelCallPurpose>,
    /// A declared loop came to its end, by the condition with this number if it was one.
    declared_end: Option<DeclaredEnd>,
    /// The cycle is over: the next call of a model begins another.
    answered: bool,
}

impl Builder {
    fn take(&mut self, seq: i64, timed: &TimedEvent) {
        let before = self.replay.state.active().map(|run| (run.usage, run.cost, run.transcript.messages().len()));
        let call = self.replay.state.active().and_then(open_call).map(|call| (call.model, call.purpose));
        self.replay.feed(&timed.event);
        match &timed.event {
            Event::Accepted(accepted) => self.message.clone_from(&accepted.text),
            Event::Edited { text } => self.message.clone_from(text),
            Event::ModelAsked { model, input_estimate, .. } => self.asked(timed.at, model, *input_estimate),
            Event::ModelAnswered(completion) => {
                self.end_ask(timed.at, ModelRequestOutcome::Answered);
                self.answered = true;
                self.last_purpose = call.map(|(_, purpose)| purpose).or(self.last_purpose);
                let priced = call.map(|(model, _)| model);
                let text = completion.text().into_owned();
                self.answered_with(text, priced, before);
            }
            Event::ModelFailed { class, message, .. } => {
                self.end_ask(timed.at, ModelRequestOutcome::Failed { class: *class, message: message.clone() });
            }
            Event::ToolStarted { call, attempt, .. } => self.started(call, *attempt, timed.at),
            Event::ToolFinished { call, outcome, source, .. } => {
                self.finished(call, outcome, source.as_ref(), timed.at)
            }
            Event::Terminated(terminated) => self.declared_end = Some(terminated.clone()),
            Event::Replied(reply) => {
                self.evaluation.text = match reply {
                    RunReply::Answer { text } | RunReply::Notice { text } => Some(text.clone()),
                    RunReply::Silence => None,
                };
            }
            Event::Resumed { .. } | Event::Mismatched(_) | Event::CancelRequested(_) | Event::Panicked { .. } => {
                self.end_ask(timed.at, ModelRequestOutcome::Unheard);
            }
            _ => {}
        }
        let own = remark(&timed.event).map(|text| (timed.event.kind(), text));
        let remarks: Vec<_> = planned(&timed.event, self.replay.state.active()).into_iter().chain(own).collect();
        for (kind, text) in remarks {
            let remark = Remark { seq, at: timed.at, kind, text };
            match self.cycles.last_mut() {
                Some(cycle) => cycle.remarks.push(remark),
                None => self.before.push(remark),
            }
        }
    }

    fn asked(&mut self, at: Timestamp, model: &str, estimate: u64) {
        if self.cycles.is_empty() || self.answered {
            self.answered = false;
            let number = u32::try_from(self.cycles.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.cycles.push(Cycle {
                number,
                asks: Vec::new(),
                text: String::new(),
                calls: Vec::new(),
                usage: Usage::default(),
                cost: None,
                remarks: Vec::new(),
            });
        }
        let purpose = self.replay.state.active().and_then(open_call).map(|call| call.purpose);
        if let Some(cycle) = self.cycles.last_mut() {
            let (model, outcome) = (model.to_owned(), ModelRequestOutcome::Open);
            cycle.asks.push(ModelRequest { model, purpose, at, estimate, took_ms: None, outcome });
        }
    }

    fn end_ask(&mut self, at: Timestamp, outcome: ModelRequestOutcome) {
        let open = self.cycles.last_mut().and_then(|cycle| cycle.asks.last_mut());
        if let Some(ask) = open.filter(|ask| ask.outcome == ModelRequestOutcome::Open) {
            ask.took_ms = Some(between(ask.at, at));
            ask.outcome = outcome;
        }
    }

    /// The model's words and calls, as the run has them now, and what the reply was billed.
    fn answered_with(&mut self, text: String, priced: Option<usize>, before: Option<(Usage, Money, usize)>) {
        let (Some(run), Some((usage, _, known)), Some(cycle)) =
            (self.replay.state.active(), before, self.cycles.last_mut())
        else {
            return;
        };
        cycle.text = text;
        cycle.usage = less(run.usage, usage);
        cycle.cost = priced.and_then(|model| run.price(model, &cycle.usage));
        let calls: Vec<(&ToolCall, Option<&Assessment>)> = match &run.phase {
            Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => {
                batch.calls.iter().map(|open| (&open.call, open.assessed.as_ref())).collect()
            }
            // A reply whose calls were settled at once is in the transcript already.
            _ => {
                run.transcript.messages().iter().skip(known).flat_map(Message::calls).map(|call| (call, None)).collect()
            }
        };
        let call = |(call, assessed): (&ToolCall, Option<&Assessment>)| RecordedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            assessed: assessed.cloned(),
            source: None,
            attempts: 0,
            started_at: None,
            took_ms: None,
            result: None,
        };
        cycle.calls = calls.into_iter().map(call).collect();
    }

    fn call(&mut self, id: &CallId) -> Option<&mut RecordedCall> {
        self.cycles.iter_mut().rev().flat_map(|cycle| &mut cycle.calls).find(|call| call.id == *id)
    }

    fn started(&mut self, id: &CallId, attempt: u32, at: Timestamp) {
        if let Some(call) = self.call(id) {
            call.attempts = attempt;
            call.started_at = call.started_at.or(Some(at));
        }
    }

    fn finished(&mut self, id: &CallId, outcome: &ToolOutcome, source: Option<&OriginSource>, at: Timestamp) {
        let (text, is_error) = outcome.words();
        if let Some(call) = self.call(id) {
            call.source = source.cloned();
            call.took_ms = call.started_at.map(|started| between(started, at));
            call.result = Some(CallResult { text: text.to_owned(), is_error });
        }
    }
}

fn open_call(run: &ActiveState) -> Option<&ModelCall> {
    match &run.phase {
        Phase::Calling(call) => Some(call),
        _ => None,
    }
}

/// What the model was told of each call goes before what the tool said: it may have been cut, warned of, or decided by
/// a person.
fn settle(cycles: &mut [Cycle], active: Option<&ActiveState>) {
    let messages = active.into_iter().flat_map(|run| run.transcript.messages());
    let results: BTreeMap<&CallId, &ToolResult> =
        messages.filter_map(tool_result).map(|result| (&result.call, result)).collect();
    for call in cycles.iter_mut().flat_map(|cycle| &mut cycle.calls) {
        if let Some(result) = results.get(&call.id) {
            call.result = Some(CallResult { text: result.text.clone(), is_error: result.is_error });
        }
    }
}

fn tool_result(message: &Message) -> Option<&ToolResult> {
    match message {
        Message::Tool(result) => Some(result),
        Message::User { .. } | Message::Assistant { .. } => None,
    }
}

fn between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millisecond() - from.as_millisecond()
}

fn less(all: Usage, before: Usage) -> Usage {
    Usage {
        input_tokens: all.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: all.output_tokens.saturating_sub(before.output_tokens),
        cached_tokens: all.cached_tokens.saturating_sub(before.cached_tokens),
        cache_write_tokens: all.cache_write_tokens.saturating_sub(before.cache_write_tokens),
        reasoning_tokens: all.reasoning_tokens.saturating_sub(before.reasoning_tokens),
    }
}

/// What ended a run, in a word; none: it is not over.
fn terminated_by(
    state: &State,
    evaluation: &Evaluation,
    last_purpose: Option<ModelCallPurpose>,
    declared_end: Option<&DeclaredEnd>,
) -> Option<String> {
    let end = match state {
        State::Empty | State::Queued(_) => return None,
        State::Closed(end) => end,
        State::Active(run) => run.end()?,
    };
    let run = state.active();
    let declared = run.and_then(|run| run.policy.declared.as_ref());
    let condition = declared_end
        .and_then(|end| end.condition)
        .and_then(|index| declared?.terminate.get(usize::try_from(index).ok()?));
    let ceiling = declared_end.and_then(|end| end.ceiling).map(|ceiling| match ceiling {
        LoopCeiling::Cycles => "max_cycles",
        LoopCeiling::Money => "budget-exhausted",
    });
    let word = match end {
        RunEnd::Completed if ceiling.is_some() => ceiling?,
        RunEnd::Completed => match (condition, last_purpose) {
            (Some(Termination::TextIncludes { .. }), _) => "text-includes",
            (Some(Termination::ToolResult { .. }), _) => "tool-result",
            (Some(Termination::BudgetExhausted), _) => "budget-exhausted",
            (None, _) if declared_end.is_some() => "budget-exhausted",
            (None, Some(ModelCallPurpose::WrapUpTime)) => "soft_limit",
            (None, Some(ModelCallPurpose::WrapUpIterations)) => "iterations",
            (None, _) if evaluation.text.is_none() => "silence",
            (None, _) => "answer",
        },
        RunEnd::Cancelled => match run.and_then(|run| run.cancel) {
            Some(CancelReason::Interrupted { .. }) => "interrupted",
            Some(_) | None => "stopped",
        },
        RunEnd::GivenUp => "given_up",
        RunEnd::Withdrawn => "withdrawn",
        RunEnd::Joined => "joined",
        RunEnd::Failed { why } => why,
    };
    Some(word.to_owned())
}

/// What was planned with an event, and which calls of a reply are so (row N16).
fn planned(event: &Event, active: Option<&ActiveState>) -> Vec<(&'static str, String)> {
    let Some(run) = active else { return Vec::new() };
    match (event, &run.phase) {
        (Event::ToolFinished { outcome: ToolOutcome::Plan, .. }, _) => {
            plan::steps(run).into_iter().map(|step| ("plan.made", step)).collect()
        }
        (Event::ModelAnswered(_), Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. }) => {
            batch.calls.iter().filter_map(|open| Some(("call.planned", plan::plan_explanation(run, open)?))).collect()
        }
        _ => Vec::new(),
    }
}

/// What there is to say of an event that is neither the model's nor a tool's.
fn remark(event: &Event) -> Option<String> {
    match event {
        Event::Accepted(_)
        | Event::Begun(_)
        | Event::ModelAsked { .. }
        | Event::ModelAnswered(_)
        | Event::Assessed { .. }
        | Event::Looked { .. }
        | Event::ModelFailed { .. }
        | Event::ToolStarted { .. }
        | Event::ToolFinished { .. } => None,
        Event::HumanAsked(question) => Some(texts::question(question)),
        Event::HumanAnswered(answer) => Some(answer.text.clone()),
        Event::Replied(RunReply::Answer { text } | RunReply::Notice { text }) => Some(text.clone()),
        Event::Replied(RunReply::Silence) => Some("nothing".to_owned()),
        Event::Steered(steered) => Some(format!("{}: {}", steered.principal.name, steered.text)),
        Event::Mismatched(mismatch) => Some(mismatch.to_string()),
        other => Some(fields_of(other)),
    }
}

/// What an event carries, as `name value` pairs.
pub(in crate::replay) fn fields_of(event: &Event) -> String {
    let stored = serde_json::to_value(event).unwrap_or_default();
    let mut pairs = Vec::new();
    pairs_of("", stored.get("body").unwrap_or(&Value::Null), &mut pairs);
    pairs.join(", ")
}

fn pairs_of(name: &str, value: &Value, pairs: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                // What an enum calls its variant is the value itself.
                pairs_of(if field == "is" { name } else { field }, value, pairs);
            }
        }
        Value::String(text) => pairs.push(format!("{name} {text}").trim_start().to_owned()),
        other => pairs.push(format!("{name} {other}").trim_start().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::policy::DeclaredLoop;
    use crate::machine::tests::{Script, says};

    #[test]
    fn d8_a_declared_end_is_told_by_its_condition() {
        let mut script = Script::begun();
        script.on(says("DONE"));
        let State::Active(run) = &mut script.state else { unreachable!("it has begun") };
        let terminate = vec![
            Termination::TextIncludes { text: "DONE".to_owned() },
            Termination::ToolResult { tool: None, exit_code: Some(0), contains: None },
            Termination::BudgetExhausted,
        ];
        run.policy.declared = Some(DeclaredLoop { max_cycles: 3, terminate });
        let evaluation = Evaluation { text: Some("DONE".to_owned()), ..Evaluation::default() };
        let table = [
            (None, "answer"),
            (Some(Some(0)), "text-includes"),
            (Some(Some(1)), "tool-result"),
            (Some(Some(2)), "budget-exhausted"),
            (Some(None), "budget-exhausted"),
        ];
        for (declared_end, expected) in table {
            let declared_end = declared_end.map(|condition| DeclaredEnd { condition, ceiling: None });
            let word = terminated_by(&script.state, &evaluation, Some(ModelCallPurpose::Work), declared_end.as_ref());
            assert_eq!(word.as_deref(), Some(expected), "{declared_end:?}");
        }
    }

    #[test]
    fn d8_fields_are_named() {
        let table = [
            (Event::SoftLimit, ""),
            (Event::Edited { text: "a".to_owned() }, "text a"),
            (Event::Ended(RunEnd::Failed { why: "panic".to_owned() }), "failed, why panic"),
            (Event::CancelRequested(CancelReason::HardLimit), "hard_limit"),
        ];
        for (event, expected) in table {
            assert_eq!(fields_of(&event), expected);
        }
    }
}
