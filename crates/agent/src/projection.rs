//! The tables that follow from the journal: what a step adds to the history, the envelope, the bill and the outbox.
//!
//! [`rows`] is pure and decides; [`mod@write`] stores, in the transaction of the events themselves.

pub mod agents;
pub(crate) mod attribution;
pub mod buttons;
pub(crate) mod event_rows;
pub mod failure;
pub(crate) mod memories;
pub mod owner_questions;
pub(crate) mod question_attachment;
pub mod resolved_questions;
pub mod write;

use crate::handover::HandoverChange;
use crate::journal::RunKey;
use crate::machine::accepted_input::RunKind;
use crate::machine::compaction::{plan, summary};
use crate::machine::effect::{Effect, ModelCall, ModelCallPurpose};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::note::CompactionMeans;
use crate::machine::run_start::RecallRecord;
use crate::machine::state::{ActiveState, ModelFailure, Phase, State};
use crate::machine::stop::CancelReason;
use crate::machine::{Step, approval, texts};
use crate::prefix::RequestPrefix;
use crate::projection::attribution::{AttributedWords, answered_by, attributed_words, is_own};
use crate::projection::event_rows::{is_running, rows_of_words};
use crate::projection::resolved_questions::Resolution;
use hob_core::domain::ids::{CallId, UserId};
use hob_core::domain::money::Money;
use hob_core::domain::origin::Taint;
use hob_core::domain::outgoing::{Choice, DeliveryRequest};
use hob_core::domain::principal::Principal;
use hob_core::domain::tool_class::ServerClassification;
use hob_core::domain::undo::UndoOffer;
use hob_core::render::TextFormat;
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, Message, ToolCall, Usage};
use hob_store::model_calls::CallEnd;
use hob_store::outbox::ChunkRole;

