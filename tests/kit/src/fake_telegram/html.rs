//! Telegram's HTML, read as strictly as Telegram reads it, and a little more: what Telegram would drop in silence (an
//! entity within code, a quotation within a quotation) is refused here, so that a renderer's mistake is seen.

use serde_json::{Value, json};

use super::server::Refusal;

/// Beyond so many, Telegram ignores entities.
const ENTITIES_MAX: usize = 100;
/// How many bytes all of them may have together.
const ENTITY_BYTES_MAX: usize = 9_500;
/// What an entity has besides its address.
const OVERHEAD: usize = 20;

/// A text without its tags, and what the tags say of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ParsedHtml {
    pub text: String,
    pub entities: Vec<Value>,
}

struct OpenTag<'a> {
    tag: &'a str,
    kind: &'static str,
    begin: usize,
    more: Value,
}

fn refusal(what: String) -> Refusal {
    Refusal::bad(&format!("can't parse entities: {what}"))
}

/// The entity that a tag makes, with its attributes; none: Telegram knows no such tag.
fn entity(tag: &str, attributes: &str) -> Option<(&'static str, Value)> {
    let attribute = |name: &str| {
        let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
        Some(decoded(rest.split_once('"')?.0))
    };
    let plain = |kind| Some((kind, json!({})));
    match tag {
        "b" | "strong" => plain("bold"),
        "i" | "em" => plain("italic"),
        "u" | "ins" => plain("underline"),
        "s" | "strike" | "del" => plain("strikethrough"),
        "tg-spoiler" => plain("spoiler"),
        "span" if attribute("class").as_deref() == Some("tg-spoiler") => plain("spoiler"),
        "blockquote" => plain(if attributes.contains("expandable") { "expandable_blockquote" } else { "blockquote" }),
        "pre" => plain("pre"),
        "code" => {
            let language = attribute("class").and_then(|class| class.strip_prefix("language-").map(str::to_owned));
            Some(("code", language.map_or(json!({}), |language| json!({ "language": language }))))
        }
        "a" => Some(("text_link", json!({ "url": attribute("href").unwrap_or_default() }))),
        "tg-emoji" => Some(("custom_emoji", json!({ "custom_emoji_id": attribute("emoji-id")? }))),
        _ => None,
    }
}

/// Whether an entity may stand in these.
fn may_nest(kind: &str, within: &[OpenTag<'_>]) -> bool {
    let code = |kind: &str| matches!(kind, "code" | "pre");
    let only_pre = within.last().is_some_and(|outer| outer.kind == "pre") && kind == "code";
    let in_code = within.iter().any(|outer| code(outer.kind)) && !only_pre;
    let in_other = code(kind) && within.iter().any(|outer| !code(outer.kind) && !outer.kind.contains("blockquote"));
    let twice = kind.contains("blockquote") && within.iter().any(|outer| outer.kind.contains("blockquote"));
    !(in_code || in_other || twice)
}

/// Reads it.
pub(super) fn parse(source: &str) -> Result<ParsedHtml, Refusal> {
    let mut parsed = ParsedHtml::default();
    let mut open: Vec<OpenTag<'_>> = Vec::new();
    let mut rest = source;
    while let Some((before, behind)) = rest.split_once('<') {
        parsed.text.push_str(&decoded(before));
        let at = source.len() - behind.len() - 1;
        let Some((inside, after)) = behind.split_once('>') else {
            return Err(refusal(format!("Unclosed start tag at byte offset {at}")));
        };
        rest = after;
        let end = parsed.text.encode_utf16().count();
        if let Some(tag) = inside.strip_prefix('/') {
            let Some(OpenTag { tag: expected, kind, begin, more }) = open.pop() else {
                return Err(refusal(format!("Unexpected end tag at byte offset {at}")));
            };
            if tag.trim() != expected {
                let why =
                    format!("Unmatched end tag at byte offset {at}, expected \"</{expected}>\", found \"</{tag}>\"");
                return Err(refusal(why));
            }
            close(&mut parsed, kind, begin, end, more);
            continue;
        }
        let (tag, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        let Some((kind, more)) = entity(tag, attributes) else {
            return Err(refusal(format!("Unsupported start tag \"{tag}\" at byte offset {at}")));
        };
        if !may_nest(kind, &open) {
            return Err(refusal(format!("\"{tag}\" at byte offset {at} is in what cannot hold it")));
        }
        open.push(OpenTag { tag, kind, begin: end, more });
    }
    if let Some(OpenTag { tag, .. }) = open.last() {
        return Err(refusal(format!("Can't find end tag corresponding to start tag \"{tag}\"")));
    }
    parsed.text.push_str(&decoded(rest));
    weighed(trimmed(parsed))
}

/// An entity is over; one that holds nothing is none.
fn close(parsed: &mut ParsedHtml, kind: &str, begin: usize, end: usize, more: Value) {
    let mut entity = json!({"type": kind, "offset": begin, "length": end - begin});
    let inner = parsed.entities.last().filter(|last| kind == "pre" && last["type"] == "code").cloned();
    if let Some(inner) =
        inner.filter(|inner| inner["offset"] == entity["offset"] && inner["length"] == entity["length"])
    {
        parsed.entities.pop();
        if let Some(language) = inner.get("language") {
            entity["language"] = language.clone();
        }
    }
    if let (Some(fields), Value::Object(more)) = (entity.as_object_mut(), more) {
        fields.extend(more);
    }
    if begin < end {
        parsed.entities.push(entity);
    }
}

/// Telegram takes white space off the ends.
fn trimmed(mut parsed: ParsedHtml) -> ParsedHtml {
    let lead = parsed.text.len() - parsed.text.trim_start().len();
    let units = parsed.text[..lead].encode_utf16().count() as u64;
    for entity in &mut parsed.entities {
        let begin = entity["offset"].as_u64().unwrap_or_default();
        entity["offset"] = json!(begin.saturating_sub(units));
    }
    parsed.text = parsed.text.trim().to_owned();
    parsed
}

fn weighed(mut parsed: ParsedHtml) -> Result<ParsedHtml, Refusal> {
    let weight = |entity: &Value| OVERHEAD + entity["url"].as_str().map_or(0, str::len);
    if parsed.entities.iter().map(weight).sum::<usize>() > ENTITY_BYTES_MAX {
        return Err(Refusal::bad("ENTITIES_TOO_LONG"));
    }
    parsed.entities.sort_by_key(|entity| entity["offset"].as_u64());
    parsed.entities.truncate(ENTITIES_MAX);
    Ok(parsed)
}

/// The four names that Telegram knows, and numbers; another `&` stands for itself.
fn decoded(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        decoded.push_str(before);
        let named = behind.split_once(';').and_then(|(name, after)| Some((sign(name)?, after)));
        let (sign, after) = named.unwrap_or(('&', behind));
        decoded.push(sign);
        rest = after;
    }
    decoded + rest
}

fn sign(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        other => {
            let number = other.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
