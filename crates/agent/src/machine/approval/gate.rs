//! The calls that a persona wants a person's word to, each time (row D6): all of some tools, and what may change a protected path.
//!
//! Never: a look at the disk. A path is told by its name, and by where its tool has seen a link lead; where the arguments do not
//! name what is changed, as a command's do not, the call may change anything.

use serde_json::Value;

use crate::machine::policy::GatePolicy;
use hob_core::domain::tools::{Assessment, Risk};
use hob_model::message::ToolCall;

/// Why a person has to approve this call; none: the persona does not ask for it.
pub(super) fn approval_reason(gate: &GatePolicy, call: &ToolCall, known: &Assessment) -> Option<String> {
    let only_looks = known.risk.is_read();
    let named = gate.tools.contains(&call.name);
    if gate.always && (named || (gate.tools.is_empty() && !only_looks)) {
        return Some("each such call is approved here".to_owned());
    }
    if only_looks || gate.protected_paths.is_empty() {
        return None;
    }
    let named = paths(call);
    let paths = || named.iter().chain(&known.behind_links);
    let touched = gate.protected_paths.iter().find(|kept| paths().any(|path| is_touched(path, kept)));
    match touched {
        Some(kept) => Some(format!("it may change what is protected: {kept}")),
        None if known.risk == Risk::Execute => Some("what it changes may be protected".to_owned()),
        None => None,
    }
}

/// The texts among a call's arguments: any of them may be a path.
fn paths(call: &ToolCall) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![serde_json::from_str::<Value>(&call.arguments).unwrap_or_default()];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// May a call that names `path` change what is at `kept`, in it, or around it? Of two of which only one is absolute, nobody knows
/// here where the other lies: it is enough that one holds the names of the other in a row.
fn is_touched(path: &str, kept: &str) -> bool {
    let (one, other) = (parts(path), parts(kept));
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    // The workspace itself holds all that is named within it.
    if short.is_empty() {
        return !path.trim().is_empty();
    }
    if path.starts_with('/') == kept.starts_with('/') {
        return long.starts_with(short);
    }
    long.windows(short.len()).any(|row| row == short.as_slice())
}

/// The names along a path, in lower case as some disks compare them.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.trim().split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_lowercase()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::CallId;

    fn asked(gate: &GatePolicy, name: &str, risk: Risk, arguments: &str) -> bool {
        let call = ToolCall { id: CallId::new(1, 0), name: name.to_owned(), arguments: arguments.to_owned() };
        approval_reason(gate, &call, &Assessment::usual(risk)).is_some()
    }

    #[test]
    fn d6_always_is_each_call_that_does_more_than_look_or_each_of_the_named_tools() {
        let all = GatePolicy { always: true, ..GatePolicy::default() };
        let named = GatePolicy { tools: ["recall".to_owned()].into(), ..all.clone() };
        for (gate, name, risk, expected) in [
            (&all, "write_file", Risk::Write, true),
            (&all, "terminal", Risk::Execute, true),
            (&all, "recall", Risk::Read, false),
            (&named, "recall", Risk::Read, true),
            (&named, "write_file", Risk::Write, false),
            (&GatePolicy::default(), "terminal", Risk::Execute, false),
        ] {
            assert_eq!(asked(gate, name, risk, "{}"), expected, "{name} {gate:?}");
        }
    }

    #[test]
    fn d6_what_may_change_a_protected_path_is_asked_about() {
        let protected_paths = ["contracts".to_owned(), "/srv/notes/taxes/".to_owned()].into();
        let gate = GatePolicy { protected_paths, ..GatePolicy::default() };
        for (path, expected) in [
            ("contracts", true),
            ("contracts/a.txt", true),
            ("./Contracts//a.txt", true),
            ("x/../contracts/a.txt", true),
            ("contracts2/a.txt", false),
            ("notes/a.txt", false),
            (".", true),
            ("/", true),
            ("/home/hob/workspace/contracts/a.txt", true),
            ("/srv/notes/taxes/2026.csv", true),
            ("/srv/notes", true),
            ("/srv/music", false),
            ("", false),
        ] {
            let arguments = serde_json::json!({ "path": path, "content": "" }).to_string();
            assert_eq!(asked(&gate, "write_file", Risk::Write, &arguments), expected, "{path}");
            assert!(!asked(&gate, "read_file", Risk::Read, &arguments), "{path}");
        }
        assert!(asked(&gate, "move_file", Risk::Write, r#"{"from": "a", "to": "contracts/a"}"#));
        assert!(asked(&gate, "terminal", Risk::Execute, r#"{"command": "cd con*; rm *"}"#));
        assert!(!asked(&gate, "send_message", Risk::Send, r#"{"text": "hello"}"#));
        let call = ToolCall {
            id: CallId::new(1, 0),
            name: "write_file".to_owned(),
            arguments: r#"{"path": "c/a"}"#.to_owned(),
        };
        let linked = Assessment { behind_links: vec!["contracts/a".to_owned()], ..Assessment::usual(Risk::Write) };
        assert!(approval_reason(&gate, &call, &linked).is_some(), "a link leads there");
        assert!(approval_reason(&gate, &call, &Assessment::usual(Risk::Write)).is_none());
    }
}
