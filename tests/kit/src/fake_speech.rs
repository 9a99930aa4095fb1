//! A strict server with OpenAI's `/audio/speech`, on loopback.
//!
//! It refuses what OpenAI refuses, in its words; answers from a script; and records what it was to say.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Map, Value};

use crate::fake_audio::{AudioServer, Refusal, SharedState, next, no_model, refuse};

/// What it gives for a voice, unless the script says otherwise: the beginning of Opus in Ogg.
pub const OPUS: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead spoken";
/// The most characters.
const CHARS_MAX: usize = 4_096;
const MODELS: [&str; 3] = ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"];
const VOICES: [&str; 6] = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"];
const FORMATS: [&str; 6] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
const FIELDS: [&str; 7] = ["input", "model", "voice", "response_format", "speed", "instructions", "stream_format"];

/// The sound that is given.
type Sound = Vec<u8>;

/// The server; it ends when dropped.
pub type FakeSpeech = AudioServer<Sound, Value>;

impl FakeSpeech {
    /// Listens on a free port of loopback, with an empty script: it says everything.
    pub async fn start() -> Self {
        Self::serving("/v1/audio/speech", post(speech)).await
    }

    /// Gives this for the next request.
    pub fn gives(&self, sound: &[u8]) -> &Self {
        self.answers(sound.to_vec())
    }

    /// Every request that was well made, in order, whatever the answer was.
    pub fn said(&self) -> Vec<Value> {
        self.taken()
    }
}

async fn speech(
    State(world): State<SharedState<Sound, Value>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    world.lock().unwrap().admit(&headers)?;
    let said = checked(&body);
    let kind = match said.as_ref().ok().and_then(|said| said["response_format"].as_str()) {
        Some("opus") => "audio/opus",
        Some("wav") => "audio/wav",
        Some(_) | None => "audio/mpeg",
    };
    let sound = next(&world, said).await?.unwrap_or_else(|| OPUS.to_vec());
    Ok(([(header::CONTENT_TYPE, kind)], sound).into_response())
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
        return no_model(model);
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
