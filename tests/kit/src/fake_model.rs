//! A strict, scriptable OpenAI server on loopback.
//!
//! It refuses what OpenAI, Anthropic or Gemini refuse (see [`validate`]), with OpenAI's error shape; answers from a
//! script; records what it was asked; and notices clients that drop a stream. No fixed port, no sleeps.
//!
//! ```ignore
//! let fake = FakeModel::start().await;
//! fake.reply(Reply::call("current_time", "{}"));        // the first request
//! fake.reply(Reply::text("It is noon."));               // the second
//! fake.otherwise(|asked| Reply::text(asked.last_text())); // all others
//! … base_url = fake.base_url() …
//! assert_eq!(fake.requests()[1].last_text(), "12:00");
//! ```

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

pub use crate::stream::Gate;
pub use script::{Reply, Script};

use crate::scripted::{Answer, OVER, RecordedRequest, ScriptedServer, Service, Verdict};
use crate::validate;

mod script;

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub body: Value,
    /// The header `authorization`.
    pub authorization: Option<String>,
}

impl ReceivedRequest {
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What the last message says: the user's words or a tool's result.
    pub fn last_text(&self) -> &str {
        self.messages().last().and_then(|message| message["content"].as_str()).unwrap_or_default()
    }

    /// Who wrote the last message.
    pub fn last_role(&self) -> &str {
        self.messages().last().and_then(|message| message["role"].as_str()).unwrap_or_default()
    }

    /// The last thing the user said.
    pub fn last_user(&self) -> &str {
        let last = self.messages().iter().rev().find(|message| message["role"] == "user");
        last.map(|message| words(&message["content"])).unwrap_or_default()
    }

    /// The pictures in all messages, as their data URLs.
    pub fn pictures(&self) -> Vec<&str> {
        let parts = self.messages().iter().filter_map(|message| message["content"].as_array()).flatten();
        parts.filter_map(|part| part["image_url"]["url"].as_str()).collect()
    }

    /// The system prompt.
    pub fn system(&self) -> &str {
        let system = self.messages().first().filter(|message| message["role"] == "system");
        system.and_then(|message| message["content"].as_str()).unwrap_or_default()
    }

    /// The names of the tools on offer.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }
}

/// The words of a content; of one in parts, the first.
fn words(content: &Value) -> &str {
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

/// The server; it ends when dropped.
pub struct FakeModel(ScriptedServer<ModelService>);

impl Deref for FakeModel {
    type Target = ScriptedServer<ModelService>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FakeModel {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        Self(ScriptedServer::start(ModelService::default()).await)
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root())
    }

    /// Adds an answer to the script; each serves one request.
    pub fn reply(&self, reply: Reply) -> &Self {
        self.0.reply(reply);
        self
    }

    /// Takes only requests with this key (401 otherwise).
    pub fn require_key(&self, key: &str) -> &Self {
        self.service().state().api_key = Some(key.to_owned());
        self
    }

    /// Behaves as servers that do not take this parameter, as OpenAI refuses it (400).
    pub fn refuse_parameter(&self, name: &'static str) -> &Self {
        self.service().state().refuses.push(name);
        self
    }

    /// Keeps a list of models: each as its server describes it.
    pub fn models(&self, models: Value) -> &Self {
        self.service().state().models = Some(models);
        self
    }

    /// Behaves as servers that take `stream_options` and send no usage.
    pub fn never_tell_usage(&self) -> &Self {
        self.service().state().never_tells_usage = true;
        self
    }

    /// Behaves as an Ollama with this body under `/api/tags`.
    pub fn tags(&self, body: &str) -> &Self {
        self.service().state().tags = Some(body.to_owned());
        self
    }

    /// How many requests had a parameter that is not taken.
    pub fn turned_away(&self) -> usize {
        self.service().state().turned_away
    }
}

/// What the service knows and does.
#[derive(Default)]
pub struct ModelService(Mutex<ServiceState>);

#[derive(Default)]
struct ServiceState {
    api_key: Option<String>,
    refuses: Vec<&'static str>,
    turned_away: usize,
    never_tells_usage: bool,
    tags: Option<String>,
    models: Option<Value>,
}

impl Service for ModelService {
    type ReceivedRequest = ReceivedRequest;
    type Reply = Reply;

    fn judge(&self, asked: &RecordedRequest) -> Verdict {
        let path = asked.path();
        if path == "GET /api/tags" {
            let tags = self.state().tags.clone();
            let status = if tags.is_some() { 200 } else { 404 };
            return Verdict::Known(Answer::http(status, "application/json", &tags.unwrap_or_default()));
        }
        if path != "POST /v1/chat/completions" && path != "GET /v1/models" && !path.starts_with("GET /v1/models/") {
            return Verdict::Known(Answer::http(404, "text/plain", ""));
        }
        if path == "POST /v1/chat/completions"
            && let Some(error) = asked.broken()
        {
            return refused(&format!("We could not parse the JSON body of your request. ({error})"));
        }
        // Servers that want a key want it for everything.
        let key = self.state().api_key.as_ref().map(|key| format!("Bearer {key}"));
        if key.is_some() && asked.header("authorization") != key.as_deref() {
            return Verdict::Known(error(401, "Incorrect API key provided: sk-***.", Some("invalid_api_key")));
        }
        match path {
            "POST /v1/chat/completions" => self.judge_chat(&asked.body),
            "GET /v1/models" => Verdict::Known(match &self.state().models {
                Some(models) => Answer::json(200, &json!({"object": "list", "data": models})),
                None => error(404, "Not Found", None),
            }),
            // An alias that is in no list.
            "GET /v1/models/fake-latest" => {
                Verdict::Known(Answer::json(200, &json!({"object": "model", "id": "fake-1"})))
            }
            _ => Verdict::Known(error(404, "The model does not exist", Some("model_not_found"))),
        }
    }

    fn asked(&self, request: RecordedRequest) -> ReceivedRequest {
        let authorization = request.header("authorization").map(str::to_owned);
        ReceivedRequest { body: request.body, authorization }
    }

    fn play(&self, reply: Reply, asked: &ReceivedRequest) -> Answer {
        let wants_usage = asked.body["stream_options"]["include_usage"] == json!(true);
        match reply {
            Reply::Whole(answer) => answer,
            Reply::Stream(script) => {
                Answer::Stream("text/event-stream", script.plan(wants_usage && !self.state().never_tells_usage))
            }
        }
    }

    fn over(&self) -> Verdict {
        refused(OVER)
    }
}

impl ModelService {
    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.0.lock().unwrap()
    }

    fn judge_chat(&self, body: &Value) -> Verdict {
        let mut state = self.state();
        if let Some(name) = state.refuses.iter().copied().find(|name| body.get(name).is_some()) {
            state.turned_away += 1;
            let what = format!("Unsupported parameter: '{name}' is not supported with this model.");
            return Verdict::Known(error(400, &what, Some("unsupported_parameter")));
        }
        validate::openai::request(body).map_or_else(|why| refused(&why), |()| Verdict::Scripted)
    }
}

fn refused(why: &str) -> Verdict {
    Verdict::Refused(error(400, why, None), why.to_owned())
}

fn error(status: u16, message: &str, code: Option<&str>) -> Answer {
    Answer::http(status, "application/json", &script::error_body(message, "invalid_request_error", code))
}
