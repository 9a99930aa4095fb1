//! A strict server with OpenAI's `/audio/speech`, on loopback.
//!
//! It refuses what OpenAI refuses, in its words; answers from a script; and records what it was to say.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What it gives for a voice, unless the script says otherwise: the beginning of Opus in Ogg.
pub const OPUS: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead spoken";
/// The most characters.
const CHARS_MAX: usize = 4_096;
const MODELS: [&str; 3] = ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"];
const VOICES: [&str; 6] = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"];
const FORMATS: [&str; 6] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
const FIELDS: [&str; 7] = ["input", "model", "voice", "response_format", "speed", "instructions", "stream_format"];

/// What becomes of one request.
enum Reply {
    Sound(Vec<u8>),
    Status(u16),
    Hang,
}

#[derive(Default)]
struct ServerState {
    script: VecDeque<Reply>,
    said: Vec<Value>,
    refused: Vec<String>,
    asked: usize,
    key: Option<String>,
}

/// The server; it ends when dropped.
pub struct FakeSpeech {
    world: Arc<Mutex<ServerState>>,
    address: String,
    server: JoinHandle<()>,
}

impl Drop for FakeSpeech {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeSpeech {
    /// Listens on a free port of loopback, with an empty script: it says everything.
    pub async fn start() -> Self {
        let world = Arc::<Mutex<ServerState>>::default();
        let router = Router::new().route("/v1/audio/speech", post(speech)).with_state(Arc::clone(&world));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { world, address, server }
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Takes only requests with this key.
    pub fn require_key(&self, key: &str) -> &Self {
        self.world().key = Some(format!("Bearer {key}"));
        self
    }

    /// Gives this for the next request.
    pub fn gives(&self, sound: &[u8]) -> &Self {
        self.world().script.push_back(Reply::Sound(sound.to_vec()));
        self
    }

    /// Answers the next request with this status, and no more than an error.
    pub fn fails(&self, status: u16) -> &Self {
        self.world().script.push_back(Reply::Status(status));
        self
    }

    /// Never answers the next request.
    pub fn hangs(&self) -> &Self {
        self.world().script.push_back(Reply::Hang);
        self
    }

    /// Every request that was well made, in order, whatever the answer was.
    pub fn said(&self) -> Vec<Value> {
        self.world().said.clone()
    }

    /// What was wrong with each request that was refused. A good test ends with this being empty.
    pub fn refused(&self) -> Vec<String> {
        self.world().refused.clone()
    }

    /// How many requests came.
    pub fn asked(&self) -> usize {
        self.world().asked
    }

    fn world(&self) -> MutexGuard<'_, ServerState> {
        self.world.lock().unwrap()
    }
}

async fn speech(State(world): State<Arc<Mutex<ServerState>>>, headers: HeaderMap, body: Bytes) -> Response {
    let key = world.lock().unwrap().key.clone();
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    world.lock().unwrap().asked += 1;
    if key.is_some() && authorization != key.as_deref() {
        return error(StatusCode::UNAUTHORIZED, "Incorrect API key provided: sk-***.", Some("invalid_api_key"));
    }
    let said = match checked(&body) {
        Ok(said) => said,
        Err(Refusal { status, message, code }) => {
            world.lock().unwrap().refused.push(message.clone());
            return error(status, &message, code);
        }
    };
    let kind = match said["response_format"].as_str() {
        Some("opus") => "audio/opus",
        Some("wav") => "audio/wav",
        Some(_) | None => "audio/mpeg",
    };
    let reply = {
        let mut world = world.lock().unwrap();
        world.said.push(said);
        world.script.pop_front()
    };
    match reply.unwrap_or_else(|| Reply::Sound(OPUS.to_vec())) {
        Reply::Sound(sound) => ([(header::CONTENT_TYPE, kind)], sound).into_response(),
        Reply::Status(status) => error(StatusCode::from_u16(status).unwrap(), "It failed.", None),
        Reply::Hang => std::future::pending().await,
    }
}

/// What is answered in the place of a voice.
struct Refusal {
    status: StatusCode,
    message: String,
    code: Option<&'static str>,
}

fn refuse<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status: StatusCode::BAD_REQUEST, message: what.into(), code: None })
}

fn checked(body: &[u8]) -> Result<Value, Refusal> {
    let Ok(asked) = serde_json::from_slice::<Map<String, Value>>(body) else {
        return refuse("We could not parse the JSON body of your request.");
    };
    if let Some(other) = asked.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return refuse(format!("Unrecognized request argument supplied: {other}"));
    }
    let text = |key: &str| asked.get(key).and_then(Value::as_str);
    let Some(model) = text("model") else { return refuse("you must provide a model parameter") };
    if !MODELS.contains(&model) {
        let message = format!("The model `{model}` does not exist or you do not have access to it.");
        return Err(Refusal { status: StatusCode::NOT_FOUND, message, code: Some("model_not_found") });
    }
    if !text("voice").is_some_and(|voice| VOICES.contains(&voice)) {
        return refuse(format!("Input should be one of {VOICES:?}"));
    }
    if text("response_format").is_some_and(|format| !FORMATS.contains(&format)) {
        return refuse(format!("Input should be one of {FORMATS:?}"));
    }
    match text("input").map(|input| input.chars().count()) {
        None | Some(0) => refuse("[{'type': 'string_too_short', 'loc': ('body', 'input')}]"),
        Some(chars) if chars > CHARS_MAX => refuse("[{'type': 'string_too_long', 'loc': ('body', 'input')}]"),
        Some(_) => Ok(Value::Object(asked)),
    }
}

fn error(status: StatusCode, message: &str, code: Option<&str>) -> Response {
    let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
