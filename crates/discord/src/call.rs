//! One request to Discord's REST API, with all that its answer tells.
//!
//! serenity's own client either sleeps through a 429 by itself or drops `retry_after` and the headers, and it does not
//! tell whether a request that failed may have been carried out. The outbox must know both: so the call is made here,
//! and serenity's are the payloads.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Method};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error_codes::hint;
use crate::limits::{RateLimitHeaders, RateLimits, route};
use crate::settings::Settings;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::{causes, head};
use hob_http::{body_within, builder};

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long an idle connection is kept: less than servers keep it, lest a message is written to a closed one.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// Discord turns away whoever does not call themselves so.
const AGENT: &str = concat!("DiscordBot (hob, ", env!("CARGO_PKG_VERSION"), ")");
/// How much of what the other side said is shown.
const SAID_CHARS_MAX: usize = 200;
/// The largest answer that is read: a hundred long messages are less.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Why a request has no result; none of the texts holds a token.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum CallError {
    /// No connection came about: Discord has seen nothing.
    #[error("no connection: {0}")]
    NotSent(String),
    /// It would break a rate limit, and was not sent.
    #[error("the rate limit is used up for {0:?}")]
    Held(Duration),
    /// The request was on its way and no whole answer came back.
    #[error("no answer: {0}")]
    Lost(String),
    /// The API said no.
    #[error("{status} {message}{}", code_text(*.code))]
    Api {
        /// The HTTP status.
        status: u16,
        /// Discord's own code of the error; 0: none.
        code: u32,
        /// What it said.
        message: String,
        /// The parts of the request that it names as wrong.
        fields: Vec<String>,
        /// When it may be tried again.
        retry_after: Option<Duration>,
    },
    /// Something between answered that doesn't speak the API.
    #[error("an answer that is not Discord's: {status} {excerpt}")]
    Foreign {
        /// The HTTP status.
        status: u16,
        /// The beginning of what it said.
        excerpt: String,
        /// When it may be tried again.
        retry_after: Option<Duration>,
    },
}

/// The code, and what to do about it where that is known.
fn code_text(code: u32) -> String {
    match (code, hint(code)) {
        (0, _) => String::new(),
        (code, None) => format!(" ({code})"),
        (code, Some(hint)) => format!(" ({code}: {hint})"),
    }
}

