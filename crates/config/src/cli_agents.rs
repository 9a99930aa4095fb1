//! `[cli_agents.NAME]`: coding agents on this machine that Hob may hand tasks to.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, sandbox_keys, shape, values};
use hob_core::domain::agents::{TASK, known};

/// A coding agent, in its headless mode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<CliAgentConfig>)]
pub struct CliAgentConfig {
    /// The program and its arguments, run without a shell; the element `{task}` is replaced by the task. Without it: as Hob
    /// knows aider, claude, codex, cursor-agent, gemini, goose or opencode.
    #[schemars(length(max = 256), example = ["/usr/local/bin/coder", "--print", "{task}"])]
    pub command: Vec<String>,
    /// The variables of Hob's environment that it may see, besides PATH, HOME, LANG, LC_ALL and TZ.
    #[schemars(length(max = 64), example = ["ANTHROPIC_API_KEY"])]
    pub env: Vec<String>,
    /// Whether it runs in the sandbox: then it reaches the workspace, a folder of its own, which is its HOME unless `env` names
    /// that, and nothing else of yours.
    pub sandbox: bool,
    /// In the sandbox: whether it has the network.
    pub network: bool,
    /// In the sandbox: more that it may read, as absolute paths.
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// In the sandbox: more folders that it may read and write, as absolute paths.
    #[schemars(length(max = 64))]
    pub write_dirs: Vec<PathBuf>,
}

impl Default for CliAgentConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            env: Vec::new(),
            sandbox: sandbox_keys::within(),
            network: true,
            read_dirs: Vec::new(),
            write_dirs: Vec::new(),
        }
    }
}

impl CliAgentConfig {
    /// What cannot be, of the agent with this name.
    pub fn validate(&self, name: &str) -> Vec<Finding> {
        let mut found = sandbox_keys::folders([("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)]);
        if !values::is_name(name) {
            let why = "cannot name an agent, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new("", why, "rename it"));
        }
        if self.command.is_empty() && known(name).is_none() {
            let why = "is missing, as Hob does not know this agent, expected its program and arguments";
            found.push(Finding::new("command", why, "for example `command = [\"/usr/local/bin/coder\", \"{task}\"]`"));
        }
        if !self.command.is_empty() {
            found.extend(self.command());
        }
        for (index, name) in self.env.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let why = "cannot name an environment variable";
                found.push(Finding::new(key_path::item("env", index), why, "for example `ANTHROPIC_API_KEY`"));
            }
        }
        found
    }

    fn command(&self) -> Option<Finding> {
        if self.command.iter().any(|element| element.contains('\0')) {
            return Some(Finding::new("command", "has a NUL character, expected text", "remove it"));
        }
        if self.command.first().is_some_and(|program| program.is_empty() || program == TASK) {
            let why = "does not begin with a program";
            return Some(Finding::new(key_path::item("command", 0), why, "write its path"));
        }
        let tasks = self.command.iter().filter(|element| *element == TASK).count();
        (tasks != 1).then(|| {
            let why = format!("has {tasks} elements that are exactly `{TASK}`, expected one");
            Finding::new("command", why, format!("add `\"{TASK}\"` where the task belongs"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_program_and_one_place_for_its_task() {
        type Words = &'static [&'static str];
        let table: [(&str, Words, Words, Words); 9] = [
            ("claude", &[], &["ANTHROPIC_API_KEY"], &[]),
            ("mine", &["/opt/mine", "--go", TASK], &[], &[]),
            ("mine", &[], &[], &["command"]),
            ("mine", &["/opt/mine"], &[], &["command"]),
            ("mine", &["/opt/mine", TASK, TASK], &[], &["command"]),
            ("mine", &[TASK], &[], &["command[1]"]),
            ("mine", &["/opt/mine\0", TASK], &[], &["command"]),
            ("claude", &[], &["A=b", "9", "", "OK_9"], &["env[1]", "env[2]", "env[3]"]),
            ("9", &["x", TASK], &[], &[""]),
        ];
        for (name, command, env, expected) in table {
            let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
            let found =
                CliAgentConfig { command: owned(command), env: owned(env), ..CliAgentConfig::default() }.validate(name);
            let keys: Vec<&str> = found.iter().map(|found| found.key.as_str()).collect();
            assert_eq!(keys, expected, "{name} {command:?} {env:?}");
        }
    }
}
