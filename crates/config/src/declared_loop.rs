//! A loop as a persona declares it (row D1): how far it may go, how its context is kept small, what ends it.
//!
//! A declaration that contradicts itself is refused when the config is loaded.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::persona::meant;
use crate::problem::Finding;
use crate::{key_path, shape};
use hob_core::domain::choices::ContextStrategy;

/// The smallest window in which there is room for a summary beside what it stands for.
const SUMMARY_WINDOW_MIN: u64 = 8_192;

/// A loop that works until a declared condition holds, rather than until the model has nothing more to do.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<LoopConfig>)]
pub struct LoopConfig {
    /// Model calls a run may make.
    #[schemars(range(min = 1, max = 1000), example = 20)]
    pub max_cycles: u32,
    /// What is done when the context fills its window. Without it: as for every run.
    #[schemars(example = ContextStrategy::RollingWindow)]
    pub strategy: Option<ContextStrategy>,
    /// Tokens of the window, where it is to be smaller than the model's own.
    #[schemars(range(min = 2_048, max = 10_000_000), example = 32_000)]
    pub context_tokens: Option<u64>,
    /// Dollars that a run in this loop may cost. Without it: the persona's `run_usd`.
    #[schemars(range(min = 0, max = 1_000_000), example = 0.5)]
    pub run_usd: Option<f64>,
    /// What ends the loop, looked at in this order after each batch of tool calls: the first that holds ends it. Each has
    /// `when`: text-includes (with text), tool-result (with exit_code, contains or both, and perhaps tool), budget-exhausted.
    #[serde(default)]
    #[schemars(length(max = 20), example = terminate_example())]
    pub terminate: Vec<TerminateConfig>,
}

fn terminate_example() -> [BTreeMap<&'static str, &'static str>; 2] {
    [
        BTreeMap::from([("when", "tool-result"), ("contains", "0 failed")]),
        BTreeMap::from([("when", "text-includes"), ("text", "DONE")]),
    ]
}

/// A condition that ends the loop.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<TerminateConfig>)]
pub struct TerminateConfig {
    /// What is looked at.
    #[schemars(example = TerminateWhen::TextIncludes)]
    pub when: TerminateWhen,
    /// For text-includes: what the model's words hold, letter by letter.
    #[schemars(length(min = 1, max = 1000), example = &"DONE")]
    pub text: Option<String>,
    /// For tool-result: of which tool. Without it: of any.
    #[schemars(length(min = 1, max = 64), example = &"run_tests")]
    pub tool: Option<String>,
    /// For tool-result: the code that a command ended with.
    #[schemars(range(min = 0, max = 255), example = 0)]
    pub exit_code: Option<i32>,
    /// For tool-result: what the result holds, letter by letter.
    #[schemars(length(min = 1, max = 1000), example = &"0 failed")]
    pub contains: Option<String>,
}

/// What a condition looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TerminateWhen {
    /// the model's words
    TextIncludes,
    /// the results of its tool calls
    ToolResult,
    /// whether the money is spent that the run may cost; without it the loop ends then as well, as it does when the cycles are used up
    BudgetExhausted,
}

