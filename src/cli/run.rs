//! `hob run`: the daemon.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cli::exit::Unconfigured;
use crate::cli::{CliContext, notify, runtime};
use crate::daemon::error::StartError;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, OpenedData, ServedChannels, triggers, web_page};
use hob_config::daemon::LogFormat;
use hob_config::good_configs::fallback::use_good_config;
use hob_config::load::{LoadNote, LoadedConfig};
use hob_config::switched_off::SectionOff;
use hob_config::telemetry::TelemetryConfig;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::lock::lock;
use hob_core::domain::rng::SystemRng;
use hob_model::discover::DiscoverError;
use hob_store::daemons::LeadingDaemon;
use hob_store::error::StoreError;
use hob_telemetry::otlp::{Exporter, OtlpSettings};
use hob_telemetry::{Format, Sink, journal};
use hob_tools::process_reaper::ProcessReaper;

/// How long the collector of traces may take to be reached.
const COLLECTOR_CONNECT: Duration = Duration::from_secs(5);
/// How long the last traces are waited for when the daemon stops.
const TRACES_FLUSH: Duration = Duration::from_secs(2);
/// How long a model's server that is not up yet is waited for: systemd, which is to start Hob again then, gives up after five
/// failures within ten minutes.
const SERVER_WAIT_MAX: Duration = Duration::from_secs(130);
/// How often it is tried.
const SERVER_EVERY: Duration = Duration::from_secs(5);

/// Serves the configured channels until SIGTERM or SIGINT.
///
/// # Errors
/// When no channel is configured, or something cannot be started.
pub(super) fn run(base: CliContext) -> anyhow::Result<()> {
    // With every channel off, Hob runs nevertheless: it says what is missing, and serves as soon as it is there. What is
    // closed until the file is mended is no reason to be down either: nobody would notice that it is.
    let has_page = base.loaded.config.server.listens(&base.environment).is_some();
    let may_be_without = has_page || base.fallback.is_some() || base.loaded.lacks_a_channel();
    if base.loaded.config.channels().is_empty() && !may_be_without {
        let why = "no channel is configured: `hob init` sets one up, or add [telegram], [slack], [discord], [matrix] or [email] to \
                   config.toml (README.md, \"Connect\"), or let Hob serve its page ([server] listen); `hob chat` talks \
                   with Hob at the terminal";
        return Err(Unconfigured(why.to_owned()).into());
    }
    let daemon = &base.loaded.config.daemon;
    let format = match daemon.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    let is_journal = journal::is_read(base.environment.text("JOURNAL_STREAM"));
    let sink = if is_journal { Sink::Journal } else { Sink::StandardError };
    let exporter = match otlp(&base.loaded.config.telemetry)? {
        Some(otlp) => Some(hob_telemetry::start_traced(sink, format, &daemon.log, otlp)?),
        None => {
            hob_telemetry::start(sink, format, &daemon.log)?;
            None
        }
    };
    runtime().context("the runtime could not be started")?.block_on(serve_traced(base, exporter))
}

/// Where traces go, if anywhere.
fn otlp(config: &TelemetryConfig) -> anyhow::Result<Option<OtlpSettings>> {
    let Some(endpoint) = config.otlp.clone() else { return Ok(None) };
    Ok(Some(OtlpSettings {
        endpoint,
        headers: config.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        service_name: config.service_name.clone(),
        sample_ratio: config.sample_ratio,
        content: config.content,
        client: hob_http::client(COLLECTOR_CONNECT)?,
    }))
}

/// Serves, and sends what was traced, the last of it too.
async fn serve_traced(base: CliContext, exporter: Option<Exporter>) -> anyhow::Result<()> {
    let exporting = exporter.map(Exporter::begin);
    let served = Box::pin(serve(base)).await;
    if let Some(exporting) = exporting {
        exporting.end(TRACES_FLUSH).await;
    }
    served
}

async fn serve(base: CliContext) -> anyhow::Result<()> {
    let mut signals =
        Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? };
    let config = base.loaded.path.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    tracing::info!(config, data = %base.data_dir.display(), version = env!("CARGO_PKG_VERSION"), "hob.starting");
    let data_dir = base.data_dir.clone();
    let Some(daemon) = start_daemon(base, &mut signals).await? else { return Ok(()) };
    tracing::info!(model = daemon.model(), "hob.ready");
    tokio::select! {
        () = signals.stop() => {}
        () = notify::notify_forever(&daemon) => {}
        () = daemon.until_fenced() => {
            // Nothing of it goes on: neither what tools have started.
            ProcessReaper::of(&data_dir).kill().await;
            return Err(StartError::Store(StoreError::Fenced).into());
        }
    }
    tracing::info!("hob.stopping");
    notify::stopping();
    daemon.stop().await;
    tracing::info!("hob.stopped");
    Ok(())
}

