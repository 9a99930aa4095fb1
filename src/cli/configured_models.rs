//! The configured models, for commands that ask one by themselves.

use std::sync::Arc;

use anyhow::Context as _;

use crate::cli::next_step::refusal;
use crate::daemon::models::{self, ModelSources};
use hob_config::Config;
use hob_config::environment::Environment;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::redactor::Redactor;
use hob_model::catalog::Catalog;
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::model_table::ModelTable;
use hob_model::provider::Provider;
use hob_model::refused_parameters::NoParameterStore;

/// All that can be asked; what they refuse is kept nowhere.
pub(super) async fn catalog(
    config: &Config,
    environment: &Environment,
    table: &ModelTable,
    redactor: &Redactor,
) -> anyhow::Result<Catalog> {
    let watch = BreakerMonitor::new(Arc::new(SystemClock));
    let sources = ModelSources { config, environment, table, remember: Arc::new(NoParameterStore), watch };
    Ok(models::build(sources).await?.catalog.redacting(redactor))
}

/// The model that is called so.
pub(super) fn provider_by_name(catalog: &Catalog, word: &str) -> anyhow::Result<Arc<dyn Provider>> {
    let known = || catalog.labels().map(|(_, label)| label).collect::<Vec<_>>().join(", ");
    let found = catalog.resolve(word).and_then(|label| catalog.get(label));
    found.with_context(|| refusal!("no model is called {word}"; "name one of {}", known()))
}

/// An amount of dollars on the command line.
pub(super) fn dollars(text: &str) -> Result<f64, String> {
    let usd: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.0..=1_000_000.0).contains(&usd) { Ok(usd) } else { Err("expected 0 to 1000000".to_owned()) }
}
