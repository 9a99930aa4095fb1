//! Which of the request's parameters a provider refuses.
//!
//! Never: a guess. Where no parameter is named, there is none.
//! Start at [`refused`].

use crate::classify::body::ErrorBody;

/// What stands before the name of a refused parameter, in lower case.
const BEFORE_A_NAME: &[&str] = &[
    "unsupported parameter",
    "unsupported value",
    "unrecognized request argument supplied",
    "unrecognized request arguments supplied",
    "unrecognized parameter",
    "unknown parameter",
    "unknown name",
    "unknown field",
    "argument not supported on this model",
    "does not support parameter",
    "not supported parameter",
    "property",
    "json body into the target type",
];

/// Parameters that are known by their bare names, wherever they stand in a complaint.
const KNOWN: &[&str] = &[
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "reasoning_effort",
    "reasoning_content",
    "thinking",
    "frequency_penalty",
    "presence_penalty",
    "parallel_tool_calls",
    "tool_choice",
    "stream_options",
    "response_format",
];

/// The parameter that the body complains about, by the name it has in the request.
pub(super) fn refused(body: &ErrorBody) -> Option<String> {
    let upstream = || body.upstream.as_ref().and_then(|upstream| refused(upstream));
    let in_words =
        || after_known_words(&body.message).or_else(|| path(body)).or_else(|| parameter_by_phrase(&body.message));
    body.parameter.clone().or_else(in_words).or_else(upstream)
}

/// `Unsupported parameter: 'max_tokens' …`, `Unknown name "stream" at 'x': …`, `… on this model: presencePenalty`.
fn after_known_words(message: &str) -> Option<String> {
    // ASCII alone changes its case, so that what is found there stands at the same place here.
    let lower = message.to_ascii_lowercase();
    let (words, at) = BEFORE_A_NAME.iter().find_map(|words| Some((words, lower.find(words)?)))?;
    let (name, rest) = first_name(message.get(at + words.len()..)?)?;
    if *words == "unknown name" {
        let place = rest.trim_start_matches(['"', '\'']).strip_prefix(" at '").and_then(first_name);
        return Some(match place {
            Some((place, _)) if place != name => format!("{place}.{name}"),
            _ => name.to_owned(),
        });
    }
    // xAI says `presencePenalty` where its API says `presence_penalty`.
    Some(if words.ends_with("model") || words.ends_with("support parameter") { snake(name) } else { name.to_owned() })
}

/// The first word that may be a name, if nothing but punctuation stands before it.
fn first_name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = text.find(|c: char| !is_of_a_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let name = name.trim_end_matches('.');
    (!name.is_empty()).then_some((name, rest))
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')
}

/// Anthropic's `messages.0.content: …`.
fn path(body: &ErrorBody) -> Option<String> {
    let (path, _) = body.message.split_once(": ")?;
    let is_path = path.chars().all(is_of_a_name) && path.starts_with(|c: char| c.is_ascii_lowercase());
    (is_path && body.kinds.iter().any(|kind| kind == "invalid_request_error")).then(|| path.to_owned())
}

/// `` `temperature` is deprecated for this model ``, `invalid temperature: only 1 is allowed`.
fn parameter_by_phrase(message: &str) -> Option<String> {
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.find(|word| KNOWN.contains(word)).map(str::to_owned)
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
