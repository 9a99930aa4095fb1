//! The request as Ollama's `/api/chat` takes it. What changes from turn to turn comes last.
//!
//! Ollama has no choice of tools: where none may be called, none is offered; where one must be, it is asked as ever.
//! Never: a history that was not made legal, or a request that Ollama would shorten in silence.
//! Start at [`ChatRequest::new`].

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{ErrorClass, ModelError};
use crate::exchange::endpoint::written;
use crate::legal::{HistoryTarget, OLLAMA, hidden_picture_note, legalize};
use crate::message::{Base64, Message, ReplyPart, ToolCall, UserPart};
use crate::ollama::traits::{Think, Traits};
use crate::provider::{Request, ToolChoice, ToolSchema};
use crate::schema::cleaned;
use crate::settings::Settings;

#[cfg(test)]
mod tests;

/// Sealed: what the model thought before what follows.
pub(super) const THINKING: &str = "thinking";

/// How many bytes of text make a token, at the least: English has four, Chinese three.
const TOKEN_BYTES: u64 = 3;
/// How many tokens a picture takes; models differ between some hundred and some thousand.
const IMAGE_TOKENS: u64 = 1024;

/// The whole body.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'a> {
    model: &'a str,
    stream: bool,
    /// Says rather than shortens what does not fit; servers before 0.12 do not know the word.
    truncate: bool,
    /// Stops rather than forgets the beginning when the reply grows too long; as above.
    shift: bool,
    options: Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<ChatMessage>,
}

#[derive(Debug, Serialize)]
struct Options {
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    function: OfferedFunction<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Function,
}

#[derive(Debug, Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Value,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessage {
    System {
        content: String,
    },
    User {
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<Base64>,
    },
    Assistant {
        content: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        thinking: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    Tool {
        content: String,
        tool_name: String,
    },
}

#[derive(Debug, Serialize)]
struct Call {
    function: CalledFunction,
}

#[derive(Debug, Serialize)]
struct CalledFunction {
    name: String,
    arguments: Map<String, Value>,
}

impl<'a> ChatRequest<'a> {
    /// The request for the model that `settings` name and `traits` describe.
    pub(super) fn new(settings: &'a Settings, traits: Traits, request: &'a Request) -> Self {
        let sees_images = settings.sees_images && traits.sees_images;
        let target = HistoryTarget { rules: &OLLAMA, model: &settings.label, sees_images };
        let history = legalize(&request.messages, request.stable, &target);
        let system = request.system.trim();
        let system = (!system.is_empty()).then(|| ChatMessage::System { content: system.to_owned() });
        let tuning = request.tuned(settings.tuning);
        let offered = traits.calls_tools && request.tool_choice != ToolChoice::None;
        Self {
            model: &settings.model,
            stream: true,
            truncate: false,
            shift: false,
            options: Options {
                num_ctx: traits.window(settings.context_tokens),
                num_predict: tuning.max_output_tokens,
                temperature: tuning.temperature,
            },
            think: traits.think(tuning.effort),
            tools: request.tools.iter().filter(|_| offered).map(Tool::new).collect(),
            messages: system.into_iter().chain(history.messages.into_iter().map(ChatMessage::from)).collect(),
        }
    }

    /// The body's bytes, if they fit into what the model holds: an old Ollama drops the beginning of what does not and
    /// says nothing. The estimate errs on the side of too long, which leaves room for the reply.
    pub(super) fn into_body(self) -> Result<Vec<u8>, ModelError> {
        let body = written(&self)?;
        let images = self.messages.iter().flat_map(ChatMessage::images);
        let (count, bytes) =
            images.fold((0_u64, 0_u64), |(count, bytes), image| (count + 1, bytes + len(image.as_str())));
        let text = u64::try_from(body.len()).unwrap_or(u64::MAX).saturating_sub(bytes);
        let tokens = (text / TOKEN_BYTES).saturating_add(count.saturating_mul(IMAGE_TOKENS));
        let window = self.options.num_ctx;
        if tokens <= window {
            return Ok(body);
        }
        let what = format!(
            "The conversation is too long for the model: about {tokens} tokens, and Ollama holds {window} for it."
        );
        Err(ModelError::new(ErrorClass::ContextTooLong, what))
    }
}

fn len(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl<'a> Tool<'a> {
    fn new(schema: &'a ToolSchema) -> Self {
        let ToolSchema { name, description, parameters } = schema;
        Self { kind: Kind::Function, function: OfferedFunction { name, description, parameters: cleaned(parameters) } }
    }
}

impl ChatMessage {
    fn images(&self) -> &[Base64] {
        match self {
            Self::User { images, .. } => images,
            Self::System { .. } | Self::Assistant { .. } | Self::Tool { .. } => &[],
        }
    }

    /// What a person says: a message has one text, and its pictures beside it.
    fn user(parts: Vec<UserPart>) -> Self {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                UserPart::Text { text } => texts.push(text),
                UserPart::Picture(picture) => texts.push(hidden_picture_note(&picture.name)),
                UserPart::Image(image) => images.push(image.base64),
            }
        }
        Self::User { content: texts.join("\n\n"), images }
    }

    fn assistant(parts: Vec<ReplyPart>) -> Self {
        let (mut content, mut thinking, mut tool_calls) = (String::new(), String::new(), Vec::new());
        for part in parts {
            match part {
                ReplyPart::Text { text } => content.push_str(&text),
                ReplyPart::Call(call) => tool_calls.push(Call::new(call)),
                ReplyPart::Sealed(sealed) if sealed.kind == THINKING => thinking.push_str(&sealed.data),
                ReplyPart::Sealed(_) => {}
            }
        }
        Self::Assistant { content, thinking, tool_calls }
    }
}

impl From<Message> for ChatMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::User { parts } => Self::user(parts),
            Message::Assistant { parts } => Self::assistant(parts),
            Message::Tool(result) => Self::Tool { content: result.text, tool_name: result.name },
        }
    }
}

impl Call {
    fn new(call: ToolCall) -> Self {
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_no_object| Map::from_iter([("not_json".to_owned(), Value::String(call.arguments))]));
        Self { function: CalledFunction { name: call.name, arguments } }
    }
}
