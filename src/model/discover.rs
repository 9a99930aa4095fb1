//! Who answers: the configured model, one whose key is in the environment, an Ollama on this machine, or the built-in one.
//!
//! Never: reading the environment or the config itself; both are handed in.
//! Start at [`discover`].

use std::fmt;
use std::sync::Arc;

use crate::domain::secret::Secret;
use crate::model::discover::ollama::OllamaAddress;
use crate::model::discover::preset::{PRESETS, Preset};
use crate::model::error::ModelError;
use crate::model::guarded::Credential;
use crate::model::offline::{self, Offline};
use crate::model::openai::OpenAi;
use crate::model::provider::Provider;
use crate::model::settings::{Deadlines, Settings, Tuning};

pub mod ollama;
pub mod preset;
#[cfg(test)]
mod tests;

/// The kinds of provider that can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI itself.
    OpenAi,
    /// Anthropic, through its OpenAI-compatible endpoint.
    Anthropic,
    /// Google Gemini, through its OpenAI-compatible endpoint.
    Gemini,
    /// OpenRouter.
    OpenRouter,
    /// An Ollama server.
    Ollama,
    /// Any other server that speaks OpenAI's chat completions.
    OpenAiCompatible,
    /// The built-in model.
    Offline,
}

/// What the config says about the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The kind.
    pub kind: ProviderKind,
    /// Where its API is, if not where it usually is.
    pub base_url: Option<String>,
    /// Its key, if not the one in the environment.
    pub api_key: Option<Secret>,
    /// The model, if not the usual one.
    pub model: Option<String>,
}

/// Looks a variable up in the environment.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Why a model was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Through an OpenAI-compatible API.
    OpenAi {
        /// Where.
        base_url: String,
        /// With which key.
        api_key: Option<Secret>,
        /// Which model.
        model: String,
    },
    /// The built-in model.
    Offline,
}

/// What was taken, and why; shown, it is a sentence for people that says how to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `provider/model`.
    pub label: String,
    /// Why.
    pub source: Source,
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
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Take(Found),
    /// Ask the Ollama there for its model.
    Ask(OllamaAddress, Source),
}

/// Finds who answers. `ollama` is asked when nothing else is there, unless `$OLLAMA_HOST` names another.
pub async fn discover(
    configured: Option<&Configured>,
    environment: Lookup<'_>,
    ollama: &OllamaAddress,
) -> Result<Found, DiscoverError> {
    let (address, source) = match decide(configured, environment, ollama)? {
        Decision::Take(found) => return Ok(found),
        Decision::Ask(address, source) => (address, source),
    };
    match (ollama::probe(&address).await, source) {
        (Some(model), _) => Ok(Found::at_ollama(&address, model, source)),
        (None, Source::Config) => Err(DiscoverError::NoOllama),
        (None, Source::Environment(_) | Source::Ollama | Source::Fallback) => Ok(Found::offline(Source::Fallback)),
    }
}

fn decide(
    configured: Option<&Configured>,
    environment: Lookup<'_>,
    ollama: &OllamaAddress,
) -> Result<Decision, DiscoverError> {
    let variable =
        |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let ollama =
        || variable("OLLAMA_HOST").and_then(|host| OllamaAddress::parse(&host)).unwrap_or_else(|| ollama.clone());
    if let Some(configured) = configured {
        return from_config(configured, &variable, &ollama);
    }
    for preset in PRESETS {
        if let Some(key) = variable(preset.key_variable) {
            let source = Source::Environment(preset.key_variable);
            return Ok(Decision::Take(preset.found(Secret::new(key), source)));
        }
    }
    Ok(Decision::Ask(ollama(), Source::Ollama))
}

