//! From `[provider]` and the environment to the models.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::config::environment::Environment;
use crate::config::provider::{EffortConfig, ProviderConfig, ProviderKind};
use crate::daemon::StartError;
use crate::model::catalog::{Catalog, Entry};
use crate::model::discover::ollama::OllamaAddress;
use crate::model::discover::{self, Configured, Lookup, discover};
use crate::model::learned::Remember;
use crate::model::provider::Provider;
use crate::model::settings::{Deadlines, Effort, Tuning};

/// Where an Ollama is looked for.
const OLLAMA: &str = "127.0.0.1:11434";

/// The models, and the sentence that tells which was taken.
pub(super) struct Models {
    pub(super) catalog: Catalog,
    pub(super) told: String,
}

/// Finds and builds the models; `remember` keeps what they refuse.
pub(super) async fn build(
    config: &Config,
    environment: &Environment,
    remember: Arc<dyn Remember>,
) -> Result<Models, StartError> {
    let lookup = |name: &str| environment.text(name).map(str::to_owned).filter(|value| !value.is_empty());
    let ollama = OllamaAddress::parse(OLLAMA)
        .ok_or_else(|| StartError::Config(format!("{OLLAMA} is no address of an Ollama")))?;
    let deadlines = config.provider.as_ref().map(deadlines).unwrap_or_default();
    let finder = Finder { lookup: &lookup, ollama, deadlines, remember };
    let wanted = config.provider.as_ref().map(|provider| configured(provider, provider.models.primary.clone()));
    let (primary, told) = finder.find(wanted.as_ref()).await?;
    let mut others = Vec::new();
    if let Some(provider) = &config.provider {
        others = finder.siblings(provider).await?;
        others.extend(finder.fallbacks(provider).await?);
    }
    Ok(Models { catalog: Catalog::new(primary, others), told })
}

struct Finder<'a> {
    lookup: Lookup<'a>,
    ollama: OllamaAddress,
    deadlines: Deadlines,
    remember: Arc<dyn Remember>,
}

impl Finder<'_> {
    /// The model, and the sentence that tells why it was taken.
    async fn find(&self, wanted: Option<&Configured>) -> Result<(Arc<dyn Provider>, String), StartError> {
        let found = discover(wanted, self.lookup, &self.ollama).await?;
        Ok((found.provider(self.deadlines, &self.remember)?, found.to_string()))
    }

    /// The provider's own other models, to be chosen by `/model`.
    async fn siblings(&self, provider: &ProviderConfig) -> Result<Vec<Entry>, StartError> {
        let mut entries = Vec::new();
        for (role, model) in [("fast", &provider.models.fast), ("smart", &provider.models.smart)] {
            if let Some(model) = model {
                let (provider, _told) = self.find(Some(&configured(provider, Some(model.clone())))).await?;
                entries.push(Entry { role, provider });
            }
        }
        Ok(entries)
    }

    async fn fallbacks(&self, provider: &ProviderConfig) -> Result<Vec<Entry>, StartError> {
        let mut entries = Vec::new();
        for fallback in &provider.fallbacks {
            let wanted = Configured {
                base_url: fallback.base_url.clone(),
                api_key: fallback.api_key.clone(),
                model: Some(fallback.model.clone()),
                tuning: tuning(fallback.temperature, fallback.max_output_tokens, fallback.effort),
                context_tokens: fallback.context_tokens,
                ..Configured::usual(kind(fallback.kind))
            };
            let found = discover(Some(&wanted), self.lookup, &self.ollama).await;
            let found = found.map_err(|source| StartError::Fallback { model: fallback.model.clone(), source })?;
            entries.push(Entry { role: "fallback", provider: found.provider(self.deadlines, &self.remember)? });
        }
        Ok(entries)
    }
}

fn deadlines(provider: &ProviderConfig) -> Deadlines {
    Deadlines {
        connect: Duration::from_secs(provider.connect_timeout_secs),
        first_event: Duration::from_secs(provider.first_event_timeout_secs),
        between_events: Duration::from_secs(provider.idle_timeout_secs),
    }
}

fn configured(provider: &ProviderConfig, model: Option<String>) -> Configured {
    Configured {
        base_url: provider.base_url.clone(),
        api_key: provider.api_key.clone(),
        model,
        tuning: tuning(provider.temperature, provider.max_output_tokens, provider.effort),
        context_tokens: provider.context_tokens,
        ..Configured::usual(kind(provider.kind))
    }
}

fn tuning(temperature: Option<f64>, max_output_tokens: Option<u64>, effort: Option<EffortConfig>) -> Tuning {
    let effort = effort.map(|effort| match effort {
        EffortConfig::Low => Effort::Low,
        EffortConfig::Medium => Effort::Medium,
        EffortConfig::High => Effort::High,
    });
    Tuning { temperature, max_output_tokens, effort }
}

fn kind(kind: ProviderKind) -> discover::ProviderKind {
    match kind {
        ProviderKind::Openai => discover::ProviderKind::OpenAi,
        ProviderKind::Anthropic => discover::ProviderKind::Anthropic,
        ProviderKind::Gemini => discover::ProviderKind::Gemini,
        ProviderKind::Openrouter => discover::ProviderKind::OpenRouter,
        ProviderKind::Deepseek => discover::ProviderKind::DeepSeek,
        ProviderKind::Groq => discover::ProviderKind::Groq,
        ProviderKind::Xai => discover::ProviderKind::Xai,
        ProviderKind::Moonshot => discover::ProviderKind::Moonshot,
        ProviderKind::Mistral => discover::ProviderKind::Mistral,
        ProviderKind::Ollama => discover::ProviderKind::Ollama,
        ProviderKind::Vllm => discover::ProviderKind::Vllm,
        ProviderKind::LlamaCpp => discover::ProviderKind::LlamaCpp,
        ProviderKind::LmStudio => discover::ProviderKind::LmStudio,
        ProviderKind::OpenaiCompatible => discover::ProviderKind::OpenAiCompatible,
        ProviderKind::Offline => discover::ProviderKind::Offline,
    }
}
