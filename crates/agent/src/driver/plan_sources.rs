//! Who has said what steers the calls of a plan (row N16): looked up when the plan is made, while all that the run has read is
//! vouched for, and recorded with it.
//!
//! Never: a value that only the model has said. Start at [`of`].

use crate::machine::state::ActiveState;
use crate::machine::tool_disclosure;
use crate::prompt::PromptInputs;
use crate::recalled_context::facts_of;
use hob_core::domain::plan::{PlannedCall, PlannedValue, ValueSource};
use hob_core::domain::tools::{Approval, CONTROL, PLAN};
use hob_core::policy::arguments::parse;
use hob_core::policy::lookup::OF_SERVER;
use hob_core::policy::plan::{keeps_times, read};
use hob_core::policy::sources::{SourcedText, is_moment_said, own_words, value_source, whence_said};
use hob_model::message::{Message, ToolCall};
use hob_tools::ToolSpec;
use hob_tools::registry::Registry;
use serde_json::Value;

/// The tool whose answer is a person's.
const ASKS: &str = "ask_human";
/// What stands for words that are left out: it is a part of whatever it stands beside.
const LEFT_OUT: &str = "\u{fffd}";

/// All that counts.
struct SourceTexts {
    texts: Vec<SourcedText>,
    /// Only what the person's own message says, and says whole: somebody else may have chosen a date or a word of a list.
    is_strict: bool,
}

/// Does the run know values that a reader took from somebody's words?
fn is_strict(run: &ActiveState) -> bool {
    !run.taint.is_clean()
}

/// The steps of a plan, as far as their tools are there.
pub(super) fn of(tools: &Registry, run: &ActiveState, material: &PromptInputs, arguments: &str) -> Vec<PlannedCall> {
    let told = SourceTexts { texts: trusted_texts(tools, run, material), is_strict: is_strict(run) };
    let steps = read(arguments).unwrap_or_default();
    let steps = steps.into_iter().filter_map(|step| known(tools, &told, step));
    steps.map(|step| with_lookups(tools, &told, step)).collect()
}

/// The step, with the calls that are to find something for it; of one whose answers nobody here has said to be the house's own
/// affairs, or that is not known, only the name is kept.
fn with_lookups(tools: &Registry, told: &SourceTexts, mut step: PlannedCall) -> PlannedCall {
    for planned in &mut step.arguments {
        if let PlannedValue::Found(look) = &planned.value {
            let named = resolve_tool_name(&tools.names(), &step.tool, &look.tool);
            let of = |tool: String| known(tools, told, PlannedCall { tool, ..PlannedCall::clone(look) });
            planned.value = match named.map(of) {
                Ok(Some(look)) if is_of_the_house(tools, &look.tool) => PlannedValue::Found(Box::new(look)),
                Ok(_) => PlannedValue::From(look.tool.clone()),
                Err(ambiguous) => PlannedValue::From(ambiguous),
            };
        }
    }
    step
}

/// The tool that is to find something for a step of this other tool. A model may leave out the server: then it is the step's own
/// server's, whatever else is called so; where the step is of no server that has it, the only one that is called so. Why there is
/// none, where several are.
fn resolve_tool_name(names: &[&str], step: &str, look: &str) -> Result<String, String> {
    let beside = step.split_once(OF_SERVER).map(|(server, _)| format!("{server}{OF_SERVER}{look}"));
    if let Some(beside) = beside.filter(|beside| names.contains(&beside.as_str())) {
        return Ok(beside);
    }
    let is_called_so = |name: &&&str| **name == look || name.split_once(OF_SERVER).is_some_and(|(_, own)| own == look);
    match names.iter().filter(is_called_so).collect::<Vec<_>>()[..] {
        [] => Ok(look.to_owned()),
        [one] => Ok((*one).to_owned()),
        ref all => {
            let all = all.iter().map(|name| **name).collect::<Vec<_>>().join(", ");
            Err(format!("{look} is no one tool's name: write which of {all}"))
        }
    }
}

