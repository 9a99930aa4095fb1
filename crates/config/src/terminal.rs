//! `[terminal]`: the commands that the model may run in the workspace.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{shape, values};

/// Whether bubblewrap is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BubblewrapConfig {
    /// where it is installed and the kernel does not let Hob do the same by itself
    #[default]
    Auto,
    /// never
    Off,
}

/// The commands that the model may run in the workspace, in a sandbox. docs/terminal.md says more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<TerminalConfig>)]
pub struct TerminalConfig {
    /// Whether there is a terminal at all.
    pub enabled: bool,
    /// Whether commands may use the network unasked. Without it a person is asked each time.
    pub network: bool,
    /// Whether what commands print is vouched for. Without it, what a run does after reading it may have to be approved.
    pub trusted_output: bool,
    /// Seconds after which a command in the foreground is ended, unless its call says otherwise.
    #[schemars(range(min = 1, max = 3_600))]
    pub timeout_secs: u64,
    /// Memory that each process of a command may write to, in MiB.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub memory_mb: u64,
    /// Processes and threads of one command, at once.
    #[schemars(range(min = 16, max = 30_000))]
    pub processes_max: u64,
    /// The largest file that a command may write, in MiB.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub file_mb: u64,
    /// Whether bubblewrap is used.
    pub bubblewrap: BubblewrapConfig,
    /// What reads the commands, as an absolute path. Without it: `/bin/bash`, or `/bin/sh` where that is missing.
    #[schemars(length(min = 1, max = 4000), example = &"/bin/dash")]
    pub shell: Option<PathBuf>,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            network: false,
            trusted_output: false,
            timeout_secs: 120,
            memory_mb: 4_096,
            processes_max: 512,
            file_mb: 1_024,
            bubblewrap: BubblewrapConfig::default(),
            shell: None,
        }
    }
}

impl TerminalConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        self.shell.iter().flat_map(|shell| values::absolute_path("shell", shell)).collect()
    }
}
