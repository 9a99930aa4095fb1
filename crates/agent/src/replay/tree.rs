//! A run as a tree: its cycles, in each the model's words, its calls with what came of them, and what happened beside
//! (row D8). The terminal and the web page show the same tree.

pub(super) mod build;

use jiff::Timestamp;
use serde::Serialize;

use crate::machine::effect::ModelCallPurpose;
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::money::Money;
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::tools::Assessment;
use hob_model::error::ErrorClass;
use hob_model::message::Usage;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunTree {
    pub run: RunId,
    /// Its session's published name.
    pub session: String,
    /// Its sender's name.
    pub who: String,
    pub state: String,
    /// The run that it works for, if it is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The runs that worked for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<RunId>,
    /// The message it answers.
    pub message: String,
    /// When that came.
    pub accepted_at: Option<Timestamp>,
    /// When the run was over.
    pub ended_at: Option<Timestamp>,
    /// The models, in the order in which they are asked.
    pub models: Vec<String>,
    /// What an evaluation asks for.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// What they cost, in nano-dollars, as far as prices are known.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Money,
    /// One of its models has no known price.
    pub unpriced: bool,
    /// What the run has read that nobody vouches for.
    #[serde(skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// What happened before the first cycle.
    pub before: Vec<Remark>,
    #[serde(rename = "tree")]
    pub cycles: Vec<Cycle>,
    /// Where the journal cannot be read any further, and why.
    pub unreadable: Option<(i64, String)>,
}

/// What an evaluation asks for (row D8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// What the person was told last.
    pub text: Option<String>,
    /// The last result of a tool.
    pub final_tool_result: Option<String>,
    /// Replies of the model.
    pub cycles: u32,
    /// What ended it; none: it is not over.
    pub terminated_by: Option<String>,
    /// Whether it completed, be it by reaching a ceiling that was declared; none: it is not over.
    pub ok: Option<bool>,
}

/// One turn of the loop: the model, and the tools that it called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cycle {
    /// From 1.
    pub number: u32,
    /// The calls of models until one answered.
    pub asks: Vec<ModelRequest>,
    /// The model's words.
    pub text: String,
    /// The tool calls, in the model's order.
    pub calls: Vec<RecordedCall>,
    /// Tokens, as billed.
    pub usage: Usage,
    /// What it cost, in nano-dollars; none: nobody knows.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Option<Money>,
    /// What else happened, in order.
    pub remarks: Vec<Remark>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequest {
    pub model: String,
    /// Why.
    pub purpose: Option<ModelCallPurpose>,
    pub at: Timestamp,
    /// The tokens it was estimated to read.
    pub estimate: u64,
    /// Until when it took, in milliseconds.
    pub took_ms: Option<i64>,
    pub outcome: ModelRequestOutcome,
}

/// What came of a call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ModelRequestOutcome {
    /// Nothing yet.
    Open,
    /// A reply.
    Answered,
    /// A failure.
    Failed {
        /// By what one does about it.
        class: ErrorClass,
        /// What the provider said.
        message: String,
    },
    /// The process died, or somebody did not want the answer any more.
    Unheard,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedCall {
    /// The run's id for it.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// What it was given, as the model wrote it.
    pub arguments: String,
    /// What its tool said of it beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<Assessment>,
    /// Where the words of its result come from, if nobody vouches for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<OriginSource>,
    /// How often it was started; 0: it was not let through.
    pub attempts: u32,
    /// When it was started first.
    pub started_at: Option<Timestamp>,
    /// From then to its end, in milliseconds.
    pub took_ms: Option<i64>,
    /// What the model was told; none: it is not settled.
    pub result: Option<CallResult>,
}

/// What the model was told of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallResult {
    pub text: String,
    /// Whether it failed (row D5).
    pub is_error: bool,
}

/// Something that happened beside model and tools: a guard's verdict, a question, a limit, a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The event's number.
    pub seq: i64,
    pub at: Timestamp,
    /// The event's name (row B13).
    pub kind: &'static str,
    /// What there is to say of it.
    pub text: String,
}
