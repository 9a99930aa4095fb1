//! Tools that are shown on need.
//!
//! A call of `use_tool` with another tool's name and its arguments is a call of that one, in everything that is decided and
//! recorded of it. Only what the model wrote, and what it reads, keeps the name it used. So is a call of `ask_reader` one of the tool
//! that it names; what that finds goes to a reader instead of the model (`machine::reading`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use hob_core::domain::tools::{ASK_READER, ToolFacts, USE_TOOL};
use hob_core::policy::reading::Form;
use hob_model::message::ToolCall;

/// The longest question to a reader, in characters.
const QUESTION_CHARS_MAX: usize = 1_000;

#[derive(Deserialize)]
struct DisclosedCall {
    name: String,
    /// Not taken apart: its members stay in their order, and its numbers as they were written.
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForReader {
    from: String,
    with: Option<Box<RawValue>>,
    question: String,
    answer: String,
    #[serde(default)]
    choices: Vec<String>,
}

/// The call that is meant by one that the model wrote, where it may call these tools; and what a reader is asked about its result,
/// in which form.
pub(crate) fn resolve_call(call: &ToolCall, tools: &BTreeMap<String, ToolFacts>) -> (ToolCall, Option<(String, Form)>) {
    let call = inner(call, tools).unwrap_or_else(|| call.clone());
    match for_reader(&call, tools) {
        Some((resolve_call, asked)) => (resolve_call, Some(asked)),
        None => (call, None),
    }
}

fn for_reader(call: &ToolCall, tools: &BTreeMap<String, ToolFacts>) -> Option<(ToolCall, (String, Form))> {
    if call.name != ASK_READER || !tools.contains_key(ASK_READER) {
        return None;
    }
    // What cannot be read is the tool's to answer.
    let ForReader { from, with, question, answer, choices } = serde_json::from_str(&call.arguments).ok()?;
    let is_tool = ![ASK_READER, USE_TOOL].contains(&from.as_str()) && tools.contains_key(&from);
    let fits = is_tool && question.chars().count() <= QUESTION_CHARS_MAX && !question.trim().is_empty();
    let form = Form::of(&answer, &choices).filter(|_| fits)?;
    let arguments = with.map_or_else(|| "{}".to_owned(), |with| with.get().to_owned());
    Some((ToolCall { id: call.id.clone(), name: from, arguments }, (question, form)))
}

fn inner(call: &ToolCall, tools: &BTreeMap<String, ToolFacts>) -> Option<ToolCall> {
    if call.name != USE_TOOL {
        return None;
    }
    // What cannot be read is the tool's to answer.
    let Ok(DisclosedCall { name, arguments }) = serde_json::from_str(&call.arguments) else {
        return None;
    };
    let name = name.trim();
    if name == USE_TOOL || !tools.contains_key(name) {
        return None;
    }
    let written = arguments?.get().to_owned();
    // Some models write them as a text of their own.
    let arguments = serde_json::from_str::<String>(&written).unwrap_or(written);
    Some(ToolCall { id: call.id.clone(), name: name.to_owned(), arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::CallId;

    #[test]
    fn what_is_meant_by_a_call_of_use_tool() {
        let tools = ["forget", USE_TOOL].map(|name| (name.to_owned(), ToolFacts::default())).into();
        let call = |name: &str, arguments: &str| ToolCall {
            id: CallId::new(1, 0),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let table = [
            (r#"{"name":"forget","arguments":{"ids":["f7"]}}"#, Some(r#"{"ids":["f7"]}"#)),
            (r#"{"name":" forget","arguments":{}}"#, Some("{}")),
            (r#"{"name":"forget","arguments":"{\"ids\":[]}"}"#, Some(r#"{"ids":[]}"#)),
            (r#"{"name":"forget","arguments":[1]}"#, Some("[1]")),
            (
                r#"{"name":"forget","arguments":{"to":"x","n":123456789012345678901234567890,"body":1.50}}"#,
                Some(r#"{"to":"x","n":123456789012345678901234567890,"body":1.50}"#),
            ),
            (r#"{"name":"forget","arguments":null}"#, None),
            (r#"{"name":"forget"}"#, None),
            (r#"{"name":"fly","arguments":{}}"#, None),
            (r#"{"name":"use_tool","arguments":{"name":"forget","arguments":{}}}"#, None),
            (r#"{"arguments":{}}"#, None),
            ("", None),
        ];
        for (written, expected) in table {
            let wire = call(USE_TOOL, written);
            let expected = expected.map_or_else(|| wire.clone(), |arguments| call("forget", arguments));
            assert_eq!(resolve_call(&wire, &tools), (expected, None), "{written}");
        }
        let direct = call("forget", r#"{"name":"forget","arguments":{}}"#);
        assert_eq!(resolve_call(&direct, &tools), (direct, None));
    }

    #[test]
    fn n16_what_is_meant_by_a_call_of_ask_reader() {
        let tools = ["mail", ASK_READER, USE_TOOL].map(|name| (name.to_owned(), ToolFacts::default())).into();
        let call = |name: &str, arguments: &str| ToolCall {
            id: CallId::new(1, 0),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let asked = r#"{"from":"mail","with":{"id":1.50},"question":"How much?","answer":"number"}"#;
        let hidden = format!(r#"{{"name":"{ASK_READER}","arguments":{asked}}}"#);
        let meant_so = (call("mail", r#"{"id":1.50}"#), Some(("How much?".to_owned(), Form::Number)));
        assert_eq!(resolve_call(&call(ASK_READER, asked), &tools), meant_so);
        assert_eq!(resolve_call(&call(USE_TOOL, &hidden), &tools), meant_so);
        for wrong in [
            r#"{"from":"gone","question":"How much?","answer":"number"}"#,
            r#"{"from":"ask_reader","question":"How much?","answer":"number"}"#,
            r#"{"from":"use_tool","question":"How much?","answer":"number"}"#,
            r#"{"from":"mail","question":" ","answer":"number"}"#,
            r#"{"from":"mail","question":"How much?","answer":"text"}"#,
            r#"{"from":"mail","question":"Who?","answer":"choice","choices":["Ben"]}"#,
            r#"{"from":"mail","question":"How much?","answer":"number","say":"x"}"#,
            "",
        ] {
            assert_eq!(resolve_call(&call(ASK_READER, wrong), &tools), (call(ASK_READER, wrong), None), "{wrong}");
        }
        let none = ["mail"].map(|name| (name.to_owned(), ToolFacts::default())).into();
        assert_eq!(
            resolve_call(&call(ASK_READER, asked), &none),
            (call(ASK_READER, asked), None),
            "it is not on offer"
        );
    }
}
