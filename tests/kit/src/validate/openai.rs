//! What OpenAI's chat completions take, made strict where the servers that follow it are: roles alternate, the user
//! begins, no call id stands twice.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{IMAGES, base64, content as content_of, ensure};

/// The longest picture: 50 MB are the most for all of a request.
const IMAGE_CHARS_MAX: usize = 50 << 20;

/// What OpenAI knows; the parts that Hob may come to use.
const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "stop",
    "seed",
    "user",
    "response_format",
];

const NAME_LEN_MAX: usize = 64;

/// Models that think before they speak, by how their names begin: they take neither `max_tokens` nor a temperature.
const REASONING: &[&str] = &["o1", "o3", "o4", "gpt-5", "gpt-6"];

/// Of these, those that take tools only if they are told not to think.
const NO_TOOLS_WHILE_THINKING: &[&str] = &["gpt-5.6", "gpt-6"];

/// What is wrong with the body, in OpenAI's words where they are known.
pub fn request(body: &Value) -> Result<(), String> {
    let body = body.as_object().ok_or("The body must be an object.")?;
    known_fields(body, FIELDS, "")?;
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    ensure(!model.is_empty(), || "you must provide a model parameter".into())?;
    ensure(body.get("stream") == Some(&Value::Bool(true)), || "This fake only streams: set 'stream' to true.".into())?;
    if let Some(options) = body.get("stream_options") {
        let options = options.as_object().ok_or("Invalid type for 'stream_options'.")?;
        known_fields(options, &["include_usage", "include_obfuscation"], "stream_options.")?;
    }
    let messages = body.get("messages").and_then(Value::as_array).ok_or("Missing required parameter: 'messages'.")?;
    self::messages(messages)?;
    limits(body, model)?;
    let offered = body.get("tools").map_or(Ok(HashSet::new()), tools)?;
    choice(body, &offered)
}

fn limits(body: &Map<String, Value>, model: &str) -> Result<(), String> {
    let has = |field: &str| body.contains_key(field);
    ensure(!(has("max_tokens") && has("max_completion_tokens")), || {
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.".into()
    })?;
    if !REASONING.iter().any(|name| model.starts_with(name)) {
        return Ok(());
    }
    ensure(!has("max_tokens"), || {
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            .into()
    })?;
    let thinks = body.get("reasoning_effort").and_then(Value::as_str) != Some("none");
    ensure(!(thinks && has("tools") && NO_TOOLS_WHILE_THINKING.iter().any(|name| model.starts_with(name))), || {
        format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function \
             tools, use /v1/responses or set reasoning_effort to 'none'."
        )
    })?;
    let temperature = body.get("temperature").and_then(Value::as_f64).unwrap_or(1.0);
    ensure((temperature - 1.0).abs() < f64::EPSILON, || {
        format!(
            "Unsupported value: 'temperature' does not support {temperature} with this model. Only the default (1) value \
             is supported."
        )
    })
}

fn choice(body: &Map<String, Value>, offered: &HashSet<&str>) -> Result<(), String> {
    for field in ["tool_choice", "parallel_tool_calls"] {
        let alone = body.contains_key(field) && offered.is_empty();
        ensure(!alone, || {
            format!("Invalid value for '{field}': '{field}' is only allowed when 'tools' are specified.")
        })?;
    }
    match body.get("tool_choice") {
        None => Ok(()),
        Some(Value::String(choice)) => ensure(matches!(choice.as_str(), "none" | "auto" | "required"), || {
            format!("Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.")
        }),
        Some(choice) => {
            let name = choice["function"]["name"].as_str().unwrap_or_default();
            ensure(choice["type"] == "function" && offered.contains(name), || {
                format!(
                    "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' parameter."
                )
            })
        }
    }
}

fn messages(messages: &[Value]) -> Result<(), String> {
    ensure(!messages.is_empty(), || "Invalid 'messages': empty array.".into())?;
    let mut history = History::default();
    for (index, message) in messages.iter().enumerate() {
        history.take(index, message).map_err(|why| format!("Invalid 'messages[{index}]': {why}"))?;
    }
    history.end()
}

/// What has been said so far.
#[derive(Default)]
struct History {
    before: String,
    ids: HashSet<String>,
    open: Vec<String>,
}

impl History {
    fn take(&mut self, index: usize, message: &Value) -> Result<(), String> {
        let message = message.as_object().ok_or("must be an object")?;
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if role != "tool" {
            self.all_answered()?;
        }
        match role {
            "system" | "developer" => {
                ensure(index == 0, || "the system prompt comes first".into())?;
                known_fields(message, &["role", "content"], "")?;
                content(message)?;
            }
            "user" => {
                ensure(self.before != "user", || "two user messages in a row".into())?;
                known_fields(message, &["role", "content", "name"], "")?;
                content(message)?;
            }
            "assistant" => {
                ensure(matches!(self.before.as_str(), "user" | "tool"), || {
                    format!("an assistant message after {:?}", self.before)
                })?;
                known_fields(message, &["role", "content", "tool_calls", "refusal"], "")?;
                self.calls(message)?;
            }
            "tool" => {
                known_fields(message, &["role", "content", "tool_call_id"], "")?;
                content(message)?;
                self.answer(message)?;
            }
            other => return Err(format!("unknown role {other:?}")),
        }
        role.clone_into(&mut self.before);
        Ok(())
    }

