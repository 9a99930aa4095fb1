//! From what a provider answered to what one does about it (row A7).
//!
//! Never: I/O. This room alone reads meaning out of error texts.
//! Start at `classify`; `class` has the table.

use std::time::Duration;

use crate::classify::body::ErrorBody;
use crate::error::{ErrorClass, ModelError};

mod body;
mod class;
mod parameter;
#[cfg(test)]
mod tests;
mod wait;

/// The longest wait that is believed.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of the provider's own words a person is shown.
const QUOTE_CHARS_MAX: usize = 200;

/// What a key begins with, at the providers that mark theirs.
const KEY_PREFIXES: &[&str] = &["sk-", "sk_", "AIza", "gsk_", "xai-", "hf_", "ak-", "pplx-"];

/// A refusal, as it came over HTTP.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ErrorResponse<'a> {
    /// The status; 0 where the error came inside a stream without one.
    pub status: u16,
    /// The header `retry-after`: seconds, or an HTTP date.
    pub retry_after: Option<&'a str>,
    /// The header `retry-after-ms` (OpenAI, Azure).
    pub retry_after_ms: Option<&'a str>,
    /// When the limit that is used up is lifted: `2m59.56s` (OpenAI, Groq).
    pub reset: Option<&'a str>,
    /// The header `date`, against which an HTTP date is read.
    pub date: Option<&'a str>,
    /// The body, perhaps not JSON.
    pub body: &'a str,
}

impl<'a> ErrorResponse<'a> {
    /// A refusal with everything that its headers tell; `header` finds one by its name in lower case.
    pub(crate) fn with_headers(status: u16, header: impl Fn(&str) -> Option<&'a str>, body: &'a str) -> Self {
        let is_out =
            |what: &str| header(&format!("x-ratelimit-remaining-{what}")).is_some_and(|left| left.trim() == "0");
        let reset = ["requests", "tokens"].into_iter().find(|what| is_out(what));
        Self {
            status,
            retry_after: header("retry-after"),
            retry_after_ms: header("retry-after-ms"),
            reset: reset.and_then(|what| header(&format!("x-ratelimit-reset-{what}"))),
            date: header("date"),
            body,
        }
    }
}

/// What to do about a refusal, in words for a person.
pub(crate) fn classify(refusal: &ErrorResponse<'_>) -> ModelError {
    let body = ErrorBody::parse(refusal.body);
    let is_success = (200..300).contains(&refusal.status);
    // An error inside a success counts as what it says itself.
    let unknown = refusal.status == 0 || is_success && body.is_error;
    let status = if unknown { body.status.unwrap_or(0) } else { refusal.status };
    let class = class::class_of(status, &body);
    let waits = matches!(class, ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Server);
    let asked = waits.then(|| wait::requested_wait(refusal, &body)).flatten();
    ModelError {
        class,
        message: message(class, status, &body),
        retry_after: asked.map(|wait| wait.min(RETRY_AFTER_MAX)),
        parameter: (class == ErrorClass::BadRequest).then(|| parameter::refused(&body)).flatten(),
    }
}

/// Words for a person: what happened, and what the provider said where that helps and is not a secret. What to do about a whole class
/// says whoever tells it: to a chat, to whoever sets Hob up.
fn message(class: ErrorClass, status: u16, body: &ErrorBody) -> String {
    let quote = quote(&body.full_message());
    let said = if quote.is_empty() { String::new() } else { format!(" It says: {quote}") };
    match class {
        ErrorClass::Auth if status != 401 && !names_key(&body.message) => {
            format!("The model provider denies access ({status}): check that the API key may use this model.{said}")
        }
        ErrorClass::Auth => "The model provider does not accept the API key.".to_owned(),
        ErrorClass::Billing => "The account at the model provider has no credit left.".to_owned(),
        ErrorClass::RateLimit if is_daily(body) => format!("The model provider allows no more calls today.{said}"),
        ErrorClass::RateLimit => format!("The model provider allows no more calls for now.{said}"),
        ErrorClass::Overloaded => format!("The model provider is overloaded at the moment.{said}"),
        ErrorClass::UnknownModel => format!("The model cannot be used.{said}"),
        ErrorClass::ContextTooLong => format!("The conversation is too long for the model.{said}"),
        ErrorClass::Refused => format!("The model provider refuses this content.{said}"),
        ErrorClass::BadRequest if matches!(status, 300..=399 | 404 | 405) => {
            format!(
                "There is no model API at this address ({status}): check `base_url` under [provider] in config.toml."
            )
        }
        ErrorClass::BadRequest => format!("The model provider finds the request malformed ({status}).{said}"),
        ErrorClass::Timeout => "The model provider did not answer in time.".to_owned(),
        ErrorClass::Network => "The connection to the model provider failed.".to_owned(),
        ErrorClass::Server if status == 0 => format!("The model provider failed.{said}"),
        ErrorClass::Server => format!("The model provider failed ({status}).{said}"),
        ErrorClass::Malformed if body.is_page => {
            "There is a web page where the model should be: check `base_url` under [provider] in config.toml."
                .to_owned()
        }
        ErrorClass::Malformed => "The model's reply cannot be understood.".to_owned(),
        ErrorClass::Resting => "The model failed too often a moment ago and is left alone for a while.".to_owned(),
    }
}

/// The provider's words on one short line, without what looks like a key.
fn quote(message: &str) -> String {
    if message.trim_start().starts_with('<') {
        return String::new();
    }
    let mut after_bearer = false;
    let words: Vec<_> = message
        .split_whitespace()
        .map(|word| {
            let is_hidden = after_bearer || is_secret(word);
            after_bearer = word.eq_ignore_ascii_case("bearer");
            if is_hidden { "[secret]" } else { word }
        })
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether any part of a word looks like a key: `key=sk-…`, `<ak-…>`, `AIza…`.
fn is_secret(word: &str) -> bool {
    let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    parts.any(|part| KEY_PREFIXES.iter().any(|prefix| part.starts_with(prefix)))
}

/// Whether the key itself is at fault, not what it may do.
fn names_key(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("api key")
        && ["invalid", "not valid", "incorrect", "expired", "leaked"].iter().any(|w| message.contains(w))
}

/// Whether the day's quota is used up: nobody needs to wait beside it.
fn is_daily(body: &ErrorBody) -> bool {
    let words = body.full_message().to_lowercase();
    body.is_daily || ["per day", "per-day", "(tpd)", "(rpd)"].iter().any(|word| words.contains(word))
}
