//! Puts the larger parts together from the config: what [`super::Daemon::start`] then starts in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Notify;

use crate::daemon::channels::ConnectedAccount;
use crate::daemon::error::StartError;
use crate::daemon::learned_params::LearnedFile;
use crate::daemon::reload::plan;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::terminal_windows::TerminalWindows;
use crate::daemon::toolset::home::HomeHandle;
use crate::daemon::toolset::{self, ToolDependencies};
use crate::daemon::{Blueprint, background, backups, config_mapping, email_policy, memory, models, trial};
use hob_agent::ports::{Ports, RunLimits};
use hob_agent::prompt::{self, PromptSettings};
use hob_agent::quota::QuotaChecker;
use hob_agent::token_counts::TokenCountHistory;
use hob_config::Config;
use hob_config::switched_off::SectionOff;
use hob_core::domain::channel::Channel;
use hob_core::domain::config_status::ConfigStatusHandle;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::upkeep::LastUpkeepRound;
use hob_memory::embedding_service::EmbeddingService;
use hob_memory::extraction::Extractor;
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::{Catalog, ModelEntry};
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::metered_provider::Metering;
use hob_model::model_table::ModelTable;
use hob_model::refused_parameters::RefusedParameterStore;
use hob_model::transcription::Transcriber;
use hob_router::agenda::AgendaLooker;
use hob_router::command_handlers::CommandServices;
use hob_router::delivery::config::{DeliveryConfig, DeliveryLimits};
use hob_router::delivery::{Delivery, DeliveryPorts};
use hob_router::intake::{IntakeConfig, IntakeLimits};
use hob_router::speech::SpeechSettings;
use hob_router::streaming::StreamSettings;
use hob_skill::library::Library;
use hob_skill::loaded_skills::SkillFolders;
use hob_store::Store;
use hob_store::contents::Contents;
use hob_tools::ToolRuntime;
use hob_tools::changes::Drafts;
use hob_tools::mcp::Servers;
use hob_tools::mcp::classes::Classes;
use hob_tools::mcp::parked::ParkedCalls;
use hob_tools::registry_handle::ToolRegistryHandle;
use hob_tools::sandbox::trial::SandboxTrial;
use hob_tools::schedule::look::{HouseLooker, Looker};
use hob_web::chat::channel::PageChannel;

/// So many messages may wait in one conversation.
const QUEUE_LEN_MAX: i64 = 50;
/// Between two changes of a reply that grows in a chat.
const STREAM_EVERY: Duration = Duration::from_millis(1500);

/// The channels that are Hob's own, and no platform's.
#[derive(Clone)]
pub(super) struct OwnChannels {
    /// The page's side of its conversations, if Hob listens.
    pub(super) page: Option<Arc<PageChannel>>,
    /// The terminals.
    pub(super) windows: Arc<TerminalWindows>,
}

/// What stays as long as the process does, whatever the config says.
pub(super) struct ProcessServices {
    pub(super) store: Store,
    pub(super) contents: Contents,
    /// This process's name on leases.
    pub(super) owner: String,
    /// Keeps what models refuse.
    pub(super) remember: Arc<dyn RefusedParameterStore>,
    /// How the models' providers count.
    pub(super) counts: Arc<TokenCountHistory>,
    /// What is near in meaning.
    pub(super) embedding_service: Arc<EmbeddingService>,
    pub(super) skills: Arc<Library>,
    /// What programs can be kept from here.
    pub(super) sandbox: SandboxTrial,
    /// Rung when a schedule has changed.
    pub(super) alarm: Arc<Notify>,
    pub(super) delivery: Delivery,
    pub(super) own: OwnChannels,
    pub(super) standing: ConfigStatusHandle,
    /// What the last round of upkeep did.
    pub(super) upkeep: LastUpkeepRound,
    /// When this process started.
    pub(super) started: Timestamp,
    /// What is changed in copies of the workspace, and what was kept of it.
    pub(super) drafts: Drafts,
    /// What owners have said that the tools of MCP servers do; known once there is one.
    pub(super) classes: Classes,
    /// Calls of MCP servers that wait for a person's answer.
    pub(super) parked: ParkedCalls,
}

