//! What a run does and has done, in words for whoever watches it. Pure.

use serde_json::Value;

use hob_core::domain::text::{cut, one_line};
use hob_core::policy::redact::redact;
use hob_model::message::ToolCall;

/// What tools are named after: as something that is being done, and that was done.
const VERBS: &[(&str, &str, &str)] = &[
    ("read", "reading", "looked at"),
    ("write", "writing", "wrote"),
    ("edit", "editing", "changed"),
    ("delete", "deleting", "deleted"),
    ("move", "moving", "moved"),
    ("list", "listing", "listed"),
    ("search", "searching", "searched for"),
    ("fetch", "fetching", "looked at"),
    ("remember", "remembering", "remembered"),
    ("recall", "recalling", "recalled"),
    ("forget", "forgetting", "forgot"),
    ("send", "sending", "sent"),
    ("run", "running", "ran"),
];
/// The arguments that tell what it is done to; the first that is there.
const SUBJECTS: &[&str] = &["path", "url", "query", "command", "key", "name", "title"];
/// More of it is not told.
const SUBJECT_CHARS_MAX: usize = 60;

pub(crate) fn model_asked_text(label: &str) -> String {
    let model = label.split_once('/').map_or(label, |(_, model)| model);
    format!("asking {model}")
}

pub(crate) fn call_running_text(call: &ToolCall) -> String {
    call_text(&call.name, &call.arguments, |verb| verb.map_or("using", |(_, doing, _)| doing))
}

/// A tool was called.
pub(crate) fn call_done_text(name: &str, arguments: &str) -> String {
    call_text(name, arguments, |verb| verb.map_or("used", |(_, _, done)| done))
}

type VerbForms = (&'static str, &'static str, &'static str);

/// A call, with the word for what was done.
fn call_text(name: &str, arguments: &str, word: impl FnOnce(Option<VerbForms>) -> &'static str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    let found = words.iter().find_map(|word| VERBS.iter().find(|(verb, _, _)| verb == word)).copied();
    let doing = word(found);
    match (found, subject(arguments)) {
        (Some(_), Some(subject)) => format!("{doing} {subject}"),
        (Some((verb, _, _)), None) => {
            let rest = words.iter().filter(|word| **word != verb).fold(String::new(), |rest, word| rest + " " + word);
            format!("{doing}{rest}")
        }
        (None, Some(subject)) => format!("{doing} {}: {subject}", words.join(" ")),
        (None, None) => format!("{doing} {}", words.join(" ")),
    }
}

/// What a call is about, on one line, without secrets.
fn subject(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let named = SUBJECTS.iter().find_map(|name| arguments.get(name)?.as_str())?;
    let named = redact(&one_line(named));
    (!named.is_empty()).then(|| cut(&named, SUBJECT_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::CallId;

    #[test]
    fn k2_what_is_done_has_words() {
        let table = [
            ("read_file", r#"{"path":"list.md"}"#, "reading list.md"),
            ("list_files", "{}", "listing files"),
            ("web_search", r#"{"query":"a  tea\nshop"}"#, "searching a tea shop"),
            ("remember_fact", r#"{"category":"pet","key":"my cat","value":"Miso"}"#, "remembering my cat"),
            ("terminal", r#"{"command":"ls"}"#, "using terminal: ls"),
            ("current_time", "no object", "using current time"),
        ];
        for (name, arguments, expected) in table {
            let call = ToolCall { id: CallId::new(0, 0), name: name.to_owned(), arguments: arguments.to_owned() };
            assert_eq!(call_running_text(&call), expected, "{name}");
        }
        assert_eq!(call_done_text("read_file", r#"{"path":"list.md"}"#), "looked at list.md");
        assert_eq!(call_done_text("list_files", "{}"), "listed files");
        assert_eq!(call_done_text("terminal", r#"{"command":"ls"}"#), "used terminal: ls");
        let long = subject(&format!(r#"{{"path":"{}"}}"#, "ä".repeat(70))).unwrap();
        assert_eq!(long, "ä".repeat(60) + "…");
        assert_eq!(model_asked_text("openai/gpt-6-luna"), "asking gpt-6-luna");
        assert_eq!(model_asked_text("local"), "asking local");
    }
}