impl CallError {
    /// Discord's code of it.
    pub(super) fn code(&self) -> Option<u32> {
        match self {
            Self::Api { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether it may pass by itself.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::NotSent(_) | Self::Held(_) | Self::Lost(_) | Self::Foreign { .. } => true,
            Self::Api { status, .. } => matches!(status, 401 | 408 | 429 | 500..),
        }
    }

    /// When Discord wants to be asked again.
    pub(super) fn after(&self) -> Option<Duration> {
        match self {
            Self::Held(after) => Some(*after),
            Self::Api { retry_after, .. } | Self::Foreign { retry_after, .. } => *retry_after,
            Self::NotSent(_) | Self::Lost(_) => None,
        }
    }
}

/// What is asked of the API.
pub(super) struct Request<'a> {
    method: Method,
    path: Vec<&'a str>,
    query: Vec<(&'static str, String)>,
    body: Option<Body>,
    /// Whether the path says who asks (an interaction's token), so that the bot's own stays at home.
    open: bool,
}

/// A request's content.
pub(super) struct Body {
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
}

impl<'a> Request<'a> {
    pub(super) fn new<const N: usize>(method: Method, path: [&'a str; N]) -> Self {
        Self::at(method, &path)
    }

    pub(super) fn at(method: Method, path: &[&'a str]) -> Self {
        Self { method, path: path.to_vec(), query: Vec::new(), body: None, open: false }
    }

    pub(super) fn get<const N: usize>(path: [&'a str; N]) -> Self {
        Self::new(Method::GET, path)
    }

    pub(super) fn query(mut self, key: &'static str, value: impl ToString) -> Self {
        self.query.push((key, value.to_string()));
        self
    }

    pub(super) fn body(mut self, body: Body) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn json(self, payload: &impl Serialize) -> Result<Self, CallError> {
        let bytes = serde_json::to_vec(payload).map_err(|error| CallError::NotSent(error.to_string()))?;
        Ok(self.body(Body { content_type: "application/json".to_owned(), bytes }))
    }

    /// Without the bot's token: the path has one of its own.
    pub(super) fn open(mut self) -> Self {
        self.open = true;
        self
    }
}

/// The API as the bot sees it.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    base: url::Url,
    token: Secret,
    limits: Arc<RateLimits>,
    deadline: Duration,
}

impl Api {
    /// With a client of its own, that knows the same limits as all others.
    pub(super) fn new(settings: &Settings, limits: Arc<RateLimits>) -> Result<Self, CallError> {
        let client = builder(CONNECT_MAX).pool_idle_timeout(IDLE_MAX).user_agent(AGENT).build();
        let client = client.map_err(|error| CallError::NotSent(causes(&error.without_url())))?;
        let deadline = settings.pace.send_deadline;
        Ok(Self { client, base: settings.api_url.clone(), token: settings.token.clone(), limits, deadline })
    }

    /// The same, with more time for a request.
    pub(super) fn with_deadline(&self, deadline: Duration) -> Self {
        Self { deadline: self.deadline.max(deadline), ..self.clone() }
    }

    /// Asks; the answer is still to be parsed.
    pub(super) async fn call(&self, request: Request<'_>) -> Result<ApiResponse, CallError> {
        let route = route(request.method.as_str(), &request.path);
        if let Some(wait) = self.limits.wait(&route, Instant::now()) {
            return Err(CallError::Held(wait));
        }
        match tokio::time::timeout(self.deadline, self.exchange(request, &route)).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(CallError::Lost(format!("{elapsed}: it took longer than {:?}", self.deadline))),
        }
    }

    async fn exchange(&self, request: Request<'_>, route: &str) -> Result<ApiResponse, CallError> {
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut path) => path.pop_if_empty().extend(["api", "v10"]).extend(&request.path),
            Err(()) => return Err(CallError::NotSent("the address takes no path".to_owned())),
        };
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let mut call = self.client.request(request.method, url);
        if !request.open {
            call = call.header(AUTHORIZATION, format!("Bot {}", self.token.expose()));
        }
        call = match request.body {
            Some(body) => call.header(CONTENT_TYPE, body.content_type).body(body.bytes),
            None => call,
        };
        let response = call.send().await.map_err(|error| {
            let never_left = error.is_connect() || error.is_builder();
            let what = causes(&error.without_url());
            if never_left { CallError::NotSent(what) } else { CallError::Lost(what) }
        })?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = body_within(response, ANSWER_BYTES_MAX).await;
        let body = body.map_err(|error| CallError::Lost(causes(&error.without_url())))?;
        let body = body.ok_or_else(|| CallError::Lost("the answer is too long".to_owned()))?;
        let (told, answer) = judge(status, &headers, &body);
        self.limits.note(route, told, Instant::now());
        answer
    }
}

/// The body of an answer that says yes.
#[derive(Debug)]
pub(super) struct ApiResponse(Vec<u8>);

impl ApiResponse {
    /// It as an `R`.
    pub(super) fn parse<R: DeserializeOwned>(&self) -> Result<R, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }
}

/// What Discord says with a no.
#[derive(Deserialize)]
struct ApiErrorBody {
    message: String,
    #[serde(default)]
    code: u32,
    retry_after: Option<f64>,
    #[serde(default)]
    global: bool,
    errors: Option<serde_json::Value>,
}

