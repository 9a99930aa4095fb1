//! What is over the network.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::daemon::models::{ModelSources, addresses, build};
#[cfg(feature = "mail")]
use crate::daemon::toolset;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, ServedChannels, accounts};
use crate::doctor::DoctorInputs;
use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::network::ModelProbe;
use crate::doctor::rules::{host, network};
use hob_config::Config;
use hob_core::domain::condition::Conditions;
use hob_http::client;
#[cfg(feature = "mail")]
use hob_mail::folders::FolderRole;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::message::Message;
use hob_model::model_table::ModelTable;
use hob_model::offline;
use hob_model::provider::{NoSink, Provider, Request, ToolChoice};
use hob_model::refused_parameters::NoParameterStore;

/// How long a server may take to connect to.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a server may take to answer something small.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How long a model may take to say a word.
const SPEAKS_WITHIN: Duration = Duration::from_secs(120);
/// What a model is asked with `--live`.
const WORD: &str = "Say the word yes, and nothing else.";
/// The most tokens of its answer: enough for one that thinks first.
const WORD_TOKENS: u64 = 1_024;

pub(in crate::doctor) async fn clock(patient: &DoctorInputs) -> Vec<Finding> {
    let now = || patient.clock.now();
    let year = now().to_zoned(TimeZone::UTC).year();
    let Some(config) = patient.config() else { return host::clock(year, None) };
    for address in clocks(config) {
        let Ok(url) = url::Url::parse(&address) else { continue };
        let asked = now();
        let Some(theirs) = date(&url).await else { continue };
        // The answer was on its way; whole seconds are all that is told.
        let ours = asked + half(now().duration_since(asked));
        let ahead = ours.duration_since(theirs).as_secs();
        return host::clock(year, Some((url.host_str().unwrap_or_default(), ahead)));
    }
    host::clock(year, None)
}

fn half(span: SignedDuration) -> SignedDuration {
    span / 2
}

/// The servers that may tell the time: those that Hob talks to anyway.
fn clocks(config: &Config) -> Vec<String> {
    let telegram = config.telegram.iter().map(|telegram| telegram.api_url.clone());
    let slack = config.slack.iter().map(|slack| slack.api_url.clone());
    let discord = config.discord.iter().map(|discord| discord.api_url.clone());
    let matrix = config.matrix.iter().map(|matrix| matrix.homeserver.clone());
    addresses(config).into_iter().chain(telegram).chain(slack).chain(discord).chain(matrix).collect()
}

/// What time a server says it is. No key goes there.
async fn date(url: &url::Url) -> Option<Timestamp> {
    let asked = client(CONNECT).ok()?.get(url.clone()).timeout(ANSWERS_WITHIN).send().await;
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) => {
            tracing::debug!(error = %error.without_url(), "a server does not tell the time");
            return None;
        }
    };
    let said = answer.headers().get(reqwest::header::DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(said).ok().map(|at| at.timestamp())
}

pub(in crate::doctor) async fn models(patient: &DoctorInputs) -> Vec<Finding> {
    let Some(config) = patient.config() else { return Vec::new() };
    let fix = "see to [provider] in config.toml";
    let table = match ModelTable::new(&config.models) {
        Ok(table) => table,
        Err(error) => {
            return vec![Finding::fail(
                Check::Models,
                format!("the table of models: {error}"),
                "see to [models] in config.toml",
            )];
        }
    };
    let built = build(ModelSources {
        config,
        environment: &patient.environment,
        table: &table,
        // The daemon's file is the daemon's: it may be running.
        remember: Arc::new(NoParameterStore),
        watch: BreakerMonitor::new(Arc::clone(&patient.clock)),
    });
    let catalog = match built.await {
        Ok(models) => models.catalog,
        Err(error) => return vec![Finding::fail(Check::Models, error.to_string(), fix)],
    };
    let mut asked: Vec<(String, String, Arc<dyn Provider>)> = Vec::new();
    for (role, label) in catalog.labels() {
        let is_new = asked.iter().all(|(_, known, _)| known != label);
        if let Some(provider) = catalog.get(label).filter(|_| is_new) {
            asked.push((role.to_owned(), label.to_owned(), provider));
        }
    }
    let looked = asked.iter().map(|(role, label, provider)| async move {
        network::model(role, label, &ask(&**provider, patient.live).await)
    });
    join_all(looked).await
}

