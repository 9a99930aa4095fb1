//! Who answers: the configured model, one whose key is in the environment, an Ollama on this machine, or the built-in one.
//!
//! Never: reading the environment or the config itself; both are handed in.
//! Start at [`discover`].

use std::fmt;
use std::sync::Arc;

use crate::anthropic::Anthropic;
use crate::discover::ollama::OllamaAddress;
use crate::discover::preset::{Dialect, PRESETS, Preset};
use crate::error::ModelError;
use crate::gemini::Gemini;
use crate::guarded_provider::Credential;
use crate::model_table::ModelTable;
use crate::offline::{self, Offline};
use crate::ollama::Ollama;
use crate::openai::OpenAi;
use crate::provider::Provider;
use crate::refused_parameters::RefusedParameterStore;
use crate::responses::Responses;
use crate::settings::{Deadlines, Settings, Tuning};
use hob_config::provider::{ApiConfig, ProviderKind};
use hob_core::domain::secret::Secret;

pub mod ollama;
pub mod preset;
#[cfg(test)]
mod tests;

/// What the config says about the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredModel {
    pub kind: ProviderKind,
    /// Where its API is, if not where it usually is.
    pub base_url: Option<String>,
    /// Which of OpenAI's APIs, if not what is usual there.
    pub api: Option<ApiConfig>,
    /// Its key, if not the one in the environment.
    pub api_key: Option<Secret>,
    /// The model, if not the usual one.
    pub model: Option<String>,
    /// How it is to answer.
    pub tuning: Tuning,
    /// The most tokens it can read and write, if the owner knows better.
    pub context_tokens: Option<u64>,
}

impl ConfiguredModel {
    /// This kind, with all that is usual for it.
    pub fn with_defaults(kind: ProviderKind) -> Self {
        let tuning = Tuning::default();
        Self { kind, base_url: None, api: None, api_key: None, model: None, tuning, context_tokens: None }
    }
}

/// Looks a variable up in the environment.
pub type EnvironmentLookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Why a model was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoverySource {
    /// `config.toml` names it.
    Config,
    /// The environment holds its key under this name.
    Environment(&'static str),
    /// An Ollama answers on this machine.
    Ollama,
    /// There is nothing else.
    Fallback,
}

/// How to reach what was taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Backend {
    /// Over the network.
    Server(ModelServer),
    /// The built-in model.
    Offline,
}

/// How to reach a model on a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelServer {
    /// What it speaks.
    pub dialect: Dialect,
    pub base_url: String,
    pub api_key: Option<Secret>,
    pub model: String,
    /// How it is to answer.
    pub tuning: Tuning,
    /// The most tokens it can read and write, if the owner says so.
    pub context_tokens: Option<u64>,
}

/// What was taken, and why; shown, it is a sentence for people that says how to change it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelDiscovery {
    /// `provider/model`.
    pub label: String,
    /// Why.
    pub source: DiscoverySource,
    /// How to reach it.
    pub backend: Backend,
}

/// The configured model cannot be used as it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
    /// Such a server has no usual address.
    #[error("this kind of provider needs an address: set `base_url` under [provider] in config.toml")]
    NoAddress,
    /// Such a server has no usual model.
    #[error("name the model: set `primary` under [provider.models] in config.toml")]
    NoModel,
    /// The service needs a key.
    #[error("this provider needs a key: set `api_key` under [provider] in config.toml, or {0} in the environment")]
    NoKey(&'static str),
    /// The Ollama that is configured is not there, or has no model.
    #[error(
        "no model can be found at the configured Ollama: start it and pull a model, or set `primary` under \
         [provider.models] in config.toml"
    )]
    NoOllama,
}

/// What is decided without asking anybody.
#[derive(Debug, PartialEq)]
enum Decision {
    Take(ModelDiscovery),
    /// Ask the Ollama there for its model.
    Ask(PendingOllama),
}

/// An Ollama that is to be asked for its model.
#[derive(Debug, PartialEq)]
struct PendingOllama {
    address: OllamaAddress,
    source: DiscoverySource,
    configured: ConfiguredModel,
}

/// Finds who answers. `ollama` is asked when nothing else is there, unless `$OLLAMA_HOST` names another.
pub async fn discover(
    configured: Option<&ConfiguredModel>,
    environment: EnvironmentLookup<'_>,
    ollama: &OllamaAddress,
) -> Result<ModelDiscovery, DiscoverError> {
    let asking = match decide(configured, environment, ollama)? {
        Decision::Take(found) => return Ok(found),
        Decision::Ask(asking) => asking,
    };
    match (ollama::probe(&asking.address).await, asking.source) {
        (Some(model), source) => {
            Ok(ModelDiscovery::served_by_ollama(&asking.address, model, source, &asking.configured))
        }
        (None, DiscoverySource::Config) => Err(DiscoverError::NoOllama),
        (None, DiscoverySource::Environment(_) | DiscoverySource::Ollama | DiscoverySource::Fallback) => {
            Ok(ModelDiscovery::offline(DiscoverySource::Fallback))
        }
    }
}

