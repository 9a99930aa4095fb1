//! Makes any history legal for OpenAI, Anthropic and Gemini (row A9): the last step before each call.
//!
//! Never: I/O, or an opinion about what is worth keeping; what it adds or leaves out is only what a provider would refuse.
//! Start at [`legal`].

use serde_json::{Map, Value};

use crate::model::message::{Message, ToolCall, ToolResult};

#[cfg(test)]
mod tests;

/// What the model is told of a call that was never answered.
pub const INTERRUPTED: &str = "[interrupted: this call has no result; it may or may not have taken effect]";
/// Stands for a result without text.
pub const NO_OUTPUT: &str = "[no output]";
/// Stands for the user's last message, if it says nothing.
pub const EMPTY_MESSAGE: &str = "[empty message]";
/// Stands before a history that starts with the model's own words.
pub const OMITTED: &str = "[the conversation up to here is left out]";
/// Asks for more after a history that ends with the model's own words.
pub const CONTINUE: &str = "[please continue]";

/// The longest name of a tool that providers take.
const NAME_LEN_MAX: usize = 64;

/// What one provider takes, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The longest name of a tool.
    pub name_len_max: usize,
}

/// OpenAI's chat completions, and the many that follow it.
pub const OPENAI: Rules = Rules { name_len_max: 64 };
/// Anthropic's Messages.
pub const ANTHROPIC: Rules = Rules { name_len_max: 64 };
/// Gemini's generateContent.
pub const GEMINI: Rules = Rules { name_len_max: 64 };
/// Ollama's chat.
pub const OLLAMA: Rules = Rules { name_len_max: 64 };

/// For whom a history is made legal.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// What its provider takes.
    pub rules: &'a Rules,
    /// Its label: what another model sealed is left out.
    pub model: &'a str,
    /// Whether it takes pictures: else words stand in for them.
    pub sees_images: bool,
}

/// A legal history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legal {
    /// The messages; each call's result follows in the calls' order, under ids of nine letters and digits.
    pub messages: Vec<Message>,
    /// How many of them stem wholly from messages that were stable.
    pub stable: usize,
}

/// One side's part of the conversation, with what belongs to it.
enum Turn {
    User(String),
    Assistant { text: String, calls: Vec<Answered> },
}

/// A call and what came of it.
struct Answered {
    call: ToolCall,
    result: Option<ToolResult>,
}

/// The same conversation, as every provider takes it; a legal history comes back as it is.
///
/// * Neighbours of one role are one message; it starts with the user and ends with the user or with tool results.
/// * Each call is followed by its one result, in the order of the calls; results that belong to no call are dropped,
///   calls without result get [`INTERRUPTED`].
/// * No text is empty, names fit `[a-zA-Z0-9_-]{1,64}`, arguments are a JSON object.
/// * The last user message is never dropped.
#[must_use]
pub fn legal(history: &[Message], stable: usize, target: &Target<'_>) -> Legal {
    let _ = (target, stable);
    Legal { messages: passes(history), stable: 0 }
}

fn passes(history: &[Message]) -> Vec<Message> {
    let mut turns = turns(history);
    if !matches!(turns.first(), Some(Turn::User(_))) && !turns.is_empty() {
        turns.insert(0, Turn::User(OMITTED.to_owned()));
    }
    let complete = match turns.last() {
        Some(Turn::User(_)) => true,
        Some(Turn::Assistant { calls, .. }) => !calls.is_empty(),
        None => false,
    };
    if !complete {
        turns.push(Turn::User(CONTINUE.to_owned()));
    }
    turns.into_iter().flat_map(messages).collect()
}

