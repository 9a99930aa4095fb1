//! What the machine notes on record beside its effects: each is an event with its row's name (row B13).

use serde::{Deserialize, Serialize};

use hob_core::domain::ids::CallId;

/// A tool that failed in passing is run again (row B1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRetry {
    pub call: CallId,
    /// The attempt to come.
    pub attempt: u32,
    /// The wait before it.
    pub delay_ms: u64,
}

/// A guard saw a circle (rows B2, A11, E6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    pub circle: LoopKind,
    /// The tool that goes in it, if one does.
    pub tool: Option<String>,
    /// How often, in the window.
    pub seen: u32,
    /// What was done about it.
    pub verdict: GuardVerdict,
}

/// A way to go in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The same call again and again (row B2).
    Identical,
    /// One tool with ever other arguments, and nothing new (row B2).
    Pattern,
    /// One tool with similar arguments, in a row (row A11).
    Stall,
    /// Two tools in turn, and nothing new.
    PingPong,
    /// The same words again (row A11).
    RepeatedReply,
}

/// What a guard decides about a call (row E6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardVerdict {
    /// It goes its way.
    Allow,
    /// Its result carries a warning.
    Warn,
    /// It is not run: its result is an error.
    Block,
    /// The loop ends.
    Break,
}

/// A guard went a step further (row B3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub step: EscalationStep,
    /// The tool that the model must call next, if one.
    pub forced: Option<String>,
}

/// The steps of row B3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStep {
    /// A word to the model.
    Nudge,
    /// It must call another tool.
    Directive,
    /// It must ask a person.
    AskHuman,
}

/// A reply claimed a deed that no tool did, and the model was asked again (row E10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfoundedClaim {
    /// The reply's words.
    pub text: String,
}

/// The older part of the context was put away (rows B4, D3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    pub means: CompactionMeans,
    /// Messages that are no longer shown as they were.
    pub messages: u32,
    /// The request's tokens before.
    pub tokens_before: u64,
    pub(crate) tokens_after: u64,
    /// Who summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How the older part was put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionMeans {
    /// A model summed it up.
    Summary,
    /// It is left out: there is no summary, or a useless one.
    Truncation,
    /// The rolling window moved on.
    Window,
}

/// A recovery from a full window (row B5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The step of the ladder.
    pub step: RecoveryStep,
    /// The how-manieth of the run.
    pub number: u32,
}

/// The steps of row B5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryStep {
    /// R1.
    Compact,
    /// R2.
    DeepPrune,
    /// R3.
    AskHuman,
}

/// How far a run may go at most, as its persona declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoopCeiling {
    Cycles,
    Money,
}

/// A run came to its declared end (row D2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredEnd {
    /// Which of the persona's conditions, from 0; none: a ceiling was reached, and no condition says so.
    pub condition: Option<u32>,
    /// The ceiling that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ceiling: Option<LoopCeiling>,
}
