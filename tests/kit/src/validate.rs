//! The published rules of providers for the body of a request, as strict as the strictest server that was seen.
//!
//! Never: a look at what Hob meant. Each file answers `Err` in its provider's own words where they are known.
//! Start at `request` of a provider's file.

use std::collections::HashSet;

use serde_json::{Map, Value};

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod openai;
pub mod responses;

/// The pictures that OpenAI and Anthropic take.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Standard Base64 of something.
fn base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    !body.is_empty() && data.len().is_multiple_of(4) && data.len() - body.len() <= 2 && body.chars().all(fits)
}

/// What the content of this Base64 is, by how it begins: all servers decode the pictures that they get.
fn content(data: &str) -> Option<&'static str> {
    use base64::Engine as _;
    let head = data.get(..data.len().min(16))?;
    let head = base64::engine::general_purpose::STANDARD.decode(head).ok()?;
    match head.as_slice() {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Some("image/webp"),
        _ => None,
    }
}

/// The smallest thing that begins as a picture of this kind, in Base64.
pub fn sample(kind: &str) -> &'static str {
    match kind {
        "image/jpeg" => "/9j/",
        "image/gif" => "R0lGODlh",
        "image/webp" => "UklGRgAAAABXRUJQ",
        _ => "iVBORw0KGgo=",
    }
}

/// `^[a-zA-Z0-9_-]{1,max}$`.
fn word(text: &str, max: usize) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=max).contains(&text.len()) && text.chars().all(fits)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The first of the keys that is not known.
fn unknown<'a>(object: &'a Map<String, Value>, known: &[&str]) -> Option<&'a str> {
    object.keys().map(String::as_str).find(|key| !known.contains(key))
}

/// The first that stands twice.
fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