    fn calls(&mut self, message: &Map<String, Value>) -> Result<(), String> {
        let Some(calls) = message.get("tool_calls") else { return content(message) };
        if !matches!(message.get("content"), None | Some(Value::Null)) {
            content(message)?;
        }
        let calls = calls.as_array().ok_or("'tool_calls' must be an array")?;
        ensure(!calls.is_empty(), || "'tool_calls' is an empty array".into())?;
        for call in calls {
            let call = call.as_object().ok_or("a call must be an object")?;
            known_fields(call, &["id", "type", "function"], "tool_calls.")?;
            ensure(call.get("type").is_some_and(|kind| kind == "function"), || "a call without type".into())?;
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            ensure(!id.is_empty() && id.len() <= 40, || format!("bad call id {id:?}"))?;
            ensure(self.ids.insert(id.to_owned()), || format!("the call id {id:?} is used twice"))?;
            let function = call.get("function").and_then(Value::as_object).ok_or("a call without function")?;
            known_fields(function, &["name", "arguments"], "tool_calls.function.")?;
            name(function)?;
            let arguments = function.get("arguments").and_then(Value::as_str).ok_or("arguments must be a string")?;
            let object = serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
            ensure(object, || format!("arguments must be a JSON object: {arguments:?}"))?;
            self.open.push(id.to_owned());
        }
        Ok(())
    }

    fn answer(&mut self, message: &Map<String, Value>) -> Result<(), String> {
        let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
        let place = self.open.iter().position(|open| open == id).ok_or_else(|| {
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.".to_owned()
        })?;
        self.open.remove(place);
        Ok(())
    }

    fn all_answered(&self) -> Result<(), String> {
        ensure(self.open.is_empty(), || {
            format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                self.open.join(", ")
            )
        })
    }

    fn end(&self) -> Result<(), String> {
        self.all_answered()?;
        let last = self.before.as_str();
        ensure(matches!(last, "user" | "tool"), || format!("The last message must not be from {last:?}."))
    }
}

fn tools(tools: &Value) -> Result<HashSet<&str>, String> {
    let tools = tools.as_array().ok_or("'tools' must be an array")?;
    ensure(!tools.is_empty(), || "Invalid 'tools': empty array. Expected an array with minimum length 1.".into())?;
    let mut names = HashSet::new();
    for tool in tools {
        ensure(tool["type"] == "function", || "Invalid value for 'tools[].type'.".into())?;
        let function = tool["function"].as_object().ok_or("Missing required parameter: 'tools[].function'.")?;
        known_fields(function, &["name", "description", "parameters", "strict"], "tools[].function.")?;
        let name = name(function)?;
        ensure(names.insert(name), || format!("The tool {name:?} is offered twice."))?;
        ensure(tool["function"]["parameters"]["type"] == "object", || {
            format!("Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.")
        })?;
    }
    Ok(names)
}

fn name(function: &Map<String, Value>) -> Result<&str, String> {
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    ensure(fits && (1..=NAME_LEN_MAX).contains(&name.len()), || {
        format!("'{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'.")
    })?;
    Ok(name)
}

fn content(message: &Map<String, Value>) -> Result<(), String> {
    let text = |text: &Value| {
        let text = text.as_str().ok_or("content must be a string")?;
        ensure(!text.trim().is_empty(), || "text content must be non-empty".into())
    };
    let content = message.get("content").unwrap_or(&Value::Null);
    let Some(parts) = content.as_array() else { return text(content) };
    ensure(!parts.is_empty(), || "content is an empty array".into())?;
    let from_user = message.get("role").is_some_and(|role| role == "user");
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" => text(&part["text"])?,
            "image_url" if from_user => image(part["image_url"]["url"].as_str().unwrap_or_default())?,
            "image_url" => return Err("Image URLs are only allowed for messages with role 'user'.".into()),
            other => return Err(format!("Invalid value: '{other}'. Supported values are: 'text' and 'image_url'.")),
        }
    }
    Ok(())
}

fn image(url: &str) -> Result<(), String> {
    let Some(data) = url.strip_prefix("data:") else {
        return ensure(url.starts_with("https://"), || "Invalid image URL.".into());
    };
    let (kind, data) = data.split_once(";base64,").ok_or("Invalid base64 image_url.")?;
    ensure(IMAGES.contains(&kind), || format!("Invalid MIME type. Only image types are supported: {kind:?}"))?;
    ensure(base64(data), || "Invalid base64 image_url.".into())?;
    ensure(data.len() <= IMAGE_CHARS_MAX, || "Image is too large.".into())?;
    ensure(content_of(data) == Some(kind), || {
        "You uploaded an unsupported image. Please make sure your image is valid.".into()
    })
}

fn known_fields(object: &Map<String, Value>, known: &[&str], prefix: &str) -> Result<(), String> {
    let unknown = object.keys().find(|key| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |key| Err(format!("Unrecognized request argument supplied: {prefix}{key}")))
}
