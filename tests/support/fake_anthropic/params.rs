//! What Anthropic refuses in a request besides its messages: fields, thinking, forced tools, breakpoints.

use serde_json::Value;

const FIELDS: [&str; 16] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "temperature",
    "thinking",
    "output_config",
    "metadata",
    "stop_sequences",
    "top_p",
    "top_k",
    "service_tier",
    "cache_control",
];
/// Models that always think.
const ALWAYS_THINKING: [&str; 2] = ["claude-opus-5-5", "claude-fable-5-1"];
/// Models that take no budget: the ones above, and these.
const WITHOUT_BUDGET: [&str; 2] = ["claude-opus-4-7", "claude-opus-4-8"];
const BREAKPOINTS_MAX: usize = 4;

/// Why the request is refused, in the words of the API.
pub fn request(body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("Input should be a valid dictionary")?;
    if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(format!("{field}: Extra inputs are not permitted"));
    }
    let model = body["model"].as_str().ok_or("model: Field required")?;
    let max_tokens = body["max_tokens"].as_u64().ok_or("max_tokens: Field required")?;
    if max_tokens == 0 {
        return Err("max_tokens: Input should be greater than or equal to 1".to_owned());
    }
    if body["stream"] != true {
        return Err("This fake only streams: set stream to true.".to_owned());
    }
    thinking(body, model, max_tokens)?;
    tool_choice(body, model)?;
    if breakpoints(body) > BREAKPOINTS_MAX {
        return Err(format!(
            "A maximum of {BREAKPOINTS_MAX} blocks with cache_control may be provided. Found {}.",
            breakpoints(body)
        ));
    }
    Ok(())
}

fn thinking(body: &Value, model: &str, max_tokens: u64) -> Result<(), String> {
    let always = ALWAYS_THINKING.contains(&model);
    let on = match body["thinking"]["type"].as_str() {
        None => always,
        Some("adaptive") => true,
        Some("disabled") if always => return Err("thinking: this model cannot turn thinking off".to_owned()),
        Some("disabled") => false,
        Some("enabled") if always || WITHOUT_BUDGET.contains(&model) => {
            return Err("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" \
                        and \"output_config.effort\" to control thinking behavior."
                .to_owned());
        }
        Some("enabled") => {
            let budget =
                body["thinking"]["budget_tokens"].as_u64().ok_or("thinking.enabled.budget_tokens: Field required")?;
            if budget < 1024 {
                return Err("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned());
            }
            if budget >= max_tokens {
                return Err("`max_tokens` must be greater than `thinking.budget_tokens`.".to_owned());
            }
            true
        }
        Some(other) => return Err(format!("thinking: Input tag '{other}' is not known")),
    };
    if on && body.get("temperature").is_some_and(|temperature| temperature != 1.0) {
        return Err("`temperature` may only be set to 1 when thinking is enabled.".to_owned());
    }
    if body["temperature"].as_f64().is_some_and(|temperature| !(0.0..=1.0).contains(&temperature)) {
        return Err("temperature: range: 0..1".to_owned());
    }
    if on && matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".to_owned());
    }
    Ok(())
}

fn tool_choice(body: &Value, model: &str) -> Result<(), String> {
    let choice = &body["tool_choice"];
    let kind = match choice.get("type").and_then(Value::as_str) {
        None if choice.is_null() => return Ok(()),
        Some(kind @ ("auto" | "any" | "tool" | "none")) => kind,
        _ => return Err("tool_choice: Input tag is not one of 'auto', 'any', 'tool', 'none'".to_owned()),
    };
    let tools = body["tools"].as_array().filter(|tools| !tools.is_empty());
    let tools = tools.ok_or("tool_choice may only be specified while providing tools.")?;
    if kind == "tool" && !tools.iter().any(|tool| tool["name"] == choice["name"]) {
        return Err(format!("Tool {} not found in provided tools", choice["name"]));
    }
    if matches!(kind, "any" | "tool") && ALWAYS_THINKING.contains(&model) {
        return Err("tool_choice: this model does not support forced tool use".to_owned());
    }
    Ok(())
}

/// How many parts of the request end with a breakpoint.
pub fn breakpoints(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| if name == "cache_control" { 1 } else { breakpoints(value) }).sum()
        }
        Value::Array(values) => values.iter().map(breakpoints).sum(),
        _ => 0,
    }
}
