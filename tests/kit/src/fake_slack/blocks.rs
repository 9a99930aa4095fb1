//! Which blocks Slack takes.

use std::collections::BTreeSet;

use serde_json::Value;

/// Slack counts characters; which, it does not say: the larger count.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What Slack says of these blocks.
pub(super) fn check(blocks: &[Value]) -> Result<(), (&'static str, String)> {
    let bad = |at: String, why: &str| Err(("invalid_blocks", format!("[ERROR] {why} [json-pointer:{at}]")));
    if blocks.len() > 50 {
        return bad("/blocks".to_owned(), "no more than 50 items allowed");
    }
    let mut total = 0;
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("/blocks/{index}");
        match block["type"].as_str() {
            Some("section") => {
                let text = block["text"]["text"].as_str().unwrap_or_default();
                let more = match block["text"]["type"].as_str() {
                    Some("mrkdwn") => "verbatim",
                    Some("plain_text") => "emoji",
                    _ => return bad(at, "unsupported type"),
                };
                let mut fields = block["text"].as_object().into_iter().flatten();
                let known = |(key, value): (&String, &Value)| {
                    matches!(key.as_str(), "type" | "text") || (key == more && value.is_boolean())
                };
                if !fields.all(known) {
                    return bad(format!("{at}/text"), "no more fields allowed");
                }
                if text.is_empty() || length(text) > 3_000 {
                    return bad(format!("{at}/text/text"), "must be more than 0 and less than 3001 characters");
                }
                total += length(text);
            }
            Some("actions") => actions(&at, block)?,
            Some("context" | "divider" | "header" | "rich_text" | "markdown" | "image") => {}
            _ => return bad(at, "unsupported type"),
        }
    }
    if total > 13_000 {
        return Err(("msg_blocks_too_long", String::new()));
    }
    Ok(())
}

fn actions(at: &str, block: &Value) -> Result<(), (&'static str, String)> {
    let bad = |why: &str| Err(("invalid_blocks", format!("[ERROR] {why} [json-pointer:{at}/elements]")));
    let Some(elements) = block["elements"].as_array().filter(|elements| (1..=25).contains(&elements.len())) else {
        return bad("must have 1 to 25 items");
    };
    let mut ids = BTreeSet::new();
    for element in elements {
        let (label, value, id) = (&element["text"], element["value"].as_str(), element["action_id"].as_str());
        if element["type"] != "button" || label["type"] != "plain_text" {
            return bad("unsupported type");
        }
        if !(1..=75).contains(&length(label["text"].as_str().unwrap_or_default())) {
            return bad("text must be less than 76 characters");
        }
        if value.is_none_or(|value| value.is_empty() || value.len() > 2_000) {
            return bad("value must be less than 2001 characters");
        }
        if id.is_none_or(|id| id.is_empty() || id.len() > 255 || !ids.insert(id)) {
            return bad("action_id must be unique");
        }
    }
    Ok(())
}
