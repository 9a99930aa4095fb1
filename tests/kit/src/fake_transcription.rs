//! A strict server with OpenAI's `/audio/transcriptions`, on loopback.
//!
//! It refuses what OpenAI refuses, in its words; answers from a script; and records what it was given to hear.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::stream::{Plan, Step};

/// The largest recording.
const BYTES_MAX: usize = 26_214_400;
/// What the ends of names may be.
const FORMATS: [&str; 10] = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"];
const MODELS: [&str; 3] = ["gpt-4o-mini-transcribe", "gpt-4o-transcribe", "whisper-1"];
const FIELDS: [&str; 5] = ["model", "language", "prompt", "response_format", "temperature"];

/// What it was given to hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRecording {
    /// The fields besides the recording.
    pub fields: BTreeMap<String, String>,
    /// The recording's name.
    pub name: String,
    /// Its content type.
    pub kind: String,
    pub bytes: Vec<u8>,
}

/// What becomes of one request.
#[derive(Debug, Clone)]
enum Reply {
    Words(String, u32),
    Status(u16),
    Hang,
    Flood,
}

#[derive(Default)]
struct ServerState {
    script: VecDeque<Reply>,
    given: Vec<ReceivedRecording>,
    refused: Vec<String>,
    asked: usize,
    key: Option<String>,
}

/// The server; it ends when dropped.
pub struct FakeTranscription {
    world: Arc<Mutex<ServerState>>,
    address: String,
    server: JoinHandle<()>,
}

impl Drop for FakeTranscription {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeTranscription {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        let world = Arc::<Mutex<ServerState>>::default();
        let router = Router::new()
            .route("/v1/audio/transcriptions", post(transcriptions))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&world));
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

    /// Hears this in the next recording, which is so many seconds long.
    pub fn hears(&self, words: &str, seconds: u32) -> &Self {
        self.world().script.push_back(Reply::Words(words.to_owned(), seconds));
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

    /// Answers the next request without an end.
    pub fn floods(&self) -> &Self {
        self.world().script.push_back(Reply::Flood);
        self
    }

    /// Every recording that was well given, in order, whatever the answer was.
    pub fn given(&self) -> Vec<ReceivedRecording> {
        self.world().given.clone()
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

/// What is answered in the place of words.
struct Refusal {
    status: StatusCode,
    message: String,
    code: Option<&'static str>,
}

async fn transcriptions(State(world): State<Arc<Mutex<ServerState>>>, request: Request) -> Response {
    let key = world.lock().unwrap().key.clone();
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    world.lock().unwrap().asked += 1;
    if key.is_some() && authorization != key.as_deref() {
        let what = "Incorrect API key provided: sk-***.";
        return error(StatusCode::UNAUTHORIZED, what, Some("invalid_api_key"));
    }
    let given = match read(request).await.and_then(checked) {
        Ok(given) => given,
        Err(refusal) => {
            world.lock().unwrap().refused.push(refusal.message.clone());
            return error(refusal.status, &refusal.message, refusal.code);
        }
    };
    let by_length = given.fields["model"] == "whisper-1";
    let plain = given.fields.get("response_format").is_some_and(|format| format == "text");
    let reply = {
        let mut world = world.lock().unwrap();
        world.given.push(given);
        world.script.pop_front()
    };
    match reply {
        Some(Reply::Words(text, _)) if plain => format!("{text}\n").into_response(),
        Some(Reply::Words(text, seconds)) => {
            let usage = if by_length {
                json!({"type": "duration", "seconds": seconds})
            } else {
                json!({"type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
                    "output_tokens": 9, "total_tokens": 23})
            };
            answer(StatusCode::OK, &json!({"text": text, "usage": usage}))
        }
        Some(Reply::Status(status)) => error(StatusCode::from_u16(status).unwrap(), "It failed.", None),
        Some(Reply::Hang) => std::future::pending().await,
        Some(Reply::Flood) => {
            let flood = Plan::default().step(Step::Forever(vec![b' '; 256 * 1024].into()));
            let body = Body::from_stream(flood.play(|| {}));
            (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        None => error(StatusCode::BAD_REQUEST, "The fake has no answer in its script.", None),
    }
}

fn refuse<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status: StatusCode::BAD_REQUEST, message: what.into(), code: None })
}

/// The form, each field once.
async fn read(request: Request) -> Result<ReceivedRecording, Refusal> {
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        return refuse("Could not parse multipart form");
    };
    let (mut fields, mut file) = (BTreeMap::new(), None);
    loop {
        let field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => break,
            Err(error) => return refuse(format!("Could not parse multipart form: {error}")),
        };
        let name = field.name().unwrap_or_default().to_owned();
        let twice = if name == "file" { file.is_some() } else { fields.contains_key(&name) };
        if twice {
            return refuse(format!("Duplicate field: {name}"));
        }
        if name == "file" {
            file = Some(recording(field).await?);
        } else if FIELDS.contains(&name.as_str()) {
            let Ok(text) = field.text().await else { return refuse(format!("{name} is not text")) };
            fields.insert(name, text);
        } else {
            return refuse(format!("Unrecognized request argument supplied: {name}"));
        }
    }
    match file {
        Some((name, kind, bytes)) => Ok(ReceivedRecording { fields, name, kind, bytes }),
        None => refuse("[{'type': 'missing', 'loc': ('body', 'file'), 'msg': 'Field required', 'input': None}]"),
    }
}

