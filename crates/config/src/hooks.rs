//! `[[hooks]]`: programs on this machine that are asked before a tool call, or told after it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::persona::meant;
use crate::problem::Finding;
use crate::{key_path, sandbox_keys, shape, values};

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookMoment {
    /// before the tool, which it can block
    BeforeTool,
    /// after the tool, whose result it can withhold
    AfterTool,
}

/// What becomes of a call when a hook before it gives no verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookFailure {
    /// the call is not made
    #[default]
    Block,
    /// the call is made
    Allow,
}

/// A program that is asked before a tool call, or told after it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<HookConfig>)]
pub struct HookConfig {
    /// When it is run.
    #[schemars(example = &"before_tool")]
    pub when: HookMoment,
    /// For which tools: names, or beginnings of names with a `*` behind. None: for all.
    #[serde(default)]
    #[schemars(length(max = 256), inner(length(min = 1, max = 65)), example = ["switch_light", "mail_*"])]
    pub tools: Vec<String>,
    /// The program and its arguments, run without a shell.
    #[schemars(length(min = 1, max = 256), example = ["/usr/local/bin/may-it"])]
    pub command: Vec<String>,
    /// Seconds after which it is ended.
    #[serde(default = "timeout_secs")]
    #[schemars(range(min = 1, max = 600))]
    pub timeout_secs: u64,
    /// What becomes of the call when the hook ends otherwise, is missing or takes too long. After a tool that is only
    /// logged.
    #[serde(default)]
    pub on_failure: HookFailure,
    /// Whether it runs in the sandbox: then it reaches its folder, what its command names, and nothing else of yours.
    #[serde(default = "sandbox_keys::within")]
    pub sandbox: bool,
    /// In the sandbox: whether it has the network.
    #[serde(default)]
    pub network: bool,
    /// In the sandbox: more that it may read, as absolute paths.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// In the sandbox: more folders that it may read and write, as absolute paths.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub write_dirs: Vec<PathBuf>,
}

fn timeout_secs() -> u64 {
    10
}

impl HookConfig {
    /// Names, at `key`, of tools that are not among `known`: such a hook would never be run. What only begins like a name
    /// may be meant for tools to come.
    pub(super) fn unknown(&self, key: &str, known: &BTreeSet<&str>) -> Vec<Finding> {
        let names = self.tools.iter().enumerate().filter(|(_, name)| values::is_name(name));
        let unknown = names.filter(|(_, name)| !known.contains(name.as_str()));
        let finding = |(index, name): (usize, &String)| {
            let at = key_path::item(&key_path::child(key, "tools"), index);
            Finding::new(at, "is not the name of a tool: the hook would never be run", meant(name, known)).with("tools")
        };
        unknown.map(finding).collect()
    }

    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = sandbox_keys::folders([("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)]);
        for (index, element) in self.command.iter().enumerate() {
            if element.contains('\0') {
                found.push(Finding::new(
                    key_path::item("command", index),
                    "has a NUL character, expected text",
                    "remove it",
                ));
            }
        }
        if self.command.first().is_some_and(String::is_empty) {
            let why = "is empty, expected a program";
            found.push(Finding::new(key_path::item("command", 0), why, "write its path"));
        }
        for (index, pattern) in self.tools.iter().enumerate() {
            let start = pattern.strip_suffix('*').unwrap_or(pattern);
            // A `*` alone is every tool; a beginning may end where a whole name may not.
            if !start.is_empty() && !values::is_name(start) || pattern.is_empty() {
                let why = "is not a tool's name, nor the beginning of one with a `*` behind";
                found.push(Finding::new(key_path::item("tools", index), why, "for example `switch_light` or `mail_*`"));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(tools: &[&str], command: &[&str]) -> HookConfig {
        let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        HookConfig {
            when: HookMoment::BeforeTool,
            tools: owned(tools),
            command: owned(command),
            timeout_secs: 10,
            on_failure: HookFailure::Block,
            sandbox: true,
            network: false,
            read_dirs: Vec::new(),
            write_dirs: Vec::new(),
        }
    }

    #[test]
    fn e7_tools_are_names_or_beginnings() {
        for (pattern, fine) in [
            ("light", true),
            ("mail_*", true),
            ("*", true),
            ("", false),
            ("*mail", false),
            ("ma*il", false),
            ("mail**", false),
            ("9*", false),
            ("a b", false),
        ] {
            let found = hook(&[pattern], &["/bin/true"]).validate();
            assert_eq!(found.is_empty(), fine, "{pattern}: {found:?}");
        }
    }

    #[test]
    fn e7_a_hook_has_a_program() {
        assert!(hook(&[], &["/bin/true", ""]).validate().is_empty());
        let keys = |hook: HookConfig| hook.validate().into_iter().map(|found| found.key).collect::<Vec<_>>();
        assert_eq!(keys(hook(&[], &[""])), ["command[1]"]);
        assert_eq!(keys(hook(&["light"], &["/bin/true", "a\0"])), ["command[2]"]);
    }
}
