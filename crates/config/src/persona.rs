//! `[personas.NAME]`: who Hob is, conversation by conversation (row C3).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::declared_loop::LoopConfig;
use crate::problem::Finding;
use crate::{budget, check, dav, home_assistant, key_path, mail, shape, values};
use hob_core::domain::tools::MODULES;

/// The word by which `/persona` goes back to what is configured.
const TAKEN: &str = "default";

/// Whether a person approves each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalsMode {
    /// as each tool is declared, and as what the run has read demands
    #[default]
    Usual,
    /// each call anew: nothing covers the next one
    Always,
}

/// Who Hob is in some conversations. What is left out is as everywhere.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<PersonaConfig>)]
pub struct PersonaConfig {
    /// What the model is told after the instructions that hold everywhere.
    #[schemars(length(min = 1, max = 100_000), example = &"You are the cook of this house. Think of the season.")]
    pub prompt: Option<String>,
    /// The model that answers, by its label, its role or an alias.
    #[schemars(length(min = 1, max = 200), example = &"smart")]
    pub model: Option<String>,
    /// The modules whose tools it has: memory, time, journal, commands, or those that `[tools]` name. Empty: all of
    /// them. What steers a run (asking a person, more steps) is always there.
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)))]
    pub modules: Vec<String>,
    /// Tokens of a reply, at most.
    #[schemars(range(min = 1, max = 1_000_000), example = &1000)]
    pub max_output_tokens: Option<u64>,
    /// Model calls a run may make before it has to ask for more.
    #[schemars(range(min = 1, max = 1000), example = &5)]
    pub iterations_max: Option<u32>,
    /// Model calls a run can never exceed.
    #[schemars(range(min = 1, max = 1000), example = &10)]
    pub iterations_cap: Option<u32>,
    /// Recent messages that the model sees. Without it: as for every run.
    #[schemars(range(min = 1, max = 10_000), example = &10)]
    pub history_messages_max: Option<usize>,
    /// Dollars that a run may cost, with all that it starts, as far as prices are known: then it ends, and says so. Without it:
    /// what `[budget]` says.
    #[schemars(range(min = 0, max = 1_000_000), example = &0.5)]
    pub run_usd: Option<f64>,
    /// Dollars that all who talk with it may cost together in any sixty minutes. Without it: as for the whole house.
    #[schemars(range(min = 0, max = 1_000_000), example = &1.0)]
    pub hour_usd: Option<f64>,
    /// The same for a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000), example = &10.0)]
    pub month_usd: Option<f64>,
    /// Tokens that models may read and write for all who talk with it, in any sixty minutes.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &500_000)]
    pub hour_tokens: Option<u64>,
    /// The same for a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &10_000_000)]
    pub month_tokens: Option<u64>,
    /// Whether a person approves each call anew, whatever its tool is and whatever was allowed before.
    pub approvals: ApprovalsMode,
    /// The tools that `approvals = "always"` is about, also where a call only looks. Empty: all that do more than look.
    #[schemars(length(max = 100), inner(length(min = 1, max = 128)), example = ["terminal", "write_file"])]
    pub approval_tools: Vec<String>,
    /// Files and folders, absolute or within the workspace: each call that may change them is approved by a person. A command's
    /// words do not tell what it changes, so each command that does more than look is.
    #[schemars(length(max = 100), inner(length(min = 1, max = 4000)), example = ["contracts", "/srv/notes/taxes"])]
    pub protected_paths: Vec<String>,
    /// A loop that works until something in particular is so, rather than until the model has nothing more to do.
    #[serde(rename = "loop")]
    pub declared: Option<LoopConfig>,
}

impl PersonaConfig {
    /// What cannot be, given the modules that there are.
    pub fn validate(&self, modules: &BTreeSet<&str>) -> Vec<Finding> {
        let mut found = Vec::new();
        found.extend(validate_modules("modules", &self.modules, modules));
        if let (Some(max), Some(cap)) = (self.iterations_max, self.iterations_cap)
            && max > cap
        {
            let why = format!("is {max}, expected at most iterations_cap, which is {cap}");
            found.push(Finding::new("iterations_max", why, "lower it or raise iterations_cap").with("iterations_cap"));
        }
        found.extend(budget::narrowing(&[("hour_usd", self.hour_usd), ("month_usd", self.month_usd)]));
        found.extend(budget::narrowing(&[("hour_tokens", self.hour_tokens), ("month_tokens", self.month_tokens)]));
        for (index, path) in self.protected_paths.iter().enumerate() {
            if path.trim_matches(['/', '.', ' ']).is_empty() || path.split('/').any(|part| part == "..") {
                let why = "is not a file or folder that can be told from others, expected a path without `..`";
                found.push(Finding::new(key_path::item("protected_paths", index), why, "for example `contracts`"));
            }
        }
        if let Some(declared) = &self.declared {
            let findings = declared.validate().into_iter().chain(declared.unpaid(self.run_usd));
            found.extend(findings.map(|finding| finding.within("loop")));
        }
        found
    }
}

/// Finds what is no module in the list at `key`.
pub(super) fn validate_modules(key: &str, chosen: &[String], modules: &BTreeSet<&str>) -> Vec<Finding> {
    let unknown = chosen.iter().enumerate().filter(|(_, module)| !modules.contains(module.as_str()));
    let found = unknown.map(|(index, module)| {
        Finding::new(key_path::item(key, index), "is not the module of any tool", meant(module, modules))
    });
    found.collect()
}

/// What keeps `name` from naming a persona.
pub(super) fn validate_name(name: &str) -> Vec<Finding> {
    let bad = |why: &str| vec![Finding::new(key_path::key(name), why, "rename it")];
    if name == TAKEN {
        return bad("is the word by which `/persona` goes back, expected another");
    }
    if !values::is_name(name) {
        return bad("cannot name a persona, expected a letter, then up to 63 letters, digits, `_` or `-`");
    }
    Vec::new()
}

/// Finds what keeps `name`, at `key`, from meaning a persona.
pub(super) fn validate_use<T>(key: &str, name: &str, personas: &BTreeMap<String, T>) -> Option<Finding> {
    let fix = || meant(name, &personas.keys().map(String::as_str).collect());
    (!personas.contains_key(name)).then(|| Finding::new(key, "is not a persona", fix()).with("personas"))
}

/// The modules that tools can be chosen by.
pub(super) fn modules<'a>(declared: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    MODULES.into_iter().chain([dav::MODULE, home_assistant::MODULE, mail::MODULE]).chain(declared).collect()
}

/// What somebody who wrote `typed` may have meant.
pub(super) fn meant(typed: &str, known: &BTreeSet<&str>) -> String {
    if let Some(near) = check::nearest(typed, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let known: Vec<&str> = known.iter().copied().collect();
    if known.is_empty() {
        "declare it under `[personas]`".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    }
}
