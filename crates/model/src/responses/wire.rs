//! The request as the Responses API takes it.
//!
//! Never: a history that was not made legal, or a request that is kept at OpenAI.
//! Start at [`ResponsesRequest::new`].

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::learned::Learned;
use crate::legal::{OPENAI, Target, legal, unseen};
use crate::message::{Image, Message, ReplyPart, Sealed, UserPart};
use crate::provider::{Request, ToolChoice, ToolSchema};
use crate::responses::event::Reasoning;
use crate::responses::reply::REASONING;
use crate::settings::{Effort, Tuning};
use hob_core::domain::ids::SessionKey;

#[cfg(test)]
mod tests;

/// Asks for reasoning in a form that can be given back.
const ENCRYPTED: &str = "reasoning.encrypted_content";
/// How much of the digest names a conversation: the API takes 64 characters at most.
const CACHE_KEY_BYTES: usize = 16;
/// The smallest limit of a reply that the API takes.
const OUTPUT_TOKENS_MIN: u64 = 16;

/// The whole body. What stays the same from call to call comes first.
#[derive(Debug, Serialize)]
pub(super) struct ResponsesRequest<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item>,
    store: bool,
    stream: bool,
    #[serde(flatten)]
    options: Options,
}

/// What a model may refuse: each is left out once it does.
#[derive(Debug, Default, Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningWish>,
}

#[derive(Debug, Serialize)]
struct ReasoningWish {
    effort: &'static str,
}

/// The model that is asked, and what is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    pub(super) label: &'a str,
    pub(super) tuning: Tuning,
    pub(super) sees_images: bool,
    /// Whether its reasoning goes back to it.
    pub(super) gives_reasoning: bool,
    pub(super) learned: &'a Learned,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { name: &'a str, description: &'a str, parameters: &'a Value, strict: bool },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message { role: Role, content: Content },
    FunctionCall { call_id: String, name: String, arguments: String },
    FunctionCallOutput { call_id: String, output: String },
    Reasoning(Reasoning),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    InputText { text: String },
    InputImage { image_url: String, detail: &'static str },
}

impl<'a> ResponsesRequest<'a> {
    /// The request, as the API takes it.
    pub(super) fn new(request: &'a Request, asked: Asked<'a>) -> Self {
        let target = Target { rules: &OPENAI, model: asked.label, sees_images: asked.sees_images };
        let history = legal(&request.messages, request.stable, &target).messages;
        Self {
            model: asked.model,
            instructions: request.system.trim(),
            tools: request.tools.iter().map(Tool::new).collect(),
            input: history.into_iter().flat_map(|message| items(message, asked.gives_reasoning)).collect(),
            store: false,
            stream: true,
            options: Options::new(request, &asked),
        }
    }

    /// The names of what it has and a model may refuse: options alone.
    pub(super) fn refusable(&self) -> Vec<&'static str> {
        let options = &self.options;
        let has = [
            ("include", options.include.is_some()),
            ("prompt_cache_key", options.prompt_cache_key.is_some()),
            ("tool_choice", options.tool_choice.is_some()),
            ("temperature", options.temperature.is_some()),
            ("max_output_tokens", options.max_output_tokens.is_some()),
            ("reasoning", options.reasoning.is_some()),
        ];
        has.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
    }

    /// Whether reasoning goes back with it.
    pub(super) fn gives_reasoning_back(&self) -> bool {
        self.input.iter().any(|item| matches!(item, Item::Reasoning(_)))
    }
}

impl Options {
    fn new(request: &Request, asked: &Asked<'_>) -> Self {
        let takes = |name: &str| !asked.learned.refuses(name);
        let tuning = request.tuned(asked.tuning);
        let effort = tuning.effort.map(|effort| match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        });
        let limit = tuning.max_output_tokens.map(|limit| limit.max(OUTPUT_TOKENS_MIN));
        Self {
            include: takes("include").then_some([ENCRYPTED]),
            prompt_cache_key: request.session.as_ref().filter(|_| takes("prompt_cache_key")).map(cache_key),
            tool_choice: choice(request).filter(|_| takes("tool_choice")),
            temperature: tuning.temperature.filter(|_| takes("temperature")),
            max_output_tokens: limit.filter(|_| takes("max_output_tokens")),
            reasoning: effort.filter(|_| takes("reasoning")).map(|effort| ReasoningWish { effort }),
        }
    }
}

/// The conversation's name at OpenAI: not the platform's, which may be somebody's.
fn cache_key(session: &SessionKey) -> String {
    let digest = Sha256::digest(format!("cache1:{session}").as_bytes());
    digest.iter().take(CACHE_KEY_BYTES).map(|byte| format!("{byte:02x}")).collect::<String>()
}

/// What is not the default, and only where there are tools: elsewhere it is refused.
fn choice(request: &Request) -> Option<Value> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::Tool { name } => Some(json!({"type": "function", "name": name})),
    }
}

impl<'a> Tool<'a> {
    /// Not `strict`: that takes schemas of one form alone, and tools of MCP servers have any.
    fn new(schema: &'a ToolSchema) -> Self {
        let ToolSchema { name, description, parameters } = schema;
        Self::Function { name, description, parameters, strict: false }
    }
}

fn items(message: Message, gives_reasoning: bool) -> Vec<Item> {
    match message {
        Message::User { parts } => vec![Item::Message { role: Role::User, content: Content::new(parts) }],
        Message::Tool(result) => vec![Item::FunctionCallOutput { call_id: result.call.0, output: result.text }],
        Message::Assistant { parts } => said(parts, gives_reasoning),
    }
}

/// What the model said, in its order. Reasoning belongs before what came of it, and is refused without that.
fn said(parts: Vec<ReplyPart>, gives_reasoning: bool) -> Vec<Item> {
    let items = parts.into_iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(Item::Message { role: Role::Assistant, content: Content::Text(text) }),
        ReplyPart::Call(call) => {
            Some(Item::FunctionCall { call_id: call.id.0, name: call.name, arguments: call.arguments })
        }
        ReplyPart::Sealed(sealed) => reasoning(&sealed).filter(|_| gives_reasoning),
    });
    let mut items: Vec<_> = items.collect();
    while items.pop_if(|last| matches!(last, Item::Reasoning(_))).is_some() {}
    items
}

fn reasoning(sealed: &Sealed) -> Option<Item> {
    if sealed.kind != REASONING {
        return None;
    }
    let read = serde_json::from_str(&sealed.data).inspect_err(|error| tracing::debug!(%error, "a seal is broken"));
    read.ok().map(Item::Reasoning)
}

impl Content {
    fn new(parts: Vec<UserPart>) -> Self {
        if parts.iter().all(|part| matches!(part, UserPart::Text { .. })) {
            return Self::Text(Message::User { parts }.text().into_owned());
        }
        Self::Parts(parts.into_iter().map(Part::from).collect())
    }
}

impl From<UserPart> for Part {
    fn from(part: UserPart) -> Self {
        match part {
            UserPart::Text { text } => Self::InputText { text },
            UserPart::Picture(picture) => Self::InputText { text: unseen(&picture.name) },
            UserPart::Image(Image { media_type, base64, .. }) => {
                let image_url = format!("data:{};base64,{}", media_type.as_str(), base64.as_str());
                Self::InputImage { image_url, detail: "auto" }
            }
        }
    }
}
