//! What Anthropic's Messages take (API reference "Create a Message"; guides "Tool use", "Extended thinking", "Prompt
//! caching", "Vision"), in its words.

use std::collections::HashSet;

use serde_json::Value;

use super::{IMAGES, base64, content as content_of, ensure, list, text, twice, unknown, word};

/// The longest picture: it is measured as it is sent.
const IMAGE_CHARS_MAX: usize = 5 << 20;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "metadata",
    "service_tier",
    "cache_control",
];

const CACHE_POINTS_MAX: usize = 4;
const BUDGET_TOKENS_MIN: u64 = 1024;
const NAME_LEN_MAX: usize = 64;

/// What is wrong with the body.
pub fn request(body: &Value) -> Result<(), String> {
    check(body, None)
}

/// The same, of a server that knows which signatures it made: thinking must come back under one of them.
pub fn request_signed(body: &Value, issued: &[&str]) -> Result<(), String> {
    check(body, Some(issued))
}

fn check(body: &Value, issued: Option<&[&str]>) -> Result<(), String> {
    let fields = body.as_object().ok_or("Input should be a valid dictionary")?;
    if let Some(field) = unknown(fields, FIELDS) {
        return Err(format!("{field}: Extra inputs are not permitted"));
    }
    ensure(!text(body, "model").is_empty(), || "model: Field required".into())?;
    ensure(!body["max_tokens"].is_null(), || "max_tokens: Field required".into())?;
    ensure(body["max_tokens"].as_u64().is_some_and(|most| most > 0), || {
        "max_tokens: Input should be greater than or equal to 1".into()
    })?;
    if let Some(system) = fields.get("system") {
        let blocks = system.as_array().map_or(std::slice::from_ref(system), Vec::as_slice);
        blocks.iter().try_for_each(|block| words(block.as_str().unwrap_or_else(|| text(block, "text")), "system"))?;
    }
    let messages = list(body, "messages");
    ensure(!messages.is_empty(), || "messages: at least one message is required".into())?;
    let mut history = History { issued, ..History::default() };
    for (at, message) in messages.iter().enumerate() {
        history.take(at, message)?;
    }
    history.all_answered(messages.len())?;
    last(messages)?;
    tools(body, history.ids.is_empty())?;
    thinking(body, messages)?;
    let points = cache_points(body);
    ensure(points <= CACHE_POINTS_MAX, || {
        format!("A maximum of {CACHE_POINTS_MAX} blocks with cache_control may be provided. Found {points}.")
    })
}

/// What has been said so far.
#[derive(Default)]
struct History<'a> {
    issued: Option<&'a [&'a str]>,
    before: &'a str,
    ids: HashSet<&'a str>,
    open: Vec<&'a str>,
}

