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

pub use crate::stream::Gate;
pub use script::{Reply, Script};

use super::validate;

mod script;

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The body.
    pub body: Value,
    /// The header `authorization`.
    pub authorization: Option<String>,
}

impl Asked {
    /// The messages.
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

type FallbackReply = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// What the server knows and does.
#[derive(Default)]
struct ServerState {
    script: VecDeque<Reply>,
    otherwise: Option<FallbackReply>,
    requests: Vec<Asked>,
    refused: Vec<String>,
    api_key: Option<String>,
    refuses: Vec<&'static str>,
    turned_away: usize,
    never_tells_usage: bool,
    tags: Option<String>,
    models: Option<Value>,
    forgets: bool,
}

/// The world and its counters, shared with the handlers.
struct Shared {
    world: Mutex<ServerState>,
    asked: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, ServerState> {
        self.world.lock().unwrap()
    }
}

/// The server; it ends when dropped.
pub struct FakeModel {
    shared: Arc<Shared>,
    address: String,
    server: JoinHandle<()>,
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeModel {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        let shared =
            Arc::new(Shared { world: Mutex::default(), asked: watch::Sender::new(0), dropped: watch::Sender::new(0) });
        let router = Router::new()
            .route("/v1/chat/completions", post(chat_completions))
            .route("/v1/models", get(models))
            .route("/v1/models/{id}", get(model))
            .route("/api/tags", get(tags))
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
        format!("http://{}/v1", self.address)
    }

    /// `host:port`, for `$OLLAMA_HOST`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Adds an answer to the script; each serves one request.
    pub fn reply(&self, reply: Reply) -> &Self {
        self.shared.world().script.push_back(reply);
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

    /// Behaves as servers that do not take this parameter, as OpenAI refuses it (400).
    pub fn refuse_parameter(&self, name: &'static str) -> &Self {
        self.shared.world().refuses.push(name);
        self
    }

    /// Keeps a list of models: each as its server describes it.
    pub fn models(&self, models: Value) -> &Self {
        self.shared.world().models = Some(models);
        self
    }

    /// Behaves as servers that take `stream_options` and send no usage.
    pub fn never_tell_usage(&self) -> &Self {
        self.shared.world().never_tells_usage = true;
        self
    }

    /// Keeps no requests: for tests that make very many.
    pub fn forget(&self) -> &Self {
        self.shared.world().forgets = true;
        self
    }

    /// Behaves as an Ollama with this body under `/api/tags`.
    pub fn tags(&self, body: &str) -> &Self {
        self.shared.world().tags = Some(body.to_owned());
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

    /// How many requests had a parameter that is not taken.
    pub fn turned_away(&self) -> usize {
        self.shared.world().turned_away
    }

    /// Waits until `count` well-formed requests have come in all.
    pub async fn asked(&self, count: usize) {
        self.shared.asked.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    /// Waits until clients have dropped `count` streams before their end.
    pub async fn dropped(&self, count: usize) {
        self.shared.dropped.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    /// How many streams clients have dropped so far.
    pub fn dropped_so_far(&self) -> usize {
        *self.shared.dropped.borrow()
    }
}

async fn tags(State(shared): State<Arc<Shared>>) -> Response {
    let tags = shared.world().tags.clone();
    let status = if tags.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    respond(status, "application/json", Body::from(tags.unwrap_or_default()))
}

/// Servers that want a key want it for everything.
fn turned_away(shared: &Shared, headers: &HeaderMap) -> Option<Response> {
    let key = shared.world().api_key.clone()?;
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    (given != Some(&format!("Bearer {key}")))
        .then(|| error(StatusCode::UNAUTHORIZED, "Incorrect API key provided: sk-***.", Some("invalid_api_key")))
}

async fn models(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Some(refused) = turned_away(&shared, &headers) {
        return refused;
    }
    match shared.world().models.clone() {
        Some(models) => {
            let body = json!({"object": "list", "data": models}).to_string();
            respond(StatusCode::OK, "application/json", Body::from(body))
        }
        None => error(StatusCode::NOT_FOUND, "Not Found", None),
    }
}

/// An alias that is in no list, and nothing else.
async fn model(State(shared): State<Arc<Shared>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if let Some(refused) = turned_away(&shared, &headers) {
        return refused;
    }
    if id == "fake-latest" {
        let body = json!({"object": "model", "id": "fake-1"}).to_string();
        return respond(StatusCode::OK, "application/json", Body::from(body));
    }
    error(StatusCode::NOT_FOUND, "The model does not exist", Some("model_not_found"))
}

async fn chat_completions(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = match serde_json::from_slice(&body) {
        Ok(body) => Asked { body, authorization },
        Err(error) => return refuse(&shared, &format!("We could not parse the JSON body of your request. ({error})")),
    };
    if let Some(refused) = turned_away(&shared, &headers) {
        return refused;
    }
    let refused = shared.world().refuses.iter().copied().find(|name| asked.body.get(name).is_some());
    if let Some(name) = refused {
        shared.world().turned_away += 1;
        let what = format!("Unsupported parameter: '{name}' is not supported with this model.");
        return error(StatusCode::BAD_REQUEST, &what, Some("unsupported_parameter"));
    }
    if let Err(why) = validate::openai::request(&asked.body) {
        return refuse(&shared, &why);
    }
    let tells_usage = asked.body["stream_options"]["include_usage"] == json!(true) && !shared.world().never_tells_usage;
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
            let dropped = shared.dropped.clone();
            let played = script.plan(tells_usage).play(move || dropped.send_modify(|count| *count += 1));
            let body = Body::from_stream(played);
            respond(StatusCode::OK, "text/event-stream", body)
        }
    }
}

/// Records the request and takes its answer from the script.
fn next_reply(shared: &Shared, asked: Asked) -> Option<Reply> {
    let (scripted, otherwise) = {
        let mut world = shared.world();
        if !world.forgets {
            world.requests.push(asked.clone());
        }
        (world.script.pop_front(), world.otherwise.clone())
    };
    let reply = scripted.or_else(|| otherwise.map(|reply| reply(&asked)));
    shared.asked.send_modify(|count| *count += 1);
    reply
}

fn refuse(shared: &Shared, why: &str) -> Response {
    shared.world().refused.push(why.to_owned());
    error(StatusCode::BAD_REQUEST, why, None)
}

fn error(status: StatusCode, message: &str, code: Option<&str>) -> Response {
    let body = script::error_body(message, "invalid_request_error", code);
    respond(status, "application/json", Body::from(body))
}

fn respond(status: StatusCode, kind: &str, body: Body) -> Response {
    Response::builder().status(status).header(header::CONTENT_TYPE, kind).body(body).unwrap()
}
