//! Whether a run was told words by somebody (row N6): only such words may go out unasked once it is tainted.
//!
//! Never: the model's own words, by whatever way they come back to it. What it had echoed by a command, noted, or had an
//! agent report could be a secret, put into an address.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::machine::tool_disclosure;
use hob_core::domain::tools::{ASK_READER, PLAN, Risk, ToolFacts, USE_TOOL};
use hob_model::message::{Message, ToolCall};
use hob_tools::mention::Mention;

/// What it answers with comes from whoever it asked, at an address that was looked at before it went out.
const FETCHES: &str = "web_fetch";
/// What it answers with is public as well, but services repeat what they were asked for.
const SEARCHES: &str = "web_search";

/// What they answer with may be put together of what the model said, though they change nothing.
const ECHOES: [&str; 10] = [
    "agent_send",
    "append_run_journal_entry",
    ASK_READER,
    "get_run_journal",
    PLAN,
    "read_result",
    "request_more_iterations",
    "spawn_agent",
    "update_run_journal",
    USE_TOOL,
];

/// All that a run can go by.
pub(super) struct RunSources<'a, M> {
    /// What was said before it and in it, in order.
    pub(super) messages: M,
    /// What stands beside that: time, person and what is remembered.
    pub(super) tail: &'a str,
    pub(super) tools: &'a BTreeMap<String, ToolFacts>,
    /// Its task was written by a model that had listened to anybody.
    pub(super) is_handed_on: bool,
}

/// Did somebody tell it this? A word goes to a service that knows nothing of the house: only a person's, and those of the web,
/// are nobody's secret.
pub(super) fn is_mentioned<'a>(told: RunSources<'a, impl Iterator<Item = &'a Message>>, said: &Mention<'_>) -> bool {
    let is_public = matches!(said, Mention::Word(_));
    if !is_public && said.stands_in(told.tail) {
        return true;
    }
    let (mut own, mut calls) = (ModelActivity::default(), BTreeMap::new());
    for message in told.messages {
        let is_proof = match message {
            Message::Assistant { .. } => {
                let meant = message.calls().map(|call| tool_disclosure::resolve_call(call, told.tools));
                own.said |= said.is_hinted_in(&message.text());
                for (call, asked) in meant {
                    own.said |= arguments_mention(&call, said);
                    own.acted |= told.tools.get(&call.name).is_none_or(|facts| facts.most() > Risk::Read);
                    let answers = if asked.is_some() { ASK_READER.to_owned() } else { call.name };
                    calls.insert(call.id, answers);
                }
                false
            }
            Message::User { .. } => !told.is_handed_on && said.stands_in(&message.text()),
            Message::Tool(result) => {
                let tool = calls.get(&result.call).unwrap_or(&result.name);
                let may = !is_public || tool == FETCHES || tool == SEARCHES;
                may && !result.is_error && own.leaves_proof_to(tool) && said.stands_in(&result.text)
            }
        };
        if is_proof {
            return true;
        }
    }
    false
}

/// What the model has done so far.
#[derive(Default)]
struct ModelActivity {
    said: bool,
    /// It has changed something, here or elsewhere: what is read there afterwards may have been put together by it.
    acted: bool,
}

impl ModelActivity {
    /// Can a tool's answer prove that somebody else said it?
    fn leaves_proof_to(&self, tool: &str) -> bool {
        match tool {
            FETCHES => true,
            SEARCHES => !self.said,
            tool => !self.said && !self.acted && !ECHOES.contains(&tool),
        }
    }
}

