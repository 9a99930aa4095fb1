//! Words as somebody says them: by a server that speaks OpenAI's `/audio/speech`.
//!
//! Never: a repetition: each request is paid for, and its caller sets that aside.
//! Start at [`Speaker::speak`].

use std::time::Duration;

use async_openai::types::audio::{CreateSpeechRequest, SpeechModel, SpeechResponseFormat, Voice};
use reqwest::header::AUTHORIZATION;

use crate::error::ModelError;
use crate::exchange::endpoint::Endpoint;
use crate::openai::client::Client;
use crate::settings::Deadlines;
use crate::sound::{SoundError, SoundService};
use crate::tokens;
use hob_core::domain::money::Money;
use hob_core::domain::secret::Secret;

/// What is said where it gives no answer.
const SERVICE: SoundService = SoundService { section: "speech", given: "the text", wanted: "a recording" };

/// How answers are spoken.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where the API is, with its version: `http://127.0.0.1:8880/v1`.
    pub base_url: String,
    /// Local servers need none.
    pub api_key: Option<Secret>,
    /// As the server calls it.
    pub model: String,
    /// Whose voice it is, as the server calls it.
    pub voice: String,
    /// How long one answer may take in all.
    pub timeout: Duration,
    /// What a million characters cost; none: nobody knows.
    pub million_chars: Option<Money>,
}

/// What words cost that are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeechPrice {
    /// In money; none: nobody knows.
    pub usd: Option<Money>,
    /// The tokens that they are, as counted here.
    pub tokens: u64,
}

/// Says words.
pub struct Speaker {
    client: Client,
    settings: Settings,
}

impl Speaker {
    /// By these settings; nothing is sent yet.
    ///
    /// # Errors
    /// When the address or the key is none.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let deadlines = Deadlines { first_event: settings.timeout, ..Deadlines::default() };
        let endpoint = Endpoint::new(&settings.base_url, "", deadlines)?;
        let endpoint = endpoint.key(AUTHORIZATION, "Bearer ", settings.api_key.as_ref())?;
        Ok(Self { client: Client::for_sound(endpoint, settings.timeout), settings })
    }

    /// The name under which it is on the bill.
    pub fn label(&self) -> String {
        format!("speech/{}", self.settings.model)
    }

    /// What it costs to say these words: it is known before they are said.
    pub fn price(&self, text: &str) -> SpeechPrice {
        let chars = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let of = |million: Money| Money::from_nanos(million.nanos().saturating_mul(chars) / 1_000_000);
        SpeechPrice { usd: self.settings.million_chars.map(of), tokens: tokens::count(text) }
    }

    /// The words as sound, in Ogg with Opus as far as the server does what it is asked for; by one request.
    ///
    /// # Errors
    /// With the reason, and whether it is worth another try.
    pub async fn speak(&self, text: &str) -> Result<Vec<u8>, SoundError> {
        let request = CreateSpeechRequest {
            input: text.to_owned(),
            model: SpeechModel::Other(self.settings.model.clone()),
            voice: Voice::Other(self.settings.voice.clone()),
            response_format: Some(SpeechResponseFormat::Opus),
            ..CreateSpeechRequest::default()
        };
        self.client.speak(request).await.map_err(|failure| SoundError::of(SERVICE, &failure.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n10_what_is_spoken_is_priced_and_counted_before() {
        let settings = |million_chars| Settings {
            base_url: "http://127.0.0.1:9/v1".to_owned(),
            api_key: None,
            model: "tts-1".to_owned(),
            voice: "alloy".to_owned(),
            timeout: Duration::from_secs(1),
            million_chars,
        };
        let priced = Speaker::new(settings(Some(Money::from_usd(15.0)))).unwrap();
        assert_eq!(priced.price("Hello"), SpeechPrice { usd: Some(Money::from_nanos(75_000)), tokens: 1 });
        let unknown = Speaker::new(settings(None)).unwrap();
        assert_eq!(unknown.price("Hello"), SpeechPrice { usd: None, tokens: 1 });
        assert_eq!(unknown.label(), "speech/tts-1");
    }
}