impl LoopConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> =
            self.terminate.iter().enumerate().flat_map(|(index, condition)| condition.validate(index)).collect();
        if found.is_empty() {
            found.extend(self.order());
        }
        if self.terminate.iter().all(|condition| condition.when == TerminateWhen::BudgetExhausted) {
            let why = "has nothing that could end the loop before its cycles or its money are used up, expected a `text-includes` or \
                       a `tool-result`";
            let fix = "for example `terminate = [{ when = \"text-includes\", text = \"DONE\" }]`";
            found.push(Finding::new("terminate", why, fix));
        }
        if let Some(tokens) = self.context_tokens.filter(|tokens| *tokens < SUMMARY_WINDOW_MIN)
            && matches!(self.strategy, Some(ContextStrategy::Compact | ContextStrategy::PeriodicSummary))
        {
            let why =
                format!("is {tokens}, expected at least {SUMMARY_WINDOW_MIN} for a strategy that makes summaries");
            let fix = "raise it or set `strategy = \"rolling-window\"`";
            found.push(Finding::new("context_tokens", why, fix).with("strategy"));
        }
        found
    }

    /// A condition on money where none is set, be it here or for the persona.
    pub(super) fn unpaid(&self, persona: Option<f64>) -> Option<Finding> {
        let index = self.terminate.iter().position(|condition| condition.when == TerminateWhen::BudgetExhausted)?;
        let why = "never ends the loop, for nothing says how much a run may cost";
        let fix = "for example `run_usd = 0.5` beside it";
        let unset = self.run_usd.or(persona).is_none();
        unset.then(|| Finding::new(key_path::item("terminate", index), why, fix).with("run_usd"))
    }

    /// Conditions that no tool can fulfil: of `known`, `commands` end with a code.
    pub(super) fn unknown(&self, known: &BTreeSet<&str>, commands: &BTreeSet<&str>) -> Vec<Finding> {
        let named = self.terminate.iter().enumerate();
        let named = named.filter_map(|(index, condition)| Some((index, condition, condition.tool.as_deref()?)));
        let finding = |(index, condition, tool): (usize, &TerminateConfig, &str)| {
            let at = key_path::item("terminate", index);
            if !known.contains(tool) {
                let at = format!("{at}.tool");
                return Some(Finding::new(at, "is not the name of a tool", meant(tool, known)));
            }
            let why = format!("is expected of {tool}, which has none: only commands under `[tools]` do");
            let codeless = condition.exit_code.is_some() && !commands.contains(tool);
            codeless.then(|| Finding::new(format!("{at}.exit_code"), why, "remove it, or use `contains`"))
        };
        named.filter_map(finding).collect()
    }

    /// Conditions that could never be the first to hold.
    fn order(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (index, condition) in self.terminate.iter().enumerate() {
            let before = &self.terminate[..index];
            let at = key_path::item("terminate", index);
            if let Some(earlier) = before.iter().position(|earlier| earlier.covers(condition)) {
                let why = format!("never ends the loop: whenever it holds, number {} holds before it", earlier + 1);
                found.push(Finding::new(at, why, "remove it, or move it up"));
            }
        }
        found
    }
}

impl TerminateConfig {
    fn validate(&self, index: usize) -> Vec<Finding> {
        let at = |key: &str| format!("{}.{key}", key_path::item("terminate", index));
        let blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        let mut found = Vec::new();
        for (key, given, of) in [
            ("text", self.text.is_some(), TerminateWhen::TextIncludes),
            ("tool", self.tool.is_some(), TerminateWhen::ToolResult),
            ("exit_code", self.exit_code.is_some(), TerminateWhen::ToolResult),
            ("contains", self.contains.is_some(), TerminateWhen::ToolResult),
        ] {
            if given && of != self.when {
                let why = format!("means nothing with `when = \"{}\"`", self.when.name());
                found.push(Finding::new(at(key), why, format!("remove it, or set `when = \"{}\"`", of.name())));
            }
        }
        for (key, text) in [("text", &self.text), ("contains", &self.contains)] {
            if blank(text) {
                found.push(Finding::new(at(key), "is blank, and would hold at once; expected words", "write them"));
            }
        }
        if self.when == TerminateWhen::TextIncludes && self.text.is_none() {
            let why = "is missing, expected the words that end the loop";
            found.push(Finding::new(at("text"), why, "for example `text = \"DONE\"`"));
        }
        if self.when == TerminateWhen::ToolResult && self.exit_code.is_none() && self.contains.is_none() {
            let why = "would hold for any result, expected an exit_code, a contains or both";
            found.push(Finding::new(key_path::item("terminate", index), why, "for example `exit_code = 0`"));
        }
        found
    }

    /// Does it hold whenever `other` holds?
    fn covers(&self, other: &Self) -> bool {
        fn within(needle: Option<&String>, other: Option<&String>) -> bool {
            needle.is_none_or(|needle| other.is_some_and(|other| other.contains(needle.as_str())))
        }
        let same_tool = self.tool.is_none() || self.tool == other.tool;
        let same_code = self.exit_code.is_none() || self.exit_code == other.exit_code;
        self.when == other.when
            && within(self.text.as_ref(), other.text.as_ref())
            && within(self.contains.as_ref(), other.contains.as_ref())
            && same_tool
            && same_code
    }
}