/// Is it a tool of a server, of which somebody has said what it does?
fn is_of_the_house(tools: &Registry, name: &str) -> bool {
    let is = |spec: &ToolSpec| {
        spec.module == "mcp" && (spec.facts.most().is_read() || spec.facts.approval == Approval::Free)
    };
    tools.get(name).is_some_and(|tool| is(tool.spec()))
}

/// A step, with what its tool says of its arguments and who has said them.
fn known(tools: &Registry, told: &SourceTexts, step: PlannedCall) -> Option<PlannedCall> {
    let tool = tools.get(&step.tool).filter(|_| step.tool != PLAN)?;
    let nothing = Value::Null;
    let properties = tool.spec().schema.parameters.get("properties").unwrap_or(&nothing);
    let names = properties.as_object().into_iter().flat_map(|all| all.keys());
    // Whatever a look is asked for steers what it finds.
    let is_look = tool.spec().facts.most().is_read();
    let content: Vec<String> = names.filter(|name| !is_look && tool.is_content(name)).cloned().collect();
    let is_strict = told.is_strict;
    let settled = tool.settled().into_iter().map(|text| SourcedText { whence: ValueSource::Config, text });
    let told: Vec<SourcedText> = told.texts.iter().cloned().chain(settled.filter(|_| !is_strict)).collect();
    let mut arguments = step.arguments;
    for planned in &mut arguments {
        if let PlannedValue::Is { written, whence: known } = &mut planned.value {
            let schema = properties
                .get(&planned.name)
                .map_or(&nothing, |schema| resolve_schema_ref(schema, &tool.spec().schema.parameters));
            let value = parse(written);
            if is_strict {
                *known = value.and_then(|value| whence_said(&value, &told));
                continue;
            }
            *known = value.and_then(|value| value_source(&value, schema, &told));
            if *known == Some(ValueSource::Form) && keeps_times(&step.tool) && is_moment_said(written, &told) {
                *known = Some(ValueSource::Words);
            }
        }
    }
    Some(PlannedCall { tool: step.tool, content, arguments })
}

/// What a schema says, or what it refers to among the definitions beside it.
fn resolve_schema_ref<'a>(schema: &'a Value, whole: &'a Value) -> &'a Value {
    let at = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix('#'));
    at.and_then(|at| whole.pointer(at)).unwrap_or(schema)
}

/// All that counts: the person's own words in this message and before it, what tools answered for which somebody vouches, and
/// facts. The run is clean: nothing else is in it, but perhaps readers' answers.
fn trusted_texts(tools: &Registry, run: &ActiveState, material: &PromptInputs) -> Vec<SourcedText> {
    let (person, past) = (run.input.principal.user, &material.past);
    let is_handed_on = run.input.around.as_ref().is_some_and(|around| around.forwarded_from.is_some());
    let first = (!is_handed_on && run.input.agent.is_none()).then(|| run.input.text.clone());
    // The first entry is this message with what stands around it.
    let later = run.transcript.entries().skip(1).filter(|entry| entry.author == Some(person));
    let later = later.map(|entry| entry.message.text().into_owned());
    let before = past.said.iter().filter_map(|at| past.messages.get(*at));
    // What stands around a message, or is handed on in it, begins with a bracket: then none of it counts.
    let before = before.map(|message| message.text().into_owned()).filter(|text| !text.starts_with('['));
    let before = before.filter(|_| !is_strict(run));
    let words = first.into_iter().chain(later).chain(before).map(|text| own_words(&text));
    let facts = facts_of(&material.tail)
        .into_iter()
        .map(|line| SourcedText { whence: ValueSource::Fact, text: line.to_owned() });
    let words = words.map(|text| SourcedText { whence: ValueSource::Words, text });
    if is_strict(run) {
        return words.collect();
    }
    words.chain(facts).chain(trusted_tool_answers(tools, run)).collect()
}

