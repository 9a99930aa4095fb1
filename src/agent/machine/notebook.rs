//! The run journal: what a run notes for itself, and for whoever goes on with it (row B12).

use serde::{Deserialize, Serialize};

/// A run's notes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notebook {
    /// What is to be reached.
    pub objective: String,
    /// Where it stands.
    pub current_state: String,
    /// What is known for sure.
    pub verified_findings: Vec<String>,
    /// What was decided.
    pub decisions: Vec<String>,
    /// What was made.
    pub artifacts: Vec<String>,
    /// What is not known.
    pub open_questions: Vec<String>,
    /// What is in the way.
    pub blockers: Vec<String>,
    /// What should be done next.
    pub handoff_next_action: String,
}
