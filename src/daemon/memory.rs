//! Memory, from the config: how much is recalled, and where vectors come from.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::daemon::Blueprint;
use crate::daemon::assembly::{ConfigServices, ProcessServices};
use crate::daemon::restartable_task::RestartableTask;
use crate::daemon::shutdown::ShutdownStages;
use hob_config::environment::Environment;
use hob_config::memory::{EmbeddingConfig, EmbeddingKind, MemoryConfig};
use hob_config::transcription::TranscriptionConfig;
use hob_memory::embedding::account::Account;
use hob_memory::embedding::openai::RemoteModel;
use hob_memory::embedding_service::EmbeddingStatus;
use hob_memory::extraction::Ports;
use hob_memory::recall::{Memory, RecallLimits};
use hob_memory::upkeep::source::{EmbedderSource, FetchPermission, ModelOrigin};
use hob_memory::upkeep::{RetryPolicy, Upkeep};

/// Keeps Hob from fetching anything by itself.
const NO_FETCH: &str = "HOB_NO_FETCH";
/// The folder of fetched models in the data directory.
const MODELS: &str = "models";
/// How long a process has been there before it fetches.
const FETCH_AFTER: Duration = Duration::from_secs(60);

/// The household's memory; it goes by words until the upkeep has the embedding ready.
pub(super) fn build(config: &MemoryConfig, roots: &ProcessServices, zone: TimeZone) -> Memory {
    Memory {
        store: roots.store.clone(),
        embedding_service: Arc::clone(&roots.embedding_service),
        zone,
        limits: limits(config),
    }
}

/// Has the vectors kept up, if anybody wants them.
pub(super) fn keep_up(
    slot: &mut RestartableTask,
    shutdown: &ShutdownStages,
    made: &ConfigServices,
    blueprint: &Blueprint,
) {
    let leave = leave(blueprint);
    let mut source = source(&blueprint.config.memory.embedding, &blueprint.data_dir, leave);
    if let Some(source) = &mut source {
        let Ports { store, table, budget_guard, clock, .. } = made.extractor.ports.clone();
        source.account = Some(Account { store, table, budget_guard, clock });
    }
    let memory = &made.ports.memory;
    let (embedding_service, store, clock) =
        (Arc::clone(&memory.embedding_service), memory.store.clone(), Arc::clone(&blueprint.clock));
    let conditions = blueprint.conditions.clone();
    slot.begin("embedding", &shutdown.channels, &shutdown.drain, |stop| async move {
        // What another config had serve serves no more.
        embedding_service.serve(None);
        embedding_service.set_status(EmbeddingStatus::Off);
        if let Some(source) = source {
            Upkeep {
                store,
                clock,
                embedding_service,
                opener: Arc::new(source),
                conditions,
                pace: RetryPolicy::PRODUCTION,
            }
            .run(stop)
            .await;
        }
    });
}

fn limits(config: &MemoryConfig) -> RecallLimits {
    RecallLimits { fragments: config.fragments_max, tokens: config.tokens_max, facts: config.max_facts }
}

/// Where vectors come from; none: nobody wants them.
pub fn source(config: &EmbeddingConfig, data_dir: &Path, leave: FetchPermission) -> Option<EmbedderSource> {
    let wanted = match (config.kind, &config.path) {
        (EmbeddingKind::None, _) => return None,
        (EmbeddingKind::Local, Some(folder)) => ModelOrigin::Folder(folder.clone()),
        (EmbeddingKind::Local, None) => ModelOrigin::Fetched { from: config.fetch_url.clone(), leave },
        (EmbeddingKind::OpenaiCompatible, _) => ModelOrigin::Server(RemoteModel {
            vendor: vendor(config.base_url.as_deref()?),
            base_url: config.base_url.clone()?,
            api_key: config.api_key.clone(),
            model: config.model.clone()?,
            dimensions: config.dimensions,
        }),
    };
    Some(EmbedderSource { wanted, models: data_dir.join(MODELS), account: None })
}

