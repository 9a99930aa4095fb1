//! What Ollama's `/api/chat` takes (docs/api.md and `api/types.go`: what Go cannot read it refuses), in its words.
//!
//! Which result belongs to which call it does not check, its templates do: here it is refused.

use serde_json::Value;

use super::{base64, content as content_of, ensure, list, text, twice, unknown};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "format",
    "options",
    "stream",
    "keep_alive",
    "think",
    "truncate",
    "shift",
    "logprobs",
    "top_logprobs",
];
const MESSAGE_FIELDS: &[&str] = &["role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"];
/// Options with whole numbers.
const WHOLE: &[&str] =
    &["num_ctx", "num_predict", "num_keep", "seed", "top_k", "num_gpu", "num_thread", "num_batch", "repeat_last_n"];
/// Options with any numbers.
const NUMBERS: &[&str] =
    &["temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty"];

/// What is wrong with the body.
pub fn request(body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("json: cannot unmarshal into Go value of type api.ChatRequest")?;
    if let Some(field) = unknown(fields, FIELDS) {
        return Err(format!("json: unknown field {field:?}"));
    }
    ensure(!text(body, "model").is_empty(), || "model is required".into())?;
    ensure(matches!(body["stream"], Value::Null | Value::Bool(_)), || go("stream", "bool"))?;
    let messages = list(body, "messages");
    ensure(!messages.is_empty(), || "messages are required".into())?;
    let mut open = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        self::message(message, &mut open).map_err(|why| format!("messages[{at}]: {why}"))?;
    }
    ensure(open.is_empty(), || format!("calls without result: {}", open.join(", ")))?;
    options(&body["options"])?;
    tools(list(body, "tools"))?;
    match &body["think"] {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::String(level) if matches!(level.as_str(), "high" | "medium" | "low" | "max") => Ok(()),
        level => Err(format!(
            "invalid think value: {level} (must be \"high\", \"medium\", \"low\", \"max\", true, or false)"
        )),
    }
}

fn go(field: &str, kind: &str) -> String {
    format!("json: cannot unmarshal value into Go struct field ChatRequest.{field} of type {kind}")
}

fn message<'a>(message: &'a Value, open: &mut Vec<&'a str>) -> Result<(), String> {
    let fields = message.as_object().ok_or_else(|| go("messages", "api.Message"))?;
    if let Some(field) = unknown(fields, MESSAGE_FIELDS) {
        return Err(format!("json: unknown field {field:?}"));
    }
    let role = text(message, "role");
    ensure(matches!(role, "system" | "user" | "assistant" | "tool"), || {
        format!("invalid role: {role}, must be one of [system, user, assistant, tool]")
    })?;
    ensure(matches!(message["content"], Value::Null | Value::String(_)), || go("messages.content", "string"))?;
    let images = list(message, "images");
    let pictures = images.iter().all(|image| image.as_str().is_some_and(base64));
    ensure(pictures, || "illegal base64 data at input byte 0".into())?;
    ensure(images.is_empty() || role == "user", || "images of somebody else than the user".into())?;
    let decoded =
        |image: &Value| matches!(content_of(image.as_str()?)?, "image/png" | "image/jpeg" | "image/webp").then_some(());
    ensure(images.iter().all(|image| decoded(image).is_some()), || "Failed to load image or audio file".into())?;
    let calls = list(message, "tool_calls");
    ensure(calls.is_empty() || role == "assistant", || "tool_calls of somebody else than the assistant".into())?;
    let says = !text(message, "content").trim().is_empty() || !images.is_empty() || !calls.is_empty();
    ensure(says, || "a message that says nothing".into())?;
    if role == "tool" {
        let name = text(message, "tool_name");
        let place = open.iter().position(|open| *open == name);
        open.remove(place.ok_or_else(|| format!("a result of no call: {name:?}"))?);
    } else {
        ensure(open.is_empty(), || format!("calls without result: {}", open.join(", ")))?;
    }
    for call in calls {
        let function = &call["function"];
        ensure(!text(function, "name").is_empty(), || "a call without a name".into())?;
        ensure(function["arguments"].is_object(), || {
            go("messages.tool_calls.function.arguments", "api.ToolCallFunctionArguments")
        })?;
        open.push(text(function, "name"));
    }
    Ok(())
}

fn options(options: &Value) -> Result<(), String> {
    let Some(fields) = options.as_object() else {
        return ensure(options.is_null(), || go("options", "map[string]interface {}"));
    };
    for (name, value) in fields {
        let known = WHOLE.contains(&name.as_str()) || NUMBERS.contains(&name.as_str()) || name == "stop";
        ensure(known, || format!("invalid option provided option={name}"))?;
        let whole = !WHOLE.contains(&name.as_str()) || value.is_i64();
        ensure(whole, || format!("option {name:?} must be of type integer"))?;
        let number = !NUMBERS.contains(&name.as_str()) || value.is_number();
        ensure(number, || format!("option {name:?} must be of type float32"))?;
    }
    ensure(options["num_ctx"].is_null() || options["num_ctx"].as_u64() > Some(0), || "num_ctx must be positive".into())
}

fn tools(tools: &[Value]) -> Result<(), String> {
    for tool in tools {
        ensure(tool["type"] == "function", || "a tool that is not a function".into())?;
        ensure(!text(&tool["function"], "name").is_empty(), || "a tool without a name".into())?;
        ensure(tool["function"]["parameters"]["type"] == "object", || go("tools.function.parameters", "object"))?;
    }
    let name = twice(tools.iter().map(|tool| text(&tool["function"], "name")));
    name.map_or(Ok(()), |name| Err(format!("the tool {name:?} is offered twice")))
}
