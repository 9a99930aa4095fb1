//! The built-in model for a machine without one: a deterministic parser of a few sentences that calls the tools on offer.
//!
//! Never: the network, or pretending to have understood.
//! Start at [`Offline`].

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{ErrorClass, ModelError};
use crate::message::{Completion, Message, ToolCall, ToolResult};
use crate::offline::fact::Fact;
use crate::offline::intent::{Intent, Language, Scope};
use crate::offline::phrases::Phrases;
use crate::provider::{Provider, Request, Sink, ToolChoice};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::USE_TOOL;

mod fact;
mod intent;
pub mod phrases;
mod recalled;
#[cfg(test)]
mod tests;

/// What people, logs and the bill call it.
pub const LABEL: &str = "offline/built-in";

/// The offline model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

/// How a message ends that asks whether the last reply may stand (row E10).
const LOOK_AGAIN: &str = "answer exactly KEEP]";

/// How a request for a summary ends (row B4).
const SUM_UP: &str = "</conversation>\n\nSum this up.";

/// The tools it knows to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    RememberFact,
    Recall,
    CurrentTime,
    Schedule,
}

impl Tool {
    const ALL: [Self; 4] = [Self::RememberFact, Self::Recall, Self::CurrentTime, Self::Schedule];

    fn name(self) -> &'static str {
        match self {
            Self::RememberFact => "remember_fact",
            Self::Recall => "recall",
            Self::CurrentTime => "current_time",
            Self::Schedule => "schedule",
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// The arguments of `recall`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Recall {
    query: String,
    what: String,
}

/// The arguments of `schedule`, for a reminder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Reminder {
    action: &'static str,
    when: String,
    task: String,
}

/// How the message of a schedule begins: a line in brackets, and then its task.
const SCHEDULED: &str = "[Schedule ";

/// The arguments of `current_time`.
#[derive(Debug, Clone, Copy, Serialize)]
struct NoArguments {}

/// The arguments of `use_tool`, which calls what is shown on need.
#[derive(Debug, Serialize)]
struct OnNeed<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

