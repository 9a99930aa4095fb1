//! Procedures that were repeated: how two runs are known to have done the same, and what a skill of it would say.
//!
//! Pure. Names of tools and the shapes of their arguments make a procedure; its words come in only when it is written down.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::folder::digest_of;
use crate::format::NAME_CHARS_MAX;
use hob_core::domain::text::{cut, one_line};
use hob_store::skills::CallRow;

/// So often the same has to go well before it is offered.
pub const REPEATED: usize = 5;
pub(crate) const WITHIN_DAYS: i64 = 60;
/// The fewest and the most calls of a procedure.
const CALLS: std::ops::RangeInclusive<usize> = 3..=20;
/// The most characters of a value that is written down.
const VALUE_CHARS_MAX: usize = 300;
/// Tools that steer a run, and are not part of what it did.
const STEERING: [&str; 8] = [
    "append_run_journal_entry",
    "ask_human",
    "get_run_journal",
    "plan",
    "read_result",
    "request_more_iterations",
    "update_run_journal",
    "use_tool",
];
/// A run that went by a skill, or changed them, is no new procedure.
const OF_SKILLS: [&str; 2] = ["manage_skills", "use_skill"];

/// A call of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureStep {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// What a run did, in order; none: it is not a procedure.
pub fn steps(rows: &[CallRow]) -> Option<Vec<ProcedureStep>> {
    if rows.iter().any(|row| row.failed || OF_SKILLS.contains(&row.name.as_str())) {
        return None;
    }
    let mut rows: Vec<&CallRow> = rows.iter().filter(|row| !STEERING.contains(&row.name.as_str())).collect();
    rows.sort_by_key(|row| place(&row.call));
    if !CALLS.contains(&rows.len()) {
        return None;
    }
    rows.into_iter()
        .map(|row| match serde_json::from_str(&row.arguments) {
            Ok(Value::Object(arguments)) => Some(ProcedureStep { tool: row.name.clone(), arguments }),
            Ok(_) | Err(_) => None,
        })
        .collect()
}

/// Reply and place within it, as numbers: the tenth comes after the ninth.
fn place(call: &str) -> (u32, u32) {
    let mut parts = call.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    (parts.next().unwrap_or(u32::MAX), parts.next().unwrap_or(u32::MAX))
}

/// What tells one procedure from another: the tools in order, each with the names and kinds of its arguments.
pub fn fingerprint(steps: &[ProcedureStep]) -> String {
    let lines: Vec<String> = steps.iter().map(|step| format!("{}({})", step.tool, shape(&step.arguments))).collect();
    digest_of(lines.join("\n").as_bytes())
}

fn shape(arguments: &Map<String, Value>) -> String {
    let sorted: BTreeMap<&String, &Value> = arguments.iter().collect();
    sorted.iter().map(|(key, value)| format!("{key}:{}", kind(value))).collect::<Vec<_>>().join(",")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// The words by which it is offered.
pub fn offer(steps: &[ProcedureStep], may_install: bool) -> String {
    let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
    let how = if may_install {
        "Say \"make a skill draft of it\", or run `hob skill draft`."
    } else {
        "The owner can do that with `hob skill draft`."
    };
    format!(
        "I have now done this {REPEATED} times: {}. Shall I keep it as a skill? {how} Nothing is kept by itself.",
        tools.join(", then ")
    )
}

/// A draft: its name and its `SKILL.md`. `runs` did the same; what differed between them becomes a gap. `clean` takes secrets
/// out of a text.
pub fn draft(runs: &[Vec<ProcedureStep>], clean: &dyn Fn(&str) -> String) -> Option<(String, String)> {
    let first = runs.first()?;
    let tools: Vec<&str> = first.iter().map(|step| step.tool.as_str()).collect();
    let name = name(&tools);
    let mut distinct: Vec<&str> = tools.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let lines: Vec<String> = first.iter().enumerate().map(|(at, step)| line(at, step, runs, clean)).collect();
    let text = format!(
        "---\nname: {name}\ndescription: A procedure of {} steps that went well {} times ({}). Say here when to use it.\n\
         allowed-tools: {}\n---\n# {}\n\nThese steps were done {} times with success. What is in <angle brackets> was \
         another each time: take it from the request.\n\n{}\n\nIf a step fails, say so and stop.\n",
        first.len(),
        runs.len(),
        tools.join(", "),
        distinct.join(", "),
        name.replace('-', " "),
        runs.len(),
        lines.join("\n"),
    );
    Some((name, text))
}

fn name(tools: &[&str]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for tool in tools {
        let plain: String =
            tool.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let plain = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        if !plain.is_empty() && !seen.contains(&plain) {
            seen.push(plain);
        }
    }
    let joined: String = seen.join("-").chars().take(NAME_CHARS_MAX - 8).collect();
    format!("do-{}", joined.trim_end_matches('-'))
}

fn line(at: usize, step: &ProcedureStep, runs: &[Vec<ProcedureStep>], clean: &dyn Fn(&str) -> String) -> String {
    let sorted: BTreeMap<&String, &Value> = step.arguments.iter().collect();
    let values = sorted.iter().map(|(key, value)| {
        let same = runs.iter().all(|run| run.get(at).and_then(|step| step.arguments.get(*key)) == Some(*value));
        let told = if same { quotable_line(value, clean) } else { format!("<{}>", inline(key)) };
        format!("`{}`: {told}", inline(key))
    });
    let values: Vec<String> = values.collect();
    let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join("; ")) };
    format!("{}. Call {}{with}.", at + 1, step.tool)
}

/// A value on one line that can end nothing around it.
fn quotable_line(value: &Value, clean: &dyn Fn(&str) -> String) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("\"{}\"", cut(&inline(&clean(&text)), VALUE_CHARS_MAX))
}

fn inline(text: &str) -> String {
    one_line(text).replace('`', "'")
}

#[cfg(test)]
mod tests;