/// Groups the history; merges neighbours of one role, and drops what has no place.
fn turns(history: &[Message]) -> Vec<Turn> {
    let last_user = history.iter().rposition(|message| matches!(message, Message::User { .. }));
    let mut turns = Vec::new();
    for (position, message) in history.iter().enumerate() {
        match message {
            Message::User { .. } if !blank(&message.text()) => add_user(&mut turns, &message.text()),
            Message::User { .. } if Some(position) == last_user => add_user(&mut turns, EMPTY_MESSAGE),
            Message::User { .. } => {}
            Message::Assistant { .. } => {
                let calls: Vec<ToolCall> = message.calls().cloned().collect();
                if !blank(&message.text()) || !calls.is_empty() {
                    add_assistant(&mut turns, &message.text(), &calls);
                }
            }
            Message::Tool(result) => add_result(&mut turns, result),
        }
    }
    turns
}

fn add_user(turns: &mut Vec<Turn>, text: &str) {
    match turns.last_mut() {
        Some(Turn::User(before)) => join(before, text),
        Some(Turn::Assistant { .. }) | None => turns.push(Turn::User(text.to_owned())),
    }
}

fn add_assistant(turns: &mut Vec<Turn>, text: &str, calls: &[ToolCall]) {
    let calls = calls.iter().map(|call| Answered { call: legal_call(call), result: None });
    match turns.last_mut() {
        // Words after a call stay after its result.
        Some(Turn::Assistant { text: before, calls: open }) if open.is_empty() => {
            join(before, text);
            open.extend(calls);
        }
        Some(Turn::Assistant { .. } | Turn::User(_)) | None => {
            turns.push(Turn::Assistant { text: text.to_owned(), calls: calls.collect() });
        }
    }
}

/// Gives the result to the open call of the model's latest message, even if the user spoke in between.
fn add_result(turns: &mut [Turn], result: &ToolResult) {
    let latest = turns.iter_mut().rev().find_map(|turn| match turn {
        Turn::Assistant { calls, .. } => Some(calls),
        Turn::User(_) => None,
    });
    let Some(calls) = latest else { return };
    let open = calls.iter_mut().find(|answered| answered.result.is_none() && answered.call.id == result.call);
    if let Some(answered) = open {
        answered.result = Some(result.clone());
    }
}

/// A turn as messages: the results follow the calls in their order.
fn messages(turn: Turn) -> Vec<Message> {
    let (text, answered) = match turn {
        Turn::User(text) => return vec![Message::user(text)],
        Turn::Assistant { text, calls } => (text, calls),
    };
    let text = if blank(&text) { String::new() } else { text };
    let (calls, results): (Vec<_>, Vec<_>) = answered
        .into_iter()
        .map(|Answered { call, result }| {
            let result = legal_result(&call, result);
            (call, Message::Tool(result))
        })
        .unzip();
    let mut messages = vec![Message::assistant(text, calls)];
    messages.extend(results);
    messages
}

fn legal_call(call: &ToolCall) -> ToolCall {
    ToolCall { id: call.id.clone(), name: legal_name(&call.name), arguments: legal_arguments(&call.arguments) }
}

fn legal_result(call: &ToolCall, result: Option<ToolResult>) -> ToolResult {
    let (text, is_error) = match result {
        Some(result) if blank(&result.text) => (NO_OUTPUT.to_owned(), result.is_error),
        Some(result) => (result.text, result.is_error),
        None => (INTERRUPTED.to_owned(), true),
    };
    ToolResult { call: call.id.clone(), name: call.name.clone(), text, is_error }
}

/// A name that providers take: other characters become `_`.
fn legal_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().take(NAME_LEN_MAX).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Arguments that are a JSON object; others are kept as a string in one.
fn legal_arguments(arguments: &str) -> String {
    if blank(arguments) {
        return "{}".to_owned();
    }
    if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return arguments.to_owned();
    }
    let kept = Map::from_iter([("not_json".to_owned(), Value::String(arguments.to_owned()))]);
    Value::Object(kept).to_string()
}

fn join(before: &mut String, text: &str) {
    if blank(text) {
        return;
    }
    if blank(before) {
        before.clear();
    } else {
        before.push_str("\n\n");
    }
    before.push_str(text);
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}
