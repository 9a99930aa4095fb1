//! `[provider]`: which model answers, and which ones stand in for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::choices::Effort;
use hob_core::domain::secret::Secret;

/// Who runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// OpenAI
    Openai,
    /// Anthropic
    Anthropic,
    /// Google Gemini
    Gemini,
    /// OpenRouter
    Openrouter,
    /// DeepSeek
    Deepseek,
    /// Groq
    Groq,
    /// xAI
    Xai,
    /// Moonshot AI
    Moonshot,
    /// Mistral
    Mistral,
    /// an Ollama server, by default on this machine
    Ollama,
    /// a vLLM server, by default on this machine
    Vllm,
    /// llama.cpp's server, by default on this machine
    LlamaCpp,
    /// LM Studio's server, by default on this machine
    LmStudio,
    /// any server that speaks OpenAI's chat completions, at base_url
    OpenaiCompatible,
    /// the built-in model, which needs no network
    Offline,
}

/// Which of OpenAI's two APIs is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiConfig {
    /// /responses, where OpenAI's newer models think and take tools in the same call
    Responses,
    /// /chat/completions, which many servers speak
    Chat,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ProviderConfig>)]
pub struct ProviderConfig {
    /// Who runs the model.
    #[schemars(example = &"openai")]
    #[schemars(extend("x-goes" = true))]
    pub kind: ProviderKind,
    /// The key. Without it: the kind's own environment variable, such as OPENAI_API_KEY.
    #[schemars(length(min = 1, max = 1000), example = &"sk-example")]
    pub api_key: Option<Secret>,
    /// The server, if it is not the kind's own; openai_compatible needs it.
    #[schemars(length(min = 1, max = 1000), example = &"http://127.0.0.1:8080/v1")]
    #[schemars(extend("x-goes" = true))]
    pub base_url: Option<String>,
    /// Which of OpenAI's two APIs is spoken, with kind openai or openai_compatible. Without it: responses for openai without a
    /// base_url, chat for all others.
    #[schemars(example = &"chat")]
    pub api: Option<ApiConfig>,
    /// Seconds until the first piece of an answer must be there; local models can need minutes.
    #[serde(default = "first_event_timeout_secs")]
    #[schemars(range(min = 1, max = 3600))]
    pub first_event_timeout_secs: u64,
    /// Seconds that may pass between two pieces of an answer.
    #[serde(default = "idle_timeout_secs")]
    #[schemars(range(min = 1, max = 3600))]
    pub idle_timeout_secs: u64,
    /// How freely the model chooses its words, from always the likeliest to almost any. Without it: as the
    /// provider has it. What a model refuses of this, max_output_tokens and effort is left out.
    #[schemars(range(min = 0, max = 2), example = 0.7)]
    pub temperature: Option<f64>,
    /// The most tokens of one answer, thinking included.
    #[schemars(range(min = 1, max = 10_000_000), example = 8192)]
    pub max_output_tokens: Option<u64>,
    /// How much the model thinks before it answers.
    #[schemars(example = &"low")]
    pub effort: Option<Effort>,
    /// The most tokens that the model can read and write together, where Hob's own table is wrong or has none.
    #[schemars(range(min = 1024, max = 100_000_000), example = 32_768)]
    pub context_tokens: Option<u64>,
    /// Which models of the provider.
    #[serde(default)]
    pub models: ModelsConfig,
    /// Models that are asked when the one before fails, in this order.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub fallbacks: Vec<FallbackConfig>,
    /// Set while something that it needs is missing, such as its key: what, in words. It is asked nothing then.
    #[serde(skip)]
    pub off: Option<String>,
}

/// Which models of the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ModelsConfig>)]
pub struct ModelsConfig {
    /// The model that answers. Without it: the provider's usual one.
    #[schemars(length(min = 1, max = 200), example = &"gpt-5")]
    pub primary: Option<String>,
    /// The model for simple work. Without it: the primary.
    #[schemars(length(min = 1, max = 200), example = &"gpt-5-mini")]
    pub fast: Option<String>,
    /// The model for hard work. Without it: the primary.
    #[schemars(length(min = 1, max = 200), example = &"gpt-5-pro")]
    pub smart: Option<String>,
    /// More of its models, to be chosen by /model.
    #[schemars(length(max = 32), inner(length(min = 1, max = 200)))]
    pub others: Vec<String>,
}

