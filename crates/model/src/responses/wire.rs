//! The request as the Responses API takes it.
//!
//! Never: a history that was not made legal, or a request that is kept at OpenAI.
//! Start at [`ResponsesRequest::new`].

use async_openai::types::responses::{
    CreateResponse, EasyInputContent, EasyInputMessage, FunctionCallOutput, FunctionCallOutputItemParam, FunctionTool,
    FunctionToolCall, ImageDetail, IncludeEnum, InputContent, InputImageContent, InputItem, InputParam,
    InputTextContent, Item, MessagePhase, MessageType, Reasoning as ReasoningWish, ReasoningEffort, ReasoningItem,
    Role, Tool, ToolChoiceFunction, ToolChoiceOptions, ToolChoiceParam,
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::legal::{HistoryTarget, OPENAI, hidden_picture_note, legalize};
use crate::message::{Image, Message, ReplyPart, Sealed, UserPart};
use crate::provider::{Request, ToolChoice, ToolSchema};
use crate::refused_parameters::RefusedParameters;
use crate::responses::event::Reasoning;
use crate::responses::reply::{NEXT_MESSAGE, PHASE, REASONING};
use crate::settings::Tuning;
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::SessionKey;
use hob_core::domain::text::hex;

#[cfg(test)]
mod tests;

/// How much of the digest names a conversation: the API takes 64 characters at most.
const CACHE_KEY_BYTES: usize = 16;
/// The smallest limit of a reply that the API takes.
const OUTPUT_TOKENS_MIN: u64 = 16;

/// The whole body, in async-openai's types.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct ResponsesRequest(CreateResponse);

/// The model that is asked, and what is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetModel<'a> {
    pub(super) model: &'a str,
    pub(super) label: &'a str,
    pub(super) tuning: Tuning,
    pub(super) sees_images: bool,
    /// Whether its reasoning goes back to it.
    pub(super) gives_reasoning: bool,
    pub(super) learned: &'a RefusedParameters,
}

impl ResponsesRequest {
    /// The request, as the API takes it.
    pub(super) fn new(request: &Request, asked: TargetModel<'_>) -> Self {
        let target = HistoryTarget { rules: &OPENAI, model: asked.label, sees_images: asked.sees_images };
        let history = legalize(&request.messages, request.stable, &target).messages;
        let instructions = request.system.trim();
        let tools: Vec<_> = request.tools.iter().map(tool).collect();
        let items = history.into_iter().flat_map(|message| items(message, asked.gives_reasoning)).collect();
        Self(CreateResponse {
            model: Some(asked.model.to_owned()),
            instructions: (!instructions.is_empty()).then(|| instructions.to_owned()),
            tools: (!tools.is_empty()).then_some(tools),
            input: InputParam::Items(items),
            store: Some(false),
            stream: Some(true),
            ..options(request, &asked)
        })
    }

    /// The names of what it has and a model may refuse: options alone.
    pub(super) fn refusable(&self) -> Vec<&'static str> {
        let Self(body) = self;
        let has = [
            ("include", body.include.is_some()),
            ("prompt_cache_key", body.prompt_cache_key.is_some()),
            ("tool_choice", body.tool_choice.is_some()),
            ("temperature", body.temperature.is_some()),
            ("max_output_tokens", body.max_output_tokens.is_some()),
            ("reasoning", body.reasoning.is_some()),
        ];
        has.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
    }

    /// Whether reasoning goes back with it.
    pub(super) fn gives_reasoning_back(&self) -> bool {
        match &self.0.input {
            InputParam::Items(items) => items.iter().any(is_reasoning),
            InputParam::Text(_) => false,
        }
    }
}

/// What a model may refuse: each is left out once it does.
fn options(request: &Request, asked: &TargetModel<'_>) -> CreateResponse {
    let takes = |name: &str| !asked.learned.refuses(name);
    let tuning = request.tuned(asked.tuning);
    let effort = tuning.effort.map(|effort| match effort {
        Effort::Low => ReasoningEffort::Low,
        Effort::Medium => ReasoningEffort::Medium,
        Effort::High => ReasoningEffort::High,
    });
    let wish = |effort| ReasoningWish { effort: Some(effort), ..ReasoningWish::default() };
    let limit = tuning.max_output_tokens.map(|limit| limit.max(OUTPUT_TOKENS_MIN));
    let limit = limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    CreateResponse {
        // In a form that can be given back.
        include: takes("include").then(|| vec![IncludeEnum::ReasoningEncryptedContent]),
        prompt_cache_key: request.session.as_ref().filter(|_| takes("prompt_cache_key")).map(cache_key),
        tool_choice: choice(request).filter(|_| takes("tool_choice")),
        temperature: tuning.temperature.filter(|_| takes("temperature")).map(single),
        max_output_tokens: limit.filter(|_| takes("max_output_tokens")),
        reasoning: effort.filter(|_| takes("reasoning")).map(wish),
        ..CreateResponse::default()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a temperature has one digit or two")]
const fn single(temperature: f64) -> f32 {
    temperature as f32
}

/// The conversation's name at OpenAI: not the platform's, which may be somebody's.
fn cache_key(session: &SessionKey) -> String {
    let digest = Sha256::digest(format!("cache1:{session}").as_bytes());
    hex(&digest[..CACHE_KEY_BYTES])
}

/// What is not the default, and only where there are tools: elsewhere it is refused.
fn choice(request: &Request) -> Option<ToolChoiceParam> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::None => Some(ToolChoiceParam::Option(ToolChoiceOptions::None)),
        ToolChoice::Any => Some(ToolChoiceParam::Option(ToolChoiceOptions::Required)),
        ToolChoice::Tool { name } => Some(ToolChoiceParam::Function(ToolChoiceFunction { name: name.clone() })),
    }
}

