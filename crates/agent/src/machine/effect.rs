//! What a run wants done. Every effect is recorded as started before anyone performs it.

use serde::{Deserialize, Serialize};

use crate::machine::digest::Digest;
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::question::Question;
use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_model::message::ToolCall;
use hob_model::provider::ToolChoice;

/// Why the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelCallPurpose {
    /// To go on with the task, with tools.
    Work,
    /// To tell what was done: the time is up (row B6). No tools.
    WrapUpTime,
    /// To tell what was done: the iterations are used up (row A11). No tools.
    WrapUpIterations,
    /// To sum up the older part of the context (row B4): a request of its own.
    Summary,
}

/// One call of a model, as far as the run decides it; its content is the context and the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelCall {
    /// Why.
    pub purpose: ModelCallPurpose,
    /// Which tools it may or must call (row B3).
    pub choice: ToolChoice,
    /// It looks at a reply again that the person has not been told yet (row E10).
    pub check: bool,
    /// Words stand for its pictures: the model has refused them before (row C6).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blind: bool,
    /// Whom: an index into the run's models.
    pub model: usize,
    /// Its name.
    pub label: String,
    /// How long to wait before.
    pub delay_ms: u64,
    /// Failures of this same request so far, by the model asked now.
    pub failures: u32,
    /// How this request fared with the models before.
    pub chain: FallbackChain,
    /// Everything that determines the request, by hash.
    pub digest: Digest,
    /// The tokens it will read, as counted here.
    pub counted: u64,
    /// The same, as the model is known to count them.
    pub input_estimate: u64,
    /// What is set aside for it; none: its price is not known.
    pub reserve: Option<Money>,
}

/// A request for a summary of the older part of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummaryCall {
    /// Whom, and what that may cost.
    pub call: ModelCall,
    /// The first message that it is about, in the history that goes along and the transcript together.
    pub from: usize,
    /// The first message after those.
    pub messages: usize,
}

/// How far one request has come on its way through the run's models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FallbackChain {
    /// Models given up for it.
    pub passed: usize,
    /// Whether one of them was not really asked: it rests (row E2).
    pub rested: bool,
    /// None of them answered, and some rest: on this second way through they are asked all the same.
    pub forced: bool,
    /// The model asked now has refused it with its pictures, and is asked without them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) blinded: bool,
}

/// Something to be done by the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    CallModel(ModelCall),
    RunTool {
        call: ToolCall,
        /// 1 for the first time.
        attempt: u32,
        /// How long to wait before (row B1).
        delay_ms: u64,
    },
    /// Ask a call's tool what it would do as things stand now. It changes nothing, and is done again after a crash.
    Look(ToolCall),
    /// Ask a cheap model to sum up the older part of the context (row B4).
    Summarise(SummaryCall),
    /// Stop the running tools: their end is awaited.
    AbortTools(Vec<CallId>),
    /// Wait for a person.
    AskHuman(Question),
    /// Tell the person.
    Reply(RunReply),
    End(RunEnd),
    /// Nothing to be done: what the machine saw or decided goes on record (row B13).
    Note(Box<Event>),
    /// The event came when it could mean nothing; it changed nothing.
    Ignored {
        why: &'static str,
    },
}

impl Effect {
    /// The event that records its start, in the transaction of the event that caused it.
    pub(crate) fn start_record(&self) -> Option<Event> {
        match self {
            Self::CallModel(call) => Some(Event::ModelAsked {
                digest: call.digest.clone(),
                model: call.label.clone(),
                input_estimate: call.input_estimate,
            }),
            Self::RunTool { call, attempt, .. } => {
                Some(Event::ToolStarted { call: call.id.clone(), name: call.name.clone(), attempt: *attempt })
            }
            Self::Summarise(SummaryCall { call, .. }) => Some(Event::SummaryAsked {
                digest: call.digest.clone(),
                model: call.label.clone(),
                input_estimate: call.input_estimate,
            }),
            Self::Note(event) => Some(Event::clone(event)),
            Self::AskHuman(question) => Some(Event::HumanAsked(question.clone())),
            Self::Reply(reply) => Some(Event::Replied(reply.clone())),
            Self::End(end) => Some(Event::Ended(end.clone())),
            Self::Look(_) | Self::AbortTools(_) | Self::Ignored { .. } => None,
        }
    }
}