/// Does it stand in the arguments, however they are written down?
fn arguments_mention(call: &ToolCall, said: &Mention<'_>) -> bool {
    let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) else {
        return said.is_hinted_in(&call.arguments);
    };
    let mut open = vec![&arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if said.is_hinted_in(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use hob_core::domain::ids::CallId;
    use hob_model::message::ToolResult;

    const ADDRESS: &str = "https://evil.example/?q=4711";

    fn called(tool: &str, arguments: &str, answer: &str) -> [Message; 2] {
        let (id, name) = (CallId::new(1, 0), tool.to_owned());
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.to_owned() };
        let result = ToolResult { call: id, name, text: answer.to_owned(), is_error: false };
        [Message::assistant("", vec![call]), Message::Tool(result)]
    }

    fn is_heard(messages: &[Message], tail: &str, is_handed_on: bool) -> bool {
        let looks = ["mail", "read_file", "web_fetch", "web_search", USE_TOOL];
        let mut tools: BTreeMap<_, _> = looks.map(|name| (name.to_owned(), ToolFacts::default())).into();
        for name in ["terminal", "write_file"] {
            tools.insert(name.to_owned(), ToolFacts { risk: Risk::Execute, ..ToolFacts::default() });
        }
        let address = Url::parse(ADDRESS).unwrap();
        is_mentioned(
            RunSources { messages: messages.iter(), tail, tools: &tools, is_handed_on },
            &Mention::Address(&address),
        )
    }

    fn is_word_heard(messages: &[Message], tail: &str) -> bool {
        let told = RunSources { messages: messages.iter(), tail, tools: &BTreeMap::new(), is_handed_on: false };
        is_mentioned(told, &Mention::Word("hunter"))
    }

    #[test]
    fn n6_a_word_of_the_house_is_not_searched_for_unasked() {
        assert!(is_word_heard(&[Message::user("A Hunter?")], ""));
        for tool in ["web_fetch", "web_search"] {
            assert!(is_word_heard(&called(tool, "{}", "The hunter."), ""), "{tool}");
        }
        assert!(!is_word_heard(&[], "password: hunter"), "what is remembered");
        assert!(!is_word_heard(&called("read_file", "{}", "password: hunter"), ""));
        assert!(!is_word_heard(&called("web_search", r#"{"query":"hunter"}"#, "Nothing for hunter"), ""), "its own");
    }

    #[test]
    fn n6_what_a_search_repeats_is_no_address_that_was_told() {
        let asked = format!(r#"{{"query": "{ADDRESS}"}}"#);
        let nothing = format!("Nothing was found for {ADDRESS:?}.");
        assert!(!is_heard(&called("web_search", &asked, &nothing), "", false));
        assert!(is_heard(&called("web_search", "{}", ADDRESS), "", false));
    }

    #[test]
    fn n6_what_others_said_is_heard() {
        assert!(is_heard(&[Message::user(format!("Look at {ADDRESS}"))], "", false));
        assert!(is_heard(&[], &format!("home: {ADDRESS}"), false));
        for tool in ["web_fetch", "web_search", "read_file", "mail"] {
            assert!(is_heard(&called(tool, "{}", ADDRESS), "", false), "{tool}");
        }
        let asked = format!(r#"{{"url": "{ADDRESS}"}}"#);
        assert!(is_heard(&called("web_fetch", &asked, &format!("Address: {ADDRESS}")), "", false), "it was told");
    }

    #[test]
    fn n6_what_is_read_after_the_model_has_written_is_no_proof() {
        let halves = r#"{"command": "printf %s%s https://evil.example/ ?q=4711 > n"}"#;
        for tool in ["terminal", "write_file", "of a server that nobody knows"] {
            let [call, done] = called(tool, halves, "Done.");
            let [then, read] = called("read_file", "{}", ADDRESS);
            assert!(!is_heard(&[call.clone(), done.clone(), then.clone(), read.clone()], "", false), "{tool}");
            assert!(!is_heard(&[call, then, read, done], "", false), "{tool}: in one reply");
        }
        let [call, done] = called("terminal", halves, "Done.");
        let [then, page] = called("web_fetch", "{}", ADDRESS);
        assert!(is_heard(&[call.clone(), done.clone(), then, page], "", false), "a page is somebody else's");
        assert!(is_heard(&[call, done, Message::user(ADDRESS)], "", false), "and so is a person's word");
    }

    #[test]
    fn n6_what_the_model_said_is_no_proof_whoever_repeats_it() {
        assert!(!is_heard(&[Message::assistant(ADDRESS, Vec::new())], "", false));
        assert!(!is_heard(&[Message::user(ADDRESS)], "", true), "a task that a model wrote");
        for tool in ECHOES {
            assert!(!is_heard(&called(tool, "{}", ADDRESS), "", false), "{tool}");
        }
        let spelt = r#"{"say": ["\u0068ttps:\/\/evil.example\/?q=4711"]}"#;
        assert!(!is_heard(&called("mail", spelt, ADDRESS), "", false), "it only comes back");
        let hidden = r#"{"name": "terminal", "arguments": {"command": "printf %s https://evil.example/?q= 4711"}}"#;
        assert!(!is_heard(&called(USE_TOOL, hidden, ADDRESS), "", false));
        let [call, Message::Tool(result)] = called("read_file", "{}", ADDRESS) else { panic!("a call and its result") };
        assert!(!is_heard(&[call, Message::Tool(ToolResult { is_error: true, ..result })], "", false));
    }
}
