//! `hob models`: what is configured, what of it can be reached, and a proof that it works.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::load_running_config;
use crate::cli::next_step::refuse;
use crate::cli::{runtime, show, show_json};
use crate::daemon::models::{ConfiguredModels, ModelSources, build};
use hob_config::environment::Environment;
use hob_core::domain::clock::SystemClock;
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::model_table::ModelTable;
use hob_model::provider::Provider;
use hob_model::refused_parameters::NoParameterStore;

mod list;
mod trial;

/// What `hob models` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ModelsArguments {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<ModelsCommand>,
}

/// What `hob models` can do besides listing.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ModelsCommand {
    /// Make a real call with a tool; it costs a few hundred tokens
    Test {
        /// A role, a label or an alias; without it: the primary model
        model: Option<String>,
    },
}

/// Lists the models, or tries one.
///
/// # Errors
/// When the config or a model in it cannot be used, or the model that was tried failed.
pub(super) fn run(arguments: ModelsArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let config = load_running_config(named, &environment)?.config;
    let table = ModelTable::new(&config.models)?;
    runtime().context("the runtime could not be started")?.block_on(async {
        let models = build(ModelSources {
            config: &config,
            environment: &environment,
            table: &table,
            // The daemon's file is the daemon's: it may be running.
            remember: Arc::new(NoParameterStore),
            watch: BreakerMonitor::new(Arc::new(SystemClock)),
        })
        .await?;
        match arguments.what {
            None => print(&list::gather(&config, &environment, &models, &table).await, arguments.json),
            Some(ModelsCommand::Test { model }) => {
                let provider = provider_for(&models, model.as_deref())?;
                test(&*provider, &table, arguments.json).await
            }
        }
    })
}

fn print<T: Serialize + std::fmt::Display>(what: &T, json: bool) -> anyhow::Result<()> {
    if json { show_json(what) } else { Ok(show(&what.to_string())?) }
}

/// The model that a person's word stands for; without one, the primary.
fn provider_for(models: &ConfiguredModels, word: Option<&str>) -> anyhow::Result<Arc<dyn Provider>> {
    let meant = word.unwrap_or("primary");
    if let Some(provider) = models.catalog.resolve(meant).and_then(|label| models.catalog.get(label)) {
        return Ok(provider);
    }
    let known: Vec<String> = models.catalog.labels().map(|(role, label)| format!("{label} ({role})")).collect();
    refuse!("no model is configured as {meant}"; "name one of {}", known.join(", "))
}

async fn test(provider: &dyn Provider, table: &ModelTable, json: bool) -> anyhow::Result<()> {
    let label = provider.label();
    let rates = table.facts(label).rates;
    if !json {
        println!("Asking {label} to call a tool.");
    }
    let mut tell = |step: &trial::TrialStep| {
        if !json {
            println!("{step}");
        }
    };
    let trial = trial::run(provider, rates.as_ref(), &mut tell).await;
    if json {
        show_json(&trial)?;
    } else if let Some(said) = &trial.said {
        show(&format!("It works. It said: {said}\n"))?;
    }
    match trial.failure {
        None => Ok(()),
        Some(failure) => {
            refuse!("{label} did not pass: {failure}"; "name a larger model, or one made for tools; `hob help models` has more")
        }
    }
}
