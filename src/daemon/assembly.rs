//! Puts the larger parts together from the config: what [`super::Daemon::start`] then starts in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::sync::Notify;

use crate::agent::persona::Personas;
use crate::agent::ports::{Ports, RunLimits, Watcher};
use crate::agent::prompt::{self, PromptSettings};
use crate::agent::quota::Meter;
use crate::config::Config;
use crate::daemon::toolset::{self, Grounds};
use crate::daemon::{Blueprint, StartError, Switches, letters, parts};
use crate::domain::channel::{Adapter, Channel};
use crate::domain::inbound::ChannelKind;
use crate::memory::recall::Memory;
use crate::model::catalog::Catalog;
use crate::model::purse::Purse;
use crate::model::table::Table;
use crate::policy::access::AccessList;
use crate::router::delivery::{Delivery, DeliveryLimits, DeliveryPorts};
use crate::router::intake::IntakeLimits;
use crate::router::streaming::StreamSettings;
use crate::skill::library::Library;
use crate::skill::shelf::Places;
use crate::store::Store;
use crate::store::contents::Contents;
use crate::tool::shed::Tools;

/// The channels, and what kinds of runs can be answered with them.
pub(super) fn channels(
    blueprint: &Blueprint,
    adapters: &[Arc<dyn Adapter>],
) -> (Vec<Arc<dyn Channel>>, BTreeSet<ChannelKind>) {
    let adapters = adapters.iter().map(|adapter| Arc::clone(adapter) as Arc<dyn Channel>);
    let channels: Vec<_> = blueprint.own_channel.iter().cloned().chain(adapters).collect();
    let serves = channels.iter().map(|channel| channel.address().0).chain([ChannelKind::Event]).collect();
    (channels, serves)
}

/// Who sends what is to be said.
pub(super) fn delivery(
    blueprint: &Blueprint,
    store: &Store,
    (channels, contents): (Vec<Arc<dyn Channel>>, &Contents),
    switches: &Switches,
    rest: &Arc<Notify>,
) -> Delivery {
    Delivery::new(DeliveryPorts {
        store: store.clone(),
        clock: Arc::clone(&blueprint.clock),
        rng: Arc::clone(&blueprint.rng),
        channels,
        contents: contents.clone(),
        limits: delivery_limits(&blueprint.config),
        stream: stream_settings(&blueprint.config),
        reactions: blueprint.config.delivery.reactions,
        letters: Arc::new(letters::rules(&blueprint.config)),
        redactor: blueprint.redactor.clone(),
        stop: switches.silence.clone(),
        tracker: switches.outbox.clone(),
        rest: Arc::clone(rest),
    })
}

/// What runs share with the other parts.
pub(super) struct Shared {
    pub(super) models: Arc<Catalog>,
    pub(super) table: Arc<Table>,
    pub(super) purse: Arc<Purse>,
    pub(super) people: People,
    pub(super) memory: Memory,
    pub(super) skills: Arc<Library>,
    pub(super) watcher: Arc<dyn Watcher>,
}

/// The skills, as they lie in their folders.
pub(super) fn skills(blueprint: &Blueprint, memory: &Memory) -> Arc<Library> {
    let places = Places::of(&blueprint.data_dir, blueprint.config.skills.dirs.clone());
    let (redactor, nearby) = (blueprint.redactor.clone(), Arc::clone(&memory.nearby));
    Arc::new(Library::open(memory.store.clone(), places, redactor, nearby))
}

/// Who speaks with whom, with which tools, and how much.
pub(super) struct People {
    pub(super) tools: Arc<Tools>,
    pub(super) meter: Arc<Meter>,
    pub(super) personas: Arc<Personas>,
    pub(super) access: Arc<AccessList>,
    pub(super) alarm: Arc<Notify>,
    /// How commands are confined, in words for people.
    pub(super) confined: String,
}

