//! The request as Gemini's generateContent takes it. What changes from turn to turn comes last.
//!
//! Never: a history that was not made legal, or one model's seals under another's.
//! Start at [`GenerateRequest::new`].

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::gemini::family::Family;
use crate::legal::{GEMINI, HistoryTarget, hidden_picture_note, legalize};
use crate::message::{Base64, Image, Message, ReplyPart, ToolCall, ToolResult, UserPart};
use crate::provider::{Request, ToolChoice, ToolSchema};
use crate::schema::cleaned;
use crate::settings::{Settings, Tuning};

#[cfg(test)]
mod tests;

/// Sealed: the signature of the part that follows.
pub(super) const SIGNATURE: &str = "thought_signature";
/// Sealed: a signature that came on a part without words, which is a part of its own.
pub(super) const LONE_SIGNATURE: &str = "thought_signature_alone";
/// Sealed: the id of the call that follows. Gemini 3 names one and wants it back; where none came, none is known.
pub(super) const CALL_ID: &str = "function_call_id";

/// What Google documents for calls whose signature is not at hand, such as another model's.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The whole body.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
    contents: Vec<Content>,
}

#[derive(Debug, Serialize)]
struct System<'a> {
    parts: [SystemPart<'a>; 1],
}

#[derive(Debug, Serialize)]
struct SystemPart<'a> {
    text: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCallingConfig<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Content {
    role: Role,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Model,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(flatten)]
    data: PartData,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum PartData {
    Text(String),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'static str,
        data: Base64,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        args: Map<String, Value>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        response: Response,
    },
}

/// What came of a call, under the two names that Google documents: what is under others is taken for output as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Response {
    Output(String),
    Error(String),
}

impl<'a> GenerateRequest<'a> {
    /// The request for the model that `settings` name.
    pub(super) fn new(settings: &Settings, family: Family, request: &'a Request) -> Self {
        let target = HistoryTarget { rules: &GEMINI, model: &settings.label, sees_images: settings.sees_images };
        let history = legalize(&request.messages, request.stable, &target);
        let system = request.system.trim();
        Self {
            system_instruction: (!system.is_empty()).then_some(System { parts: [SystemPart { text: system }] }),
            tools: tools(request),
            tool_config: tool_config(request),
            generation_config: GenerationConfig::new(request.tuned(settings.tuning), family),
            contents: contents(history.messages, family.signed_calls),
        }
    }
}

fn tools(request: &Request) -> Vec<Tools<'_>> {
    let function_declarations: Vec<_> = request.tools.iter().map(FunctionDeclaration::new).collect();
    if function_declarations.is_empty() { Vec::new() } else { vec![Tools { function_declarations }] }
}

impl<'a> FunctionDeclaration<'a> {
    fn new(schema: &'a ToolSchema) -> Self {
        let ToolSchema { name, description, parameters } = schema;
        Self { name, description, parameters_json_schema: cleaned(parameters) }
    }
}

/// What is not the default, and only where there are tools.
fn tool_config(request: &Request) -> Option<ToolConfig<'_>> {
    let (mode, allowed_function_names) = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Any => ("ANY", None),
        ToolChoice::Tool { name } => ("ANY", Some([name.as_str()])),
    };
    Some(ToolConfig { function_calling_config: FunctionCallingConfig { mode, allowed_function_names } })
}

