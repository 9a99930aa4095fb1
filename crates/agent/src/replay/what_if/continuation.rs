//! A run that goes on from where the record ends, under what is to be otherwise. Whoever holds it asks the model; tools answer
//! from the record, or are told that they are not performed.
//!
//! Never: a call of anything, or a word to anybody.
//! Start at [`ContinuedRun::next_step`].

use std::collections::VecDeque;

use serde::Serialize;

use crate::machine::effect::{Effect, ModelCall, SummaryCall};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::{step, texts, tool_disclosure};
use crate::prompt::PromptInputs;
use crate::replay::what_if::record::RecordedAnswers;
use crate::replay::what_if::{RunTotals, end_name, sum};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::Assessment;
use hob_model::error::ModelError;
use hob_model::message::{Completion, ToolCall};
use hob_model::provider::Request;

/// A run under way beyond its record.
#[derive(Debug, Clone, PartialEq)]
pub struct ContinuedRun {
    state: State,
    record: RecordedAnswers,
    open: OpenEffects,
    calls: Vec<AnsweredCall>,
}

/// What was started and has not ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OpenEffects(VecDeque<Effect>);

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    Ask(ModelCall),
    /// A model is to be asked to sum up the older part of the context.
    Summarise(SummaryCall),
    /// Nothing: why.
    Over(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredCall {
    pub name: String,
    pub arguments: String,
    /// Whether the record has an answer; else it is not performed.
    pub is_recorded: bool,
}

impl OpenEffects {
    /// What is open after an event and what followed from it.
    pub(super) fn take(&mut self, event: &Event, effects: &[Effect]) {
        let ends = |effect: &Effect| match (event, effect) {
            // A process that takes a run up again starts anew what is open.
            (Event::Resumed { .. }, _)
            | (Event::ModelAnswered(_) | Event::ModelFailed { .. }, Effect::CallModel(_))
            | (Event::SummaryMade { .. } | Event::SummaryFailed { .. }, Effect::Summarise(_)) => true,
            (Event::ToolFinished { call: ended, .. }, Effect::RunTool { call, .. })
            | (Event::Looked { call: ended, .. }, Effect::Look(call)) => *ended == call.id,
            _ => false,
        };
        self.0.retain(|effect| !ends(effect));
        let starts = |effect: &&Effect| {
            matches!(effect, Effect::CallModel(_) | Effect::Summarise(_) | Effect::RunTool { .. } | Effect::Look(_))
        };
        self.0.extend(effects.iter().filter(starts).cloned());
    }
}

impl ContinuedRun {
    pub(super) fn new(state: State, record: RecordedAnswers, open: OpenEffects) -> Self {
        Self { state, record, open, calls: Vec::new() }
    }

    /// What comes next, once the tools that are open have got their answers.
    pub fn next_step(&mut self) -> NextStep {
        loop {
            let Some(run) = self.state.active() else {
                return NextStep::Over("the run has not begun".to_owned());
            };
            if let Some(why) = over(run) {
                return NextStep::Over(why);
            }
            let Some(effect) = self.open.0.front().cloned() else {
                return NextStep::Over("nothing is open: what it waits for is not on record".to_owned());
            };
            match effect {
                Effect::CallModel(call) if run.open_call().is_some() => return NextStep::Ask(call),
                Effect::Summarise(call) => return NextStep::Summarise(call),
                Effect::RunTool { call, .. } if is_running(run, &call.id) => self.answer(&call),
                Effect::Look(call) => {
                    let known = self.known(&call);
                    self.on(Event::Looked { call: call.id, known });
                }
                // A word from outside has ended it.
                _ => {
                    self.open.0.pop_front();
                }
            }
        }
    }

    /// The request of a call; none: it is for a run that has not begun.
    pub fn request(&self, material: &PromptInputs, call: &ModelCall) -> Option<Request> {
        Some(material.request_of(self.state.active()?, call))
    }

    pub fn summary_request(&self, material: &PromptInputs, summary: &SummaryCall) -> Option<Request> {
        let run = self.state.active()?;
        Some(material.summary_request(&run.view, &run.transcript, summary.from, summary.messages))
    }

    /// The most tokens of a reply that are set aside for each call; none: nobody has said.
    pub fn reply_tokens(&self) -> Option<u64> {
        let run = self.state.active()?;
        let own = run.persona.as_ref().and_then(|persona| persona.max_output_tokens);
        own.or(Some(run.billing.reply_tokens)).filter(|tokens| *tokens > 0)
    }

    /// The model has answered.
    pub fn answered(&mut self, completion: Completion) {
        let meant = |run: &ActiveState| {
            let calls =
                completion.calls().map(|call| tool_disclosure::resolve_call(call, &run.tools).0).collect::<Vec<_>>();
            calls.iter().map(|call| self.known(call)).collect::<Vec<_>>()
        };
        let calls = self.state.active().map(meant).unwrap_or_default();
        if !calls.is_empty() {
            self.on(Event::Assessed { calls });
        }
        self.on(Event::ModelAnswered(completion));
    }

    /// The model has not answered.
    pub fn failed(&mut self, error: &ModelError) {
        let wait = error.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let (class, message) = (error.class, error.message.clone());
        self.on(Event::ModelFailed { class, message, retry_after_ms: wait, pictures: false });
    }

    /// The summary has come, or not.
    pub fn summed_up(&mut self, summary: Result<&Completion, &ModelError>) {
        self.on(match summary {
            Ok(completion) => Event::SummaryMade { text: completion.text().into_owned(), usage: completion.usage },
            Err(error) => Event::SummaryFailed { why: error.message.clone(), late: false },
        });
    }

    /// The calls that got an answer since this was last asked.
    pub fn take_calls(&mut self) -> Vec<AnsweredCall> {
        std::mem::take(&mut self.calls)
    }

    /// What the run takes, with all that it took before.
    pub fn sum(&self) -> RunTotals {
        sum(&self.state)
    }

    /// The run, if it has begun.
    #[cfg(test)]
    pub(crate) fn run(&self) -> Option<&ActiveState> {
        self.state.active()
    }

    fn answer(&mut self, call: &ToolCall) {
        let recorded = self.record.answer(call);
        let ToolCall { id, name, arguments } = call;
        let is_recorded = recorded.is_some();
        self.calls.push(AnsweredCall { name: name.clone(), arguments: arguments.clone(), is_recorded });
        let refused = || {
            let reason = format!("Not performed in a what-if: the record has no call of {name} with these arguments.");
            let outcome = ToolOutcome::Denied { reason };
            Event::ToolFinished { call: id.clone(), outcome, source: None, draft: None, undo: None }
        };
        self.on(recorded.unwrap_or_else(refused));
    }

    /// What is known of a call: what the record says of it, or the most that its tool may do.
    fn known(&self, call: &ToolCall) -> Assessment {
        let facts = || self.state.active().and_then(|run| run.tools.get(&call.name));
        let most = || Assessment::usual(facts().map_or_else(Default::default, |facts| facts.most()));
        self.record.known(call).cloned().unwrap_or_else(most)
    }

    fn on(&mut self, event: Event) {
        let effects = step(&mut self.state, event.clone()).effects;
        self.open.take(&event, &effects);
    }
}

/// Why nothing comes next.
fn over(run: &ActiveState) -> Option<String> {
    match &run.phase {
        Phase::Done(end) => Some(format!("the run is over ({})", end_name(end))),
        Phase::Waiting { question: Question::Agents, .. } => {
            Some("it waits for its agents, and what they would have reported is not on record".to_owned())
        }
        Phase::Waiting { question: Question::Paused { .. }, .. } => Some("somebody had paused it".to_owned()),
        Phase::Waiting { question, .. } => Some(format!("a person is asked: {}", texts::question(question))),
        Phase::Calling(_) | Phase::Acting(_) | Phase::Replied => None,
    }
}

fn is_running(run: &ActiveState, call: &CallId) -> bool {
    match &run.phase {
        Phase::Acting(batch) => batch.started().any(|(running, _)| running.id == *call),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => false,
    }
}
