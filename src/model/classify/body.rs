//! The many shapes of an error body, read into one.
//!
//! Never: a decision.
//! Start at [`ErrorBody::parse`].

use std::time::Duration;

use serde_json::Value;

/// What an error body says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    /// The provider's words.
    pub(super) message: String,
    /// Everything that may tell the kind of error, in lower case.
    pub(super) searchable: String,
    /// A status inside the body: OpenRouter, vLLM and Gemini name it there as well.
    pub(super) status: Option<u16>,
    /// Gemini's `retryDelay`.
    pub(super) retry_delay: Option<Duration>,
}

impl ErrorBody {
    /// Reads OpenAI's `{"error": {…}}`, Gemini's `[{"error": {…}}]`, vLLM's `{"object": "error", …}`,
    /// Ollama's `{"error": "…"}`, FastAPI's `{"detail": "…"}`, and plain text.
    pub(super) fn parse(text: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Self { message: text.to_owned(), searchable: text.to_lowercase(), ..Self::default() };
        };
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let field = |name: &str| error.get(name).and_then(Value::as_str);
        let raw = error.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
        let message = error.as_str().or_else(|| field("message")).or_else(|| field("detail")).unwrap_or_default();
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let detail = |name: &str| details.iter().find_map(|detail| detail.get(name).and_then(Value::as_str));
        let kinds = [Some(message), field("type"), field("code"), field("status"), raw, detail("reason")];
        Self {
            message: raw.map_or_else(|| message.to_owned(), |raw| format!("{message}: {raw}")),
            searchable: kinds.into_iter().flatten().collect::<Vec<_>>().join(" ").to_lowercase(),
            status: error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            retry_delay: detail("retryDelay").and_then(seconds),
        }
    }
}

/// Gemini's `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}
