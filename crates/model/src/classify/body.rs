//! The many shapes of an error body, read into one.
//!
//! Never: a decision.
//! Start at [`ErrorBody::parse`].

use std::time::Duration;

use serde_json::Value;

use crate::classify::wait;

/// How many bodies within bodies are read: proxies put the provider's whole body into their own message.
const DEPTH_MAX: u8 = 3;

/// What an error body says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    /// The provider's words.
    pub(super) message: String,
    /// The names that it has for the kind of error, in lower case: types, codes, reasons.
    pub(super) kinds: Vec<String>,
    /// A status inside the body: OpenRouter, vLLM and Gemini name it there as well.
    pub(super) status: Option<u16>,
    /// Gemini's `retryDelay`.
    pub(super) retry_delay: Option<Duration>,
    /// What the body names as the parameter at fault.
    pub(super) parameter: Option<String>,
    /// What a provider behind this one said, where this one only passes it on (OpenRouter).
    pub(super) upstream: Option<Box<Self>>,
    /// A quota that is counted by the day is used up.
    pub(super) is_daily: bool,
    /// A web page: whatever stands there, it is not said by a model's API.
    pub(super) is_page: bool,
    /// It calls itself an error.
    pub(super) is_error: bool,
}

impl ErrorBody {
    /// Reads OpenAI's `{"error": {…}}`, Gemini's `[{"error": {…}}]`, vLLM's `{"object": "error", …}`,
    /// Ollama's `{"error": "…"}`, xAI's `{"code": "…", "error": "…"}`, FastAPI's `{"detail": […]}`, web pages and text.
    pub(super) fn parse(text: &str) -> Self {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::read(&value, DEPTH_MAX),
            Err(_) if text.trim_start().starts_with('<') => Self { is_page: true, ..Self::default() },
            Err(_) => Self { message: text.to_owned(), ..Self::default() },
        }
    }

    /// The message and the kinds, in lower case.
    pub(super) fn searchable(&self) -> String {
        format!("{} {}", self.message.to_lowercase(), self.kinds.join(" "))
    }

    /// The provider's words, and those of the provider behind it.
    pub(super) fn full_message(&self) -> String {
        match &self.upstream {
            Some(upstream) => format!("{}: {}", self.message, upstream.message),
            None => self.message.clone(),
        }
    }

    fn read(value: &Value, depth: u8) -> Self {
        let value = value.get(0).unwrap_or(value);
        let listed = value.get("errors").and_then(|errors| errors.get(0));
        let named = value.get("error").filter(|error| !error.is_null());
        let error = named.or(listed).unwrap_or(value);
        let field = |name: &str| error.get(name).or_else(|| value.get(name)).filter(|field| !field.is_null());
        let text = |name: &str| field(name).and_then(Value::as_str);
        let details = Details(error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default());
        let words = error.is_string().then_some(error);
        let words = words.or_else(|| field("message")).or_else(|| field("detail")).or_else(|| field("msg"));
        let said = words.map(|words| Self::parse_message(words, depth)).unwrap_or_default();
        let inner = error.get("innererror").and_then(|inner| inner.get("code")).and_then(Value::as_str);
        let kinds = ["type", "code", "status", "error_type", "reason"].into_iter().filter_map(text);
        let kinds = kinds.chain(inner).chain(details.text("reason")).map(str::to_lowercase);
        let metadata = error.get("metadata");
        let upstream =
            metadata.and_then(|metadata| metadata.get("raw")).map(|raw| Box::new(Self::parse_message(raw, depth)));
        let parameter = text("param").filter(|name| !name.is_empty()).map(str::to_owned);
        Self {
            message: said.message,
            kinds: kinds.chain(said.kinds).collect(),
            status: field("code").and_then(status).or(said.status),
            retry_delay: details.text("retryDelay").and_then(wait::duration).or(said.retry_delay),
            parameter: parameter.or_else(|| details.field()).or_else(|| location(value)).or(said.parameter),
            upstream: upstream.filter(|upstream| !upstream.message.trim().is_empty()).or(said.upstream),
            is_daily: details.is_daily() || said.is_daily,
            is_page: false,
            is_error: named.is_some() || listed.is_some() || text("object") == Some("error"),
        }
    }

    /// What stands where the message should: words, the body of another error, or FastAPI's list of complaints.
    fn parse_message(words: &Value, depth: u8) -> Self {
        let Some(depth) = depth.checked_sub(1) else {
            return Self::default();
        };
        match words {
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                let inner = serde_json::from_str(text).map(|inner| Self::read(&inner, depth));
                inner.unwrap_or_else(|_| Self { message: text.clone(), ..Self::default() })
            }
            Value::String(text) => Self { message: text.clone(), ..Self::default() },
            Value::Array(_) | Value::Object(_) => {
                let said = Self::read(words, depth);
                let parameter = said.parameter.or_else(|| loc(words.get(0).unwrap_or(words)));
                Self { parameter, ..said }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::default(),
        }
    }
}

/// Google's `details`: a list of typed objects, of which any may be missing.
struct Details<'a>(&'a [Value]);

impl<'a> Details<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find_map(|detail| detail.get(name).and_then(Value::as_str))
    }

    fn lists(&self, name: &'static str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter_map(move |detail| detail.get(name).and_then(Value::as_array)).flatten()
    }

    /// The first field that was violated, where one is named.
    fn field(&self) -> Option<String> {
        let field = self.lists("fieldViolations").next()?;
        // The words say more: the field is only where the unknown name stands.
        let says =
            |word: &str| field.get("description").and_then(Value::as_str).is_some_and(|words| words.contains(word));
        if says("Unknown name") {
            return None;
        }
        field.get("field").and_then(Value::as_str).map(str::to_owned)
    }

    fn is_daily(&self) -> bool {
        self.lists("violations").any(|violation| {
            violation.get("quotaId").and_then(Value::as_str).is_some_and(|quota| quota.contains("PerDay"))
        })
    }
}

/// A status, as a number or as its digits; Mistral's own codes (3051) are none.
fn status(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The place of FastAPI's first complaint in `detail`.
fn location(value: &Value) -> Option<String> {
    loc(value.get("detail")?.get(0)?)
}

/// `["body", "messages", 0, "name"]` as `messages.0.name`.
fn loc(complaint: &Value) -> Option<String> {
    let steps = complaint.get("loc")?.as_array()?.iter();
    let steps = steps.filter_map(|step| step.as_str().map(str::to_owned).or_else(|| Some(step.as_u64()?.to_string())));
    let path: Vec<_> = steps.skip_while(|step| step == "body").collect();
    (!path.is_empty()).then(|| path.join("."))
}
