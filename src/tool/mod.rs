//! Tools: what the model may have done. They answer with data; what concerns the house is a request to the machine.
//!
//! Never: a message sent, a run started or a person asked from within a tool.
//! Start at [`Tool`], then [`registry`].

pub mod ask_human;
pub mod command;
pub mod current_time;
pub mod leftovers;
pub mod recall;
pub mod registry;
pub mod remember_fact;
pub mod request_more_iterations;
pub mod run_journal;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use crate::domain::ids::{CallId, RunId, SessionKey};
use crate::domain::notebook::NotebookChange;
use crate::domain::principal::{Principal, Role};
use crate::domain::tools::ToolFacts;
use crate::model::provider::ToolSchema;

/// How long a tool may take unless it says otherwise (row E3).
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// What Hob and the model know of a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Name, description and arguments, for the model.
    pub schema: ToolSchema,
    /// Safe to run twice with the same arguments: after a crash it is simply run again.
    pub idempotent: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// What a run has to know of it.
    pub facts: ToolFacts,
    /// The group that personas choose tools by (row C3).
    pub module: String,
    /// Who may have it called (row C5).
    pub role: Role,
}

/// One call, with what every tool is told about it (row A10).
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Whose run, and whether their words may instruct.
    pub principal: Principal,
    /// The session.
    pub session: SessionKey,
    /// The run.
    pub run: RunId,
    /// The call within it.
    pub call: CallId,
    /// The arguments: an object that fits the schema's names; the tool checks the rest.
    pub arguments: Value,
    /// Now.
    pub now: Timestamp,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Words for the model.
    Text(String),
    /// A command ended; any code but 0 is a failure.
    Exited {
        /// Its output, in words for the model.
        text: String,
        /// Its code.
        code: i32,
    },
    /// It failed; words for the model (row D5).
    Error(String),
    /// It failed in a way that may pass by itself: a timeout, a refused connection, 429, 5xx (row B1).
    Transient(String),
    /// Something that only the machine can do.
    Request(Request),
}

/// What a tool asks of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// To read or change the run's journal (row B12).
    Notebook(NotebookChange),
    /// A larger budget of iterations (row A6).
    MoreIterations {
        /// Why.
        reason: String,
    },
    /// A person's answer (row B15).
    Ask {
        /// The question.
        question: String,
    },
}

/// A tool. Dropping the future of [`Tool::call`] stops it, with everything it started.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What is known of it.
    fn spec(&self) -> &ToolSpec;

    /// Runs it.
    async fn call(&self, invocation: Invocation) -> Outcome;
}
