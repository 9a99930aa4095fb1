//! Work that is handed on: what an agent is told, and how far that may go.

use serde::{Deserialize, Serialize};

/// The agents that one run may have at work at once.
pub const OPEN_MAX: usize = 5;
/// How deep agents may hand work on: a person's own run is at 0.
pub const DEPTH_MAX: u32 = 3;

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mission {
    /// Who it is and what it keeps to: a part of its system prompt.
    pub mission: String,
    /// What it is to do: its first message.
    pub task: String,
    /// A UUID: the name of its session ends in it.
    pub id: String,
}

/// What stands for the task in the command of an installed agent.
pub const TASK: &str = "{task}";

/// The coding agents that are known, each with its headless mode.
pub const KNOWN: [(&str, &[&str]); 7] = [
    ("aider", &["aider", "--yes", "--message", TASK]),
    ("claude", &["claude", "--permission-mode", "acceptEdits", "-p", TASK]),
    ("codex", &["codex", "exec", "--sandbox", "workspace-write", "--skip-git-repo-check", TASK]),
    ("cursor-agent", &["cursor-agent", "-p", TASK]),
    ("gemini", &["gemini", "-p", TASK]),
    ("goose", &["goose", "run", "--no-session", "-t", TASK]),
    ("opencode", &["opencode", "run", TASK]),
];

/// The headless mode of a known agent.
pub fn known(name: &str) -> Option<&'static [&'static str]> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, command)| *command)
}
