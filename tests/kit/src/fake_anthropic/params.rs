//! What Anthropic refuses from one model and not from another, and what this fake cannot do.

use serde_json::Value;

/// Models that always think.
const ALWAYS_THINKING: [&str; 2] = ["claude-opus-5-5", "claude-fable-5-1"];
/// More models that take no budget and no temperature.
const WITHOUT_BUDGET: [&str; 2] = ["claude-opus-4-7", "claude-opus-4-8"];

/// Why the request is refused, in the words of the API.
pub fn request(body: &Value) -> Result<(), String> {
    if body["stream"] != true {
        return Err("This fake only streams: set stream to true.".to_owned());
    }
    let model = body["model"].as_str().unwrap_or_default();
    let always = ALWAYS_THINKING.contains(&model);
    let newer = always || WITHOUT_BUDGET.contains(&model);
    match body["thinking"]["type"].as_str() {
        Some("disabled") if always => return Err("thinking: this model cannot turn thinking off".to_owned()),
        Some("enabled") if newer => {
            let why = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
                       \"output_config.effort\" to control thinking behavior.";
            return Err(why.to_owned());
        }
        _ => {}
    }
    if newer && !body["temperature"].is_null() {
        return Err("temperature: this model takes no sampling parameters".to_owned());
    }
    if always && matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err("tool_choice: this model does not support forced tool use".to_owned());
    }
    Ok(())
}

/// How many parts of the request end with a breakpoint.
pub fn breakpoints(body: &Value) -> usize {
    match body {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| if name == "cache_control" { 1 } else { breakpoints(value) }).sum()
        }
        Value::Array(values) => values.iter().map(breakpoints).sum(),
        _ => 0,
    }
}
