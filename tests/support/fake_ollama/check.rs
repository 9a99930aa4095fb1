//! What Ollama refuses about a request, in its own words where they are known. Of fields that it does not know Ollama
//! says nothing; here they are refused, since they would have no effect.

use serde_json::{Map, Value};

use crate::support::fake_ollama::Model;

/// How many bytes of text make a token, as this server counts.
const TOKEN_BYTES: usize = 4;

/// What is wrong with the body.
pub fn request(body: &Value, model: &Model) -> Result<(), String> {
    let can = |what: &str| model.capabilities.contains(&what);
    let known = ["model", "messages", "tools", "stream", "think", "options", "truncate", "shift", "keep_alive"];
    let body = fields(body, &known)?;
    ensure(body.get("stream").is_none_or(|stream| stream == true), || "This fake only streams.".into())?;
    options(body.get("options").unwrap_or(&Value::Null))?;
    if let Some(tools) = body.get("tools") {
        ensure(can("tools"), || format!("registry.ollama.ai/library/{}:latest does not support tools", model.name))?;
        self::tools(tools)?;
    }
    if let Some(think) = body.get("think") {
        ensure(can("thinking"), || format!("\"{}\" does not support thinking", model.name))?;
        ensure(think.is_boolean() || model.architecture == "gptoss", || {
            format!("think value {think} is not supported for this model")
        })?;
    }
    let messages = body.get("messages").and_then(Value::as_array).filter(|all| !all.is_empty());
    let mut open: Vec<&str> = Vec::new();
    for message in messages.ok_or("messages is required")? {
        self::message(message, can("vision"), &mut open)?;
    }
    ensure(open.is_empty(), || format!("calls without results: {}", open.join(", ")))
}

/// How many tokens the request takes: its texts, not its pictures.
pub fn tokens(body: &Value) -> u64 {
    let texts = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_str());
    let bytes: usize = texts.map(str::len).sum::<usize>() + body["tools"].to_string().len();
    u64::try_from(bytes / TOKEN_BYTES).unwrap()
}

fn options(options: &Value) -> Result<(), String> {
    let options = fields(options, &["num_ctx", "num_predict", "temperature"])?;
    let num_ctx = options.get("num_ctx").and_then(Value::as_u64).unwrap_or_default();
    ensure(num_ctx > 0, || "A request without num_ctx would be shortened to 4096 tokens.".into())?;
    let fits = |name: &str| options.get(name).is_none_or(Value::is_number);
    ensure(fits("num_predict") && fits("temperature"), || "option must be of type float32".into())
}

fn tools(tools: &Value) -> Result<(), String> {
    for tool in tools.as_array().filter(|tools| !tools.is_empty()).ok_or("tools: an empty list")? {
        let tool = fields(tool, &["type", "function"])?;
        ensure(tool.get("type").is_some_and(|kind| kind == "function"), || "a tool without type".into())?;
        let function = fields(&tool["function"], &["name", "description", "parameters"])?;
        ensure(function.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty()), || {
            "a tool without name".into()
        })?;
        ensure(function.get("parameters").is_some_and(|schema| schema["type"] == "object"), || {
            "a tool whose parameters are no object".into()
        })?;
    }
    Ok(())
}

fn message<'a>(message: &'a Value, sees: bool, open: &mut Vec<&'a str>) -> Result<(), String> {
    let message = fields(message, &["role", "content", "thinking", "images", "tool_calls", "tool_name"])?;
    let content = message.get("content").and_then(Value::as_str).ok_or("a message without content")?;
    let has = |name: &str| message.contains_key(name);
    match message.get("role").and_then(Value::as_str).unwrap_or_default() {
        role @ ("system" | "user") => {
            ensure(open.is_empty(), || format!("a {role} message before the results of {}", open.join(", ")))?;
            ensure(!has("tool_calls") && !has("tool_name") && !has("thinking"), || format!("not from the {role}"))?;
            images(message.get("images"), sees)?;
            ensure(!content.trim().is_empty() || has("images"), || format!("an empty {role} message"))
        }
        "assistant" => {
            ensure(open.is_empty(), || format!("an answer before the results of {}", open.join(", ")))?;
            ensure(!has("tool_name") && !has("images"), || "not from the assistant".into())?;
            for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let function = fields(&call["function"], &["name", "arguments"])?;
                ensure(function.get("arguments").is_some_and(Value::is_object), || {
                    "json: cannot unmarshal string into Go struct field .messages.tool_calls.function.arguments".into()
                })?;
                open.push(function.get("name").and_then(Value::as_str).unwrap_or_default());
            }
            ensure(!content.trim().is_empty() || !open.is_empty(), || "an empty answer".into())
        }
        "tool" => {
            let name = message.get("tool_name").and_then(Value::as_str).unwrap_or_default();
            ensure(open.first() == Some(&name), || format!("a result of {name:?}, which is not the next call"))?;
            open.remove(0);
            ensure(!content.trim().is_empty(), || "an empty result".into())
        }
        role => Err(format!("invalid role: {role}")),
    }
}

fn images(images: Option<&Value>, sees: bool) -> Result<(), String> {
    let Some(images) = images else { return Ok(()) };
    ensure(sees, || "this model is missing data required for image input".into())?;
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    let base64 = |image: &Value| {
        image.as_str().is_some_and(|text| !text.is_empty() && text.len() % 4 == 0 && text.bytes().all(fits))
    };
    ensure(images.as_array().is_some_and(|all| all.iter().all(base64)), || "illegal base64 data at input byte 0".into())
}

fn fields<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or("not an object")?;
    let unknown = fields.keys().find(|key| !known.contains(&key.as_str()));
    unknown.map_or(Ok(fields), |key| Err(format!("a field without effect: {key}")))
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
