//! Tools that are shown on need.
//!
//! A call of `use_tool` with another tool's name and its arguments is a call of that one, in everything that is decided and
//! recorded of it. Only what the model wrote, and what it reads, keeps the name it used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use hob_core::domain::tools::{ToolFacts, USE_TOOL};
use hob_model::message::ToolCall;

#[derive(Deserialize)]
struct Wanted {
    name: String,
    /// Not taken apart: its members stay in their order, and its numbers as they were written.
    arguments: Option<Box<RawValue>>,
}

/// The call that is meant by one that the model wrote, where it may call these tools.
#[must_use]
pub fn meant(call: &ToolCall, tools: &BTreeMap<String, ToolFacts>) -> ToolCall {
    inner(call, tools).unwrap_or_else(|| call.clone())
}

fn inner(call: &ToolCall, tools: &BTreeMap<String, ToolFacts>) -> Option<ToolCall> {
    if call.name != USE_TOOL {
        return None;
    }
    // What cannot be read is the tool's to answer.
    let Ok(Wanted { name, arguments }) = serde_json::from_str(&call.arguments) else {
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
            assert_eq!(meant(&wire, &tools), expected, "{written}");
        }
        let direct = call("forget", r#"{"name":"forget","arguments":{}}"#);
        assert_eq!(meant(&direct, &tools), direct);
    }
}