impl GenerationConfig {
    fn new(tuning: Tuning, family: Family) -> Self {
        let thinking_budget = tuning.effort.and_then(|effort| family.budget(effort));
        let thinking_level = tuning.effort.and_then(|effort| family.level(effort));
        let told = thinking_budget.is_some() || thinking_level.is_some();
        let thinking = ThinkingConfig { include_thoughts: false, thinking_budget, thinking_level };
        Self {
            temperature: tuning.temperature,
            max_output_tokens: tuning.max_output_tokens,
            thinking_config: told.then_some(thinking),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A legal history, in which each call's result follows in the calls' order. Roles alternate on the wire: the results of
/// one reply are one turn, and what the user says next belongs to it.
fn contents(history: Vec<Message>, signed_calls: bool) -> Vec<Content> {
    let mut contents: Vec<Content> = Vec::with_capacity(history.len());
    let mut unanswered: VecDeque<Option<String>> = VecDeque::new();
    for message in history {
        let (role, parts) = match message {
            Message::User { parts } => (Role::User, parts.into_iter().map(user_part).collect()),
            Message::Assistant { parts } => {
                let mut parts = reply_parts(parts);
                unanswered = parts.iter().filter_map(Part::call_id).collect();
                if signed_calls {
                    sign(&mut parts);
                }
                (Role::Model, parts)
            }
            Message::Tool(result) => (Role::User, vec![response_part(result, unanswered.pop_front().flatten())]),
        };
        match contents.last_mut().filter(|before| before.role == role) {
            Some(before) => before.parts.extend(parts),
            None => contents.push(Content { role, parts }),
        }
    }
    contents
}

fn user_part(part: UserPart) -> Part {
    match part {
        UserPart::Text { text } => PartData::Text(text).into(),
        UserPart::Picture(picture) => PartData::Text(hidden_picture_note(&picture.name)).into(),
        UserPart::Image(Image { media_type, base64, .. }) => {
            PartData::InlineData { mime_type: media_type.as_str(), data: base64 }.into()
        }
    }
}

fn response_part(result: ToolResult, id: Option<String>) -> Part {
    let response = if result.is_error { Response::Error(result.text) } else { Response::Output(result.text) };
    PartData::FunctionResponse { id, name: result.name, response }.into()
}

/// The model's words and calls, with its seals back on the parts on which they came.
fn reply_parts(parts: Vec<ReplyPart>) -> Vec<Part> {
    let mut wire: Vec<Part> = Vec::with_capacity(parts.len());
    let (mut thought_signature, mut id) = (None, None);
    for part in parts {
        let data = match part {
            ReplyPart::Text { text } => PartData::Text(text),
            ReplyPart::Call(call) => function_call(call, id.take()),
            ReplyPart::Sealed(sealed) => match sealed.kind.as_str() {
                SIGNATURE => {
                    thought_signature = Some(sealed.data);
                    continue;
                }
                CALL_ID => {
                    id = Some(sealed.data);
                    continue;
                }
                LONE_SIGNATURE => {
                    wire.push(Part::lone(sealed.data));
                    continue;
                }
                _ => continue,
            },
        };
        wire.push(Part { data, thought_signature: thought_signature.take() });
    }
    // The part that it belonged to is gone.
    wire.extend(thought_signature.map(Part::lone));
    wire
}

fn function_call(call: ToolCall, id: Option<String>) -> PartData {
    let args = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_no_object| Map::from_iter([("not_json".to_owned(), Value::String(call.arguments))]));
    PartData::FunctionCall { id, name: call.name, args }
}

/// Signs the first call, as nobody else did: parallel calls after it need no signature.
fn sign(parts: &mut [Part]) {
    let first = parts.iter_mut().find(|part| matches!(part.data, PartData::FunctionCall { .. }));
    if let Some(part) = first {
        part.thought_signature.get_or_insert_with(|| NO_SIGNATURE.to_owned());
    }
}

impl Part {
    fn lone(signature: String) -> Self {
        Self { data: PartData::Text(String::new()), thought_signature: Some(signature) }
    }

    /// The id of the call, if it is one; the inner none: it has none.
    #[expect(clippy::option_option, reason = "a part may be no call, and a call may have no id")]
    fn call_id(&self) -> Option<Option<String>> {
        match &self.data {
            PartData::FunctionCall { id, .. } => Some(id.clone()),
            PartData::Text(_) | PartData::InlineData { .. } | PartData::FunctionResponse { .. } => None,
        }
    }
}

impl From<PartData> for Part {
    fn from(data: PartData) -> Self {
        Self { data, thought_signature: None }
    }
}
