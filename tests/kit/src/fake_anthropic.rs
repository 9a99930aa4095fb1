//! A strict, scriptable Anthropic server on loopback.
//!
//! It refuses what Anthropic refuses, with Anthropic's error shape; answers from a script; records what it was asked;
//! and notices clients that drop a stream. No fixed port, no sleeps.
//!
//! ```ignore
//! let fake = FakeAnthropic::start().await;
//! fake.reply(Reply::call("current_time", "{}"));        // the first request
//! fake.otherwise(|asked| Reply::text(asked.last_text())); // all others
//! … base_url = fake.base_url() …
//! ```

use std::ops::Deref;
use std::sync::Mutex;

use serde_json::{Value, json};

use seals::IssuedThinking;

use crate::scripted::{Answer, OVER, RecordedRequest, ScriptedServer, Service, Verdict};
use crate::validate;

pub use script::{Reply, Script, error_body};

pub mod params;
mod script;
mod seals;

/// The models on its list.
pub const MODELS: [&str; 3] = ["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5-5"];

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub body: Value,
    /// The body, byte for byte.
    pub raw: String,
}

impl ReceivedRequest {
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The blocks of the `at`th message.
    pub fn blocks(&self, at: usize) -> &[Value] {
        self.messages()[at]["content"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What the last block says: the user's words or a tool's result.
    pub fn last_text(&self) -> &str {
        let block = self.messages().len().checked_sub(1).and_then(|last| self.blocks(last).last());
        block.and_then(|block| block["text"].as_str().or_else(|| block["content"].as_str())).unwrap_or_default()
    }
}

/// The server; it ends when dropped.
pub struct FakeAnthropic(ScriptedServer<AnthropicService>);

impl Deref for FakeAnthropic {
    type Target = ScriptedServer<AnthropicService>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FakeAnthropic {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        Self(ScriptedServer::start(AnthropicService::default()).await)
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        self.root()
    }

    /// Takes only requests with this key (401 otherwise).
    pub fn require_key(&self, key: &str) -> &Self {
        *self.service().api_key.lock().unwrap() = Some(key.to_owned());
        self
    }
}

/// What the service knows.
#[derive(Default)]
pub struct AnthropicService {
    api_key: Mutex<Option<String>>,
    issued: Mutex<Vec<IssuedThinking>>,
}

impl Service for AnthropicService {
    type ReceivedRequest = ReceivedRequest;
    type Reply = Reply;

    fn judge(&self, asked: &RecordedRequest) -> Verdict {
        let model = asked.path().strip_prefix("GET /v1/models/");
        if model.is_none() && asked.path() != "POST /v1/messages" {
            return Verdict::Known(Answer::http(404, "text/plain", ""));
        }
        // What every request needs: the version, and a key where keys are asked for.
        if asked.header("anthropic-version") != Some("2023-06-01") {
            return refused("anthropic-version: header is required");
        }
        let key = self.api_key.lock().unwrap().clone();
        if key.is_some() && asked.header("x-api-key") != key.as_deref() {
            return Verdict::Known(refusal(401, "authentication_error", "invalid x-api-key"));
        }
        match model {
            Some(model) => Verdict::Known(described(model)),
            None => self.check(asked).map_or_else(|why| refused(&why), |()| Verdict::Scripted),
        }
    }

    fn asked(&self, request: RecordedRequest) -> ReceivedRequest {
        ReceivedRequest { body: request.body, raw: String::from_utf8_lossy(&request.raw).into_owned() }
    }

    fn play(&self, reply: Reply, asked: &ReceivedRequest) -> Answer {
        match reply {
            Reply::Whole(answer) => answer,
            Reply::Stream(script) => {
                self.issued.lock().unwrap().extend(IssuedThinking::of(script.thoughts(), &asked.body));
                Answer::Stream("text/event-stream; charset=utf-8", script.plan())
            }
        }
    }

    fn over(&self) -> Verdict {
        refused(OVER)
    }
}

impl AnthropicService {
    fn check(&self, asked: &RecordedRequest) -> Result<(), String> {
        if let Some(error) = asked.broken() {
            return Err(format!("The request body is not valid JSON: {error}"));
        }
        validate::anthropic::request(&asked.body)?;
        params::request(&asked.body)?;
        seals::request(&asked.body, &self.issued.lock().unwrap())
    }
}

fn described(model: &str) -> Answer {
    if !MODELS.contains(&model) {
        return refusal(404, "not_found_error", &format!("model: {model}"));
    }
    Answer::json(
        200,
        &json!({
            "type": "model", "id": model, "display_name": "A model", "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active", "max_input_tokens": 200_000, "max_tokens": 64_000, "capabilities": {},
        }),
    )
}

fn refused(why: &str) -> Verdict {
    Verdict::Refused(refusal(400, "invalid_request_error", why), why.to_owned())
}

fn refusal(status: u16, kind: &str, message: &str) -> Answer {
    Answer::json(status, &error_body(kind, message))
}
