//! What is configured, what is known of it, and what else there is.

use std::fmt;
use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;

use crate::daemon::models::{ConfiguredModels, OLLAMA};
use hob_config::Config;
use hob_config::environment::Environment;
use hob_core::domain::text::grouped;
use hob_model::discover::ollama::{self, OllamaAddress};
use hob_model::error::ModelError;
use hob_model::model_table::{ModelTable, PriceSource};
use hob_model::offline;
use hob_model::price::Rates;
use hob_model::provider::{ModelCheck, Provider};

/// How long a server may take to say that it is there.
const CHECK_MAX: Duration = Duration::from_secs(5);

/// The whole list.
#[derive(Debug, Serialize)]
pub(super) struct ModelList {
    /// Which model answers, and how to change it.
    answers: String,
    /// The day of the shipped table.
    table_as_of: String,
    models: Vec<ModelRow>,
    /// Aliases of models that are not configured: alias and label.
    loose_aliases: Vec<(String, String)>,
    /// What else could be used.
    besides: Vec<OtherModel>,
}

/// A configured model.
#[derive(Debug, Serialize)]
struct ModelRow {
    roles: Vec<&'static str>,
    label: String,
    aliases: Vec<String>,
    reach: Reachability,
    context_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    sees_images: Option<bool>,
    price: Option<Price>,
    price_source: String,
}

/// What a server says of itself and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum Reachability {
    /// There is no server.
    BuiltIn,
    /// It has the model.
    Reachable,
    /// Nothing is known without a call.
    Untold,
    /// It answers, and its list does not have the model.
    NotListed,
    /// It does not answer.
    Unreachable { why: String },
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Price {
    input_usd: f64,
    cached_usd: f64,
    cache_write_usd: f64,
    output_usd: f64,
    /// The same for calls that read more than so many tokens.
    above_tokens: Option<u64>,
    #[serde(skip)]
    rates: Rates,
}

/// Something that could be used.
#[derive(Debug, Serialize)]
struct OtherModel {
    /// Why it could.
    found: String,
    /// What it would be called.
    label: String,
}

/// Asks every server at once, and everything that is known.
pub(super) async fn gather(
    config: &Config,
    environment: &Environment,
    models: &ConfiguredModels,
    table: &ModelTable,
) -> ModelList {
    let mut rows: Vec<ModelRow> = Vec::new();
    let mut checks = Vec::new();
    for (role, label) in models.catalog.labels() {
        if let Some(row) = rows.iter_mut().find(|row| row.label == label) {
            row.roles.push(role);
        } else if let Some(provider) = models.catalog.get(label) {
            rows.push(row(role, label, config, table));
            checks.push(async move { check(&*provider).await });
        }
    }
    for (row, (reach, checked)) in rows.iter_mut().zip(join_all(checks).await) {
        row.reach = reach;
        row.context_tokens = row.context_tokens.or(checked.context_tokens);
    }
    let configured = |label: &str| rows.iter().any(|row| row.label == label);
    let loose = config.aliases.iter().filter(|(_, label)| !configured(label));
    ModelList {
        answers: models.told.clone(),
        table_as_of: table.as_of().to_owned(),
        loose_aliases: loose.map(|(alias, label)| (alias.clone(), label.clone())).collect(),
        besides: besides(environment, &rows).await,
        models: rows,
    }
}

fn row(role: &'static str, label: &str, config: &Config, table: &ModelTable) -> ModelRow {
    let facts = table.facts(label);
    let aliases = config.aliases.iter().filter(|(_, meant)| meant.as_str() == label);
    ModelRow {
        roles: vec![role],
        label: label.to_owned(),
        aliases: aliases.map(|(alias, _)| alias.clone()).collect(),
        reach: Reachability::BuiltIn,
        context_tokens: facts.context_tokens,
        max_output_tokens: facts.max_output_tokens,
        sees_images: facts.sees_images,
        price: facts.rates.filter(|_| facts.source != PriceSource::Own).map(Price::of),
        price_source: facts.source.to_string(),
    }
}

async fn check(provider: &dyn Provider) -> (Reachability, ModelCheck) {
    if provider.label() == offline::LABEL {
        return (Reachability::BuiltIn, ModelCheck::default());
    }
    match tokio::time::timeout(CHECK_MAX, provider.check()).await {
        Ok(answer) => (reach(&answer), answer.unwrap_or_default()),
        Err(_elapsed) => {
            let why = format!("no answer within {} seconds", CHECK_MAX.as_secs());
            (Reachability::Unreachable { why }, ModelCheck::default())
        }
    }
}