impl ProcessServices {
    /// With what was found out.
    pub(super) fn of(
        blueprint: &Blueprint,
        store: Store,
        contents: Contents,
        delivery: Delivery,
        own: OwnChannels,
    ) -> Self {
        let workspace = toolset::workspace(&blueprint.config, &blueprint.data_dir);
        let embedding_service = Arc::default();
        Self {
            skills: skills(blueprint, &store, &embedding_service),
            sandbox: toolset::terminal::trial(blueprint),
            remember: Arc::new(LearnedFile::open(&blueprint.data_dir)),
            counts: Arc::default(),
            alarm: Arc::default(),
            standing: ConfigStatusHandle::default(),
            upkeep: LastUpkeepRound::default(),
            started: blueprint.clock.now(),
            drafts: Drafts::new(&blueprint.data_dir, &workspace),
            classes: Classes::default(),
            parked: ParkedCalls::default(),
            store,
            contents,
            owner: blueprint.rng.id(),
            embedding_service,
            delivery,
            own,
        }
    }
}

/// The channels that are delivered to.
pub(super) fn channels(connected: &[ConnectedAccount], own: &OwnChannels) -> Vec<Arc<dyn Channel>> {
    let adapters = connected.iter().map(|connected| Arc::clone(&connected.adapter) as Arc<dyn Channel>);
    let page = own.page.clone().map(|page| page as Arc<dyn Channel>);
    adapters.chain(page).chain([Arc::clone(&own.windows) as Arc<dyn Channel>]).collect()
}

/// What kinds of runs can be answered with these.
pub(super) fn serves(channels: &[Arc<dyn Channel>]) -> BTreeSet<ChannelKind> {
    channels.iter().map(|channel| channel.address().0).chain([ChannelKind::Event]).collect()
}

/// What delivery goes by.
pub(super) fn delivery_config(config: &Config, channels: Vec<Arc<dyn Channel>>) -> DeliveryConfig {
    DeliveryConfig {
        channels,
        limits: delivery_limits(config),
        stream: stream_settings(config),
        reactions: config.delivery.reactions,
        speaks: config.speech.is_some(),
        letters: Arc::new(email_policy::rules(config)),
    }
}

/// What delivery needs to send.
pub(super) fn delivery_ports(
    blueprint: &Blueprint,
    store: &Store,
    contents: &Contents,
    shutdown: &ShutdownStages,
    idle: &Arc<Notify>,
) -> DeliveryPorts {
    DeliveryPorts {
        store: store.clone(),
        clock: Arc::clone(&blueprint.clock),
        rng: Arc::clone(&blueprint.rng),
        contents: contents.clone(),
        redactor: blueprint.redactor.clone(),
        stop: shutdown.silence.clone(),
        tracker: shutdown.outbox.clone(),
        idle: Arc::clone(idle),
        meters: Arc::default(),
    }
}

/// The skills, as they lie in their folders.
pub(super) fn skills(blueprint: &Blueprint, store: &Store, embedding_service: &Arc<EmbeddingService>) -> Arc<Library> {
    let places = SkillFolders::of(&blueprint.data_dir, blueprint.config.skills.dirs.clone());
    Arc::new(Library::open(store.clone(), places, blueprint.redactor.clone(), Arc::clone(embedding_service)))
}

/// Everything that is made of one config: built as a whole, before any of it is in use.
pub(super) struct ConfigServices {
    pub(super) config: Arc<Config>,
    pub(super) ports: Arc<Ports>,
    /// Which model answers, why, and how to change it.
    pub(super) told: String,
    /// What of `[provider]` has no key.
    pub(super) keyless: Vec<SectionOff>,
    pub(super) extractor: Extractor,
    transcriber: Option<Arc<Transcriber>>,
    speech: Option<Arc<SpeechSettings>>,
    /// The household's Home Assistant.
    pub(super) home: HomeHandle,
}

impl ConfigServices {
    /// Makes it. The models of `former` are taken over where nothing about them has changed, and what rests goes on resting.
    pub(super) async fn of(
        blueprint: &Blueprint,
        roots: &ProcessServices,
        former: Option<&Self>,
    ) -> Result<Self, StartError> {
        let config = &blueprint.config;
        // Of what is new, something may have been said beside this process; from then on it is told.
        let is_new = |server: &str| former.is_none_or(|former| !former.config.mcp.contains_key(server));
        if config.mcp.keys().any(|server| is_new(server)) {
            roots.classes.load(&roots.store, is_new).await?;
        }
        let (table, models, (told, keyless)) = models(blueprint, roots, former).await?;
        let budget_guard = Arc::new(config_mapping::budget_guard(config)?);
        let memory = memory::build(&config.memory, roots, budget_guard.zone.clone());
        let extractor = config_mapping::extractor(blueprint, &memory, &models, &table, &budget_guard)?;
        let home = HomeHandle::of(config, former.map(|former| (&*former.config, &former.home)));
        let shared = SharedServices { models, table, budget_guard, memory, home: home.clone() };
        let ports = Arc::new(ports(blueprint, roots, shared)?);
        let transcriber = config_mapping::transcriber(blueprint)?.map(Arc::new);
        let speech = toolset::speech::settings(config, &roots.sandbox, &blueprint.data_dir)?.map(Arc::new);
        Ok(Self { config: Arc::new(config.clone()), ports, told, keyless, extractor, transcriber, speech, home })
    }

