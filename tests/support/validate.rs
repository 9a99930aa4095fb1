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

/// The pictures that OpenAI and Anthropic take.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Standard Base64 of something.
fn base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    !body.is_empty() && data.len().is_multiple_of(4) && data.len() - body.len() <= 2 && body.chars().all(fits)
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
