//! The request as OpenAI's chat completions take it.
//!
//! Never: a history that was not made legal.
//! Start at [`ChatRequest::new`].

use std::vec;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::legal::{OPENAI, Target, legal};
use crate::model::message::{Message, ToolCall};
use crate::model::provider::{Request, ToolChoice, ToolSchema};

/// The whole body.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<ChatMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// What a server takes besides the common ground.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    /// It can be asked to report the usage.
    pub(super) usage: bool,
    /// It wants calls signed (Gemini 3 refuses a history in which a reply's first call is not).
    pub(super) signed_calls: bool,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<ExtraContent>,
}

#[derive(Debug, Serialize)]
struct ExtraContent {
    google: GoogleContent,
}

#[derive(Debug, Serialize)]
struct GoogleContent {
    thought_signature: &'static str,
}

/// What Google documents for calls whose signature is not at hand, such as another model's.
const SIGNATURE: ExtraContent =
    ExtraContent { google: GoogleContent { thought_signature: "skip_thought_signature_validator" } };

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
    /// The request for `model`, as the server takes it.
    pub(super) fn new(model: &'a str, request: &'a Request, dialect: Dialect) -> Self {
        let target = Target { rules: &OPENAI, model, sees_images: true };
        let system = request.system.trim();
        let system = (!system.is_empty()).then(|| ChatMessage::System { content: system.to_owned() });
        let mut messages: Vec<_> = system
            .into_iter()
            .chain(chat_messages(legal(&request.messages, request.stable, &target).messages))
            .collect();
        if dialect.signed_calls {
            messages.iter_mut().for_each(ChatMessage::sign);
        }
        Self {
            model,
            messages,
            tools: request.tools.iter().map(Tool::new).collect(),
            tool_choice: choice(request),
            stream: true,
            stream_options: dialect.usage.then_some(StreamOptions { include_usage: true }),
        }
    }
}

/// What is not the default, and only where there are tools: elsewhere it is refused.
fn choice(request: &Request) -> Option<Value> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::Tool { name } => Some(json!({"type": "function", "function": {"name": name}})),
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
        Message::User { .. } => ChatMessage::User { content: message.text().into_owned() },
        Message::Assistant { .. } => {
            let text = message.text().into_owned();
            let calls: Vec<ToolCall> = message.calls().cloned().collect();
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
        Self { id, kind: Kind::Function, function, extra_content: None }
    }
}

impl ChatMessage {
    /// Signs the first of the calls.
    fn sign(&mut self) {
        if let Self::Assistant { tool_calls, .. } = self
            && let Some(call) = tool_calls.first_mut()
        {
            call.extra_content = Some(SIGNATURE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::CallId;
    use crate::model::message::ToolResult;

    #[test]
    fn ids_are_unique_over_runs_and_calls_are_signed_where_wanted() {
        let (id, name, arguments) = (CallId::new(0, 0), "look".to_owned(), "{}".to_owned());
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments };
        let result = ToolResult { call: id, name, text: "x".to_owned(), is_error: false };
        let run = |text: &str| {
            let calls = vec![call.clone(), ToolCall { id: CallId::new(0, 1), ..call.clone() }];
            let user = Message::user(text);
            [user, Message::assistant("", calls), Message::Tool(result.clone())]
        };
        let messages = [run("a"), run("b")].concat();
        let request =
            Request { system: " ".to_owned(), messages, stable: 0, tools: Vec::new(), tool_choice: ToolChoice::Auto };
        let dialect = Dialect { usage: false, signed_calls: true };
        let body = serde_json::to_string_pretty(&ChatRequest::new("m", &request, dialect).messages[4..]).unwrap();
        insta::assert_snapshot!(body, @r#"
        [
          {
            "role": "user",
            "content": "b"
          },
          {
            "role": "assistant",
            "content": null,
            "tool_calls": [
              {
                "id": "call00002",
                "type": "function",
                "function": {
                  "name": "look",
                  "arguments": "{}"
                },
                "extra_content": {
                  "google": {
                    "thought_signature": "skip_thought_signature_validator"
                  }
                }
              },
              {
                "id": "call00003",
                "type": "function",
                "function": {
                  "name": "look",
                  "arguments": "{}"
                }
              }
            ]
          },
          {
            "role": "tool",
            "tool_call_id": "call00002",
            "content": "x"
          },
          {
            "role": "tool",
            "tool_call_id": "call00003",
            "content": "[interrupted: this call has no result; it may or may not have taken effect]"
          }
        ]
        "#);
    }
}