    /// What intake and commands go by.
    pub(super) fn intake_config(
        &self,
        roots: &ProcessServices,
        servers: &Servers,
        blueprint: &Blueprint,
    ) -> IntakeConfig {
        let ports = &self.ports;
        let agenda = toolset::dav::agenda(&self.config, &ports.memory, &ports.rng);
        let calendars = agenda
            .clone()
            .map(|agenda| Arc::new(AgendaLooker { agenda, clock: Arc::clone(&blueprint.clock) }) as Arc<dyn Looker>);
        let services = CommandServices {
            models: Arc::clone(&ports.models),
            table: Arc::clone(&ports.table),
            budget_guard: Arc::clone(&ports.budget_guard),
            meter: Arc::clone(&ports.meter),
            personas: Arc::clone(&ports.personas),
            memory: ports.memory.clone(),
            servers: servers.clone(),
            rng: Arc::clone(&ports.rng),
            confinement: toolset::own_programs::confinement(&roots.sandbox, &self.config),
            skills: Arc::clone(&ports.skills),
            drafts: roots.drafts.clone(),
            conditions: blueprint.conditions.clone(),
            config: roots.standing.clone(),
            upkeep: roots.upkeep.clone(),
            backups: backups::folder(&blueprint.data_dir, self.config.backup.dir.as_ref()),
            speaks: self.speech.is_some(),
            agenda,
            home: self.home.standing(),
            started: roots.started,
        };
        IntakeConfig {
            access: Arc::clone(&ports.access),
            limits: intake_limits(&self.config),
            services: Arc::new(services),
            transcriber: self.transcriber.clone(),
            speech: self.speech.clone(),
            looker: Some(Arc::new(HouseLooker {
                home: self.home.looker(),
                calendars,
                ..toolset::terminal::looker(&self.config, &roots.sandbox, &blueprint.data_dir)
            })),
        }
    }
}

async fn models(
    blueprint: &Blueprint,
    roots: &ProcessServices,
    former: Option<&ConfigServices>,
) -> Result<(Arc<ModelTable>, Arc<Catalog>, (String, Vec<SectionOff>)), StartError> {
    let config = &blueprint.config;
    if let Some(former) = former.filter(|former| !plan::rebuilds_models(&former.config, config)) {
        let Ports { table, models, .. } = &*former.ports;
        return Ok((Arc::clone(table), Arc::clone(models), (former.told.clone(), former.keyless.clone())));
    }
    let table = Arc::new(ModelTable::new(&config.models)?);
    if let Some(model) = blueprint.trial.as_ref().and_then(|trial| trial.model.clone()) {
        let told = format!("{} answers.", model.label());
        let watch = BreakerMonitor::new(Arc::clone(&blueprint.clock));
        let catalog = Catalog::with_breakers(ModelEntry::new("primary", model), Vec::new(), watch);
        let metering = Metering { meters: Arc::clone(roots.delivery.meters()), table: Arc::clone(&table) };
        let catalog = catalog.redacting(&blueprint.redactor).metered(&metering);
        return Ok((table, Arc::new(catalog), (told, Vec::new())));
    }
    let fresh = || BreakerMonitor::new(Arc::clone(&blueprint.clock));
    let sources = models::ModelSources {
        config,
        environment: &blueprint.environment,
        table: &table,
        remember: Arc::clone(&roots.remember),
        watch: former.map_or_else(fresh, |former| former.ports.models.watch()),
    };
    let models::ConfiguredModels { catalog, told, keyless } = models::build(sources).await?;
    let metering = Metering { meters: Arc::clone(roots.delivery.meters()), table: Arc::clone(&table) };
    let catalog = catalog.redacting(&blueprint.redactor).metered(&metering);
    Ok((table, Arc::new(catalog), (told, keyless)))
}

