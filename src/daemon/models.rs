//! From `[provider]` and the environment to the models.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::config::environment::Environment;
use crate::config::provider::{EffortConfig, ModelsConfig, ProviderConfig, ProviderKind};
use crate::daemon::{StartError, parts};
use crate::model::catalog::{Catalog, Entry};
use crate::model::discover::ollama::OllamaAddress;
use crate::model::discover::{self, Configured, Found, Lookup, discover};
use crate::model::guarded::Watch;
use crate::model::learned::Remember;
use crate::model::settings::{Deadlines, Effort, Tuning};
use crate::model::table::Table;

/// Where an Ollama is looked for.
pub const OLLAMA: &str = "127.0.0.1:11434";

/// The models, and the sentence that tells which was taken.
pub struct Models {
    /// All that can be asked.
    pub catalog: Catalog,
    /// Which was taken, and why.
    pub told: String,
}

/// What models are built from.
pub struct Sources<'a> {
    /// The config, as loaded.
    pub config: &'a Config,
    /// Where keys are found.
    pub environment: &'a Environment,
    /// What models can do and cost.
    pub table: &'a Table,
    /// Keeps what they refuse.
    pub remember: Arc<dyn Remember>,
    /// For those that rest.
    pub watch: Watch,
}

/// Finds and builds the models.
///
/// # Errors
/// When a configured model cannot be used as it is configured.
pub async fn build(sources: Sources<'_>) -> Result<Models, StartError> {
    let Sources { config, environment, table, remember, watch } = sources;
    let lookup = |name: &str| environment.text(name).map(str::to_owned).filter(|value| !value.is_empty());
    let ollama = OllamaAddress::parse(OLLAMA)
        .ok_or_else(|| StartError::Config(format!("{OLLAMA} is no address of an Ollama")))?;
    let deadlines = config.provider.as_ref().map(deadlines).unwrap_or_default();
    let reply_tokens = (!parts::budget(&config.budget).is_unlimited()).then_some(parts::REPLY_TOKENS);
    let finder = Finder { lookup: &lookup, ollama, deadlines, remember, table, reply_tokens };
    let wanted = config.provider.as_ref().map(|provider| configured(provider, provider.models.primary.clone()));
    let primary = discover(wanted.as_ref(), &lookup, &finder.ollama).await?;
    let told = primary.to_string();
    let mut others = Vec::new();
    if let Some(provider) = &config.provider {
        others = finder.siblings(provider).await?;
        others.extend(finder.fallbacks(provider).await?);
    }
    others.extend(finder.spare(&primary.label)?);
    let catalog = Catalog::watched(finder.entry("primary", &primary)?, others, watch);
    Ok(Models { catalog: catalog.with_aliases(config.aliases.clone()), told })
}

struct Finder<'a> {
    lookup: Lookup<'a>,
    ollama: OllamaAddress,
    deadlines: Deadlines,
    remember: Arc<dyn Remember>,
    table: &'a Table,
    /// The most tokens of a reply where the owner sets none: what a budget sets aside for it must be enough.
    reply_tokens: Option<u64>,
}

impl Finder<'_> {
    fn entry(&self, role: &'static str, found: &Found) -> Result<Entry, StartError> {
        let provider = found.limited(self.reply_tokens).provider(self.deadlines, &self.remember, self.table)?;
        Ok(Entry::new(role, provider).on(found.credential()))
    }

    /// The provider's own other models: for the tiers of routing, and to be chosen by `/model`.
    async fn siblings(&self, provider: &ProviderConfig) -> Result<Vec<Entry>, StartError> {
        let ModelsConfig { fast, smart, others, .. } = &provider.models;
        let tiers =
            [("fast", fast), ("smart", smart)].into_iter().filter_map(|(role, model)| Some((role, model.as_ref()?)));
        let mut entries = Vec::new();
        for (role, model) in tiers.chain(others.iter().map(|model| ("other", model))) {
            let found = discover(Some(&configured(provider, Some(model.clone()))), self.lookup, &self.ollama).await?;
            entries.push(self.entry(role, &found)?);
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
            entries.push(self.entry("fallback", &found)?);
        }
        Ok(entries)
    }

    /// The usual models of the services whose keys the environment holds besides: nobody is sent there but by `/model`.
    fn spare(&self, primary: &str) -> Result<Vec<Entry>, StartError> {
        let service = primary.split('/').next();
        let spare =
            discover::with_keys(self.lookup).into_iter().filter(|found| found.label.split('/').next() != service);
        spare.map(|found| self.entry("other", &found)).collect()
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
