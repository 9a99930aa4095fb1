//! A strict, scriptable Gemini on loopback: generateContent, streamed, and the description of a model.
//!
//! It refuses what Google refuses (see [`check`]) with Google's error bodies, and it knows its own signatures: one that
//! it did not give out is *corrupted*, as Google says.
//!
//! ```ignore
//! let fake = FakeGemini::start("gemini-3-flash-preview").await;
//! fake.says(Script::default().call("look", &json!({}), Some("c2ln")).finish("STOP"));
//! … base_url = fake.root() …
//! ```

use std::ops::Deref;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::scripted::{Answer, RecordedRequest, ScriptedServer, Service, Verdict};
use crate::stream::{Gate, Plan};

pub mod check;

/// The key that it takes.
pub const KEY: &str = "AIza-test";

/// The server; it ends when dropped.
pub struct FakeGemini(ScriptedServer<GeminiService>);

impl Deref for FakeGemini {
    type Target = ScriptedServer<GeminiService>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FakeGemini {
    /// Serves this model.
    pub async fn start(model: &str) -> Self {
        Self(ScriptedServer::start(GeminiService { model: model.to_owned(), signatures: Mutex::default() }).await)
    }

    /// Adds a reply to the script.
    pub fn says(&self, script: Script) -> &Self {
        self.service().signatures.lock().unwrap().extend(script.signatures);
        self.reply(Answer::Stream("text/event-stream", script.plan));
        self
    }
}

/// What the service knows.
pub struct GeminiService {
    model: String,
    /// The signatures that it has given out.
    signatures: Mutex<Vec<String>>,
}

impl Service for GeminiService {
    type ReceivedRequest = RecordedRequest;
    type Reply = Answer;

    fn judge(&self, asked: &RecordedRequest) -> Verdict {
        let (status, why) = match self.take(asked) {
            Ok(verdict) => return verdict,
            Err(refusal) => refusal,
        };
        Verdict::Refused(error(status, &why), why)
    }

    fn asked(&self, request: RecordedRequest) -> RecordedRequest {
        request
    }

    fn play(&self, reply: Answer, _asked: &RecordedRequest) -> Answer {
        reply
    }
}

impl GeminiService {
    fn take(&self, asked: &RecordedRequest) -> Result<Verdict, (u16, String)> {
        match asked.header("x-goog-api-key") {
            Some(KEY) => {}
            Some(_) => return Err((400, "API key not valid. Please pass a valid API key.".to_owned())),
            None => return Err((403, "Method doesn't allow unregistered callers.".to_owned())),
        }
        let model = &self.model;
        if asked.line == format!("GET /v1beta/models/{model}") {
            return Ok(Verdict::Known(Answer::json(200, &description(model))));
        }
        if asked.line != format!("POST /v1beta/models/{model}:streamGenerateContent?alt=sse") {
            let why = format!("{} is not found for API version v1beta: the model is models/{model}.", asked.line);
            return Err((404, why));
        }
        let signatures = self.signatures.lock().unwrap();
        check::request(&check::spelled(&asked.body), model, &signatures).map_err(|why| (400, why))?;
        Ok(Verdict::Scripted)
    }
}

fn description(model: &str) -> Value {
    json!({
        "name": format!("models/{model}"), "version": "001", "displayName": model,
        "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"], "temperature": 1, "topP": 0.95,
    })
}

/// An error with Google's body.
pub fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({"error": body(status, message)}))
}

/// Too many requests, with the details that Google sends.
pub fn quota(retry_delay: &str) -> Answer {
    let mut body = body(429, "You exceeded your current quota, please check your plan and billing details.");
    body["details"] = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "10",
        }]},
        {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://ai.google.dev/gemini-api/docs"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay},
    ]);
    Answer::json(429, &json!([{"error": body}]))
}

fn body(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "INVALID_ARGUMENT",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    let mut body = json!({"code": status, "message": message, "status": kind});
    if message.starts_with("API key not valid") {
        body["details"] = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    }
    body
}

/// A stream, event by event. One that is never finished just ends.
#[derive(Debug, Clone, Default)]
pub struct Script {
    plan: Plan,
    signatures: Vec<String>,
}

impl Script {
    /// Text, an event a word.
    pub fn words(self, text: &str) -> Self {
        text.split_inclusive(' ').fold(self, |script, word| script.part(json!({"text": word})))
    }

    /// A call, whole as Gemini sends it.
    pub fn call(self, name: &str, args: &Value, signature: Option<&str>) -> Self {
        let mut part = json!({"functionCall": {"name": name, "args": args}});
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        self.part(part)
    }

    /// An event with this part.
    pub fn part(self, part: Value) -> Self {
        self.parts(json!([part]))
    }

    /// An event with these parts.
    pub fn parts(mut self, parts: Value) -> Self {
        for part in parts.as_array().unwrap() {
            self.signatures.extend(part["thoughtSignature"].as_str().map(str::to_owned));
        }
        self.event(&json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11},
            "modelVersion": "fake", "responseId": "r1",
        }))
    }

    /// The last event.
    pub fn finish(self, reason: &str) -> Self {
        self.event(&json!({
            "candidates": [{
                "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 11, "cachedContentTokenCount": 3, "candidatesTokenCount": 7,
                "thoughtsTokenCount": 5, "totalTokenCount": 23,
            },
            "modelVersion": "fake", "responseId": "r1",
        }))
    }

    /// An event, as Google ends them.
    pub fn event(self, event: &Value) -> Self {
        self.planned(|plan| plan.raw(format!("data: {event}\r\n\r\n")))
    }

    /// Waits until the test opens the gate.
    pub fn gate(self, gate: &Gate) -> Self {
        self.planned(|plan| plan.gate(gate))
    }

    /// Changes how the bytes are sent.
    pub fn planned(self, change: impl FnOnce(Plan) -> Plan) -> Self {
        Self { plan: change(self.plan), ..self }
    }
}
