//! `[transcription]`: who puts voice messages into words.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, values};
use hob_core::domain::secret::Secret;

/// Who puts voice messages into words.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<TranscriptionConfig>)]
pub struct TranscriptionConfig {
    /// The server: any that has OpenAI's /audio/transcriptions.
    #[schemars(length(min = 1, max = 1000))]
    #[schemars(extend("x-goes" = true))]
    pub base_url: String,
    /// The key. Without it, at OpenAI: the one under `[provider]` if that is OpenAI's, or OPENAI_API_KEY.
    #[schemars(length(min = 1, max = 1000), example = &"sk-example")]
    pub api_key: Option<Secret>,
    /// The model, as the server calls it.
    #[schemars(length(min = 1, max = 200))]
    pub model: String,
    /// The language that is spoken, as a code of two letters. Without it the model finds out.
    #[schemars(length(min = 2, max = 3), example = &"de")]
    pub language: Option<String>,
    /// The most bytes of a recording.
    #[schemars(range(min = 1_000, max = 50_000_000))]
    pub bytes_max: u64,
    /// Seconds that one recording may take. Meanwhile the platform's other messages wait, so 60 are the most.
    #[schemars(range(min = 1, max = 60))]
    pub timeout_secs: u64,
    /// US dollars for a minute, for the budget. Without it recordings count for nothing there.
    #[schemars(range(min = 0, max = 100), example = &0.003)]
    pub minute_usd: Option<f64>,
}

impl TranscriptionConfig {
    /// Where OpenAI's own server is.
    pub const OPENAI: &str = "https://api.openai.com/v1";

    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let url = values::check_http_url("base_url", &self.base_url);
        let key = self.api_key.as_ref().and_then(|key| values::header_secret("api_key", key.expose()));
        let words = [("model", Some(&self.model)), ("language", self.language.as_ref())];
        let words = words.into_iter().filter(|(_, word)| word.is_some_and(|word| word.chars().any(char::is_control)));
        let lines = words.map(|(name, _)| Finding::new(name, "has a line break in it, expected one line", "remove it"));
        url.into_iter().chain(key).chain(lines).collect()
    }
}

impl Default for TranscriptionConfig {
    fn default() -> Self {
        Self {
            base_url: Self::OPENAI.to_owned(),
            api_key: None,
            model: "gpt-4o-mini-transcribe".to_owned(),
            language: None,
            bytes_max: 25_000_000,
            timeout_secs: 45,
            minute_usd: None,
        }
    }
}
