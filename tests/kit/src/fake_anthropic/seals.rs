//! Preserved thinking: a block of thinking comes back unchanged, and nothing before it has changed.

use serde_json::{Value, json};

/// A block of thinking that the server sent, and what it had been asked.
#[derive(Debug, Clone)]
pub(crate) struct IssuedThinking {
    block: Value,
    prefix: Value,
}

impl IssuedThinking {
    /// The blocks of an answer to this request.
    pub(crate) fn of(blocks: &[Value], body: &Value) -> Vec<Self> {
        let messages = list(&body["messages"]).len();
        blocks.iter().map(|block| Self { block: block.clone(), prefix: prefix(body, messages) }).collect()
    }
}

/// Why the thinking in a request is refused, in the words of the API.
pub(crate) fn request(body: &Value, issued: &[IssuedThinking]) -> Result<(), String> {
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        for (place, block) in list(&message["content"]).iter().enumerate() {
            let kind = block["type"].as_str().unwrap_or_default();
            if !matches!(kind, "thinking" | "redacted_thinking") {
                continue;
            }
            let known = issued
                .iter()
                .find(|issued| issued.block == *block)
                .ok_or_else(|| format!("messages.{at}.content.{place}: Invalid `signature` in `{kind}` block"))?;
            if known.prefix != prefix(body, at) {
                return Err(format!(
                    "messages.{at}.content.{place}: Invalid `signature` in `{kind}` block. The block is bound to a \
                     different conversation."
                ));
            }
        }
    }
    Ok(())
}

/// What the model reads before the `at`th message; where the cache's breakpoints are makes no difference.
fn prefix(body: &Value, at: usize) -> Value {
    let mut prefix = json!({
        "system": body["system"], "tools": body["tools"], "messages": list(&body["messages"])[..at],
    });
    unmark(&mut prefix);
    prefix
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(values) => values.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
