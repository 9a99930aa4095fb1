//! What the owner can set: a typed section per file, and the way from a `config.toml` to a [`Config`] or its problems.
//!
//! Never: a look at `std::env` outside [`environment`], a secret in a text, a write to the user's file, or an import of
//! another room but `domain::secret`.
//! Start at [`load::load`]; the order is `document` → `expand` → `check` → each section's `validate`. The types are
//! the single source: `shape` reads names, docs, defaults and limits off their JSON schema, and the check as well as
//! `config.example.toml` follow from it.

pub mod agent;
pub mod budget;
mod check;
pub mod command;
pub mod daemon;
pub mod data_dir;
pub mod delivery;
mod document;
pub mod environment;
pub mod example;
mod expand;
pub mod guards;
pub mod load;
pub mod models;
mod place;
pub mod problem;
pub mod provider;
mod shape;
pub mod state;
pub mod telegram;
#[cfg(test)]
mod tests;
pub mod tools;
mod values;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::agent::AgentConfig;
use crate::config::budget::BudgetConfig;
use crate::config::daemon::DaemonConfig;
use crate::config::delivery::DeliveryConfig;
use crate::config::guards::GuardsConfig;
use crate::config::models::ModelConfig;
use crate::config::problem::Finding;
use crate::config::provider::ProviderConfig;
use crate::config::state::StateConfig;
use crate::config::telegram::TelegramConfig;
use crate::config::tools::ToolConfig;

/// Everything that can be configured. Only `daemon` takes this whole; the others take their section.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<Config>)]
pub struct Config {
    /// Which model answers. Without this section Hob looks for one: a key in the environment (OPENAI_API_KEY,
    /// ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, GROQ_API_KEY, XAI_API_KEY,
    /// MOONSHOT_API_KEY, MISTRAL_API_KEY), then an Ollama on this machine, then the offline model.
    pub provider: Option<ProviderConfig>,
    /// What models can do and cost, where Hob's own table is wrong or has nothing; each under `provider/model`. `hob models`
    /// shows what is known.
    #[schemars(extend("x-name" = "openai/gpt-5-mini"))]
    pub models: BTreeMap<String, ModelConfig>,
    /// Short names of models, for `/model` and the command line: name = "provider/model". docs/models.md says more.
    #[schemars(example = &models::alias_example())]
    pub aliases: BTreeMap<String, String>,
    /// How much money models may cost, in US dollars. What is left out is not limited. Models without a known price count
    /// for nothing: `hob models` shows what is known.
    pub budget: BudgetConfig,
    /// The Telegram bot. Without this section Hob is not on Telegram.
    pub telegram: Option<TelegramConfig>,
    /// How a conversation runs.
    pub agent: AgentConfig,
    /// What stops a model that goes in circles, or claims what it has not done.
    pub guards: GuardsConfig,
    /// Commands on this machine that the model may call as tools, each under a name of its own: a letter, then up to
    /// 63 letters, digits, `_` or `-`.
    #[schemars(extend("x-name" = "switch_light"))]
    pub tools: BTreeMap<String, ToolConfig>,
    /// Where Hob keeps its data.
    pub state: StateConfig,
    /// How answers are delivered and tried again.
    pub delivery: DeliveryConfig,
    /// The background process.
    pub daemon: DaemonConfig,
}

impl Config {
    /// What the sections find wrong with their values, beyond what the types can say.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut take = |section: &str, found: Vec<Finding>| all.extend(found.into_iter().map(|f| f.within(section)));
        if let Some(provider) = &self.provider {
            take("provider", provider.validate());
        }
        for (label, model) in &self.models {
            take("models", models::validate_label(label));
            take("models", model.validate().into_iter().map(|f| f.within(&place::key(label))).collect());
        }
        take("aliases", models::validate_aliases(&self.aliases));
        take("budget", self.budget.validate());
        if let Some(telegram) = &self.telegram {
            take("telegram", telegram.validate());
        }
        take("agent", self.agent.validate());
        take("guards", self.guards.validate());
        for (name, tool) in &self.tools {
            take("tools", tools::validate_name(name));
            take("tools", tool.validate().into_iter().map(|f| f.within(&place::key(name))).collect());
        }
        take("state", self.state.validate());
        take("delivery", self.delivery.validate());
        take("daemon", self.daemon.validate());
        all
    }
}