#[derive(Debug, Clone, PartialEq)]
pub struct HistoryMessage {
    pub message: Message,
    /// Who said it, where a person did.
    pub author: Option<UserId>,
    pub tokens: u64,
    /// The words in it that are to be remembered (row A1).
    pub said: Option<AttributedWords>,
    /// Whom it answers, if it is Hob's answer and may be found again (row E5).
    pub answers: Option<Principal>,
    /// What the run had read by then that nobody vouches for (row N6).
    pub taint: Taint,
    /// It is what a person of the house said themselves, and nothing in it is anybody else's (row N16).
    pub own: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AnsweringModel {
    /// The event's number.
    pub seq: i64,
    /// The model that should.
    pub first: String,
    /// The model that did.
    pub by: String,
    /// Why the first did not, where it was asked.
    pub failure: Option<ModelFailure>,
}

/// One row to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum ProjectionRow {
    Message(HistoryMessage),
    /// What was recalled for the run (row A4).
    Recalled(Vec<RecallRecord>),
    /// A tool is about to be run.
    ToolStarted {
        call: ToolCall,
        /// 1 for the first time.
        attempt: u32,
        /// On whose quota it counts; none: it is not made.
        user: Option<UserId>,
    },
    /// A tool is done.
    ToolFinished {
        call: CallId,
        /// What came of it.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// A tool's effect can be taken back for a while.
    Undoable {
        call: CallId,
        tool: String,
        /// Whose run it is.
        user: UserId,
        /// How, and until when.
        offer: UndoOffer,
    },
    /// A tool wants something delivered.
    Deliver {
        call: CallId,
        delivery: DeliveryRequest,
    },
    /// A model is about to be asked.
    ModelAsked {
        /// The event's number.
        seq: i64,
        call: ModelCall,
        user: UserId,
        persona: Option<String>,
        /// What the request begins with, if it is its run's first.
        prefix: Option<RequestPrefix>,
    },
    /// The open model call is over.
    ModelEnded(CallEnd),
    /// What the next runs of this person in this conversation begin with.
    Summary {
        user: UserId,
        /// The first ordinal that the run sees.
        history_from: i64,
        /// The last ordinal that it stands for.
        through: i64,
        text: String,
        /// What nobody vouches for in what it stands for.
        taint: Taint,
    },
    /// The conversation begins afresh behind all this.
    Afresh,
    /// A model answered, be it the one that should or another.
    Answered(AnsweringModel),
    /// A tool needs no approval any more.
    Granted {
        /// Whose calls.
        user: UserId,
        tool: String,
    },
    /// The tools of an MCP server are classed as it says (row N16).
    Classed(ServerClassification),
    /// Something is to be said.
    Say {
        /// The event's number.
        seq: i64,
        text: String,
        /// What the words are written in.
        form: TextFormat,
        /// Buttons under the last chunk.
        choices: Vec<Choice>,
        /// What it is in the run's talk.
        part: ChunkRole<'static>,
    },
    /// What the next words leave out goes along as a file.
    Attached {
        /// The event's number.
        seq: i64,
        /// Whose run it is.
        user: UserId,
        text: String,
    },
    /// A question is not open any more: where it was put, its message says what became of it.
    Resolved {
        /// Its number.
        question: u32,
        /// What became of it.
        outcome: Resolution,
    },
    /// Only an owner can decide it: they are asked where they are.
    AskOwners {
        /// The event's number.
        seq: i64,
        /// Who asked for it.
        who: String,
        text: String,
        /// Buttons under the last chunk.
        choices: Vec<Choice>,
        /// The question's number.
        question: u32,
        /// What the words leave out goes along as a file: whose run it is, and all of it.
        whole: Option<(UserId, String)>,
    },
    /// What the run noted is kept for the next one of its sender, or is done with.
    Handover(HandoverChange),
    /// The run's messages, after this ordinal, are no longer read (row E14).
    Pruned {
        /// The last ordinal before the run.
        after: i64,
    },
}

/// The rows that follow from a step that led from `before` to `after`; `seq` is the number of its first event.
pub fn rows(key: &RunKey, seq: i64, before: &State, step: &Step, after: &State) -> Vec<ProjectionRow> {
    let mut rows = Vec::new();
    let cause = StepContext { key, before, step, after };
    for (event, seq) in step.events.iter().zip(seq..) {
        rows.extend(cause.rows_of(event, seq));
    }
    rows.extend(step.effects.iter().filter_map(|effect| match effect {
        Effect::RunTool { call, attempt, .. } => {
            let user = after.active().map(|active| active.input.principal.user);
            Some(ProjectionRow::ToolStarted { call: call.clone(), attempt: *attempt, user })
        }
        Effect::CallModel(_)
        | Effect::Look(_)
        | Effect::AbortTools(_)
        | Effect::AskHuman(_)
        | Effect::Reply(_)
        | Effect::End(_)
        | Effect::Summarise(_)
        | Effect::Note(_)
        | Effect::Ignored { .. } => None,
    }));
    rows.extend(resolved_questions::row(before, step, after));
    if let (Some(was), Some(is)) = (before.active(), after.active()) {
        let answers = step.events.iter().filter_map(|event| match event {
            Event::HumanAnswered(answer) => approval::classes::said(was, answer, is),
            _ => None,
        });
        rows.extend(answers.cloned().map(ProjectionRow::Classed));
        let new = is.granted.difference(&was.granted);
        rows.extend(new.map(|tool| ProjectionRow::Granted { user: is.input.principal.user, tool: tool.clone() }));
    }
    if let Some(active) = after.active() {
        let known = before.active().map_or(0, |active| active.transcript.messages().len());
        rows.extend(active.transcript.entries().enumerate().skip(known).map(|(at, entry)| {
            ProjectionRow::Message(HistoryMessage {
                message: entry.message.clone(),
                author: entry.author,
                tokens: entry.tokens,
                said: attributed_words(before, step, active, at, &entry),
                answers: answered_by(step, active, at),
                taint: active.taint.clone(),
                own: is_own(before, step, active, at, &entry),
            })
        }));
        rows.extend(reset_row(step, active));
        if let Some(end) = active.end() {
            rows.extend(HandoverChange::at_end(key, active, end).map(ProjectionRow::Handover));
            rows.extend(
                leaves_no_trace(active).then_some(ProjectionRow::Pruned { after: active.context.history_through }),
            );
        }
    }
    rows
}

/// What a run said that `/reset` stopped is not part of the new conversation.
fn reset_row(step: &Step, run: &ActiveState) -> Option<ProjectionRow> {
    let ends = step.events.iter().any(|event| matches!(event, Event::Ended(_)));
    (ends && matches!(run.cancel, Some(CancelReason::Reset { .. }))).then_some(ProjectionRow::Afresh)
}

/// A look whether there was something to do, and there was nothing: nobody said a word, and nobody joined (row E14).
fn leaves_no_trace(run: &ActiveState) -> bool {
    let said_by_people = run.transcript.entries().filter(|entry| entry.author.is_some()).count();
    run.input.order == RunKind::Heartbeat && run.told == 0 && said_by_people == 1
}

/// A step, and the state on either side of it.
struct StepContext<'a> {
    key: &'a RunKey,
    before: &'a State,
    step: &'a Step,
    after: &'a State,
}

