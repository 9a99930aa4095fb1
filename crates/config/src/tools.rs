//! `[tools.NAME]`: commands on this machine that the model may call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{key_path, sandbox_keys, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::BUILT_IN;

/// Whether a person has to approve each call of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalConfig {
    /// the model calls it by itself
    #[default]
    Never,
    /// who asked for it, or an owner, approves each call, or all of them in that conversation
    Ask,
    /// the same, and each call anew: nothing covers the next one
    Critical,
}

/// A command that the model may call as a tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ToolConfig>)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in the file")]
pub struct ToolConfig {
    /// What the tool does: the model decides by it when to call the tool.
    #[schemars(length(min = 1, max = 4000), example = &"Switches the light of a room on or off.")]
    pub description: String,
    /// The program and its arguments, run without a shell. An element that is exactly `{name}` is replaced by that
    /// argument.
    #[schemars(length(min = 1, max = 256), example = ["/usr/local/bin/light", "--room", "{room}", "{state}"])]
    pub command: Vec<String>,
    /// The arguments, all text: name = "what it is". Each must stand in command. Two names are Hob's own, and no model
    /// sees or sets them: `_session_id` is the conversation's, `_untrusted_source` is 1 where the run has read words up to
    /// then that nobody vouches for, else 0. The command finds the same as $HOB_SESSION and $HOB_UNTRUSTED.
    #[serde(default)]
    #[schemars(example = example_parameters())]
    pub parameters: BTreeMap<String, String>,
    /// Whether running it twice does no harm: only then it is run again, after a crash, a timeout, or an exit with code
    /// 75, by which a command says that its failure may pass.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether it changes something outside. Without it: yes. `false` is for what only looks something up: a claim to
    /// have done something is then not covered by it.
    #[schemars(example = false)]
    pub changes: Option<bool>,
    /// Whether what it prints may instruct, as a person of the household may. Without it, what it prints is only data:
    /// after it the run asks a person before it changes, runs, sends or spends anything.
    #[serde(default)]
    pub trusted_output: bool,
    /// Whether it runs alone: calls of one reply run side by side, but none beside this one.
    #[serde(default)]
    pub exclusive: bool,
    /// Whether a person has to approve each call.
    #[serde(default)]
    pub approval: ApprovalConfig,
    /// Who may have it called: guest, user, admin or owner, and all above.
    #[serde(default)]
    pub role: Role,
    /// The group that personas choose tools by.
    #[serde(default = "module")]
    #[schemars(length(min = 1, max = 64))]
    pub module: String,
    /// Seconds after which it is ended; 0: never. Without it: $HOB_TOOL_TIMEOUT_SECS, else 120.
    #[schemars(range(min = 0, max = 86_400), example = 300)]
    pub timeout_secs: Option<u64>,
    /// Where it runs, as an absolute path; in the sandbox it may write there. Without it: a folder of its own in the data
    /// directory, or the data directory itself for one outside the sandbox.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/lights")]
    pub working_dir: Option<PathBuf>,
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

fn module() -> String {
    "commands".to_owned()
}

fn example_parameters() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("room", "The room, such as kitchen."), ("state", "on or off")])
}

/// The parameter that Hob fills with the conversation's name (row A10).
pub const SESSION_ID: &str = "_session_id";
/// The parameter that Hob fills with whether the run is tainted (row A10).
pub const UNTRUSTED_SOURCE: &str = "_untrusted_source";

/// Whether Hob fills this parameter itself.
pub fn is_injected(name: &str) -> bool {
    matches!(name, SESSION_ID | UNTRUSTED_SOURCE)
}

fn is_parameter(name: &str) -> bool {
    values::is_name(name) || is_injected(name)
}

/// The parameter an element of a command stands for, if it is exactly `{name}`.
pub fn placeholder(element: &str) -> Option<&str> {
    element.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).filter(|name| is_parameter(name))
}

impl ToolConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (index, element) in self.command.iter().enumerate() {
            let at = key_path::item("command", index);
            found.extend(self.element(index, element).map(|(why, fix)| Finding::new(at, why, fix).with("parameters")));
        }
        if self.command.first().is_some_and(String::is_empty) {
            let why = "is empty, expected a program";
            found.push(Finding::new(key_path::item("command", 0), why, "write its path"));
        }
        for name in self.parameters.keys() {
            let at = key_path::child("parameters", name);
            if !is_parameter(name) {
                let why = "cannot name a parameter, expected a letter, then up to 63 letters, digits, `_` or `-`";
                found.push(Finding::new(at, why, "rename it"));
            } else if !self.command.iter().any(|element| placeholder(element) == Some(name)) {
                let why = "is not used, expected an element of command that is exactly its name in braces";
                found.push(Finding::new(at, why, format!("add `\"{{{name}}}\"` to command")).with("command"));
            }
        }
        if !values::is_name(&self.module) {
            let why = "cannot name a module, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new("module", why, "rename it"));
        }
        found.extend(self.working_dir.iter().filter_map(|dir| values::absolute_path("working_dir", dir)));
        found.extend(sandbox_keys::folders([("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)]));
        found
    }

    /// Why this element of the command cannot be, and what to do.
    fn element(&self, index: usize, element: &str) -> Option<(&'static str, String)> {
        if element.contains('\0') {
            return Some(("has a NUL character, expected text", "remove it".to_owned()));
        }
        let name = placeholder(element)?;
        if index == 0 {
            return Some(("lets the model choose the program, expected its path", "write the program here".to_owned()));
        }
        let declared = self.parameters.contains_key(name);
        (!declared).then(|| {
            let why = "is a placeholder without a parameter, expected one that is declared in parameters";
            (why, format!("add `{name} = \"what it is\"` to parameters"))
        })
    }
}

/// What keeps `name` from naming a tool.
pub(super) fn validate_name(name: &str) -> Vec<Finding> {
    let why = "cannot name a tool, expected a letter, then up to 63 letters, digits, `_` or `-`";
    let bad = |why: &str| vec![Finding::new(key_path::key(name), why, "rename it")];
    if BUILT_IN.contains(&name) {
        return bad("is the name of a built-in tool, expected another");
    }
    if values::is_name(name) { Vec::new() } else { bad(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        for (element, expected) in [
            ("{room}", Some("room")),
            ("{}", None),
            ("{ room }", None),
            ("--room={room}", None),
            ("{\"a\":1}", None),
            ("{{room}}", None),
            ("room", None),
            ("{_session_id}", Some("_session_id")),
            ("{_untrusted_source}", Some("_untrusted_source")),
            ("{_session}", None),
        ] {
            assert_eq!(placeholder(element), expected, "{element}");
        }
    }
}