/// Under whose name a server's prices stand: OpenAI's are known, others' are what `[models."embedding/NAME"]` says.
fn vendor(base_url: &str) -> &'static str {
    match base_url.trim_end_matches('/') {
        TranscriptionConfig::OPENAI => "openai",
        _ => "embedding",
    }
}

/// Whether the model may be fetched, as far as somebody wants it otherwise.
pub fn objection(config: &EmbeddingConfig, environment: &Environment) -> Option<String> {
    let by_hand = "put a model's files somewhere and name the folder as `path` under [memory.embedding]";
    if environment.text(NO_FETCH).is_some_and(|set| set != "0") {
        return Some(format!(
            "the embedding model is not there, and ${NO_FETCH} keeps it from being fetched: unset it, or {by_hand}"
        ));
    }
    (!config.fetch).then(|| {
        format!("the embedding model is not there, and `fetch` under [memory.embedding] keeps it from being fetched: change it, or {by_hand}")
    })
}

fn leave(blueprint: &Blueprint) -> FetchPermission {
    let Blueprint { config, environment, stays, .. } = blueprint;
    match (objection(&config.memory.embedding, environment), stays) {
        (Some(objection), _) => FetchPermission::No(objection),
        (None, true) => FetchPermission::After(FETCH_AFTER),
        (None, false) => FetchPermission::No(
            "the embedding model is not there yet: `hob run` fetches it, or `hob chat` at a terminal".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn embedding(text: &str) -> EmbeddingConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn e5_vectors_come_from_where_the_config_says() {
        let leave = || FetchPermission::After(FETCH_AFTER);
        let of = |text: &str| source(&embedding(text), Path::new("/d"), leave()).map(|source| source.wanted);
        assert_eq!(of(""), Some(ModelOrigin::Fetched { from: None, leave: leave() }));
        assert_eq!(of("path = '/m'"), Some(ModelOrigin::Folder(PathBuf::from("/m"))));
        assert_eq!(of("kind = 'none'\npath = '/m'"), None);
        let from = Some("http://h/m".to_owned());
        assert_eq!(of("fetch_url = 'http://h/m'"), Some(ModelOrigin::Fetched { from, leave: leave() }));
        let (vendor, base_url, model) = ("embedding", "http://h/v1".to_owned(), "m".to_owned());
        let server = RemoteModel { vendor, base_url, api_key: None, model, dimensions: Some(64) };
        let text = "kind = 'openai_compatible'\nbase_url = 'http://h/v1'\nmodel = 'm'\ndimensions = 64\npath = '/m'";
        assert_eq!(of(text), Some(ModelOrigin::Server(server)));
    }

    #[test]
    fn e5_nothing_is_fetched_against_somebodys_will() {
        let told = |text: &str, variables: &[(&str, &str)]| {
            objection(&embedding(text), &Environment::of("/w", variables.iter().copied()))
        };
        assert_eq!(told("", &[]), None);
        assert_eq!(told("", &[("HOB_NO_FETCH", "0")]), None);
        assert_eq!(told("", &[("HOB_NO_FETCH", "")]), None);
        insta::assert_snapshot!(told("", &[("HOB_NO_FETCH", "1")]).unwrap(), @"the embedding model is not there, and $HOB_NO_FETCH keeps it from being fetched: unset it, or put a model's files somewhere and name the folder as `path` under [memory.embedding]");
        insta::assert_snapshot!(told("fetch = false", &[]).unwrap(), @"the embedding model is not there, and `fetch` under [memory.embedding] keeps it from being fetched: change it, or put a model's files somewhere and name the folder as `path` under [memory.embedding]");
    }

    #[test]
    fn e5_the_limits_of_recall_are_the_configs() {
        assert_eq!(limits(&MemoryConfig::default()), RecallLimits::default());
        let config = toml::from_str("max_facts = 1\nfragments_max = 2\ntokens_max = 3").unwrap();
        assert_eq!(limits(&config), RecallLimits { fragments: 2, tokens: 3, facts: 1 });
    }
}