/// A model that is asked when the one before fails.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<FallbackConfig>)]
pub struct FallbackConfig {
    /// Who runs the model.
    #[schemars(example = &"ollama")]
    #[schemars(extend("x-goes" = true))]
    pub kind: ProviderKind,
    /// The model.
    #[schemars(length(min = 1, max = 200), example = &"qwen3")]
    pub model: String,
    /// The key. Without it: the kind's own environment variable, such as OPENAI_API_KEY.
    #[schemars(length(min = 1, max = 1000), example = &"sk-example")]
    pub api_key: Option<Secret>,
    /// The server, if it is not the kind's own; openai_compatible needs it.
    #[schemars(length(min = 1, max = 1000), example = &"http://127.0.0.1:11434")]
    #[schemars(extend("x-goes" = true))]
    pub base_url: Option<String>,
    /// Which of OpenAI's two APIs is spoken, with kind openai or openai_compatible. Without it: responses for openai without a
    /// base_url, chat for all others.
    #[schemars(example = &"chat")]
    pub api: Option<ApiConfig>,
    /// How freely the model chooses its words, from always the likeliest to almost any. Without it: as the
    /// provider has it. What a model refuses of this, max_output_tokens and effort is left out.
    #[schemars(range(min = 0, max = 2), example = 0.7)]
    pub temperature: Option<f64>,
    /// The most tokens of one answer, thinking included.
    #[schemars(range(min = 1, max = 10_000_000), example = 8192)]
    pub max_output_tokens: Option<u64>,
    /// How much the model thinks before it answers.
    #[schemars(example = &"low")]
    pub effort: Option<Effort>,
    /// The most tokens that the model can read and write together, where Hob's own table is wrong or has none.
    #[schemars(range(min = 1024, max = 100_000_000), example = 32_768)]
    pub context_tokens: Option<u64>,
    /// Set while something that it needs is missing, such as its key: what, in words. It is asked nothing then.
    #[serde(skip)]
    pub off: Option<String>,
}

fn first_event_timeout_secs() -> u64 {
    120
}

fn idle_timeout_secs() -> u64 {
    60
}

impl ProviderConfig {
    /// This kind with every default: what a provider found without a config has.
    pub fn new(kind: ProviderKind) -> Self {
        Self {
            kind,
            api_key: None,
            base_url: None,
            api: None,
            first_event_timeout_secs: first_event_timeout_secs(),
            idle_timeout_secs: idle_timeout_secs(),
            temperature: None,
            max_output_tokens: None,
            effort: None,
            context_tokens: None,
            models: ModelsConfig::default(),
            fallbacks: Vec::new(),
            off: None,
        }
    }

    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = endpoint(self.kind, self.base_url.as_deref(), self.api_key.as_ref());
        for (index, fallback) in self.fallbacks.iter().enumerate() {
            let here = endpoint(fallback.kind, fallback.base_url.as_deref(), fallback.api_key.as_ref());
            found.extend(here.into_iter().map(|finding| finding.within(&key_path::item("fallbacks", index))));
            let own = [&self.models.primary, &self.models.fast, &self.models.smart];
            let is_own = self.kind == fallback.kind && own.contains(&&Some(fallback.model.clone()));
            let mut before = self.fallbacks.iter().take(index);
            if is_own || before.any(|other| other.kind == fallback.kind && other.model == fallback.model) {
                let why =
                    "is there already with this kind, expected another model: two of one name cannot be told apart";
                found.push(
                    Finding::new("model", why, "name another model, or leave this fallback out")
                        .within(&key_path::item("fallbacks", index)),
                );
            }
        }
        found
    }
}

/// What cannot be in the three keys that a provider and a fallback share.
fn endpoint(kind: ProviderKind, base_url: Option<&str>, api_key: Option<&Secret>) -> Vec<Finding> {
    let mut found = Vec::new();
    match base_url {
        Some(text) => found.extend(values::check_http_url("base_url", text)),
        None if kind == ProviderKind::OpenaiCompatible => {
            let why = "is missing, expected the server's URL, because kind is openai_compatible";
            found.push(
                Finding::new("base_url", why, "for example `base_url = \"http://127.0.0.1:8080/v1\"`").with("kind"),
            );
        }
        None => {}
    }
    found.extend(api_key.and_then(|key| values::header_secret("api_key", key.expose())));
    found
}
