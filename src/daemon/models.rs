//! From `[provider]` and the environment to the models.

use std::time::Duration;

use crate::config::Config;
use crate::config::environment::Environment;
use crate::config::provider::{ProviderConfig, ProviderKind};
use crate::daemon::StartError;
use crate::model::catalog::{Catalog, Entry};
use crate::model::discover::ollama::OllamaAddress;
use crate::model::discover::{self, Configured, Lookup, discover};
use crate::model::settings::Deadlines;

/// Where an Ollama is looked for.
pub const OLLAMA: &str = "127.0.0.1:11434";

/// The models, and the sentence that tells which was taken.
pub struct Models {
    /// By role, in the order in which they are asked.
    pub catalog: Catalog,
    /// Which model answers, and how to change it.
    pub told: String,
}

/// Finds and builds the models.
///
/// # Errors
/// When a configured model cannot be used as it is configured.
pub async fn build(config: &Config, environment: &Environment) -> Result<Models, StartError> {
    let lookup = |name: &str| environment.text(name).map(str::to_owned).filter(|value| !value.is_empty());
    let ollama = OllamaAddress::parse(OLLAMA)
        .ok_or_else(|| StartError::Config(format!("{OLLAMA} is no address of an Ollama")))?;
    let finder = Finder { lookup: &lookup, ollama };
    let Some(provider) = &config.provider else {
        let found = discover(None, &lookup, &finder.ollama).await?;
        let told = found.to_string();
        let catalog = Catalog::new(found.provider(Deadlines::default())?, Vec::new());
        return Ok(Models { catalog, told });
    };
    let deadlines = Deadlines {
        connect: Duration::from_secs(provider.connect_timeout_secs),
        first_event: Duration::from_secs(provider.first_event_timeout_secs),
        between_events: Duration::from_secs(provider.idle_timeout_secs),
    };
    let primary =
        discover(Some(&configured(provider, provider.models.primary.clone())), &lookup, &finder.ollama).await?;
    let told = primary.to_string();
    let mut others = finder.siblings(provider, deadlines).await?;
    others.extend(finder.fallbacks(provider, deadlines).await?);
    Ok(Models { catalog: Catalog::new(primary.provider(deadlines)?, others), told })
}

struct Finder<'a> {
    lookup: Lookup<'a>,
    ollama: OllamaAddress,
}

impl Finder<'_> {
    /// The provider's own other models, to be chosen by `/model`.
    async fn siblings(&self, provider: &ProviderConfig, deadlines: Deadlines) -> Result<Vec<Entry>, StartError> {
        let mut entries = Vec::new();
        for (role, model) in [("fast", &provider.models.fast), ("smart", &provider.models.smart)] {
            if let Some(model) = model {
                let found =
                    discover(Some(&configured(provider, Some(model.clone()))), self.lookup, &self.ollama).await?;
                entries.push(Entry { role, provider: found.provider(deadlines)? });
            }
        }
        Ok(entries)
    }

    async fn fallbacks(&self, provider: &ProviderConfig, deadlines: Deadlines) -> Result<Vec<Entry>, StartError> {
        let mut entries = Vec::new();
        for fallback in &provider.fallbacks {
            let wanted = Configured {
                kind: kind(fallback.kind),
                base_url: fallback.base_url.clone(),
                api_key: fallback.api_key.clone(),
                model: Some(fallback.model.clone()),
            };
            let found = discover(Some(&wanted), self.lookup, &self.ollama).await;
            let found = found.map_err(|source| StartError::Fallback { model: fallback.model.clone(), source })?;
            entries.push(Entry { role: "fallback", provider: found.provider(deadlines)? });
        }
        Ok(entries)
    }
}

fn configured(provider: &ProviderConfig, model: Option<String>) -> Configured {
    Configured {
        kind: kind(provider.kind),
        base_url: provider.base_url.clone(),
        api_key: provider.api_key.clone(),
        model,
    }
}

fn kind(kind: ProviderKind) -> discover::ProviderKind {
    match kind {
        ProviderKind::Openai => discover::ProviderKind::OpenAi,
        ProviderKind::Anthropic => discover::ProviderKind::Anthropic,
        ProviderKind::Gemini => discover::ProviderKind::Gemini,
        ProviderKind::Openrouter => discover::ProviderKind::OpenRouter,
        ProviderKind::Ollama => discover::ProviderKind::Ollama,
        ProviderKind::OpenaiCompatible => discover::ProviderKind::OpenAiCompatible,
        ProviderKind::Offline => discover::ProviderKind::Offline,
    }
}