/// What it answers: words, or one call of the tool with this name.
enum Answer {
    Say(String),
    Call(&'static str, String),
}

#[async_trait]
impl Provider for Offline {
    fn label(&self) -> &str {
        LABEL
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let (text, calls) = match answer(request)? {
            Answer::Say(text) => (text, Vec::new()),
            Answer::Call(tool, arguments) => {
                let call = ToolCall { id: CallId::new(0, 0), name: tool.to_owned(), arguments };
                (String::new(), vec![call])
            }
        };
        for word in text.split_inclusive(' ') {
            sink.delta(word);
            tokio::task::yield_now().await;
        }
        Ok(Completion::from_text_and_calls(text, calls))
    }
}

/// Answers the last message of the history.
fn answer(request: &Request) -> Result<Answer, ModelError> {
    let asked = request.messages.iter().rev().find_map(|message| match message {
        Message::User { .. } => Some(message.text()),
        Message::Assistant { .. } | Message::Tool(_) => None,
    });
    let asked = asked.unwrap_or_default();
    if asked.ends_with(LOOK_AGAIN) && matches!(request.messages.last(), Some(Message::User { .. })) {
        // It claims nothing that it has not seen in a result.
        return Ok(Answer::Say("KEEP".to_owned()));
    }
    if asked.ends_with(SUM_UP) {
        // Its stock sentences would take the conversation's place.
        return Err(ModelError::new(ErrorClass::Refused, "the offline model cannot sum up"));
    }
    let due = asked.strip_prefix(SCHEDULED).and_then(|due| due.split_once("]\n")).map(|(_, task)| task.trim());
    if let Some(Some(what)) = due.map(intent::reminded) {
        return Ok(Answer::Say(Phrases(Language::English).reminder(what)));
    }
    let (intent, language) = intent::parse(&asked);
    let words = Phrases(language);
    if let Some(Message::Tool(_)) = request.messages.last() {
        return Ok(Answer::Say(from_results(&request.messages, &intent, language)));
    }
    let (tool, arguments) = match intent {
        Intent::Remember(fact) => (Tool::RememberFact, arguments(&fact)?),
        Intent::Recall { query, scope } => (Tool::Recall, arguments(&Recall { query, what: where_to_look(scope) })?),
        Intent::Ask(query) => (Tool::Recall, arguments(&Recall { query, what: where_to_look(Scope::All) })?),
        Intent::Remind { when: Some(when), what } => {
            let task = format!("{} {what}", intent::REMIND_TASK);
            (Tool::Schedule, arguments(&Reminder { action: "create", when, task })?)
        }
        Intent::Remind { when: None, .. } => return Ok(Answer::Say(words.when())),
        Intent::Forget(what) => return Ok(Answer::Say(words.forget(&what))),
        Intent::Time => (Tool::CurrentTime, arguments(&NoArguments {})?),
        Intent::Help => return Ok(Answer::Say(words.help())),
        Intent::Greeting => return Ok(Answer::Say(words.greeting())),
        Intent::Thanks => return Ok(Answer::Say(words.thanks())),
        Intent::Nothing => return Ok(Answer::Say(words.nothing())),
        Intent::Unknown => return Ok(Answer::Say(words.unknown(has_list(&request.messages)))),
    };
    call(request, tool, arguments).map(|called| called.unwrap_or_else(|| Answer::Say(words.not_on_offer(tool))))
}

/// The call of a tool, where it may be called: by its name, or by way of the one that knows those that are shown on need.
fn call(request: &Request, tool: Tool, arguments: String) -> Result<Option<Answer>, ModelError> {
    let name = tool.name();
    let offered = |name: &str| request.tools.iter().find(|offered| offered.name == name);
    Ok(if request.tool_choice == ToolChoice::None {
        None
    } else if offered(name).is_some() {
        Some(Answer::Call(name, arguments))
    } else if offered(USE_TOOL).is_some_and(|further| further.description.contains(name)) {
        let written = RawValue::from_string(arguments);
        let arguments = written.map_err(|error| ModelError::new(ErrorClass::Malformed, error.to_string()))?;
        Some(Answer::Call(USE_TOOL, self::arguments(&OnNeed { name, arguments: &arguments })?))
    } else {
        None
    })
}

/// Whether it has listed in this conversation what it can do.
fn has_list(history: &[Message]) -> bool {
    history.iter().any(|message| matches!(message, Message::Assistant { .. }) && Phrases::is_list(&message.text()))
}

/// Tells what came of the calls at the history's end.
fn from_results(history: &[Message], intent: &Intent, language: Language) -> String {
    let first = history.iter().rposition(|message| !matches!(message, Message::Tool(_))).map_or(0, |before| before + 1);
    let asking = first.checked_sub(1).and_then(|before| history.get(before));
    let calls: Vec<&ToolCall> = asking.into_iter().flat_map(Message::calls).collect();
    let told = history.iter().skip(first).filter_map(|message| match message {
        Message::Tool(result) => {
            let call = calls.iter().find(|call| call.id == result.call).copied();
            Some(from_result(result, call, intent, Phrases(language), has_list(history)))
        }
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    told.collect::<Vec<_>>().join("\n\n")
}

fn from_result(
    result: &ToolResult,
    call: Option<&ToolCall>,
    intent: &Intent,
    words: Phrases,
    has_list: bool,
) -> String {
    if result.is_error {
        return words.failed(result);
    }
    let arguments = call.map_or("", |call| call.arguments.as_str());
    match Tool::by_name(&result.name) {
        Some(Tool::RememberFact) => words.remembered(read::<Fact>(arguments).as_ref()),
        Some(Tool::Recall) if matches!(intent, Intent::Ask(_)) => {
            let recall = read::<Recall>(arguments);
            words.told(&recalled::best(&result.text, recall.as_ref().map_or("", |recall| &recall.query)), has_list)
        }
        Some(Tool::Recall) => {
            let recall = read::<Recall>(arguments);
            let said = matches!(intent, Intent::Recall { scope: Scope::Messages, .. });
            let found = recalled::answering(&result.text, recall.as_ref().map_or("", |recall| &recall.query), !said);
            words.recalled(recall.as_ref(), &found, said)
        }
        Some(Tool::CurrentTime | Tool::Schedule) | None => result.text.clone(),
    }
}

/// The arguments of a call in the history, which another model may have made.
fn read<'de, T: Deserialize<'de>>(arguments: &'de str) -> Option<T> {
    serde_json::from_str(arguments).ok()
}

fn arguments<T: Serialize>(arguments: &T) -> Result<String, ModelError> {
    serde_json::to_string(arguments).map_err(|error| ModelError::new(ErrorClass::Malformed, error.to_string()))
}

/// Not everything that somebody knows was told as a fact.
fn where_to_look(scope: Scope) -> String {
    let what = match scope {
        Scope::Messages => "messages",
        Scope::Facts | Scope::All => "all",
    };
    what.to_owned()
}
