//! From `[provider]` and the environment to the models.

use std::sync::Arc;
use std::time::Duration;

use crate::daemon::config_mapping;
use crate::daemon::error::StartError;
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::provider::{FallbackConfig, ModelsConfig, ProviderConfig, ProviderKind};
use hob_config::switched_off::SectionOff;
use hob_core::domain::choices::Effort;
use hob_core::domain::secret::Secret;
use hob_model::catalog::{Catalog, ModelEntry};
use hob_model::discover::ollama::OllamaAddress;
use hob_model::discover::{self, ConfiguredModel, DiscoverError, EnvironmentLookup, ModelDiscovery, discover};
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::model_table::ModelTable;
use hob_model::provider::OfferedModel;
use hob_model::refused_parameters::RefusedParameterStore;
use hob_model::settings::{Deadlines, Tuning};
use hob_model::unconfigured::UnconfiguredProvider;

/// Where an Ollama is looked for.
pub const OLLAMA: &str = "127.0.0.1:11434";

/// An address that is nobody's.
const NOWHERE: &str = "http://off.invalid";

/// The models, and the sentence that tells which was taken.
pub struct ConfiguredModels {
    /// All that can be asked.
    pub catalog: Catalog,
    /// Which was taken, and why.
    pub told: String,
    /// What of `[provider]` has no key.
    pub keyless: Vec<SectionOff>,
}

/// What models are built from.
pub struct ModelSources<'a> {
    /// The config, as loaded.
    pub config: &'a Config,
    /// Where keys are found.
    pub environment: &'a Environment,
    /// What models can do and cost.
    pub table: &'a ModelTable,
    /// Keeps what they refuse.
    pub remember: Arc<dyn RefusedParameterStore>,
    /// For those that rest.
    pub watch: BreakerMonitor,
}

/// Finds and builds the models.
///
/// # Errors
/// When a configured model cannot be used as it is configured.
pub async fn build(sources: ModelSources<'_>) -> Result<ConfiguredModels, StartError> {
    let ModelSources { config, environment, table, remember, watch } = sources;
    let lookup = |name: &str| environment.text(name).map(str::to_owned).filter(|value| !value.is_empty());
    let ollama = OllamaAddress::parse(OLLAMA)
        .ok_or_else(|| StartError::Config(format!("{OLLAMA} is not an address of an Ollama")))?;
    let deadlines = config.provider.as_ref().map(deadlines).unwrap_or_default();
    let reply_tokens = config_mapping::budget(config).caps_money().then_some(config_mapping::REPLY_TOKENS);
    let finder = ModelFinder { lookup: &lookup, ollama, deadlines, remember, table, reply_tokens };
    let keyless = keyless(config, environment);
    let provider = config.provider.as_ref().map(|provider| mark_keyless(provider, &keyless));
    let wanted = provider.as_ref().map(|provider| configured(provider, provider.models.primary.clone()));
    let primary = finder.find(wanted.as_ref(), provider.as_ref().and_then(|provider| provider.off.as_deref())).await?;
    let told = match &primary.missing {
        None => primary.found.to_string(),
        Some(missing) => format!("{} is to answer, but it is off: {missing}.", primary.found.label),
    };
    let mut others = Vec::new();
    if let Some(provider) = &provider {
        others = finder.siblings(provider).await?;
        others.extend(finder.fallbacks(provider).await?);
    }
    others.extend(finder.other_services(&primary.found.label)?);
    let catalog = Catalog::with_breakers(finder.seen("primary", &primary)?, others, watch);
    Ok(ConfiguredModels { catalog: catalog.with_aliases(config.aliases.clone()), told, keyless })
}

/// What of `[provider]` needs a key that neither the config gives nor the environment: it is off, and nobody else is asked
/// for it but the fallbacks, as the owner has put them.
pub fn keyless(config: &Config, environment: &Environment) -> Vec<SectionOff> {
    let Some(provider) = &config.provider else { return Vec::new() };
    let lookup = |name: &str| environment.text(name).map(str::to_owned);
    let own = (SECTION.to_owned(), configured(provider, None), provider.off.is_some());
    let others = provider.fallbacks.iter().enumerate();
    let others = others.map(|(index, fallback)| (section(index), wanted(fallback), fallback.off.is_some()));
    let lacking = |(section, configured, off): (String, ConfiguredModel, bool)| {
        let name = discover::lacks_key(&configured, &lookup).filter(|_| !off)?;
        Some(SectionOff {
            key: format!("{section}.api_key"),
            section,
            line: None,
            what: format!("is missing, and {name} is not set in the environment"),
            fix: format!("set `api_key`, or {name} where Hob is started"),
        })
    };
    std::iter::once(own).chain(others).filter_map(lacking).collect()
}

