//! A strict server with OpenAI's `/audio/transcriptions`, on loopback.
//!
//! It refuses what OpenAI refuses, in its words; answers from a script; and records what it was given to hear.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::json;

use crate::fake_audio::{AudioServer, Refusal, SharedState, next, no_model, refuse};
use crate::stream::{Plan, Step};

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

/// What is answered to a recording.
pub enum Transcript {
    Words(String, u32),
    /// An answer without an end.
    Flood,
}

/// The server; it ends when dropped.
pub type FakeTranscription = AudioServer<Transcript, ReceivedRecording>;

impl FakeTranscription {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        Self::serving("/v1/audio/transcriptions", post(transcriptions).layer(DefaultBodyLimit::disable())).await
    }

    /// Hears this in the next recording, which is so many seconds long.
    pub fn hears(&self, words: &str, seconds: u32) -> &Self {
        self.answers(Transcript::Words(words.to_owned(), seconds))
    }

    /// Answers the next request without an end.
    pub fn floods(&self) -> &Self {
        self.answers(Transcript::Flood)
    }

    /// Every recording that was well given, in order, whatever the answer was.
    pub fn given(&self) -> Vec<ReceivedRecording> {
        self.taken()
    }
}

async fn transcriptions(
    State(world): State<SharedState<Transcript, ReceivedRecording>>,
    request: Request,
) -> Result<Response, Refusal> {
    world.lock().unwrap().admit(request.headers())?;
    let given = read(request).await.and_then(checked);
    let field = |name: &str| given.as_ref().ok().and_then(|given| given.fields.get(name).cloned());
    let (model, format) = (field("model"), field("response_format"));
    match next(&world, given).await? {
        Some(Transcript::Words(text, _)) if format.as_deref() == Some("text") => {
            Ok(format!("{text}\n").into_response())
        }
        Some(Transcript::Words(text, seconds)) => {
            let usage = if model.as_deref() == Some("whisper-1") {
                json!({"type": "duration", "seconds": seconds})
            } else {
                json!({"type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
                    "output_tokens": 9, "total_tokens": 23})
            };
            Ok(answer(Body::from(json!({"text": text, "usage": usage}).to_string())))
        }
        Some(Transcript::Flood) => {
            let flood = Plan::default().step(Step::Forever(vec![b' '; 256 * 1024].into()));
            Ok(answer(Body::from_stream(flood.play(|| {}))))
        }
        None => refuse("The fake has no answer in its script."),
    }
}

fn answer(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
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
        return no_model(model);
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