fn reach(answer: &Result<ModelCheck, ModelError>) -> Reachability {
    match answer {
        Ok(ModelCheck { listed: Some(true), .. }) => Reachability::Reachable,
        Ok(ModelCheck { listed: Some(false), .. }) => Reachability::NotListed,
        Ok(ModelCheck { listed: None, .. }) => Reachability::Untold,
        Err(error) => Reachability::Unreachable { why: error.message.clone() },
    }
}

/// An Ollama that no configured model uses. Services whose keys are in the environment are among the models.
async fn besides(environment: &Environment, rows: &[ModelRow]) -> Vec<OtherModel> {
    let used = |provider: &str| rows.iter().any(|row| row.label.split('/').next() == Some(provider));
    let mut found = Vec::new();
    let address =
        environment.text("OLLAMA_HOST").and_then(OllamaAddress::parse).or_else(|| OllamaAddress::parse(OLLAMA));
    if let Some(address) = address.filter(|_| !used("ollama"))
        && let Some(model) = ollama::probe(&address).await
    {
        found.push(OtherModel { found: "an Ollama answers".to_owned(), label: format!("ollama/{model}") });
    }
    found
}

impl Price {
    fn of(rates: Rates) -> Self {
        let usd = |rate: hob_model::price::Rate| rate.per_million().nanos() as f64 / 1e9;
        Self {
            input_usd: usd(rates.input),
            cached_usd: usd(rates.cached),
            cache_write_usd: usd(rates.cache_write),
            output_usd: usd(rates.output),
            above_tokens: rates.long.map(|long| long.above_tokens),
            rates,
        }
    }
}

impl fmt::Display for ModelList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.answers)?;
        for row in &self.models {
            write!(f, "\n{row}")?;
        }
        if !self.loose_aliases.is_empty() || !self.besides.is_empty() {
            writeln!(f)?;
        }
        for (alias, label) in &self.loose_aliases {
            writeln!(f, "The alias {alias} leads nowhere: {label} is not configured.")?;
        }
        for OtherModel { found, label } in &self.besides {
            writeln!(f, "Besides, {found}: {label} could be used. Fill in [provider] or a fallback in config.toml.")?;
        }
        writeln!(f, "\nThe table of models is of {}; [models] in config.toml goes before it.", self.table_as_of)
    }
}

impl fmt::Display for ModelRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.roles.join(", "), self.label)?;
        if !self.aliases.is_empty() {
            write!(f, " (also {})", self.aliases.join(", "))?;
        }
        writeln!(f, "\n  {}", self.reach)?;
        if self.reach == Reachability::BuiltIn {
            return Ok(());
        }
        match self.context_tokens {
            Some(tokens) => write!(f, "  a window of {} tokens", grouped(tokens))?,
            None => f.write_str("  a window of unknown size")?,
        }
        if let Some(tokens) = self.max_output_tokens {
            write!(f, ", at most {} of them written", grouped(tokens))?;
        }
        match self.sees_images {
            Some(true) => f.write_str(", sees pictures\n")?,
            Some(false) => f.write_str(", sees no pictures\n")?,
            None => f.write_str("\n")?,
        }
        match self.price {
            Some(price) => writeln!(f, "  {price} ({})", self.price_source),
            None if self.price_source == PriceSource::Own.to_string() => {
                writeln!(f, "  costs nothing: it runs on your own machine")
            }
            None => writeln!(f, "  price unknown: set it under [models.\"{}\"] in config.toml", self.label),
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rates { input, cached, output, long, .. } = self.rates;
        let [input, cached, output] = [input, cached, output].map(|rate| rate.per_million());
        write!(f, "per million tokens {input} read, {cached} read from cache, {output} written")?;
        match long {
            Some(long) => write!(f, "; more for calls that read over {}", grouped(long.above_tokens)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reachability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in: needs no server"),
            Self::Reachable => f.write_str("reachable: the server has the model"),
            Self::Untold => f.write_str(
                "not known: the server tells nothing of its models without a call; `hob models test` makes one",
            ),
            Self::NotListed => f.write_str("NOT USABLE: the server answers, but its list does not have the model"),
            Self::Unreachable { why } => write!(f, "NOT REACHABLE: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
