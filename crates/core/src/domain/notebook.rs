//! What a tool asks of a run's journal (row B12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool wants done with the notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum NotebookChange {
    /// Show them.
    Read,
    /// Set the fields that are given.
    Update {
        /// What is to be reached.
        objective: Option<String>,
        /// Where it stands.
        current_state: Option<String>,
        /// What should be done next.
        handoff_next_action: Option<String>,
    },
    /// Add to a list.
    Append { section: Section, entry: String },
}

/// A list of the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What is known for sure.
    VerifiedFindings,
    /// What was decided.
    Decisions,
    /// What was made.
    Artifacts,
    /// What is not known.
    OpenQuestions,
    /// What is in the way.
    Blockers,
}
