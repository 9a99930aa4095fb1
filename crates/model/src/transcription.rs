//! What somebody says in a recording, in words: by a server that speaks OpenAI's `/audio/transcriptions`.
//!
//! Never: a recording beyond the limit on the wire, or a repetition: each request is paid for, and its caller sets that aside.
//! Start at [`Transcriber::transcribe_until`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::traits::AsyncTryFrom;
use reqwest::header::AUTHORIZATION;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tokio_util::bytes::Bytes;

use crate::error::{ErrorClass, ModelError};
use crate::exchange::endpoint::Endpoint;
use crate::openai::client::Client;
use crate::settings::Deadlines;
use crate::sound::{SoundError, SoundService};
use crate::tokens;
use hob_core::domain::lock::lock;
use hob_core::domain::money::Money;
use hob_core::domain::secret::Secret;
use hob_core::policy::budget::MoneyAndTokens;

#[cfg(test)]
mod tests;

/// What is said where it gives no answer.
const SERVICE: SoundService = SoundService { section: "transcription", given: "the recording", wanted: "a transcript" };
/// What a second of speech has at least, in bytes, where nobody tells how long it is: as messengers record it.
const BYTES_PER_SECOND_MIN: u64 = 2_000;

/// What a second of speech is taken for in tokens, where the server does not count: as models that hear count it.
const TOKENS_PER_SECOND: u64 = 10;

/// How recordings are heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where the API is, with its version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Local servers need none.
    pub api_key: Option<Secret>,
    /// As the server calls it.
    pub model: String,
    /// The language that is spoken, where it is always the same.
    pub language: Option<String>,
    /// The most bytes of a recording.
    pub bytes_max: u64,
    /// How long one recording may take in all.
    pub timeout: Duration,
    /// What a minute costs; none: nobody knows.
    pub minute: Option<Money>,
}

/// The kinds of recordings that servers take, by what they are called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingKind {
    /// The end of a file's name, by which servers tell them apart.
    pub extension: &'static str,
    /// The registered name.
    pub mime: &'static str,
}

impl RecordingKind {
    /// What a file is, by its content; `spoken` is one that the platform calls a recording, which may lie in a container
    /// for films. None: it is not a recording that a server takes.
    pub fn of(mime: &str, spoken: bool) -> Option<Self> {
        let (extension, mime) = match mime {
            "audio/ogg" | "audio/opus" | "application/ogg" => ("ogg", "audio/ogg"),
            "audio/mpeg" => ("mp3", "audio/mpeg"),
            "audio/m4a" | "audio/mp4" => ("m4a", "audio/mp4"),
            "audio/x-wav" | "audio/wav" => ("wav", "audio/wav"),
            "audio/x-flac" | "audio/flac" => ("flac", "audio/flac"),
            "audio/webm" => ("webm", "audio/webm"),
            "video/webm" if spoken => ("webm", "audio/webm"),
            "video/mp4" if spoken => ("mp4", "audio/mp4"),
            _ => return None,
        };
        Some(Self { extension, mime })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// Its bytes.
    pub content: &'a [u8],
    pub kind: RecordingKind,
    /// How long it is, where the platform tells.
    pub seconds: Option<u32>,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The words; none: nobody is heard.
    pub text: String,
    /// For how long somebody spoke, as far as anybody tells.
    pub seconds: Option<u64>,
    /// What it cost; none: nobody knows.
    pub cost: Option<Money>,
    /// The tokens that the recording was, as the server says, or else by its length.
    pub input_tokens: u64,
    /// The tokens that the words are.
    pub output_tokens: u64,
}

/// Hears recordings.
pub struct Transcriber {
    client: Client,
    settings: Settings,
    turns: Mutex<BTreeMap<String, Weak<RecordingLock>>>,
}

type RecordingLock = tokio::sync::Mutex<()>;

/// The answer, as far as it is read.
#[derive(Debug, Deserialize)]
struct TranscriptionResponse {
    text: String,
    usage: Option<Usage>,
    duration: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    seconds: Option<f64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Transcriber {
    /// By these settings; nothing is sent yet.
    ///
    /// # Errors
    /// When the address or the key is none.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let deadlines = Deadlines { first_event: settings.timeout, ..Deadlines::default() };
        let endpoint = Endpoint::new(&settings.base_url, "", deadlines)?;
        let endpoint = endpoint.key(AUTHORIZATION, "Bearer ", settings.api_key.as_ref())?;
        let client = Client::patient(endpoint, settings.timeout);
        Ok(Self { client, settings, turns: Mutex::default() })
    }