/// The section of the models.
const SECTION: &str = "provider";

/// The section of a fallback, numbered from 0.
fn section(index: usize) -> String {
    format!("{SECTION}.fallbacks[{}]", index + 1)
}

/// The same, with what has no key marked as off.
fn mark_keyless(provider: &ProviderConfig, keyless: &[SectionOff]) -> ProviderConfig {
    let off = |section: &str, known: &Option<String>| {
        let missing = keyless.iter().find(|off| off.section == section);
        known.clone().or_else(|| missing.map(|off| format!("{} {}", off.key, off.what)))
    };
    let mut marked = ProviderConfig { off: off(SECTION, &provider.off), ..provider.clone() };
    for (index, fallback) in marked.fallbacks.iter_mut().enumerate() {
        fallback.off = off(&section(index), &fallback.off);
    }
    marked
}

/// What was found, or what is missing of it.
struct ModelLookup {
    found: ModelDiscovery,
    missing: Option<String>,
}

/// The addresses of the models' servers, as far as the config says or they are well known.
pub fn addresses(config: &Config) -> Vec<String> {
    let provider = config.provider.iter().map(|provider| (provider.kind, provider.base_url.clone()));
    let fallbacks = config.provider.iter().flat_map(|provider| &provider.fallbacks);
    let fallbacks = fallbacks.map(|fallback| (fallback.kind, fallback.base_url.clone()));
    let address = |(of, own): (ProviderKind, Option<String>)| {
        let preset = discover::preset::Preset::of(of);
        own.or_else(|| preset?.base_url.map(str::to_owned))
    };
    provider.chain(fallbacks).filter_map(address).collect()
}

/// What the configured provider's server has; none: it keeps no list.
///
/// # Errors
/// When the provider cannot be used as it is configured, or its server refuses or does not answer.
pub async fn offered(sources: ModelSources<'_>) -> Result<Option<Vec<OfferedModel>>, StartError> {
    let ModelSources { config, environment, table, remember, .. } = sources;
    let Some(provider) = &config.provider else { return Ok(None) };
    let lookup = |name: &str| environment.text(name).map(str::to_owned);
    // The list does not depend on a model, but a client is made for one.
    let model = provider.models.primary.clone().unwrap_or_else(|| "any".to_owned());
    let ollama = OllamaAddress::parse(OLLAMA)
        .ok_or_else(|| StartError::Config(format!("{OLLAMA} is not an address of an Ollama")))?;
    let found = discover(Some(&configured(provider, Some(model))), &lookup, &ollama).await?;
    Ok(found.provider(deadlines(provider), &remember, table)?.list().await?)
}

struct ModelFinder<'a> {
    lookup: EnvironmentLookup<'a>,
    ollama: OllamaAddress,
    deadlines: Deadlines,
    remember: Arc<dyn RefusedParameterStore>,
    table: &'a ModelTable,
    /// The most tokens of a reply where the owner sets none: what a budget sets aside for it must be enough.
    reply_tokens: Option<u64>,
}