impl StepContext<'_> {
    fn rows_of_event(&self, event: &Event, seq: i64) -> Vec<ProjectionRow> {
        match event {
            Event::ModelAsked { .. } | Event::SummaryAsked { .. } => self.asked(event, seq).into_iter().collect(),
            Event::SummaryMade { text, usage } => self.summary_made(text, *usage),
            Event::SummaryFailed { late: true, .. } => vec![self.lost_call_row("lost")],
            Event::SummaryFailed { why, .. } => {
                vec![ProjectionRow::ModelEnded(CallEnd {
                    state: "failed",
                    error: Some(why.clone()),
                    ..CallEnd::default()
                })]
            }
            Event::Compacted(compaction) if compaction.means == CompactionMeans::Summary => {
                self.summary().into_iter().collect()
            }
            Event::ModelAnswered(completion) => self.answered(completion, seq),
            Event::ModelFailed { class, message, .. } => {
                let skipped = *class == ErrorClass::Resting;
                let error = Some(message.clone());
                vec![ProjectionRow::ModelEnded(CallEnd { state: "failed", skipped, error, ..CallEnd::default() })]
            }
            Event::Expired { question } => self.expired(*question, seq).into_iter().collect(),
            Event::Resumed { .. } | Event::Mismatched(_) => vec![self.lost_call_row("lost")],
            Event::CancelRequested(_) | Event::Panicked { .. } => vec![self.lost_call_row("dropped")],
            Event::Begun(begun) if !begun.recalled.is_empty() => vec![ProjectionRow::Recalled(begun.recalled.clone())],
            Event::ToolFinished { call, outcome: ToolOutcome::Deliver { delivery }, .. } => {
                self.delivered(call, delivery)
            }
            Event::ToolFinished { call, undo: Some(offer), .. } if is_running(self.before, call) => {
                let undoable = self.undoable(call, offer);
                rows_of_words(self.key, event, seq, self.after).into_iter().chain(undoable).collect()
            }
            other => rows_of_words(self.key, other, seq, self.after),
        }
    }

    /// An effect can be taken back from here on.
    fn undoable(&self, call: &CallId, offer: &UndoOffer) -> Option<ProjectionRow> {
        let run = self.before.active().filter(|run| run.input.undo.is_none())?;
        let Phase::Acting(batch) = &run.phase else { return None };
        let (call, tool) =
            batch.started().find(|(open, _)| open.id == *call).map(|(open, _)| (open.id.clone(), open.name.clone()))?;
        Some(ProjectionRow::Undoable { call, tool, user: run.input.principal.user, offer: offer.clone() })
    }

    /// What a tool wants delivered is queued when its call ends, and not for one that had ended before.
    fn delivered(&self, call: &CallId, delivery: &DeliveryRequest) -> Vec<ProjectionRow> {
        if !is_running(self.before, call) {
            return Vec::new();
        }
        let (call, text) = (call.clone(), texts::queued(delivery));
        let finished = ProjectionRow::ToolFinished { call: call.clone(), text, is_error: false };
        vec![finished, ProjectionRow::Deliver { call, delivery: delivery.clone() }]
    }

    /// The same, as far as it is anybody's but the agent's own.
    fn rows_of(&self, event: &Event, seq: i64) -> Vec<ProjectionRow> {
        let mut rows = self.rows_of_event(event, seq);
        failure::offer(self.key, self.step, self.after, &mut rows);
        match agents::accepted(self.before, self.after).and_then(|accepted| accepted.agent.as_deref()) {
            Some(agent) => agents::agent_rows(agent, event, rows),
            None => rows,
        }
    }

    /// The model call in flight before the step.
    fn open_call(&self) -> Option<(&ActiveState, &ModelCall)> {
        let run = self.before.active()?;
        match &run.phase {
            Phase::Calling(call) => Some((run, call)),
            Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
        }
    }

    /// Nobody answered: that is told where it was asked.
    fn expired(&self, number: u32, seq: i64) -> Option<ProjectionRow> {
        let question = approval::expiring(self.before.active()?, number)?;
        let text = approval::words::expired(question);
        Some(ProjectionRow::Say { seq, text, form: TextFormat::Plain, choices: Vec::new(), part: ChunkRole::Words })
    }

    fn asked(&self, event: &Event, seq: i64) -> Option<ProjectionRow> {
        let call = self.step.effects.iter().find_map(|effect| match (event, effect) {
            (Event::ModelAsked { .. }, Effect::CallModel(call)) => Some(call.clone()),
            (Event::SummaryAsked { .. }, Effect::Summarise(summary)) => Some(summary.call.clone()),
            _ => None,
        })?;
        let run = self.after.active()?;
        // A summary's request is of another kind; the prefix is that of the requests for work around it.
        let begins =
            |event: &Event| matches!(event, Event::Begun(_) | Event::Compacted(_) | Event::SummaryFailed { .. });
        let begins = call.purpose != ModelCallPurpose::Summary && self.step.events.iter().any(begins);
        let prefix = begins.then(|| RequestPrefix::of(run));
        let persona = run.persona.as_ref().map(|persona| persona.name.clone());
        Some(ProjectionRow::ModelAsked { seq, call, user: run.input.principal.user, persona, prefix })
    }

    fn summary_made(&self, text: &str, usage: Usage) -> Vec<ProjectionRow> {
        let Some((run, call)) = self.open_call().filter(|(_, call)| call.purpose == ModelCallPurpose::Summary) else {
            return Vec::new();
        };
        let billed = summary::billed(call, text, usage);
        vec![ProjectionRow::ModelEnded(ended(&billed, run.price(call.model, &billed), None))]
    }

    fn summary(&self) -> Option<ProjectionRow> {
        let run = self.after.active()?;
        let (user, history_from) = (run.input.principal.user, run.context.history_from);
        let (text, taint) = (run.view.body()?, run.taint.clone());
        Some(ProjectionRow::Summary { user, history_from, through: plan::through(run), text, taint })
    }

    fn answered(&self, completion: &Completion, seq: i64) -> Vec<ProjectionRow> {
        let Some((run, call)) = self.open_call().filter(|(_, call)| call.purpose != ModelCallPurpose::Summary) else {
            return Vec::new();
        };
        let billed = run.billed(call, completion);
        let latency = Some(count(completion.latency_ms));
        let ended = ProjectionRow::ModelEnded(ended(&billed, run.price(call.model, &billed), latency));
        let (first, by) = (run.models.first().cloned().unwrap_or_default(), call.label.clone());
        vec![ended, ProjectionRow::Answered(AnsweringModel { seq, first, by, failure: run.failure.clone() })]
    }

    /// The open call is over, and nobody learns what it cost: the estimate stands in.
    fn lost_call_row(&self, state: &'static str) -> ProjectionRow {
        let Some((run, call)) = self.open_call() else {
            return ProjectionRow::ModelEnded(CallEnd { state, ..CallEnd::default() });
        };
        let usage = Usage { input_tokens: call.input_estimate, ..Usage::default() };
        let cost = run.price(call.model, &usage).map(Money::nanos);
        ProjectionRow::ModelEnded(CallEnd {
            state,
            input_tokens: count(call.input_estimate),
            cost,
            ..CallEnd::default()
        })
    }
}

/// How a call ended that was answered.
fn ended(billed: &Usage, cost: Option<Money>, latency_ms: Option<i64>) -> CallEnd {
    let Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens } = *billed;
    CallEnd {
        state: "answered",
        skipped: false,
        input_tokens: count(input_tokens),
        output_tokens: count(output_tokens),
        cached_tokens: count(cached_tokens),
        cache_write_tokens: count(cache_write_tokens),
        reasoning_tokens: count(reasoning_tokens),
        cost: cost.map(Money::nanos),
        latency_ms,
        error: None,
    }
}

fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
