//! The file of cases: `[[case]]`, each with what is said, who answers, and what is expected.

use std::fmt::Write as _;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cases {
    /// The model that judges rubrics, by its label, role or alias; else the primary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judge: Option<String>,
    #[serde(default, rename = "case")]
    pub(super) cases: Vec<Case>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<String>,
    /// What is said, message by message; the last one's run is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<String>,
    /// Who Hob is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) persona: Option<String>,
    /// The model that answers, by its label, role or alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// Whether what is to be approved is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) approve: bool,
    /// What the judge answers instead of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judge_script: Option<String>,
    /// What the model answers, reply by reply, instead of a real one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) script: Vec<ScriptedReply>,
    #[serde(default)]
    pub(super) expect: Expectations,
}

/// A reply of a scripted model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedReply {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<ScriptedCall>,
}

/// A call of a scripted model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    /// The arguments, as a model writes them: JSON.
    pub(super) arguments: String,
}

/// What is expected; what is left out is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Expectations {
    /// The last words to the person have each of these in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) text_contains: Vec<String>,
    /// They have none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) text_lacks: Vec<String>,
    /// They match this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_regex: Option<String>,
    /// The last result of a tool has each of these in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) final_tool_result_contains: Vec<String>,
    /// It matches this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_tool_result_regex: Option<String>,
    /// At most so many replies of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cycles_max: Option<u32>,
    /// What ended it, as `hob replay` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) terminated_by: Option<String>,
    /// Criteria that a judge decides, each to be met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rubric: Vec<String>,
}

impl Case {
    /// What is said, in order.
    pub(super) fn user_turns(&self) -> impl Iterator<Item = &String> {
        self.prompt.iter().chain(&self.turns)
    }
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, with the line and the key, and what to do.
pub(super) fn parse(text: &str) -> Result<Cases, String> {
    let cases: Cases = toml::from_str(text).map_err(|error| with_guess(&error))?;
    if cases.cases.is_empty() {
        return Err("it has no case: each begins with [[case]]".to_owned());
    }
    for (index, case) in cases.cases.iter().enumerate() {
        checked(case).map_err(|why| format!("case {}: {why}", case.name))?;
        if cases.cases.iter().take(index).any(|before| before.name == case.name) {
            return Err(format!("case {}: another one has this name; rename one of them", case.name));
        }
    }
    Ok(cases)
}

fn checked(case: &Case) -> Result<(), String> {
    if case.prompt.is_some() != case.turns.is_empty() {
        return Err("it needs either `prompt` or `turns`: what is said".to_owned());
    }
    if case.expect == Expectations::default() {
        return Err("`expect` is missing or empty: it would pass whatever happens".to_owned());
    }
    if case.model.is_some() && !case.script.is_empty() {
        return Err("it has `model` and `script`, but only one of them can answer; remove one".to_owned());
    }
    if case.judge_script.is_some() && case.expect.rubric.is_empty() {
        return Err("it has `judge_script`, but no `rubric` to judge; remove it or add `rubric`".to_owned());
    }
    for (key, pattern) in case.expect.patterns() {
        Regex::new(pattern).map_err(|error| format!("`expect.{key}` is not a regular expression: {error}"))?;
    }
    Ok(())
}

impl Expectations {
    /// The regular expressions in it, each with its key.
    fn patterns(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let text = self.text_regex.iter().map(|pattern| ("text_regex", pattern));
        text.chain(self.final_tool_result_regex.iter().map(|pattern| ("final_tool_result_regex", pattern)))
    }
}

/// What the parser says, with the key that may have been meant.
fn with_guess(error: &toml::de::Error) -> String {
    let mut said = error.to_string().trim_end().to_owned();
    let named: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
    if let Some((typed, known)) = named.split_first().filter(|_| error.message().starts_with("unknown field")) {
        let nearest = known.iter().map(|known| (strsim::osa_distance(typed, known), known)).min();
        if let Some((_, near)) = nearest.filter(|(distance, _)| *distance <= 3) {
            // Writing to a string does not fail.
            let _written = write!(said, "\ndid you mean `{near}`?");
        }
    }
    said
}