async fn recording(field: Field<'_>) -> Result<(String, String, Vec<u8>), Refusal> {
    let (name, kind) = (field.file_name().map(str::to_owned), field.content_type().unwrap_or_default().to_owned());
    let Some(name) = name else { return refuse("Expected a file, but got a string") };
    let Ok(bytes) = field.bytes().await else { return refuse("The file broke off") };
    Ok((name, kind, bytes.to_vec()))
}

fn checked(given: ReceivedRecording) -> Result<ReceivedRecording, Refusal> {
    let ReceivedRecording { fields, name, bytes, .. } = &given;
    let Some(model) = fields.get("model") else {
        return refuse("you must provide a model parameter");
    };
    if !MODELS.contains(&model.as_str()) {
        let what = format!("The model `{model}` does not exist or you do not have access to it.");
        return Err(Refusal { status: StatusCode::NOT_FOUND, message: what, code: Some("model_not_found") });
    }
    let format = fields.get("response_format").map_or("json", String::as_str);
    if format != "json" && (model != "whisper-1" || format != "text") {
        return refuse(format!(
            "response_format '{format}' is not compatible with model '{model}'. Use 'json' instead."
        ));
    }
    if fields.get("language").is_some_and(|code| code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_lowercase()))
    {
        return refuse("Invalid language: language must be in ISO-639-1 format.");
    }
    if bytes.len() > BYTES_MAX {
        let what = format!("Maximum content size limit ({BYTES_MAX}) exceeded ({} bytes read)", bytes.len());
        return Err(Refusal { status: StatusCode::PAYLOAD_TOO_LARGE, message: what, code: None });
    }
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    if !FORMATS.contains(&end) {
        return refuse(format!("Invalid file format. Supported formats: {FORMATS:?}"));
    }
    if !is(end, bytes) {
        return refuse("Audio file might be corrupted or unsupported");
    }
    Ok(given)
}

/// Whether the content is what the name says.
fn is(end: &str, bytes: &[u8]) -> bool {
    match end {
        "flac" => bytes.starts_with(b"fLaC"),
        "ogg" | "oga" => bytes.starts_with(b"OggS"),
        "wav" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE"),
        "webm" => bytes.starts_with(&[0x1A, 0x45, 0xDF, 0xA3]),
        "m4a" | "mp4" => bytes.get(4..8) == Some(b"ftyp"),
        _ => bytes.starts_with(b"ID3") || matches!(bytes, [0xFF, second, ..] if second & 0xE0 == 0xE0),
    }
}

fn error(status: StatusCode, message: &str, code: Option<&str>) -> Response {
    let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
    answer(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
