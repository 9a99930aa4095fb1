//! The request as OpenAI's chat completions take it.
//!
//! Never: a history that was not made legal.
//! Start at [`ChatRequest::new`].

use serde::Serialize;
use serde_json::{Value, json};

use crate::legal::{HistoryTarget, OPENAI, hidden_picture_note, legalize};
use crate::message::{Image, Message, ReplyPart, Sealed, ToolCall, UserPart};
use crate::openai::quirks::{EffortFormat, Quirks, ReasoningReplay};
use crate::openai::sealed::{EXTRA_CONTENT, REASONING_CONTENT, REASONING_DETAILS, read};
use crate::provider::{Request, ToolChoice, ToolSchema};
use crate::refused_parameters::{RefusedParameters, THINKING_BESIDE_TOOLS};
use crate::settings::Tuning;
use hob_core::domain::choices::Effort;

#[cfg(test)]
mod tests;

/// Stands for thinking that is not at hand, such as another model's: servers that want it back refuse its absence.
const NO_REASONING: &str = " ";

/// Tells a model not to think.
const NO_EFFORT: &str = "none";

/// What the model is taken to have said of results where the user speaks next.
const SEEN: &str = "[seen]";

/// The whole body.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<ChatMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    #[serde(flatten)]
    options: Options,
}

/// What a server may refuse: each is left out once it does.
#[derive(Debug, Default, Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions>,
}

/// The model that is asked, and what is known of it and its server.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetModel<'a> {
    pub(super) model: &'a str,
    pub(super) label: &'a str,
    pub(super) quirks: &'a Quirks,
    pub(super) tuning: Tuning,
    pub(super) sees_images: bool,
    pub(super) learned: &'a RefusedParameters,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct ReasoningOptions {
    effort: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessage {
    System { content: String },
    User { content: Content },
    Assistant(Reply),
    Tool { tool_call_id: String, content: String },
}

#[derive(Debug, Default, Serialize)]
struct Reply {
    /// `null` beside calls: some servers insist on the key, none on words.
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// Words alone are a text: the older servers know nothing else.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: Kind,
    function: CalledFunction,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
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
    /// The request, as the server takes it.
    pub(super) fn new(request: &'a Request, asked: TargetModel<'a>) -> Self {
        let target = HistoryTarget { rules: &OPENAI, model: asked.label, sees_images: asked.sees_images };
        let system = request.system.trim();
        let system = (!system.is_empty()).then(|| ChatMessage::System { content: system.to_owned() });
        let history = legalize(&request.messages, request.stable, &target).messages;
        let messages = system.into_iter().chain(chat_messages(history, asked.quirks)).collect();
        let tools = request.tools.iter().map(Tool::new).collect();
        Self { model: asked.model, messages, tools, stream: true, options: Options::new(request, &asked) }
    }

    /// The names of what it has and a server may refuse: options alone. Words, tools and pictures are on record as they are
    /// sent; whoever does without pictures asks anew.
    pub(super) fn refusable(&self) -> Vec<&'static str> {
        let options = &self.options;
        let has = [
            ("tool_choice", options.tool_choice.is_some()),
            ("stream_options", options.stream_options.is_some()),
            ("temperature", options.temperature.is_some()),
            ("max_tokens", options.max_tokens.is_some()),
            ("max_completion_tokens", options.max_completion_tokens.is_some()),
            ("reasoning_effort", options.reasoning_effort.is_some()),
            ("reasoning", options.reasoning.is_some()),
            (THINKING_BESIDE_TOOLS, !self.tools.is_empty() && options.reasoning_effort != Some(NO_EFFORT)),
        ];
        has.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
    }
}