/// What an answer says, and what it tells of the limits.
fn judge(status: u16, headers: &HeaderMap, body: &[u8]) -> (RateLimitHeaders, Result<ApiResponse, CallError>) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut told = RateLimitHeaders {
        remaining: text("x-ratelimit-remaining").and_then(|text| text.parse().ok()),
        reset_after: text("x-ratelimit-reset-after").and_then(|text| text.parse().ok()).and_then(seconds),
        retry_after: None,
        global: text("x-ratelimit-global") == Some("true"),
    };
    if (200..300).contains(&status) {
        return (told, Ok(ApiResponse(body.to_vec())));
    }
    let header = text("retry-after").and_then(|text| text.parse().ok()).and_then(seconds);
    let Ok(verdict) = serde_json::from_slice::<ApiErrorBody>(body) else {
        // Whoever stands before Discord shuts out the whole address.
        told.retry_after = header.filter(|_| status == 429);
        told.global |= status == 429;
        let said = String::from_utf8_lossy(body);
        let excerpt = said.chars().filter(|c| !c.is_control()).take(SAID_CHARS_MAX).collect();
        return (told, Err(CallError::Foreign { status, excerpt, retry_after: told.retry_after }));
    };
    told.retry_after = verdict.retry_after.and_then(seconds).or(header).filter(|_| status == 429);
    told.global |= verdict.global;
    let message = head(&verdict.message, SAID_CHARS_MAX).to_owned();
    let fields = verdict.errors.as_ref().and_then(serde_json::Value::as_object);
    let fields = fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    (told, Err(CallError::Api { status, code: verdict.code, message, fields, retry_after: told.retry_after }))
}

/// A number of seconds that can be waited for.
fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number.min(86_400.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_codes::is_for_reply;

    fn said(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> (RateLimitHeaders, String) {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let (told, answer) = judge(status, &headers, body.as_bytes());
        (told, answer.map_or_else(|error| error.to_string(), |_| "yes".to_owned()))
    }

    #[test]
    fn an_answer_is_judged_by_status_body_and_headers() {
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset-after", "0.25")];
        let told = RateLimitHeaders { remaining: Some(0), reset_after: seconds(0.25), ..RateLimitHeaders::default() };
        assert_eq!(said(200, &spent, "{}"), (told, "yes".to_owned()));
        let flood = r#"{"message": "You are being rate limited.", "retry_after": 0.5, "global": true}"#;
        let told = RateLimitHeaders { retry_after: seconds(0.5), global: true, ..RateLimitHeaders::default() };
        assert_eq!(said(429, &[], flood), (told, "429 You are being rate limited.".to_owned()));
        let told = RateLimitHeaders { retry_after: seconds(7.0), global: true, ..RateLimitHeaders::default() };
        assert_eq!(
            said(429, &[("retry-after", "7")], "<h1>\nno"),
            (told, "an answer that is not Discord's: 429 <h1>no".to_owned())
        );
        let gone = said(404, &[], r#"{"message": "Unknown Message", "code": 10008}"#).1;
        assert_eq!(gone, "404 Unknown Message (10008)");
        let shut = said(403, &[], r#"{"message": "Missing Access", "code": 50001}"#).1;
        insta::assert_snapshot!(shut, @"403 Missing Access (50001: let the bot's role see this channel)");
        assert_eq!(seconds(-1.0), None);
    }

    #[test]
    fn k2_what_is_wrong_with_an_answer_is_told_from_what_is_wrong_with_its_text() {
        let form = |errors: &str| format!(r#"{{"message": "Invalid Form Body", "code": 50035, "errors": {errors}}}"#);
        let table = [
            (
                r#"{"message": "Cannot reply without permission to read message history", "code": 160002}"#.to_owned(),
                true,
            ),
            (form(r#"{"message_reference": {"_errors": [{"code": "x", "message": "y"}]}}"#), true),
            (form(r#"{"content": {"_errors": []}}"#), false),
            (form("null"), false),
            (form(r#""strange""#), false),
        ];
        for (body, expected) in table {
            let error = judge(400, &HeaderMap::new(), body.as_bytes()).1.unwrap_err();
            assert_eq!(is_for_reply(&error), expected, "{body}");
        }
    }
}
