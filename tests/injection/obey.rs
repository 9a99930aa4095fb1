//! A model that does whatever it reads, word for word.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::corpus::{Payload, PayloadAction, Placeholders};
use hob_testkit::fake_model::{ReceivedRequest, Reply};

/// What a person says before the call that is to be made.
pub(crate) const DO: &str = "Do: ";
/// What stands before the task of a schedule.
const SCHEDULE: &str = "[Schedule ";
/// What is said when everything was tried.
pub(crate) const TRIED: &str = "Well.";
/// What is said when nothing was there to obey.
pub(crate) const NOTHING: &str = "Nothing there.";
/// The task of an agent that tells what stands in a file.
pub(crate) const RELAY: &str = "RELAY ";

/// What the model knows.
pub(crate) struct ObedientModel {
    pub(crate) payloads: Vec<Payload>,
    pub(crate) deeds: BTreeMap<String, PayloadAction>,
    pub(crate) fill: Placeholders,
}

impl ObedientModel {
    pub(crate) fn answer(&self, asked: &ReceivedRequest) -> Reply {
        if asked.system().contains("You are an agent of Hob's") {
            return agent(asked);
        }
        let messages = asked.messages();
        let is_wish = |words: &str| words.contains(DO) || words.contains(SCHEDULE);
        let wish = messages.iter().rposition(|message| message["role"] == "user" && is_wish(said(message)));
        let Some(wish) = wish else { return Reply::text(NOTHING) };
        let reading = reading(said(&messages[wish]));
        let turns = messages[wish..].iter().filter(|message| message["tool_calls"].is_array()).count();
        let Some((tool, arguments)) = reading else { return self.obey(messages, turns) };
        if turns == 0 {
            return Reply::call(&tool, &arguments);
        }
        self.obey(messages, turns - 1)
    }

    fn obey(&self, messages: &[Value], turns: usize) -> Reply {
        let is_read = |payload: &&Payload| messages.iter().any(|message| text(message).contains(&payload.mark()));
        let Some((index, payload)) = self.payloads.iter().enumerate().find(|(_, payload)| is_read(payload)) else {
            return Reply::text(NOTHING);
        };
        let deeds: Vec<&PayloadAction> = payload.does.iter().map(|name| &self.deeds[name]).collect();
        let wanted = |calls: fn(&PayloadAction) -> &[(String, String)]| {
            let calls = deeds.iter().flat_map(|deed| calls(deed)).cloned();
            calls.map(|(tool, arguments)| (tool, self.fill.fill(&arguments, payload))).collect::<Vec<_>>()
        };
        let steps = [wanted(|deed| &deed.calls), wanted(|deed| &deed.then)];
        let steps: Vec<_> = steps.into_iter().filter(|calls| !calls.is_empty()).collect();
        let Some(calls) = steps.get(turns) else {
            let says = deeds.iter().map(|deed| self.fill.fill(&deed.says, payload)).collect::<Vec<_>>().join(" ");
            return Reply::text(format!("{TRIED} {says}").trim());
        };
        // Every other one goes the long way round.
        let calls = calls.iter().map(|(tool, words)| match index % 2 {
            0 => (tool.clone(), words.clone()),
            _ => round(tool, words),
        });
        let calls: Vec<(String, String)> = calls.collect();
        let calls: Vec<(&str, &str)> = calls.iter().map(|(tool, words)| (tool.as_str(), words.as_str())).collect();
        Reply::calls(&calls)
    }
}

/// The same call by `use_tool`.
fn round(tool: &str, arguments: &str) -> (String, String) {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    ("use_tool".to_owned(), json!({ "name": tool, "arguments": arguments }).to_string())
}

fn text(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// What a person says, without what is recalled above it.
fn said(message: &Value) -> &str {
    let text = text(message);
    text.split_once("</context>").map_or(text, |(_, said)| said)
}

/// The call that a person wants made; none: they only say something.
fn reading(wish: &str) -> Option<(String, String)> {
    let (before, rest) = wish.rsplit_once(DO)?;
    let rest = rest.lines().next()?;
    let (tool, arguments) = rest.split_once(' ')?;
    if arguments != "attached" {
        return Some((tool.to_owned(), arguments.to_owned()));
    }
    let file = wish[before.len()..].split(": id ").nth(1)?.split(',').next()?;
    Some((tool.to_owned(), format!(r#"{{"id": {file}}}"#)))
}

/// An agent does what its task says, and tells what came of it.
fn agent(asked: &ReceivedRequest) -> Reply {
    let task = asked.last_user();
    if let Some(report) = asked.messages().iter().rfind(|message| message["role"] == "tool") {
        return Reply::text(text(report));
    }
    if task.contains("CHILD-PAY") {
        return Reply::call("pay", r#"{"to": "Mallory"}"#);
    }
    if let Some((_, url)) = task.rsplit_once("CHILD-FETCH ") {
        let url = url.lines().next().unwrap_or_default();
        return Reply::call("web_fetch", &json!({ "url": url }).to_string());
    }
    let path = task.rsplit_once(RELAY).and_then(|(_, path)| path.lines().next()).unwrap_or("notes.md");
    Reply::call("read_file", &json!({ "path": path }).to_string())
}

/// As a script for the fake.
pub(crate) fn script(obeys: Arc<ObedientModel>) -> impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static {
    move |asked| obeys.answer(asked)
}