async fn ask(provider: &dyn Provider, live: bool) -> ModelProbe {
    let late = |within: Duration| {
        ModelProbe::Failed(ModelError::new(ErrorClass::Timeout, format!("no answer within {} s", within.as_secs())))
    };
    if provider.label() == offline::LABEL {
        return ModelProbe::BuiltIn;
    }
    if live {
        let began = Instant::now();
        return match tokio::time::timeout(SPEAKS_WITHIN, provider.complete(&probe_request(), &NoSink)).await {
            Ok(Ok(_said)) => ModelProbe::Spoke(began.elapsed()),
            Ok(Err(error)) => ModelProbe::Failed(error),
            Err(_elapsed) => late(SPEAKS_WITHIN),
        };
    }
    match tokio::time::timeout(ANSWERS_WITHIN, provider.check()).await {
        Ok(Ok(checked)) => match checked.listed {
            Some(true) => ModelProbe::Listed,
            Some(false) => ModelProbe::NotListed,
            None => ModelProbe::Untold,
        },
        Ok(Err(error)) => ModelProbe::Failed(error),
        Err(_elapsed) => late(ANSWERS_WITHIN),
    }
}

fn probe_request() -> Request {
    Request {
        system: "You answer in one word.".to_owned(),
        messages: vec![Message::user(WORD)],
        stable: 0,
        tools: Vec::new().into(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: Some(WORD_TOKENS),
        session: None,
    }
}

pub(in crate::doctor) async fn channels(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(loaded), Ok(data_dir), Ok(state)) = (&patient.loaded, &patient.data_dir, &patient.state) else {
        return Vec::new();
    };
    let blueprint = Blueprint {
        config: loaded.config.clone(),
        config_file: loaded.path.clone(),
        source: loaded.source.clone(),
        data_dir: data_dir.clone(),
        state: state.clone(),
        redactor: patient.redactor.clone(),
        environment: patient.environment.clone(),
        serves: ServedChannels::Configured,
        trial: None,
        stays: false,
        conditions: Conditions::default(),
        space: Arc::new(SystemSpace),
        clock: Arc::clone(&patient.clock),
        rng: Arc::clone(&patient.rng),
    };
    let adapters = match accounts(&blueprint) {
        Ok(adapters) if adapters.is_empty() => return vec![network::no_channel()],
        Ok(adapters) => adapters,
        Err(error) => {
            return vec![Finding::fail(Check::Channels, error.to_string(), "see to that section of config.toml")];
        }
    };
    let looked = adapters.iter().map(|adapter| async move {
        let (kind, account) = adapter.address();
        let answer = adapter.check().await.map_err(|unusable| unusable.to_string());
        network::channel(&format!("{kind} ({account})"), answer)
    });
    join_all(looked).await
}

/// The mailboxes of people; nothing is said where there are none.
#[cfg(feature = "mail")]
pub(in crate::doctor) async fn mail(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(config), Ok(data_dir)) = (patient.config(), &patient.data_dir) else { return Vec::new() };
    let looked = toolset::mail::accounts(config, data_dir).into_iter().map(|(name, account)| async move {
        let checked = match account {
            Ok(account) => Box::pin(account.check()).await.map_err(|error| error.to_string()),
            Err(why) => Err(why),
        };
        let known = checked.map(|folders| {
            let has = [FolderRole::Drafts, FolderRole::Sent].map(|role| folders.of_role(role).is_some());
            let roles = folders.with_roles().filter_map(|one| Some(format!("{} {}", one.name, one.role?.as_str())));
            (roles.collect::<Vec<_>>(), has)
        });
        network::mailbox(name, known)
    });
    join_all(looked).await
}

#[cfg(not(feature = "mail"))]
pub(in crate::doctor) async fn mail(patient: &DoctorInputs) -> Vec<Finding> {
    let there = patient.config().is_some_and(|config| !config.mail.is_empty());
    let fix = "take a Hob that was built with it, or remove the section";
    there
        .then(|| Finding::fail(Check::Mail, "this Hob was built without the feature `mail`", fix))
        .into_iter()
        .collect()
}