/// What runs share with the other parts.
struct SharedServices {
    models: Arc<Catalog>,
    table: Arc<ModelTable>,
    budget_guard: Arc<BudgetGuard>,
    memory: Memory,
    home: HomeHandle,
}

fn tools(blueprint: &Blueprint, roots: &ProcessServices, shared: &SharedServices) -> Arc<ToolRegistryHandle> {
    let (config, SharedServices { memory, models, home, .. }) = (&blueprint.config, shared);
    let tools = toolset::tools(&ToolDependencies {
        config,
        alarm: &roots.alarm,
        memory,
        data_dir: &blueprint.data_dir,
        environment: &blueprint.environment,
        rng: &blueprint.rng,
        workspace: &toolset::workspace(config, &blueprint.data_dir),
        sandbox: &roots.sandbox,
        drafts: &roots.drafts,
        config_file: blueprint.config_file.as_deref(),
        models,
        contents: &roots.contents,
        skills: &roots.skills,
        started: roots.started,
        home,
    });
    Arc::new(ToolRegistryHandle::new(if blueprint.trial.is_some() {
        trial::without_outside_tools(tools)
    } else {
        tools
    }))
}

fn ports(blueprint: &Blueprint, roots: &ProcessServices, shared: SharedServices) -> Result<Ports, StartError> {
    let tools = tools(blueprint, roots, &shared);
    let SharedServices { models, table, budget_guard, memory, .. } = shared;
    let config = &blueprint.config;
    let sandbox = toolset::own_programs::program_sandbox(&config.terminal, &roots.sandbox, &blueprint.data_dir);
    let toolbox = config_mapping::toolbox(config, &blueprint.environment, &sandbox, roots)?;
    Ok(Ports {
        store: roots.store.clone(),
        contents: roots.contents.clone(),
        skills: Arc::clone(&roots.skills),
        clock: Arc::clone(&blueprint.clock),
        redactor: blueprint.redactor.clone(),
        limits: run_limits(config, &toolbox),
        toolbox,
        personas: Arc::new(config_mapping::personas(config, &models, &tools.now())?),
        tools,
        prompt: prompt_settings(config, budget_guard.zone.clone()),
        models,
        table,
        counts: Arc::clone(&roots.counts),
        reply_tokens: config_mapping::reply_tokens(config),
        meter: Arc::new(QuotaChecker { quotas: config_mapping::quotas(&config.quotas) }),
        budget_guard,
        memory,
        access: Arc::new(config_mapping::access(config)),
        rng: Arc::clone(&blueprint.rng),
        meters: Arc::clone(roots.delivery.meters()),
        watcher: Arc::new(roots.delivery.clone()),
        owner: roots.owner.clone(),
        lease: background::LEASE,
    })
}

fn run_limits(config: &Config, toolbox: &ToolRuntime) -> RunLimits {
    let agent = &config.agent;
    let mut policy = config_mapping::policy(config);
    // Who hands a task on waits as long as for an agent that is installed (row E3).
    policy.tools.agent_secs = toolbox.timeouts.agent.as_secs();
    RunLimits {
        iterations: agent.iterations_max,
        iterations_step: agent.iterations_step,
        iterations_cap: agent.iterations_cap,
        soft: Duration::from_secs(agent.soft_limit_secs),
        hard: Duration::from_secs(agent.hard_limit_secs),
        tool_output_chars_max: agent.tool_output_chars_max,
        policy,
    }
}

pub(super) fn prompt_settings(config: &Config, zone: TimeZone) -> PromptSettings {
    PromptSettings {
        base: config.agent.system_prompt.clone().unwrap_or_else(|| prompt::BASE.to_owned()),
        zone,
        history_messages_max: i64::try_from(config.agent.history_messages_max).unwrap_or(i64::MAX),
    }
}

pub(super) fn delivery_limits(config: &Config) -> DeliveryLimits {
    DeliveryLimits::with_backoff(Duration::from_millis(config.delivery.backoff_base_ms))
}

fn stream_settings(config: &Config) -> StreamSettings {
    StreamSettings {
        on: config.delivery.stream,
        every: STREAM_EVERY,
        // The page shows each word as it comes.
        off: config.delivery.whole().chain([ChannelKind::Web]).collect(),
    }
}

pub(super) fn intake_limits(config: &Config) -> IntakeLimits {
    IntakeLimits {
        message_chars_max: config.agent.message_chars_max,
        queue_len_max: QUEUE_LEN_MAX,
        mode: config.agent.queue_mode,
    }
}