    /// The name under which it is on the bill.
    pub fn label(&self) -> String {
        format!("transcription/{}", self.settings.model)
    }

    /// What a recording will take at most, as far as its length is known or follows from its size; of money nothing where nobody
    /// knows what a minute costs.
    pub fn estimate(&self, bytes: u64, seconds: Option<u32>) -> MoneyAndTokens {
        let seconds = seconds.map_or(bytes / BYTES_PER_SECOND_MIN, u64::from);
        let usd = self.settings.minute.map(|minute| cost(minute, seconds)).unwrap_or_default();
        MoneyAndTokens { usd, tokens: seconds.saturating_mul(TOKENS_PER_SECOND) }
    }

    /// Waits until nobody else is at this recording: a platform may hand one message in twice at once.
    pub async fn turn(&self, recording: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = lock(&self.turns);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let known = turns.get(recording).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turn = Arc::<RecordingLock>::default();
                turns.insert(recording.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }

    /// When a recording that is begun now is given up, before `end`.
    pub fn until(&self, end: Instant) -> Instant {
        end.min(Instant::now() + self.settings.timeout)
    }

    /// The words in a recording, by one request that is over at `end`.
    ///
    /// # Errors
    /// With the reason, and whether it is worth another try.
    pub async fn transcribe_until(&self, recording: &Recording<'_>, end: Instant) -> Result<Transcript, SoundError> {
        let (bytes, most) = (recording.content.len() as u64, self.settings.bytes_max);
        if bytes > most {
            return Err(SoundError::unsent(format!(
                "it has {:.1} MB, and {:.1} MB are the most",
                mega(bytes),
                mega(most)
            )));
        }
        let asked = tokio::time::timeout_at(end, self.ask(recording)).await;
        let answer = asked.unwrap_or_else(|_elapsed| Err(ModelError::new(ErrorClass::Timeout, "")));
        let answer = answer.map_err(|error| SoundError::of(SERVICE, &error))?;
        let text = answer.text.trim().to_owned();
        let usage = answer.usage.unwrap_or_default();
        let told = usage.seconds.or(answer.duration).filter(|told| *told >= 0.0);
        let seconds = told.map(whole_seconds).or(recording.seconds.map(u64::from));
        let length = seconds.unwrap_or(bytes / BYTES_PER_SECOND_MIN);
        let cost = self.settings.minute.map(|minute| cost(minute, length));
        let input_tokens = usage.input_tokens.unwrap_or_else(|| length.saturating_mul(TOKENS_PER_SECOND));
        let output_tokens = usage.output_tokens.unwrap_or_else(|| tokens::count(&text));
        tracing::info!(seconds, bytes, "a recording was transcribed");
        Ok(Transcript { text, seconds, cost, input_tokens, output_tokens })
    }

    async fn ask(&self, recording: &Recording<'_>) -> Result<TranscriptionResponse, ModelError> {
        self.client.transcribe(RecordingUpload::new(&self.settings, recording)).await.map_err(|failure| failure.error)
    }
}

/// A recording with what servers are told of it. async-openai's own form leaves out what kind of sound it is, which the API
/// recommends.
#[derive(Debug, Clone)]
struct RecordingUpload {
    fields: Vec<(&'static str, String)>,
    kind: RecordingKind,
    content: Bytes,
}

impl RecordingUpload {
    fn new(settings: &Settings, recording: &Recording<'_>) -> Self {
        let fields = [("model", Some(settings.model.clone())), ("response_format", Some("json".to_owned()))];
        let fields = fields.into_iter().chain([("language", settings.language.clone())]);
        Self {
            fields: fields.filter_map(|(name, value)| Some((name, value?))).collect(),
            kind: recording.kind,
            content: Bytes::copy_from_slice(recording.content),
        }
    }
}

impl AsyncTryFrom<RecordingUpload> for Form {
    type Error = OpenAIError;

    async fn try_from(spoken: RecordingUpload) -> Result<Self, OpenAIError> {
        let RecordingKind { extension, mime } = spoken.kind;
        let file = Part::stream(spoken.content).file_name(format!("recording.{extension}")).mime_str(mime)?;
        let form = spoken.fields.into_iter().fold(Self::new(), |form, (name, value)| form.text(name, value));
        Ok(form.part("file", file))
    }
}

/// What so many seconds cost, to the nanodollar.
fn cost(minute: Money, seconds: u64) -> Money {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Money::from_nanos(minute.nanos().saturating_mul(seconds) / 60)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float beyond a u64 saturates")]
fn whole_seconds(seconds: f64) -> u64 {
    seconds.ceil() as u64
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
