//! The request as the Messages API takes it.
//!
//! Never: a history that was not made legal, or more than four cache breakpoints.
//! Start at [`MessagesRequest::new`].

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::anthropic::ModelProfile;
use crate::anthropic::family::Mode;
use crate::anthropic::thinking::{self, OutputConfig, Thinking, ThinkingConstraint, ThinkingPlan, can_resume_thinking};
use crate::legal::{ANTHROPIC, HistoryTarget, LegalHistory, hidden_picture_note, legalize};
use crate::message::{Base64, Image, Message, ReplyPart, ToolCall, ToolResult, UserPart};
use crate::provider::{Request, ToolChoice, ToolSchema};

#[cfg(test)]
mod tests;

/// What the model is told of a tool that stands in the history alone.
const GONE: &str = "No longer on offer.";
/// The warmest that a model may be, here.
const TEMPERATURE_MAX: f64 = 1.0;

/// The whole body. What stays the same from call to call comes first, as the API reads it too.
#[derive(Debug, Serialize)]
pub(super) struct MessagesRequest<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block>,
    messages: Vec<Turn>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    None,
    Any,
    Tool { name: &'a str },
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// Ends a part of the request that is to be cached.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
struct Turn {
    role: Role,
    content: Vec<Block>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Thinking, as the model sent it.
    #[serde(untagged)]
    Sealed(Box<RawValue>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source {
    Base64 { media_type: &'static str, data: Base64 },
}

impl<'a> MessagesRequest<'a> {
    /// The request to `speaker`.
    pub(super) fn new(speaker: &'a ModelProfile, request: &'a Request) -> Self {
        let target = HistoryTarget { rules: &ANTHROPIC, model: &speaker.label, sees_images: speaker.sees_images };
        let history = legalize(&request.messages, request.stable, &target);
        let tools = tools(request, &history);
        let tool_choice = choice(request, &tools, speaker.family.mode);
        let case = match tool_choice {
            Some(Choice::Any | Choice::Tool { .. }) => ThinkingConstraint::ToolForced,
            Some(Choice::None) | None if can_resume_thinking(&history.messages) => ThinkingConstraint::Free,
            Some(Choice::None) | None => ThinkingConstraint::BegunWithout,
        };
        let asked = request.tuned(speaker.tuning).max_output_tokens;
        let plan = ThinkingPlan::new(speaker, case, asked);
        let temperature = speaker.tuning.temperature.filter(|_| speaker.family.temperature && !plan.thinks);
        let mut body = Self {
            model: &speaker.model,
            max_tokens: plan.max_tokens,
            stream: true,
            temperature: temperature.map(|temperature| temperature.clamp(0.0, TEMPERATURE_MAX)),
            thinking: plan.thinking,
            output_config: plan.output,
            tool_choice,
            tools,
            system: system(&request.system),
            messages: Vec::new(),
        };
        body.mark_system_cache_end();
        body.messages = turns(history, plan.thinks);
        body
    }

    /// Ends what comes before the messages: tools are read first, so one breakpoint is enough for both.
    fn mark_system_cache_end(&mut self) {
        match (self.system.last_mut(), self.tools.last_mut()) {
            (Some(block), _) => block.mark_cache_end(),
            (None, Some(tool)) => tool.cache_control = Some(CacheControl::Ephemeral),
            (None, None) => {}
        }
    }
}

fn system(text: &str) -> Vec<Block> {
    let text = text.trim();
    if text.is_empty() { Vec::new() } else { vec![Block::text(text.to_owned())] }
}

/// The tools on offer. Where there are none, those of the history stand in for them: calls of tools that are not
/// described are refused.
fn tools<'a>(request: &'a Request, history: &LegalHistory) -> Vec<Tool<'a>> {
    if !request.tools.is_empty() {
        return request.tools.iter().map(Tool::new).collect();
    }
    let names: BTreeSet<_> = history.messages.iter().flat_map(Message::calls).map(|call| &call.name).collect();
    names.into_iter().map(|name| Tool::placeholder_result(name)).collect()
}

/// What is not the default, and only where there are tools: elsewhere it is refused.
fn choice<'a>(request: &'a Request, tools: &[Tool<'_>], mode: Mode) -> Option<Choice<'a>> {
    let can_force = mode != Mode::AlwaysAdaptive;
    match &request.tool_choice {
        _ if tools.is_empty() => None,
        _ if request.tools.is_empty() => Some(Choice::None),
        ToolChoice::None => Some(Choice::None),
        ToolChoice::Any if can_force => Some(Choice::Any),
        ToolChoice::Tool { name } if can_force => Some(Choice::Tool { name }),
        ToolChoice::Auto | ToolChoice::Any | ToolChoice::Tool { .. } => None,
    }
}

/// The history, with the end of its stable part and its own end marked for the cache.
///
/// Thinking goes back only within the run that it belongs to. In an archived turn it would be refused: it is bound to
/// what stood before it, and the tail that stood there is gone.
fn turns(history: LegalHistory, thinks: bool) -> Vec<Turn> {
    let LegalHistory { messages, stable } = history;
    let mut turns: Vec<Turn> = Vec::new();
    for (place, message) in messages.into_iter().enumerate() {
        let (role, blocks) = blocks(message, thinks && place >= stable);
        match turns.last_mut() {
            // Results and what the user says after them are one message.
            Some(turn) if turn.role == role => turn.content.extend(blocks),
            Some(_) | None if blocks.is_empty() => {}
            Some(_) | None => turns.push(Turn { role, content: blocks }),
        }
        if place + 1 == stable {
            mark_last_turns(&mut turns);
        }
    }
    mark_last_turns(&mut turns);
    turns
}

fn mark_last_turns(turns: &mut [Turn]) {
    let mut blocks = turns.iter_mut().rev().flat_map(|turn| turn.content.iter_mut().rev());
    if let Some(block) = blocks.find(|block| !matches!(block, Block::Sealed(_))) {
        block.mark_cache_end();
    }
}

fn blocks(message: Message, thinks: bool) -> (Role, Vec<Block>) {
    match message {
        Message::User { parts } => (Role::User, parts.into_iter().map(Block::from).collect()),
        Message::Tool(result) => (Role::User, vec![Block::from(result)]),
        Message::Assistant { parts } => (Role::Assistant, assistant_blocks(parts, thinks)),
    }
}

fn assistant_blocks(parts: Vec<ReplyPart>, thinks: bool) -> Vec<Block> {
    let blocks = parts.into_iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(Block::text(text)),
        ReplyPart::Call(call) => Some(Block::from(call)),
        ReplyPart::Sealed(sealed) if thinks => thinking::block(&sealed).map(Block::Sealed),
        ReplyPart::Sealed(_) => None,
    });
    let mut blocks: Vec<_> = blocks.collect();
    // A message must not end with thinking.
    while matches!(blocks.last(), Some(Block::Sealed(_))) {
        blocks.pop();
    }
    blocks
}

impl<'a> Tool<'a> {
    fn new(schema: &'a ToolSchema) -> Self {
        let ToolSchema { name, description, parameters } = schema;
        Self { name: name.into(), description, input_schema: Cow::Borrowed(parameters), cache_control: None }
    }

    fn placeholder_result(name: &str) -> Self {
        let input_schema = Cow::Owned(json!({"type": "object"}));
        Self { name: name.to_owned().into(), description: GONE, input_schema, cache_control: None }
    }
}

impl Block {
    fn text(text: String) -> Self {
        Self::Text { text, cache_control: None }
    }

    /// Ends what is to be cached here; thinking cannot be marked.
    fn mark_cache_end(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(CacheControl::Ephemeral),
            Self::Sealed(_) => {}
        }
    }
}

impl From<UserPart> for Block {
    fn from(part: UserPart) -> Self {
        match part {
            UserPart::Text { text } => Self::text(text),
            UserPart::Picture(picture) => Self::text(hidden_picture_note(&picture.name)),
            UserPart::Image(Image { media_type, base64, .. }) => {
                let source = Source::Base64 { media_type: media_type.as_str(), data: base64 };
                Self::Image { source, cache_control: None }
            }
        }
    }
}

impl From<ToolCall> for Block {
    fn from(call: ToolCall) -> Self {
        // Legal arguments are a JSON object; they go out as they were written.
        let input = RawValue::from_string(call.arguments).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self::ToolUse { id: call.id.0, name: call.name, input, cache_control: None }
    }
}

impl From<ToolResult> for Block {
    fn from(result: ToolResult) -> Self {
        let ToolResult { call, text, is_error, name: _ } = result;
        Self::ToolResult { tool_use_id: call.0, content: text, is_error, cache_control: None }
    }
}