impl Options {
    fn new(request: &Request, asked: &TargetModel<'_>) -> Self {
        let TargetModel { quirks, learned, .. } = asked;
        let tuning = request.tuned(asked.tuning);
        let takes = |name: &str| !learned.refuses(name);
        let limit = learned.usable(&quirks.output_limit.names());
        let limit = |name: &str| tuning.max_output_tokens.filter(|_| limit == Some(name));
        let effort = tuning.effort.map(|effort| match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        });
        let as_word = quirks.effort == EffortFormat::Word;
        let must_not_think = !request.tools.is_empty() && learned.refuses(THINKING_BESIDE_TOOLS);
        let word = effort.filter(|_| as_word && takes("reasoning_effort"));
        Self {
            tool_choice: choice(request).filter(|_| takes("tool_choice")),
            stream_options: (quirks.usage_option && takes("stream_options"))
                .then_some(StreamOptions { include_usage: true }),
            temperature: tuning.temperature.filter(|_| takes("temperature")),
            max_tokens: limit("max_tokens"),
            max_completion_tokens: limit("max_completion_tokens"),
            reasoning_effort: if must_not_think { Some(NO_EFFORT) } else { word },
            reasoning: effort.filter(|_| !as_word && takes("reasoning")).map(|effort| ReasoningOptions { effort }),
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

/// The history; between results and the user stands a word of the model's where the server insists on one.
fn chat_messages(history: Vec<Message>, quirks: &Quirks) -> Vec<ChatMessage> {
    let mut said = Vec::with_capacity(history.len());
    for message in history {
        let is_after_results = matches!(said.last(), Some(ChatMessage::Tool { .. }));
        if quirks.speaks_after_results && is_after_results && matches!(message, Message::User { .. }) {
            said.push(ChatMessage::Assistant(Reply { content: Some(SEEN.to_owned()), ..Reply::default() }));
        }
        said.push(chat_message(message, quirks));
    }
    said
}

fn chat_message(message: Message, quirks: &Quirks) -> ChatMessage {
    match message {
        Message::User { parts } => ChatMessage::User { content: Content::new(parts) },
        Message::Assistant { parts } => ChatMessage::Assistant(Reply::new(parts, quirks)),
        Message::Tool(result) => ChatMessage::Tool { tool_call_id: result.call.0, content: result.text },
    }
}

impl Content {
    fn new(parts: Vec<UserPart>) -> Self {
        let words = |part: &UserPart| matches!(part, UserPart::Text { .. });
        if parts.iter().all(words) {
            return Self::Text(Message::User { parts }.text().into_owned());
        }
        Self::Parts(parts.into_iter().map(Part::from).collect())
    }
}

impl From<UserPart> for Part {
    fn from(part: UserPart) -> Self {
        match part {
            UserPart::Text { text } => Self::Text { text },
            UserPart::Picture(picture) => Self::Text { text: hidden_picture_note(&picture.name) },
            UserPart::Image(Image { media_type, base64, .. }) => {
                let url = format!("data:{};base64,{}", media_type.as_str(), base64.as_str());
                Self::ImageUrl { image_url: ImageUrl { url } }
            }
        }
    }
}

impl Reply {
    /// What the model said, with what its server wants back.
    fn new(parts: Vec<ReplyPart>, quirks: &Quirks) -> Self {
        let mut reply = Self::default();
        let mut text = String::new();
        let mut extra = None;
        for part in parts {
            match part {
                ReplyPart::Text { text: more } => text.push_str(&more),
                ReplyPart::Call(call) => reply.tool_calls.push(Call::new(call, extra.take())),
                ReplyPart::Sealed(sealed) => {
                    extra = read(&sealed, EXTRA_CONTENT).filter(|_| quirks.signs_calls).or(extra);
                    reply.reasoning(&sealed, quirks.reasoning);
                }
            }
        }
        reply.content = (!text.is_empty()).then_some(text);
        if let Some(first) = reply.tool_calls.first_mut().filter(|_| quirks.signs_calls) {
            first.extra_content.get_or_insert_with(unsigned);
        }
        if quirks.reasoning == ReasoningReplay::Content && reply.reasoning_content.is_none() {
            reply.reasoning_content = Some(json!(NO_REASONING));
        }
        reply
    }

    fn reasoning(&mut self, sealed: &Sealed, wanted: ReasoningReplay) {
        match wanted {
            ReasoningReplay::Never => {}
            ReasoningReplay::Content => self.reasoning_content = read(sealed, REASONING_CONTENT),
            ReasoningReplay::Details => self.reasoning_details = read(sealed, REASONING_DETAILS),
        }
    }
}

/// What Google documents for calls whose signature is not at hand, such as another model's.
fn unsigned() -> Value {
    json!({"google": {"thought_signature": "skip_thought_signature_validator"}})
}

impl Call {
    fn new(call: ToolCall, extra_content: Option<Value>) -> Self {
        let ToolCall { id, name, arguments } = call;
        Self { id: id.0, kind: Kind::Function, function: CalledFunction { name, arguments }, extra_content }
    }
}