fn decide(
    configured: Option<&ConfiguredModel>,
    environment: EnvironmentLookup<'_>,
    ollama: &OllamaAddress,
) -> Result<Decision, DiscoverError> {
    let variable =
        |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let ollama =
        || variable("OLLAMA_HOST").and_then(|host| OllamaAddress::parse(&host)).unwrap_or_else(|| ollama.clone());
    if let Some(configured) = configured {
        return from_config(configured, &variable, &ollama);
    }
    if let Some(found) = with_keys(environment).into_iter().next() {
        return Ok(Decision::Take(found));
    }
    let configured = ConfiguredModel::with_defaults(ProviderKind::Ollama);
    Ok(Decision::Ask(PendingOllama { address: ollama(), source: DiscoverySource::Ollama, configured }))
}

/// The usual models of the services whose keys are in the environment, in the presets' order.
pub fn with_keys(environment: EnvironmentLookup<'_>) -> Vec<ModelDiscovery> {
    let key = |name: &str| environment(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    let found = PRESETS.iter().filter_map(|preset| {
        let (name, base_url, model) = (preset.key_variable?, preset.base_url?, preset.model?);
        let usual =
            ConfiguredModel { api_key: Some(Secret::new(key(name)?)), ..ConfiguredModel::with_defaults(preset.kind) };
        let server = preset.server(base_url.to_owned(), model.to_owned(), &usual);
        Some(preset.found(server, DiscoverySource::Environment(name)))
    });
    found.collect()
}

fn from_config(
    configured: &ConfiguredModel,
    variable: &dyn Fn(&str) -> Option<String>,
    ollama: &dyn Fn() -> OllamaAddress,
) -> Result<Decision, DiscoverError> {
    let Some(preset) = Preset::of(configured.kind) else {
        return Ok(Decision::Take(ModelDiscovery::offline(DiscoverySource::Config)));
    };
    if preset.dialect == Dialect::Ollama {
        let address = configured.base_url.as_deref().and_then(OllamaAddress::parse).unwrap_or_else(ollama);
        return Ok(match configured.model.clone() {
            Some(model) => {
                Decision::Take(ModelDiscovery::served_by_ollama(&address, model, DiscoverySource::Config, configured))
            }
            None => Decision::Ask(PendingOllama {
                address,
                source: DiscoverySource::Config,
                configured: configured.clone(),
            }),
        });
    }
    let api_key = configured.api_key.clone().or_else(|| preset.key_variable.and_then(variable).map(Secret::new));
    // An address of one's own may well need no key.
    if let (Some(name), None, None) = (preset.key_variable, &api_key, &configured.base_url) {
        return Err(DiscoverError::NoKey(name));
    }
    let usual = |usual: Option<&str>| usual.map(str::to_owned);
    let base_url = configured.base_url.clone().or_else(|| usual(preset.base_url)).ok_or(DiscoverError::NoAddress)?;
    let model = configured.model.clone().or_else(|| usual(preset.model)).ok_or(DiscoverError::NoModel)?;
    let server = preset.server(base_url, model, &ConfiguredModel { api_key, ..configured.clone() });
    Ok(Decision::Take(preset.found(server, DiscoverySource::Config)))
}

/// The variable that would hold the key which such a provider needs and nobody gives; none: there is one, or none is needed.
pub fn lacks_key(configured: &ConfiguredModel, environment: EnvironmentLookup<'_>) -> Option<&'static str> {
    let name = Preset::of(configured.kind)?.key_variable?;
    let has_key = configured.api_key.is_some() || environment(name).is_some_and(|key| !key.trim().is_empty());
    // An address of one's own may well need no key.
    (!has_key && configured.base_url.is_none()).then_some(name)
}

/// The usual model of such a provider, if it has one.
pub fn usual_model(kind: ProviderKind) -> Option<&'static str> {
    Preset::of(kind)?.model
}

impl Preset {
    /// What is known of this kind; none: the built-in model, which has no server.
    pub fn of(kind: ProviderKind) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.kind == kind)
    }

    fn server(&self, base_url: String, model: String, configured: &ConfiguredModel) -> ModelServer {
        let ConfiguredModel { api_key, tuning, context_tokens, .. } = configured.clone();
        ModelServer { dialect: self.dialect(configured), base_url, api_key, model, tuning, context_tokens }
    }

    /// What is spoken: at OpenAI itself its Responses, and behind any other address what most servers know.
    fn dialect(&self, configured: &ConfiguredModel) -> Dialect {
        let is_openai = self.kind == ProviderKind::Openai && configured.base_url.is_none();
        match (self.dialect, configured.api) {
            (Dialect::OpenAi(_), Some(ApiConfig::Responses)) => Dialect::Responses,
            (Dialect::OpenAi(_), None) if is_openai => Dialect::Responses,
            (dialect, Some(ApiConfig::Responses | ApiConfig::Chat) | None) => dialect,
        }
    }

    fn found(&self, server: ModelServer, source: DiscoverySource) -> ModelDiscovery {
        ModelDiscovery { label: label(self.name, &server.model), source, backend: Backend::Server(server) }
    }
}