impl<'a> History<'a> {
    fn take(&mut self, at: usize, message: &'a Value) -> Result<(), String> {
        let role = text(message, "role");
        match role {
            "user" | "assistant" => {}
            "system" => {
                return Err(
                    "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, \
                            not \"system\" as an input message role."
                        .into(),
                );
            }
            _ => return Err(format!("messages.{at}.role: Input should be 'user' or 'assistant'")),
        }
        ensure(at > 0 || role == "user", || "messages: first message must use the \"user\" role".into())?;
        ensure(role != self.before, || {
            format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple {role:?} roles in a row"
            )
        })?;
        self.before = role;
        if let Some(words_alone) = message["content"].as_str() {
            self.all_answered(at)?;
            return words(words_alone, "messages");
        }
        let blocks = list(message, "content");
        ensure(!blocks.is_empty(), || {
            format!(
                "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
            )
        })?;
        let mut answers = 0;
        for (place, block) in blocks.iter().enumerate() {
            let kind = text(block, "type");
            if kind == "tool_result" && role == "user" {
                ensure(answers == place, || {
                    format!("messages.{at}.content.{place}: `tool_result` blocks must come first in the content")
                })?;
                answers += 1;
                self.answer(at, place, block)?;
            } else {
                self.all_answered(at)?;
                self.block(&format!("messages.{at}.content.{place}"), role, block)?;
            }
        }
        if role == "user" { self.all_answered(at) } else { self.calls(blocks) }
    }

    fn block(&self, place: &str, role: &str, block: &'a Value) -> Result<(), String> {
        match (role, text(block, "type")) {
            (_, "text") => words(text(block, "text"), "messages"),
            ("user", "image") => image(place, &block["source"]),
            ("assistant", "tool_use") => {
                ensure(word(text(block, "id"), 64), || {
                    format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
                })?;
                ensure(word(text(block, "name"), NAME_LEN_MAX), || {
                    format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
                })?;
                ensure(block["input"].is_object(), || {
                    format!("{place}.tool_use.input: Input should be a valid dictionary")
                })
            }
            ("assistant", kind @ ("thinking" | "redacted_thinking")) => {
                let seal = text(block, if kind == "thinking" { "signature" } else { "data" });
                ensure(!seal.is_empty(), || format!("{place}.{kind}.signature: Field required"))?;
                ensure(block["cache_control"].is_null(), || {
                    format!("{place}.{kind}.cache_control: Extra inputs are not permitted")
                })?;
                let known = self.issued.is_none_or(|issued| issued.contains(&seal));
                ensure(known, || format!("{place}: Invalid `signature` in `{kind}` block"))
            }
            (_, kind) => {
                Err(format!("{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"))
            }
        }
    }

    fn calls(&mut self, blocks: &'a [Value]) -> Result<(), String> {
        for id in blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| text(block, "id")) {
            ensure(self.ids.insert(id), || "messages: `tool_use` ids must be unique".into())?;
            self.open.push(id);
        }
        Ok(())
    }

    fn answer(&mut self, at: usize, place: usize, block: &'a Value) -> Result<(), String> {
        let id = text(block, "tool_use_id");
        let open = self.open.iter().position(|open| *open == id).ok_or_else(|| {
            format!(
                "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        })?;
        self.open.remove(open);
        match &block["content"] {
            Value::Null => Ok(()),
            Value::String(said) => words(said, "messages"),
            blocks => blocks.as_array().into_iter().flatten().try_for_each(|block| match text(block, "type") {
                "text" => words(text(block, "text"), "messages"),
                _ => image("messages", &block["source"]),
            }),
        }
    }

    fn all_answered(&self, at: usize) -> Result<(), String> {
        ensure(self.open.is_empty(), || {
            format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
                 block must have a corresponding `tool_result` block in the next message.",
                at - 1,
                self.open.join(", ")
            )
        })
    }
}

fn words(words: &str, place: &str) -> Result<(), String> {
    ensure(!words.is_empty(), || format!("{place}: text content blocks must be non-empty"))?;
    ensure(!words.trim().is_empty(), || format!("{place}: text content blocks must contain non-whitespace text"))
}

fn image(place: &str, source: &Value) -> Result<(), String> {
    match text(source, "type") {
        "url" => {
            return ensure(text(source, "url").starts_with("https://"), || {
                format!("{place}: Only HTTPS URLs are supported.")
            });
        }
        "base64" => {}
        _ => return Err(format!("{place}.image.source: Input should be 'base64', 'url' or 'file'")),
    }
    ensure(IMAGES.contains(&text(source, "media_type")), || {
        format!(
            "{place}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        )
    })?;
    let (kind, data) = (text(source, "media_type"), text(source, "data"));
    ensure(base64(data), || format!("{place}.image.source.base64.data: invalid base64 data"))?;
    ensure(data.len() <= IMAGE_CHARS_MAX, || {
        format!(
            "{place}.image.source.base64: image exceeds 5 MB maximum: {} bytes > {IMAGE_CHARS_MAX} bytes",
            data.len()
        )
    })?;
    ensure(content_of(data) == Some(kind), || {
        format!("{place}.image.source.base64.data: Image does not match the provided media type {kind}")
    })
}

/// A final message of the assistant is the beginning of its answer.
fn last(messages: &[Value]) -> Result<(), String> {
    let Some(message) = messages.last().filter(|message| message["role"] == "assistant") else { return Ok(()) };
    let last = list(message, "content").last().map(|block| text(block, "text"));
    let said = message["content"].as_str().or(last).unwrap_or_default();
    ensure(said.trim_end() == said, || "messages: final assistant content cannot end with trailing whitespace".into())
}

fn tools(body: &Value, no_calls: bool) -> Result<(), String> {
    let tools = list(body, "tools");
    ensure(no_calls || !tools.is_empty(), || {
        "Requests which have `tool_use` or `tool_result` blocks in their messages must define tools.".into()
    })?;
    for (at, tool) in tools.iter().enumerate() {
        ensure(word(text(tool, "name"), NAME_LEN_MAX), || {
            format!("tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        })?;
        ensure(tool["input_schema"]["type"] == "object", || {
            format!("tools.{at}.custom.input_schema.type: Input should be 'object'")
        })?;
    }
    let mut names = tools.iter().map(|tool| text(tool, "name"));
    ensure(twice(names.clone()).is_none(), || "tools: Tool names must be unique.".into())?;
    let choice = &body["tool_choice"];
    ensure(choice.is_null() || !tools.is_empty(), || {
        "tool_choice: tool_choice may only be specified while providing tools.".into()
    })?;
    match text(choice, "type") {
        "tool" => {
            let name = text(choice, "name");
            ensure(names.any(|offered| offered == name), || format!("Tool '{name}' not found in provided tools"))
        }
        "auto" | "any" | "none" => Ok(()),
        _ => ensure(choice.is_null(), || "tool_choice: Input should be 'auto', 'any', 'tool' or 'none'".into()),
    }
}

fn thinking(body: &Value, messages: &[Value]) -> Result<(), String> {
    let temperature = &body["temperature"];
    ensure(temperature.is_null() || temperature.as_f64().is_some_and(|t| (0.0..=1.0).contains(&t)), || {
        "temperature: range: 0..1".into()
    })?;
    let thinking = &body["thinking"];
    let kind = text(thinking, "type");
    match kind {
        "enabled" | "adaptive" => {}
        "disabled" => return Ok(()),
        _ => {
            return ensure(thinking.is_null(), || {
                "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'".into()
            });
        }
    }
    ensure(temperature.as_f64().is_none_or(|t| (t - 1.0).abs() < f64::EPSILON), || {
        "`temperature` may only be set to 1 when thinking is enabled.".into()
    })?;
    ensure(!matches!(text(&body["tool_choice"], "type"), "any" | "tool"), || {
        "Thinking may not be enabled when tool_choice forces tool use.".into()
    })?;
    if kind == "adaptive" {
        return Ok(());
    }
    let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
    ensure(budget >= BUDGET_TOKENS_MIN, || {
        format!("thinking.enabled.budget_tokens: Input should be greater than or equal to {BUDGET_TOKENS_MIN}")
    })?;
    ensure(body["max_tokens"].as_u64() > Some(budget), || {
        "`max_tokens` must be greater than `thinking.budget_tokens`.".into()
    })?;
    let last = messages.iter().rposition(|message| message["role"] == "assistant");
    let Some(at) = last else { return Ok(()) };
    let blocks = messages.get(at).map(|message| list(message, "content")).unwrap_or_default();
    let first = blocks.first().map(|block| text(block, "type")).unwrap_or_default();
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    ensure(!calls || matches!(first, "thinking" | "redacted_thinking"), || {
        format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` \
             is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of \
             `tool_use` and `tool_result` blocks)."
        )
    })
}

/// How many blocks are marked, wherever they stand; a tool's arguments are no blocks.
fn cache_points(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(cache_points).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(|mark| !mark.is_null()));
            let inner = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "input" | "input_schema"));
            own + inner.map(|(_, value)| cache_points(value)).sum::<usize>()
        }
        _ => 0,
    }
}
