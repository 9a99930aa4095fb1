//! What Ollama refuses about a request besides its published rules (`validate::ollama`): what depends on the model.
//! And what Hob must not do: a request without `num_ctx`.

use serde_json::Value;

use crate::fake_ollama::Model;
use crate::validate::ollama;

/// How many bytes of text make a token, as this server counts.
const TOKEN_BYTES: usize = 4;

/// What is wrong with the body.
pub fn request(body: &Value, model: &Model) -> Result<(), String> {
    let can = |what: &str| model.capabilities.contains(&what);
    ollama::request(body)?;
    ensure(body["options"]["num_ctx"].is_u64(), || {
        "A request without num_ctx would be shortened to 4096 tokens.".into()
    })?;
    ensure(body.get("tools").is_none() || can("tools"), || {
        format!("registry.ollama.ai/library/{}:latest does not support tools", model.name)
    })?;
    if let Some(think) = body.get("think") {
        ensure(can("thinking"), || format!("\"{}\" does not support thinking", model.name))?;
        ensure(think.is_boolean() || model.architecture == "gptoss", || {
            format!("think value {think} is not supported for this model")
        })?;
    }
    let mut messages = body["messages"].as_array().into_iter().flatten();
    ensure(can("vision") || messages.all(|message| message.get("images").is_none()), || {
        "this model is missing data required for image input".into()
    })?;
    results(body)
}

/// Templates set the results beside the calls by their order.
fn results(body: &Value) -> Result<(), String> {
    let mut open: Vec<&Value> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            ensure(open.first() == Some(&&message["tool_name"]), || "a result that is not of the next call".into())?;
            open.remove(0);
        }
        open.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["function"]["name"]));
    }
    Ok(())
}

/// How many tokens the request takes: its texts, not its pictures.
pub fn tokens(body: &Value) -> u64 {
    let texts = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_str());
    let bytes: usize = texts.map(str::len).sum::<usize>() + body["tools"].to_string().len();
    u64::try_from(bytes / TOKEN_BYTES).unwrap()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