impl ModelFinder<'_> {
    /// Finds a model; one that is `off` only by its name.
    async fn find(&self, wanted: Option<&ConfiguredModel>, off: Option<&str>) -> Result<ModelLookup, DiscoverError> {
        let (Some(wanted), Some(missing)) = (wanted, off) else {
            let found = discover(wanted, self.lookup, &self.ollama).await?;
            return Ok(ModelLookup { found, missing: None });
        };
        // It is never asked: what stands here only gives it its name.
        let named = wanted.model.clone().or_else(|| discover::usual_model(wanted.kind).map(str::to_owned));
        let stand_in = ConfiguredModel {
            base_url: Some(NOWHERE.to_owned()),
            api_key: Some(Secret::new(String::new())),
            model: Some(named.unwrap_or_else(|| "unknown".to_owned())),
            ..wanted.clone()
        };
        let found = discover(Some(&stand_in), self.lookup, &self.ollama).await?;
        Ok(ModelLookup { found, missing: Some(missing.to_owned()) })
    }

    fn seen(&self, role: &'static str, seen: &ModelLookup) -> Result<ModelEntry, StartError> {
        let label = || seen.found.label.clone();
        match &seen.missing {
            None => self.entry(role, &seen.found),
            Some(missing) => {
                Ok(ModelEntry::new(role, Arc::new(UnconfiguredProvider { label: label(), missing: missing.clone() })))
            }
        }
    }

    fn entry(&self, role: &'static str, found: &ModelDiscovery) -> Result<ModelEntry, StartError> {
        let provider = found.limited(self.reply_tokens).provider(self.deadlines, &self.remember, self.table)?;
        Ok(ModelEntry::new(role, provider).with_credential(found.credential()))
    }

    /// The provider's own other models: for the tiers of routing, and to be chosen by `/model`.
    async fn siblings(&self, provider: &ProviderConfig) -> Result<Vec<ModelEntry>, StartError> {
        let ModelsConfig { fast, smart, others, .. } = &provider.models;
        let tiers =
            [("fast", fast), ("smart", smart)].into_iter().filter_map(|(role, model)| Some((role, model.as_ref()?)));
        let mut entries = Vec::new();
        for (role, model) in tiers.chain(others.iter().map(|model| ("other", model))) {
            let wanted = configured(provider, Some(model.clone()));
            entries.push(self.seen(role, &self.find(Some(&wanted), provider.off.as_deref()).await?)?);
        }
        Ok(entries)
    }

    async fn fallbacks(&self, provider: &ProviderConfig) -> Result<Vec<ModelEntry>, StartError> {
        let mut entries = Vec::new();
        for fallback in &provider.fallbacks {
            let seen = self.find(Some(&wanted(fallback)), fallback.off.as_deref()).await;
            let seen = seen.map_err(|source| StartError::Fallback { model: fallback.model.clone(), source })?;
            entries.push(self.seen("fallback", &seen)?);
        }
        Ok(entries)
    }

    /// The usual models of the services whose keys the environment holds besides: nobody is sent there but by `/model`.
    fn other_services(&self, primary: &str) -> Result<Vec<ModelEntry>, StartError> {
        let service = primary.split('/').next();
        let spare =
            discover::with_keys(self.lookup).into_iter().filter(|found| found.label.split('/').next() != service);
        spare.map(|found| self.entry("other", &found)).collect()
    }
}

fn deadlines(provider: &ProviderConfig) -> Deadlines {
    Deadlines {
        first_event: Duration::from_secs(provider.first_event_timeout_secs),
        between_events: Duration::from_secs(provider.idle_timeout_secs),
        ..Deadlines::default()
    }
}

fn wanted(fallback: &FallbackConfig) -> ConfiguredModel {
    ConfiguredModel {
        base_url: fallback.base_url.clone(),
        api: fallback.api,
        api_key: fallback.api_key.clone(),
        model: Some(fallback.model.clone()),
        tuning: tuning(fallback.temperature, fallback.max_output_tokens, fallback.effort),
        context_tokens: fallback.context_tokens,
        ..ConfiguredModel::with_defaults(fallback.kind)
    }
}

fn configured(provider: &ProviderConfig, model: Option<String>) -> ConfiguredModel {
    ConfiguredModel {
        base_url: provider.base_url.clone(),
        api: provider.api,
        api_key: provider.api_key.clone(),
        model,
        tuning: tuning(provider.temperature, provider.max_output_tokens, provider.effort),
        context_tokens: provider.context_tokens,
        ..ConfiguredModel::with_defaults(provider.kind)
    }
}

fn tuning(temperature: Option<f64>, max_output_tokens: Option<u64>, effort: Option<Effort>) -> Tuning {
    Tuning { temperature, max_output_tokens, effort }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use hob_config::load::parse;

    #[test]
    fn n6_a_provider_that_needs_a_key_and_has_none_is_off() {
        let off = |config: &str, variables: &[(&str, &str)]| {
            let environment = Environment::of("/w", variables.iter().copied());
            let config = parse(Path::new("/c.toml"), config, &environment).unwrap();
            let off = keyless(&config, &environment);
            off.into_iter().map(|off| off.section).collect::<Vec<_>>().join(" ")
        };
        let chain = "[provider]\nkind = 'openai'\n[[provider.fallbacks]]\nkind = 'anthropic'\nmodel = 'm'\n\
                     [[provider.fallbacks]]\nkind = 'ollama'\nmodel = 'q'\n";
        for (config, variables, expected) in [
            (chain, &[][..], "provider provider.fallbacks[1]"),
            (chain, &[("OPENAI_API_KEY", "k")], "provider.fallbacks[1]"),
            (chain, &[("OPENAI_API_KEY", " "), ("ANTHROPIC_API_KEY", "k")], "provider"),
            ("[provider]\nkind = 'openai'\napi_key = 'k'\n", &[], ""),
            ("[provider]\nkind = 'openai'\nbase_url = 'http://h'\n", &[], ""),
            ("[provider]\nkind = 'offline'\n", &[], ""),
            // That is known already.
            ("[provider]\nkind = 'openai'\napi_key = '${NONE}'\n", &[("OPENAI_API_KEY", "k")], ""),
            ("", &[], ""),
        ] {
            assert_eq!(off(config, variables), expected, "{config} {variables:?}");
        }
    }
}