impl TerminateWhen {
    fn name(self) -> &'static str {
        match self {
            Self::TextIncludes => "text-includes",
            Self::ToolResult => "tool-result",
            Self::BudgetExhausted => "budget-exhausted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(declaration: &str) -> String {
        let config: LoopConfig = toml::from_str(declaration).unwrap();
        let line = |finding: &Finding| format!("{}: {}; {}", finding.key, finding.why, finding.fix);
        config.validate().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn d1_a_declaration_that_can_be() {
        let declaration = r#"
            max_cycles = 20
            strategy = "periodic-summary"
            context_tokens = 8192
            terminate = [
                { when = "tool-result", tool = "run_tests", exit_code = 0, contains = "ok" },
                { when = "tool-result", tool = "run_tests", contains = "fatal" },
                { when = "tool-result", exit_code = 3 },
                { when = "text-includes", text = "DONE" },
                { when = "budget-exhausted" },
            ]"#;
        assert_eq!(found(declaration), "");
        let config: LoopConfig = toml::from_str(declaration).unwrap();
        assert!(config.unpaid(None).is_some() && config.unpaid(Some(0.5)).is_none());
        assert!(LoopConfig { run_usd: Some(0.1), ..config }.unpaid(None).is_none());
        let small = "max_cycles = 1\nstrategy = 'rolling-window'\ncontext_tokens = 2048\n\
                     terminate = [{ when = 'text-includes', text = 'DONE' }]";
        assert_eq!(found(small), "");
        assert_eq!(found(&small.replace("strategy = 'rolling-window'\n", "")), "");
    }

    #[test]
    fn d1_contradictions_are_refused_with_what_to_do() {
        insta::assert_snapshot!(found("max_cycles = 5\nterminate = [{ when = 'budget-exhausted' }]"), @r#"terminate: has nothing that could end the loop before its cycles or its money are used up, expected a `text-includes` or a `tool-result`; for example `terminate = [{ when = "text-includes", text = "DONE" }]`"#);
        insta::assert_snapshot!(found("max_cycles = 5\nterminate = []"), @r#"terminate: has nothing that could end the loop before its cycles or its money are used up, expected a `text-includes` or a `tool-result`; for example `terminate = [{ when = "text-includes", text = "DONE" }]`"#);
        for strategy in ["compact", "periodic-summary"] {
            let small = format!(
                "max_cycles = 5\nstrategy = '{strategy}'\ncontext_tokens = 8191\n\
                 terminate = [{{ when = 'text-includes', text = 'DONE' }}]"
            );
            assert!(found(&small).starts_with("context_tokens: is 8191, expected at least 8192"), "{}", found(&small));
        }
        insta::assert_snapshot!(found(r"
            max_cycles = 5
            terminate = [
                { when = 'text-includes' },
                { when = 'text-includes', text = ' ', tool = 'x' },
                { when = 'tool-result', tool = 'x' },
                { when = 'tool-result', exit_code = 0, text = 'DONE' },
                { when = 'tool-result', contains = '' },
                { when = 'budget-exhausted', exit_code = 1, contains = 'x' },
            ]"), @r#"
        terminate[1].text: is missing, expected the words that end the loop; for example `text = "DONE"`
        terminate[2].tool: means nothing with `when = "text-includes"`; remove it, or set `when = "tool-result"`
        terminate[2].text: is blank, and would hold at once; expected words; write them
        terminate[3]: would hold for any result, expected an exit_code, a contains or both; for example `exit_code = 0`
        terminate[4].text: means nothing with `when = "tool-result"`; remove it, or set `when = "text-includes"`
        terminate[5].contains: is blank, and would hold at once; expected words; write them
        terminate[6].exit_code: means nothing with `when = "budget-exhausted"`; remove it, or set `when = "tool-result"`
        terminate[6].contains: means nothing with `when = "budget-exhausted"`; remove it, or set `when = "tool-result"`
        "#);
    }

    #[test]
    fn d1_what_can_never_be_first_is_refused() {
        insta::assert_snapshot!(found(r"
            max_cycles = 5
            terminate = [
                { when = 'text-includes', text = 'DONE' },
                { when = 'text-includes', text = 'ALL DONE' },
                { when = 'tool-result', exit_code = 0 },
                { when = 'tool-result', tool = 'x', exit_code = 0 },
                { when = 'tool-result', tool = 'x', contains = 'a' },
                { when = 'tool-result', tool = 'x', contains = 'ab', exit_code = 2 },
                { when = 'budget-exhausted' },
                { when = 'text-includes', text = 'OVER' },
                { when = 'budget-exhausted' },
            ]"), @r"
        terminate[2]: never ends the loop: whenever it holds, number 1 holds before it; remove it, or move it up
        terminate[4]: never ends the loop: whenever it holds, number 3 holds before it; remove it, or move it up
        terminate[6]: never ends the loop: whenever it holds, number 5 holds before it; remove it, or move it up
        terminate[9]: never ends the loop: whenever it holds, number 7 holds before it; remove it, or move it up
        ");
    }
}