pub(super) async fn people(
    blueprint: &Blueprint,
    (memory, skills): (&Memory, &Arc<Library>),
    (models, contents): (&Catalog, &Contents),
) -> Result<People, StartError> {
    let config = &blueprint.config;
    let workspace = toolset::workspace(config, &blueprint.data_dir);
    let around = (blueprint.data_dir.as_path(), &blueprint.environment);
    let sandbox = toolset::terminal::sandbox(&config.terminal, &workspace, around).await;
    let alarm = Arc::new(Notify::new());
    let tools = Tools::new(toolset::tools(&Grounds {
        config,
        alarm: &alarm,
        memory,
        data_dir: &blueprint.data_dir,
        environment: &blueprint.environment,
        rng: &blueprint.rng,
        workspace: &workspace,
        sandbox: &sandbox,
        config_file: blueprint.config_file.as_deref(),
        models,
        contents,
        skills,
        started: blueprint.clock.now(),
    }));
    let personas = Arc::new(parts::personas(config, models, &tools.now())?);
    let meter = Arc::new(Meter { quotas: parts::quotas(&config.quotas), zone: memory.zone.clone() });
    let (access, confined) = (Arc::new(parts::access(config)), sandbox.strength().to_string());
    Ok(People { tools: Arc::new(tools), meter, personas, access, alarm, confined })
}

pub(super) fn ports(
    blueprint: &Blueprint,
    shared: Shared,
    (owner, contents): (String, &Contents),
) -> Result<Ports, StartError> {
    let Shared { models, table, purse, people, memory, skills, watcher } = shared;
    let People { tools, meter, personas, access, .. } = people;
    let agent = &blueprint.config.agent;
    let zone = parts::zone(agent.time_zone.as_deref())?;
    Ok(Ports {
        store: memory.store.clone(),
        memory,
        contents: contents.clone(),
        skills,
        clock: Arc::clone(&blueprint.clock),
        models,
        tools,
        redactor: blueprint.redactor.clone(),
        toolbox: parts::toolbox(&blueprint.config, &blueprint.environment, &blueprint.data_dir)?,
        personas,
        prompt: prompt_settings(&blueprint.config, zone.clone()),
        limits: RunLimits {
            iterations: agent.iterations_max,
            iterations_step: agent.iterations_step,
            iterations_cap: agent.iterations_cap,
            soft: Duration::from_secs(agent.soft_limit_secs),
            hard: Duration::from_secs(agent.hard_limit_secs),
            tool_output_chars_max: agent.tool_output_chars_max,
            policy: parts::policy(&blueprint.config),
        },
        table,
        counts: Arc::default(),
        reply_tokens: parts::reply_tokens(&blueprint.config),
        purse,
        meter,
        access,
        rng: Arc::clone(&blueprint.rng),
        watcher,
        owner,
        lease: Duration::from_secs(blueprint.config.daemon.lease_secs),
    })
}

pub(super) fn prompt_settings(config: &Config, zone: TimeZone) -> PromptSettings {
    PromptSettings {
        base: config.agent.system_prompt.clone().unwrap_or_else(|| prompt::BASE.to_owned()),
        zone,
        history_messages_max: i64::try_from(config.agent.history_messages_max).unwrap_or(i64::MAX),
    }
}

pub(super) fn delivery_limits(config: &Config) -> DeliveryLimits {
    DeliveryLimits {
        attempts_max: i64::from(config.delivery.attempts_max),
        age_max: Duration::from_secs(config.delivery.age_max_secs),
        backoff_base: Duration::from_millis(config.delivery.backoff_base_ms),
        backoff_max: Duration::from_secs(config.delivery.backoff_max_secs),
    }
}

fn stream_settings(config: &Config) -> StreamSettings {
    StreamSettings {
        on: config.delivery.stream,
        every: Duration::from_millis(config.delivery.stream_every_ms),
        off: config.delivery.whole().collect(),
    }
}

pub(super) fn intake_limits(config: &Config) -> IntakeLimits {
    IntakeLimits {
        message_chars_max: config.agent.message_chars_max,
        queue_len_max: i64::try_from(config.agent.queue_len_max).unwrap_or(i64::MAX),
        mode: parts::mode(config.agent.queue_mode),
    }
}
