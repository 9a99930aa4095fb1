//! What OpenAI's Responses API takes, of the parts that Hob may come to use.

use std::collections::HashSet;

use serde_json::Value;

use super::{IMAGES, base64, content as content_of, ensure, list, text, word};

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "store",
    "include",
    "prompt_cache_key",
    "temperature",
    "max_output_tokens",
    "reasoning",
];

/// The fewest tokens of a reply that may be asked for.
const OUTPUT_TOKENS_MIN: u64 = 16;
const NAME_LEN_MAX: usize = 64;
const CACHE_KEY_LEN_MAX: usize = 64;
/// Models that think before they speak, by how their names begin: they take no temperature.
const REASONING: &[&str] = &["o1", "o3", "o4", "gpt-5", "gpt-6"];

/// What is wrong with the body, in OpenAI's words where they are known. `made` is the thinking that this server has sealed.
pub fn request(body: &Value, made: &HashSet<String>) -> Result<(), String> {
    let fields = body.as_object().ok_or("The body must be an object.")?;
    let unknown = fields.keys().find(|field| !FIELDS.contains(&field.as_str()));
    ensure(unknown.is_none(), || format!("Unknown parameter: '{}'.", unknown.unwrap()))?;
    ensure(!text(body, "model").is_empty(), || "Missing required parameter: 'model'.".into())?;
    ensure(body["stream"] == true, || "This fake only streams: set 'stream' to true.".into())?;
    ensure(body["store"] == false, || "Zero data retention is on: 'store' must be false.".into())?;
    ensure(text(body, "prompt_cache_key").len() <= CACHE_KEY_LEN_MAX, || {
        "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.".into()
    })?;
    let thinks = REASONING.iter().any(|name| text(body, "model").starts_with(name));
    for (field, refused) in [("temperature", thinks), ("reasoning", !thinks), ("include", !thinks)] {
        ensure(!refused || body.get(field).is_none(), || {
            format!("Unsupported parameter: '{field}' is not supported with this model.")
        })?;
    }
    let least = body.get("max_output_tokens").is_none_or(|most| most.as_u64() >= Some(OUTPUT_TOKENS_MIN));
    ensure(least, || "Invalid 'max_output_tokens': integer below minimum value.".into())?;
    let offered = tools(list(body, "tools"))?;
    choice(body, &offered)?;
    ensure(body["input"].as_array().is_some_and(|items| !items.is_empty()), || {
        "Missing required parameter: 'input'.".into()
    })?;
    input(list(body, "input"), made)
}

fn tools(tools: &[Value]) -> Result<HashSet<&str>, String> {
    for (at, tool) in tools.iter().enumerate() {
        ensure(tool["type"] == "function", || format!("Invalid value: 'tools[{at}].type'."))?;
        ensure(word(text(tool, "name"), NAME_LEN_MAX), || {
            format!("Invalid 'tools[{at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
        })?;
        ensure(tool["parameters"].is_object(), || format!("Missing required parameter: 'tools[{at}].parameters'."))?;
        // Unless it is told otherwise it takes a schema for a strict one, and refuses most.
        ensure(tool["strict"] == false, || format!("Invalid schema for function '{}'.", text(tool, "name")))?;
    }
    Ok(tools.iter().map(|tool| text(tool, "name")).collect())
}

fn choice(body: &Value, offered: &HashSet<&str>) -> Result<(), String> {
    match &body["tool_choice"] {
        Value::Null => Ok(()),
        _ if offered.is_empty() => Err("Tool choice is only allowed when 'tools' are specified.".into()),
        Value::String(word) => ensure(["none", "auto", "required"].contains(&word.as_str()), || {
            format!("Invalid value: '{word}' for 'tool_choice'.")
        }),
        choice => ensure(choice["type"] == "function" && offered.contains(text(choice, "name")), || {
            format!("Tool choice '{}' not found in 'tools' parameter.", text(choice, "name"))
        }),
    }
}

fn input(items: &[Value], made: &HashSet<String>) -> Result<(), String> {
    let (mut open, mut seen) = (HashSet::new(), HashSet::new());
    for (at, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            None | Some("message") => message(at, item)?,
            Some("function_call") => {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                ensure(!id.is_empty() && word(name, NAME_LEN_MAX), || format!("Invalid 'input[{at}]'."))?;
                let is_object = serde_json::from_str::<Value>(text(item, "arguments")).is_ok_and(|it| it.is_object());
                ensure(is_object, || format!("Invalid 'input[{at}].arguments'."))?;
                ensure(seen.insert(id), || format!("Duplicate item found with call id {id}."))?;
                open.insert(id);
            }
            Some("function_call_output") => {
                let id = text(item, "call_id");
                ensure(item["output"].is_string(), || format!("Invalid type for 'input[{at}].output'."))?;
                ensure(open.remove(id), || format!("No tool call found for function call output with call_id {id}."))?;
            }
            Some("reasoning") => {
                let id = text(item, "id");
                ensure(id.starts_with("rs_") && item["summary"].is_array(), || format!("Invalid 'input[{at}]'."))?;
                ensure(made.contains(text(item, "encrypted_content")), || {
                    format!("The encrypted content for item {id} could not be verified.")
                })?;
                let follows = items.get(at + 1).is_some_and(|next| {
                    next["type"] == "function_call" || next["role"] == "assistant" || next["type"] == "reasoning"
                });
                ensure(follows, || {
                    format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
                })?;
            }
            Some(other) => return Err(format!("Invalid value: '{other}' for 'input[{at}].type'.")),
        }
    }
    ensure(open.is_empty(), || format!("No tool output found for function call {}.", open.iter().next().unwrap()))
}

fn message(at: usize, item: &Value) -> Result<(), String> {
    let role = text(item, "role");
    ensure(["user", "assistant"].contains(&role), || format!("Invalid value for 'input[{at}].role'."))?;
    let phase = item["phase"].as_str().is_none_or(|phase| ["commentary", "final_answer"].contains(&phase));
    ensure(phase && (role == "assistant" || item.get("phase").is_none()), || {
        format!("Invalid value for 'input[{at}].phase'.")
    })?;
    if let Some(words) = item["content"].as_str() {
        return ensure(!words.trim().is_empty(), || format!("Invalid 'input[{at}].content': empty."));
    }
    ensure(role == "user" && item["content"].is_array(), || format!("Invalid type for 'input[{at}].content'."))?;
    for part in list(item, "content") {
        match part["type"].as_str() {
            Some("input_text") => ensure(part["text"].is_string(), || format!("Invalid 'input[{at}].content'."))?,
            Some("input_image") => picture(text(part, "image_url"))?,
            _ => return Err(format!("Invalid value for 'input[{at}].content[].type'.")),
        }
    }
    Ok(())
}

fn picture(url: &str) -> Result<(), String> {
    let known = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let fits =
        known.is_some_and(|(kind, data)| IMAGES.contains(&kind) && base64(data) && content_of(data) == Some(kind));
    ensure(fits, || "The image data you provided does not represent a valid image.".into())
}
