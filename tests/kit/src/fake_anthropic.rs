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

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use seals::IssuedThinking;

use crate::validate;

pub use script::{Reply, Script, error_body};

pub mod params;
mod script;
mod seals;

/// The models on its list.
pub const MODELS: [&str; 3] = ["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5-5"];

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The body.
    pub body: Value,
    /// The body, byte for byte.
    pub raw: String,
}

impl Asked {
    /// The messages.
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

type FallbackReply = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// What the server knows and does.
#[derive(Default)]
struct ServerState {
    script: VecDeque<Reply>,
    otherwise: Option<FallbackReply>,
    requests: Vec<Asked>,
    refused: Vec<String>,
    api_key: Option<String>,
    issued: Vec<IssuedThinking>,
}

/// The world and its counters, shared with the handlers.
struct Shared {
    world: Mutex<ServerState>,
    dropped: watch::Sender<usize>,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, ServerState> {
        self.world.lock().unwrap()
    }
}

/// The server; it ends when dropped.
pub struct FakeAnthropic {
    shared: Arc<Shared>,
    address: String,
    server: JoinHandle<()>,
}

impl Drop for FakeAnthropic {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeAnthropic {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared { world: Mutex::default(), dropped: watch::Sender::new(0) });
        let router = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/models/{model}", get(model))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // As real servers do: pieces of a reply go out when they are written.
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, address, server }
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an answer to the script; each serves one request.
    pub fn reply(&self, reply: impl Into<Reply>) -> &Self {
        self.shared.world().script.push_back(reply.into());
        self
    }

    /// Answers what comes after the script by what is asked. Without it such requests are refused.
    pub fn otherwise(&self, reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> &Self {
        self.shared.world().otherwise = Some(Arc::new(reply));
        self
    }

    /// Takes only requests with this key (401 otherwise).
    pub fn require_key(&self, key: &str) -> &Self {
        self.shared.world().api_key = Some(key.to_owned());
        self
    }

    /// Every request that was well formed, in order, whatever the answer was.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.world().requests.clone()
    }

    /// What was wrong with each request that was refused, in order. A good test ends with this being empty.
    pub fn refused(&self) -> Vec<String> {
        self.shared.world().refused.clone()
    }

    /// Waits until clients have dropped `count` streams before their end.
    pub async fn dropped(&self, count: usize) {
        self.shared.dropped.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }
}

async fn model(State(shared): State<Arc<Shared>>, Path(model): Path<String>, headers: HeaderMap) -> Response {
    if let Some(refusal) = turned_away(&shared, &headers) {
        return refusal;
    }
    if !MODELS.contains(&model.as_str()) {
        return refusal(404, "not_found_error", &format!("model: {model}"));
    }
    let info = json!({
        "type": "model", "id": model, "display_name": "A model", "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active", "max_input_tokens": 200_000, "max_tokens": 64_000, "capabilities": {},
    });
    respond(StatusCode::OK, "application/json", Body::from(info.to_string()))
}

async fn messages(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(refusal) = turned_away(&shared, &headers) {
        return refusal;
    }
    let raw = String::from_utf8_lossy(&body).into_owned();
    let asked = match serde_json::from_slice(&body) {
        Ok(body) => Asked { body, raw },
        Err(error) => return refuse(&shared, &format!("The request body is not valid JSON: {error}")),
    };
    let issued = shared.world().issued.clone();
    let checked = validate::anthropic::request(&asked.body).and_then(|()| params::request(&asked.body));
    if let Err(why) = checked.and_then(|()| seals::request(&asked.body, &issued)) {
        return refuse(&shared, &why);
    }
    let body = asked.body.clone();
    let Some(reply) = next_reply(&shared, asked) else {
        return refuse(&shared, "The fake has no answer in its script for this request.");
    };
    match reply {
        Reply::Http { status, headers, body } => {
            let mut response = respond(StatusCode::from_u16(status).unwrap(), "text/plain", Body::from(body));
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        Reply::Stream(script) => {
            shared.world().issued.extend(IssuedThinking::of(script.thoughts(), &body));
            let dropped = shared.dropped.clone();
            let played = script.plan().play(move || dropped.send_modify(|count| *count += 1));
            respond(StatusCode::OK, "text/event-stream; charset=utf-8", Body::from_stream(played))
        }
    }
}

/// What every request needs: the version, and a key where keys are asked for.
fn turned_away(shared: &Shared, headers: &HeaderMap) -> Option<Response> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if header("anthropic-version") != Some("2023-06-01") {
        return Some(refuse(shared, "anthropic-version: header is required"));
    }
    let key = shared.world().api_key.clone();
    let fits = key.is_none() || header("x-api-key") == key.as_deref();
    (!fits).then(|| refusal(401, "authentication_error", "invalid x-api-key"))
}

/// Records the request and takes its answer from the script.
fn next_reply(shared: &Shared, asked: Asked) -> Option<Reply> {
    let (scripted, otherwise) = {
        let mut world = shared.world();
        world.requests.push(asked.clone());
        (world.script.pop_front(), world.otherwise.clone())
    };
    scripted.or_else(|| otherwise.map(|reply| reply(&asked)))
}

fn refuse(shared: &Shared, why: &str) -> Response {
    shared.world().refused.push(why.to_owned());
    refusal(400, "invalid_request_error", why)
}

fn refusal(status: u16, kind: &str, message: &str) -> Response {
    let body = Body::from(error_body(kind, message).to_string());
    respond(StatusCode::from_u16(status).unwrap(), "application/json", body)
}

fn respond(status: StatusCode, kind: &str, body: Body) -> Response {
    Response::builder().status(status).header(header::CONTENT_TYPE, kind).body(body).unwrap()
}