fn from_config(
    configured: &Configured,
    variable: &dyn Fn(&str) -> Option<String>,
    ollama: &dyn Fn() -> OllamaAddress,
) -> Result<Decision, DiscoverError> {
    let Configured { kind, base_url, api_key, model } = configured.clone();
    let take = |name: &str, base_url: String, api_key: Option<Secret>, model: String| {
        let backend = Backend::OpenAi { base_url, api_key, model: model.clone() };
        Decision::Take(Found { label: label(name, &model), source: Source::Config, backend })
    };
    if let Some(preset) = PRESETS.iter().find(|preset| preset.kind == kind) {
        let key = api_key.or_else(|| variable(preset.key_variable).map(Secret::new));
        // An address of one's own may well need no key.
        if key.is_none() && base_url.is_none() {
            return Err(DiscoverError::NoKey(preset.key_variable));
        }
        let base_url = base_url.unwrap_or_else(|| preset.base_url.to_owned());
        return Ok(take(preset.name, base_url, key, model.unwrap_or_else(|| preset.model.to_owned())));
    }
    match kind {
        ProviderKind::Offline => Ok(Decision::Take(Found::offline(Source::Config))),
        ProviderKind::Ollama => {
            let address = base_url.as_deref().and_then(OllamaAddress::parse).unwrap_or_else(ollama);
            match model {
                Some(model) => Ok(take("ollama", address.api(), api_key, model)),
                None => Ok(Decision::Ask(address, Source::Config)),
            }
        }
        ProviderKind::OpenAi
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::OpenRouter
        | ProviderKind::OpenAiCompatible => {
            let base_url = base_url.ok_or(DiscoverError::NoAddress)?;
            let model = model.ok_or(DiscoverError::NoModel)?;
            Ok(take("openai-compatible", base_url, api_key, model))
        }
    }
}

impl Preset {
    fn found(&self, key: Secret, source: Source) -> Found {
        let (base_url, model) = (self.base_url.to_owned(), self.model.to_owned());
        let backend = Backend::OpenAi { base_url, api_key: Some(key), model };
        Found { label: label(self.name, self.model), source, backend }
    }
}

impl Found {
    fn offline(source: Source) -> Self {
        Self { label: offline::LABEL.to_owned(), source, backend: Backend::Offline }
    }

    fn at_ollama(address: &OllamaAddress, model: String, source: Source) -> Self {
        let label = label("ollama", &model);
        Self { label, source, backend: Backend::OpenAi { base_url: address.api(), api_key: None, model } }
    }

    /// The account on which it is asked; none for what has no server.
    #[must_use]
    pub fn credential(&self) -> Option<Credential> {
        match &self.backend {
            Backend::Offline => None,
            Backend::OpenAi { base_url, api_key, .. } => Some(Credential::new(base_url, api_key.as_ref())),
        }
    }

    /// The model, ready to be asked.
    pub fn provider(&self, deadlines: Deadlines) -> Result<Arc<dyn Provider>, ModelError> {
        match self.backend.clone() {
            Backend::Offline => Ok(Arc::new(Offline)),
            Backend::OpenAi { base_url, api_key, model } => {
                let label = self.label.clone();
                Ok(Arc::new(OpenAi::new(Settings {
                    base_url,
                    api_key,
                    model,
                    label,
                    deadlines,
                    tuning: Tuning::default(),
                    sees_images: true,
                    context_tokens: None,
                })?))
            }
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.label;
        match (self.source, &self.backend) {
            (Source::Config, Backend::Offline) => f.write_str(
                "The built-in offline model answers, as config.toml says. To change it, edit [provider] there.",
            ),
            (Source::Config, Backend::OpenAi { .. }) => {
                write!(f, "{label} answers, as config.toml says. To change it, edit [provider] there.")
            }
            (Source::Environment(name), _) => {
                write!(f, "{label} answers, as {name} is set. To change it, fill in [provider] in config.toml.")
            }
            (Source::Ollama, _) => {
                write!(f, "{label} answers, as an Ollama was found. To change it, fill in [provider] in config.toml.")
            }
            (Source::Fallback, _) => {
                write!(
                    f,
                    "The built-in offline model answers; it knows a few sentences. {}",
                    offline::words::HOW_TO_CONNECT
                )
            }
        }
    }
}

/// `provider/model`, without naming a provider twice.
fn label(provider: &str, model: &str) -> String {
    if model.split('/').next() == Some(provider) { model.to_owned() } else { format!("{provider}/{model}") }
}
