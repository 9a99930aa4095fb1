//! What every part needs to know of a tool without knowing the tool.

use serde::{Deserialize, Serialize};

/// The module of the tools by which a run is steered: they are always on offer.
pub const CONTROL: &str = "control";

/// The modules of the built-in tools that personas choose by (row C3).
pub const MODULES: [&str; 4] = ["memory", "time", "journal", "commands"];

/// The built-in tools.
pub const BUILT_IN: [&str; 11] = [
    "append_run_journal_entry",
    "ask_human",
    "current_time",
    "forget",
    "get_run_journal",
    "manage_people",
    "read_result",
    "recall",
    "remember_fact",
    "request_more_iterations",
    "update_run_journal",
];

/// What a run knows of a tool, as it was when the run began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFacts {
    /// It changes something outside: what it did must be told as it was (row E10).
    pub changes: bool,
    /// It runs alone: no other call of the same reply beside it (row D4).
    pub exclusive: bool,
    /// A person has to approve each call (row D6).
    pub approval: Approval,
}

/// Whether a person has to approve a call (row D6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// No.
    #[default]
    Free,
    /// Yes, unless they have said "always".
    Ask,
    /// Yes, each time: no "always" covers it.
    Critical,
}