/// Not `strict`: that takes schemas of one form alone, and tools of MCP servers have any.
fn tool(schema: &ToolSchema) -> Tool {
    Tool::Function(FunctionTool {
        name: schema.name.clone(),
        description: Some(schema.description.clone()),
        parameters: Some(schema.parameters.clone()),
        strict: Some(false),
        ..FunctionTool::default()
    })
}

fn items(message: Message, gives_reasoning: bool) -> Vec<InputItem> {
    match message {
        Message::User { parts } => vec![InputItem::EasyMessage(EasyInputMessage {
            r#type: MessageType::Message,
            role: Role::User,
            content: content(parts),
            phase: None,
        })],
        Message::Tool(result) => vec![InputItem::Item(Item::FunctionCallOutput(FunctionCallOutputItemParam {
            call_id: Some(result.call.0),
            output: FunctionCallOutput::Text(result.text),
            id: None,
            status: None,
            name: None,
            namespace: None,
            caller: None,
        }))],
        Message::Assistant { parts } => assistant_items(parts, gives_reasoning),
    }
}

/// What the model said, in its order. Reasoning belongs before what came of it, and is refused without that.
fn assistant_items(parts: Vec<ReplyPart>, gives_reasoning: bool) -> Vec<InputItem> {
    let mut phase = None;
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            ReplyPart::Text { text } => items.push(text_item(text, phase.take())),
            ReplyPart::Call(call) => items.push(InputItem::Item(Item::FunctionCall(FunctionToolCall {
                call_id: call.id.0,
                name: call.name,
                arguments: call.arguments,
                namespace: None,
                id: None,
                status: None,
                caller: None,
                r#async: None,
            }))),
            // One that this edition does not know is left out: a message is taken without.
            ReplyPart::Sealed(sealed) if sealed.kind == PHASE => {
                phase = serde_json::from_value(sealed.data.into()).ok()
            }
            ReplyPart::Sealed(sealed) => items.extend(reasoning(&sealed).filter(|_| gives_reasoning)),
        }
    }
    while items.pop_if(|last| is_reasoning(last)).is_some() {}
    items
}

/// A message of the model.
fn text_item(text: String, phase: Option<MessagePhase>) -> InputItem {
    // Where it has a phase it is a message of its own, and nothing parts it from the one before.
    let own = phase.and_then(|_| text.strip_prefix(NEXT_MESSAGE)).map(str::to_owned);
    InputItem::EasyMessage(EasyInputMessage {
        r#type: MessageType::Message,
        role: Role::Assistant,
        content: EasyInputContent::Text(own.unwrap_or(text)),
        phase,
    })
}

fn is_reasoning(item: &InputItem) -> bool {
    matches!(item, InputItem::Item(Item::Reasoning(_)))
}

fn reasoning(sealed: &Sealed) -> Option<InputItem> {
    if sealed.kind != REASONING {
        return None;
    }
    let read = serde_json::from_str(&sealed.data).inspect_err(|error| tracing::debug!(%error, "a seal is broken"));
    let Reasoning { id, summary, encrypted_content } = read.ok()?;
    // The API wants the field back. What async-openai has no name for is left out of it: the seal holds the thought.
    let summary = summary.into_iter().filter_map(|part: Value| serde_json::from_value(part).ok()).collect();
    Some(InputItem::Item(Item::Reasoning(ReasoningItem {
        id: Some(id),
        summary,
        content: None,
        encrypted_content: Some(encrypted_content),
        status: None,
    })))
}

fn content(parts: Vec<UserPart>) -> EasyInputContent {
    if parts.iter().all(|part| matches!(part, UserPart::Text { .. })) {
        return EasyInputContent::Text(Message::User { parts }.text().into_owned());
    }
    EasyInputContent::ContentList(parts.into_iter().map(piece).collect())
}

fn piece(part: UserPart) -> InputContent {
    let text = |text| InputContent::InputText(InputTextContent { text, prompt_cache_breakpoint: None });
    match part {
        UserPart::Text { text: said } => text(said),
        UserPart::Picture(picture) => text(hidden_picture_note(&picture.name)),
        UserPart::Image(Image { media_type, base64, .. }) => InputContent::InputImage(InputImageContent {
            image_url: Some(format!("data:{};base64,{}", media_type.as_str(), base64.as_str())),
            detail: ImageDetail::Auto,
            file_id: None,
            prompt_cache_breakpoint: None,
        }),
    }
}