/// What tells Hob to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Begins with the config; where that cannot be, with the newest good one that Hob can begin with. None: it was told to stop.
async fn start_daemon(mut base: CliContext, signals: &mut Signals) -> anyhow::Result<Option<Daemon>> {
    let last = Instant::now() + SERVER_WAIT_MAX;
    loop {
        let conditions = base.conditions();
        log_disabled_sections(&base.loaded);
        let error = match Box::pin(start(blueprint(&base, conditions), signals)).await {
            Ok(daemon) => return Ok(daemon),
            Err(error) if error.is_of_config() && base.loaded.path.is_some() => error,
            Err(error @ StartError::Provider(DiscoverError::NoOllama)) if Instant::now() < last => {
                tracing::warn!("hob.waits: {error}; it is tried again");
                if tokio::time::timeout(SERVER_EVERY, signals.stop()).await.is_ok() {
                    return Ok(None);
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        tracing::error!("config.not_begun: Hob cannot begin with this config, and looks for an older one: {error}");
        let next = match base.fallback.take() {
            None => use_good_config(&base.loaded, &error, &base.environment, triggers::check_beyond_schema),
            Some(fallback) => fallback.next(&error, &base.environment, triggers::check_beyond_schema),
        };
        // Without any, it is told what is wrong with the file itself.
        let (loaded, fallback) = next?;
        base = base.with(loaded, fallback)?;
    }
}

/// As [`Daemon::start`]; systemd waits while the database is opened. While another daemon works with it, this one stands by, and hands on
/// what it is asked. None: it was told to stop meanwhile.
async fn start(blueprint: Blueprint, signals: &mut Signals) -> Result<Option<Daemon>, StartError> {
    let Some(opened) = Box::pin(open(&blueprint, signals)).await? else { return Ok(None) };
    Ok(Some(Box::pin(Daemon::begin(blueprint, opened)).await?))
}

async fn open(blueprint: &Blueprint, signals: &mut Signals) -> Result<Option<OpenedData>, StartError> {
    let logged = Mutex::new(None);
    let (standing, leader) = watch::channel(None);
    let (serving, address) = watch::channel(None);
    let stands_by = |leader: &LeadingDaemon| {
        let seen = (leader.name.clone(), leader.is_alike);
        if lock(&logged).replace(seen.clone()) != Some(seen) {
            log_leader(leader);
            standing.send_replace(Some(leader.name.clone()));
        }
        serving.send_replace(leader.serves_at);
        ControlFlow::Continue(())
    };
    tokio::select! {
        opened = notify::extend_start_timeout(OpenedData::of(blueprint, &stands_by), &leader) => Ok(Some(opened?)),
        () = notify::stand_by(leader.clone(), signals.stop()) => Ok(None),
        never = web_page::forward(blueprint, address) => match never {},
    }
}

fn log_leader(leader: &LeadingDaemon) {
    let name = leader.name.as_str();
    tracing::info!(leader = name, "daemon.stands_by: this Hob takes over when that one stops or dies");
    if !leader.is_alike {
        tracing::warn!(
            leader = name,
            "daemon.config_differs: its config says something else about people or channels than this one's; make them alike"
        );
    }
}

fn blueprint(base: &CliContext, conditions: Conditions) -> Blueprint {
    Blueprint {
        config: base.loaded.config.clone(),
        config_file: base.loaded.path.clone(),
        source: base.loaded.source.clone(),
        redactor: base.redactor.clone(),
        data_dir: base.data_dir.clone(),
        state: base.state(),
        environment: base.environment.clone(),
        serves: ServedChannels::Configured,
        trial: None,
        stays: true,
        space: Arc::new(SystemSpace),
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    }
}

/// Writes to the log which sections are off, and what should be known about the file.
fn log_disabled_sections(loaded: &LoadedConfig) {
    for SectionOff { section, key, what, fix, .. } in &loaded.off {
        tracing::error!(section, key, what, fix, "config.section_off");
    }
    for LoadNote { key, what, fix, .. } in &loaded.notes {
        tracing::warn!(key, what, fix, "config.note");
    }
    if loaded.lacks_a_channel() && loaded.config.channels().is_empty() {
        tracing::error!("every channel is off, so nobody can reach Hob; `hob config check` says what is missing");
    }
}
