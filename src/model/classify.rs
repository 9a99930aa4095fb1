//! From what a provider answered to what one does about it (row A7).
//!
//! Never: I/O. This is the only file that reads meaning out of error texts.
//! Start at [`classify`].

use std::time::Duration;

use jiff::fmt::rfc2822;

use crate::model::classify::body::ErrorBody;
use crate::model::error::{ErrorClass, ModelError};

mod body;
#[cfg(test)]
mod tests;

/// The longest wait that is believed.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of the provider's own words a person is shown.
const QUOTE_CHARS_MAX: usize = 200;

/// A refusal, as it came over HTTP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refusal<'a> {
    /// The status; 0 where the error came inside a stream without one.
    pub status: u16,
    /// The header `retry-after`: seconds, or an HTTP date.
    pub retry_after: Option<&'a str>,
    /// The header `date`, against which an HTTP date is read.
    pub date: Option<&'a str>,
    /// The body, perhaps not JSON.
    pub body: &'a str,
}

/// What to do about a refusal, in words for a person.
#[must_use]
pub fn classify(refusal: &Refusal<'_>) -> ModelError {
    let body = ErrorBody::parse(refusal.body);
    let status = if refusal.status == 0 { body.status.unwrap_or(0) } else { refusal.status };
    let class = class_of(status, &body);
    let asked = refusal.retry_after.and_then(|header| header_wait(header, refusal.date)).or(body.retry_delay);
    let waits = matches!(class, ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Server);
    ModelError {
        class,
        message: message(class, status, &body),
        retry_after: asked.filter(|_| waits).map(|wait| wait.min(RETRY_AFTER_MAX)),
        parameter: None,
    }
}

/// Whether the server refuses only the wish to be told the usage.
#[must_use]
pub fn refuses_usage(refusal: &Refusal<'_>) -> bool {
    matches!(refusal.status, 400 | 422)
        && (refusal.body.contains("stream_options") || refusal.body.contains("include_usage"))
}

/// The first phrase that fits decides; statuses decide where no phrase does.
fn class_of(status: u16, body: &ErrorBody) -> ErrorClass {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| body.searchable.contains(phrase));
    let client_error = status == 0 || (400..500).contains(&status);
    let phrases: &[(&[&str], ErrorClass)] = &[
        (
            &[
                "insufficient_quota",
                "billing_hard_limit",
                "billing_not_active",
                "credit balance",
                "insufficient credits",
            ],
            ErrorClass::Billing,
        ),
        (&["insufficient balance", "billing_error", "payment required"], ErrorClass::Billing),
        (
            &["api_key_invalid", "invalid_api_key", "api key not valid", "authentication_error", "api key expired"],
            ErrorClass::Auth,
        ),
        (&["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"], ErrorClass::RateLimit),
        (&["overloaded_error"], ErrorClass::Overloaded),
        (
            &["context_length_exceeded", "maximum context length", "prompt is too long", "input token count"],
            ErrorClass::ContextTooLong,
        ),
        (
            &["exceeds the available context size", "context window", "request_too_large", "input is too long"],
            ErrorClass::ContextTooLong,
        ),
        (
            &[
                "content_filter",
                "content_policy_violation",
                "content management policy",
                "requires moderation",
                "flagged",
            ],
            ErrorClass::Refused,
        ),
        (
            &["model_not_found", "not a valid model", "no endpoints found", "invalid model", "does not support tools"],
            ErrorClass::UnknownModel,
        ),
    ];
    if client_error || status == 529 {
        if let Some((_, class)) = phrases.iter().find(|(texts, _)| says(texts)) {
            return *class;
        }
        if matches!(status, 0 | 400 | 404) && unknown_model(&body.searchable) {
            return ErrorClass::UnknownModel;
        }
    }
    by_status(status)
}

/// `model "x" not found`, `models/x is not found`, `The model x does not exist`, `model: x` of a `not_found_error`.
fn unknown_model(searchable: &str) -> bool {
    searchable.contains("model") && ["not found", "not_found", "does not exist"].iter().any(|w| searchable.contains(w))
}

fn by_status(status: u16) -> ErrorClass {
    match status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Billing,
        408 | 504 | 524 => ErrorClass::Timeout,
        413 => ErrorClass::ContextTooLong,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        0 | 500..=599 => ErrorClass::Server,
        _ => ErrorClass::BadRequest,
    }
}

/// Words for a person: what happened, what to do, and what the provider said where that helps and is no secret.
fn message(class: ErrorClass, status: u16, body: &ErrorBody) -> String {
    let quote = quote(&body.message);
    let said = if quote.is_empty() { String::new() } else { format!(" It says: {quote}") };
    match class {
        ErrorClass::Auth if status == 403 => {
            format!("The model provider denies access (403): check that the API key may use this model.{said}")
        }
        ErrorClass::Auth => {
            "The model provider does not accept the API key: check `api_key` under [provider] in config.toml, \
             or the key in the environment."
                .to_owned()
        }
        ErrorClass::Billing => {
            "The account at the model provider has no credit left: top it up there, or choose another provider \
             under [provider] in config.toml."
                .to_owned()
        }
        ErrorClass::RateLimit => format!("The model provider allows no more calls for now.{said}"),
        ErrorClass::Overloaded => format!("The model provider is overloaded at the moment.{said}"),
        ErrorClass::UnknownModel => {
            format!("The model cannot be used: check `primary` under [provider.models] in config.toml.{said}")
        }
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
        ErrorClass::Malformed => "The model's reply cannot be understood.".to_owned(),
        ErrorClass::Resting => "The model failed too often a moment ago and is left alone for a while.".to_owned(),
    }
}

/// The provider's words on one short line, without what looks like a key.
fn quote(message: &str) -> String {
    if message.trim_start().starts_with('<') {
        return String::new();
    }
    let words: Vec<_> =
        message.split_whitespace().map(|word| if is_secret(word) { "[secret]" } else { word }).collect();
    let line = words.join(" ");
    match line.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn is_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    ["sk-", "sk_", "AIza", "gsk_", "xai-", "hf_"].iter().any(|prefix| word.starts_with(prefix)) || word.contains("=sk-")
}

/// The wait that a `retry-after` header names; an HTTP date counts from the response's own `date`.
fn header_wait(header: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = header.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = rfc2822::parse(header.trim()).ok()?;
    let from = rfc2822::parse(date?.trim()).ok()?;
    Some(Duration::from_secs(
        until.timestamp().as_second().saturating_sub(from.timestamp().as_second()).try_into().ok()?,
    ))
}