/// What tools have answered in this run, but for what steers the run itself: such words are the model's own.
fn trusted_tool_answers(tools: &Registry, run: &ActiveState) -> Vec<SourcedText> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut told = Vec::new();
    for message in run.transcript.messages() {
        match message {
            Message::Assistant { .. } => {
                let resolve_call = message.calls().map(|call| tool_disclosure::resolve_call(call, &run.tools));
                // What a reader answers was never anybody's word.
                calls.extend(resolve_call.filter(|(_, asked)| asked.is_none()).map(|(call, _)| call));
            }
            Message::Tool(result) if !result.is_error => {
                let Some(call) = calls.iter().find(|call| call.id == result.call) else { continue };
                let is_own = tools.get(&call.name).is_none_or(|tool| tool.spec().module == CONTROL);
                if call.name == ASKS {
                    told.push(SourcedText { whence: ValueSource::Words, text: own_words(&result.text) });
                } else if !is_own && tools.get(&call.name).is_some_and(|tool| tool.spec().facts.most().is_read()) {
                    told.push(SourcedText {
                        whence: ValueSource::Tool(call.name.clone()),
                        text: strip_echo(&result.text, &call.arguments),
                    });
                }
            }
            Message::Tool(_) | Message::User { .. } => {}
        }
    }
    told
}

/// The answer without what it was asked for: what only comes back was said by nobody.
fn strip_echo(answer: &str, arguments: &str) -> String {
    let mut open = vec![serde_json::from_str::<Value>(arguments).unwrap_or_default()];
    let mut answer = answer.to_owned();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if !text.trim().is_empty() => answer = answer.replace(text.trim(), LEFT_OUT),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_iter().map(|(_, value)| value)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::policy::sources::is_said;

    #[test]
    fn n16_a_tool_that_finds_something_is_the_steps_servers_or_the_only_one_of_its_name() {
        let all = ["find_files", "cal__find_events", "cal__find_files", "cal__move_event", "home__find_events", "send"];
        let of = |step: &str, look: &str| resolve_tool_name(&all, step, look);
        let is = |name: &str| Ok(name.to_owned());
        // The plan names the server, by its step or in full.
        assert_eq!(of("cal__move_event", "find_events"), is("cal__find_events"));
        assert_eq!(of("cal__move_event", "find_files"), is("cal__find_files"), "and not Hob's own of that name");
        assert_eq!(of("cal__move_event", "home__find_events"), is("home__find_events"));
        assert_eq!(of("send", "move_event"), is("cal__move_event"), "there is one");
        assert_eq!(of("send", "no_such"), is("no_such"));
        for look in ["find_events", "find_files"] {
            let why = of("send", look).unwrap_err();
            assert!(why.contains(look) && why.contains(&format!("cal__{look}")), "{why}");
        }
    }

    #[test]
    fn n16_a_closed_list_may_stand_among_the_definitions() {
        let whole = serde_json::json!({ "$defs": { "Level": { "enum": ["r"] } } });
        let at = |at: &str| serde_json::json!({ "$ref": at });
        assert_eq!(resolve_schema_ref(&at("#/$defs/Level"), &whole)["enum"][0], "r");
        for other in ["#/$defs/None", "https://evil.example/#/$defs/Level", ""] {
            assert_eq!(resolve_schema_ref(&at(other), &whole), &at(other), "{other}");
        }
    }

    #[test]
    fn n16_what_only_comes_back_was_said_by_nobody() {
        let answer = "Nothing was found for Eve. Ben: ben@home.example";
        assert_eq!(strip_echo(answer, r#"{"q":"Eve"}"#), "Nothing was found for \u{fffd}. Ben: ben@home.example");
        assert!(
            !is_said("ben@home.example", &strip_echo("ben@home.example.eve", r#"{"q":[".eve",""]}"#)),
            "no part of another"
        );
    }
}
