//! The request as OpenAI's chat completions take it.
//!
//! Never: a history that was not made legal.
//! Start at [`ChatRequest::new`].

use std::vec;

use serde::Serialize;
use serde_json::Value;

use crate::model::legal::legal;
use crate::model::message::{Message, ToolCall};
use crate::model::provider::{Request, ToolSchema};

/// The whole body.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<ChatMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessage {
    System {
        content: String,
    },
    User {
        content: String,
    },
    Assistant {
        /// `null` beside calls: some servers insist on the key, none on words.
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Debug, Serialize)]
struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: Kind,
    function: CalledFunction,
}

#[derive(Debug, Serialize)]
struct CalledFunction {
    name: String,
    arguments: String,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    function: OfferedFunction<'a>,
}

#[derive(Debug, Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Function,
}

impl<'a> ChatRequest<'a> {
    /// The request for `model`, asking for the usage where the server lets one.
    pub(super) fn new(model: &'a str, request: &'a Request, ask_usage: bool) -> Self {
        let system = request.system.trim();
        let system = (!system.is_empty()).then(|| ChatMessage::System { content: system.to_owned() });
        Self {
            model,
            messages: system.into_iter().chain(chat_messages(legal(&request.messages))).collect(),
            tools: request.tools.iter().map(Tool::new).collect(),
            stream: true,
            stream_options: ask_usage.then_some(StreamOptions { include_usage: true }),
        }
    }
}

impl<'a> Tool<'a> {
    fn new(schema: &'a ToolSchema) -> Self {
        let ToolSchema { name, description, parameters } = schema;
        Self { kind: Kind::Function, function: OfferedFunction { name, description, parameters } }
    }
}

/// A call's id on the wire, by its place in the history: ids of different runs repeat. Nine letters and digits, which
/// is what the strictest provider (Mistral) takes.
fn wire_id(place: usize) -> String {
    format!("call{place:05}")
}

/// A legal history, in which each call's result follows in the calls' order.
fn chat_messages(history: Vec<Message>) -> Vec<ChatMessage> {
    let mut calls_before = 0;
    let mut unanswered = Vec::new().into_iter();
    history.into_iter().map(|message| chat_message(message, &mut calls_before, &mut unanswered)).collect()
}

fn chat_message(message: Message, calls_before: &mut usize, unanswered: &mut vec::IntoIter<String>) -> ChatMessage {
    match message {
        Message::User { text } => ChatMessage::User { content: text },
        Message::Assistant { text, calls } => {
            let first = *calls_before;
            *calls_before += calls.len();
            let ids: Vec<_> = (first..*calls_before).map(wire_id).collect();
            let tool_calls = calls.into_iter().zip(&ids).map(|(call, id)| Call::new(call, id.clone())).collect();
            *unanswered = ids.into_iter();
            ChatMessage::Assistant { content: (!text.is_empty()).then_some(text), tool_calls }
        }
        Message::Tool(result) => {
            let tool_call_id = unanswered.next().unwrap_or_else(|| wire_id(*calls_before));
            ChatMessage::Tool { tool_call_id, content: result.text }
        }
    }
}

impl Call {
    fn new(call: ToolCall, id: String) -> Self {
        let function = CalledFunction { name: call.name, arguments: call.arguments };
        Self { id, kind: Kind::Function, function }
    }
}