impl ModelDiscovery {
    fn offline(source: DiscoverySource) -> Self {
        Self { label: offline::LABEL.to_owned(), source, backend: Backend::Offline }
    }

    fn served_by_ollama(
        address: &OllamaAddress,
        model: String,
        source: DiscoverySource,
        configured: &ConfiguredModel,
    ) -> Self {
        let ConfiguredModel { api_key, tuning, context_tokens, .. } = configured.clone();
        let label = label("ollama", &model);
        let (dialect, base_url) = (Dialect::Ollama, address.base());
        let server = ModelServer { dialect, base_url, api_key, model, tuning, context_tokens };
        Self { label, source, backend: Backend::Server(server) }
    }

    /// The account on which it is asked; none for what has no server.
    pub fn credential(&self) -> Option<Credential> {
        match &self.backend {
            Backend::Offline => None,
            Backend::Server(server) => Some(Credential::new(&server.base_url, server.api_key.as_ref())),
        }
    }

    /// The same, with this limit on its replies where it has none.
    pub fn limited(&self, reply_tokens: Option<u64>) -> Self {
        let mut limited = self.clone();
        if let Backend::Server(server) = &mut limited.backend {
            server.tuning.max_output_tokens = server.tuning.max_output_tokens.or(reply_tokens);
        }
        limited
    }

    /// The model, ready to be asked; `remember` keeps what it refuses, `table` knows what it can do.
    pub fn provider(
        &self,
        deadlines: Deadlines,
        remember: &Arc<dyn RefusedParameterStore>,
        table: &ModelTable,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        let ModelServer { dialect, base_url, api_key, model, mut tuning, context_tokens } = match self.backend.clone() {
            Backend::Offline => return Ok(Arc::new(Offline)),
            Backend::Server(server) => server,
        };
        let label = self.label.clone();
        let facts = table.facts(&label);
        let sees_images = table.may_see(&label);
        if let (Some(wished), Some(most)) = (tuning.max_output_tokens, facts.max_output_tokens) {
            tuning.max_output_tokens = Some(wished.min(most));
        }
        let settings = Settings { base_url, api_key, model, label, deadlines, tuning, sees_images, context_tokens };
        Ok(match dialect {
            Dialect::OpenAi(quirks) => Arc::new(OpenAi::new(settings, quirks, Arc::clone(remember))?),
            Dialect::Responses => Arc::new(Responses::new(settings, Arc::clone(remember))?),
            Dialect::Anthropic => Arc::new(Anthropic::new(settings)?),
            Dialect::Gemini => Arc::new(Gemini::new(settings)?),
            Dialect::Ollama => Arc::new(Ollama::new(settings)?),
        })
    }
}

impl fmt::Display for ModelDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.label;
        match (self.source, &self.backend) {
            (DiscoverySource::Config, Backend::Offline) => f.write_str(
                "The built-in offline model answers, as config.toml says. To change it, edit [provider] there.",
            ),
            (DiscoverySource::Config, Backend::Server(_)) => {
                write!(f, "{label} answers, as config.toml says. To change it, edit [provider] there.")
            }
            (DiscoverySource::Environment(name), _) => {
                write!(f, "{label} answers, as {name} is set. To change it, fill in [provider] in config.toml.")
            }
            (DiscoverySource::Ollama, _) => {
                write!(f, "{label} answers, as an Ollama was found. To change it, fill in [provider] in config.toml.")
            }
            (DiscoverySource::Fallback, _) => {
                write!(
                    f,
                    "The built-in offline model answers; it knows a few sentences. {}",
                    offline::phrases::HOW_TO_CONNECT
                )
            }
        }
    }
}

/// `provider/model`, as this model of such a provider is called.
pub fn label_of(kind: ProviderKind, model: &str) -> String {
    Preset::of(kind).map_or_else(|| offline::LABEL.to_owned(), |preset| label(preset.name, model))
}

/// `provider/model`, without naming a provider twice.
fn label(provider: &str, model: &str) -> String {
    if model.split('/').next() == Some(provider) { model.to_owned() } else { format!("{provider}/{model}") }
}
