//! `hob run`: the daemon.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::exit::Unconfigured;
use crate::cli::{Base, notify, runtime};
use crate::config::daemon::LogFormat;
use crate::config::load::{Loaded, Note};
use crate::config::off::SectionOff;
use crate::config::telemetry::TelemetryConfig;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, Opened, configured_channels};
use crate::domain::clock::SystemClock;
use crate::domain::rng::SystemRng;
use crate::model::http;
use crate::telemetry::otlp::{Exporter, Otlp};
use crate::telemetry::{self, Format, Sink, journal};

/// How long the collector of traces may take to be reached.
const COLLECTOR_CONNECT: Duration = Duration::from_secs(5);
/// How long the last traces are waited for when the daemon stops.
const TRACES_FLUSH: Duration = Duration::from_secs(2);

/// Serves the configured channels until SIGTERM or SIGINT.
///
/// # Errors
/// When no channel is configured, or something cannot be started.
pub(super) fn run(base: Base) -> anyhow::Result<()> {
    // With every channel off, Hob runs nevertheless: it says what is missing, and serves as soon as it is there. What is
    // closed until the file is mended is no reason to be down either: nobody would notice that it is.
    let has_page = base.loaded.config.server.listens(&base.environment).is_some();
    let may_be_without = has_page || base.fallback.is_some() || base.loaded.lacks_a_channel();
    if configured_channels(&base.loaded.config).is_empty() && !may_be_without {
        let why = "no channel is configured: `hob init` sets one up, or add [telegram], [slack], [discord] or [email] to \
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
        Some(otlp) => Some(telemetry::start_traced(sink, format, &daemon.log, otlp)?),
        None => {
            telemetry::start(sink, format, &daemon.log)?;
            None
        }
    };
    runtime(2).context("the runtime could not be started")?.block_on(traced(base, exporter))
}

/// Where traces go, if anywhere.
fn otlp(config: &TelemetryConfig) -> anyhow::Result<Option<Otlp>> {
    let Some(endpoint) = config.otlp.clone() else { return Ok(None) };
    Ok(Some(Otlp {
        endpoint,
        headers: config.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        service_name: config.service_name.clone(),
        sample_ratio: config.sample_ratio,
        content: config.content,
        client: http::client(COLLECTOR_CONNECT)?,
    }))
}

/// Serves, and sends what was traced, the last of it too.
async fn traced(base: Base, exporter: Option<Exporter>) -> anyhow::Result<()> {
    let exporting = exporter.map(Exporter::begin);
    let served = serve(base).await;
    if let Some(exporting) = exporting {
        exporting.end(TRACES_FLUSH).await;
    }
    served
}

async fn serve(base: Base) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let config = base.loaded.path.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    tracing::info!(config, data = %base.data_dir.display(), version = env!("CARGO_PKG_VERSION"), "hob.starting");
    let conditions = base.conditions();
    say_what_is_off(&base.loaded);
    let opened = notify::patient(Opened::of(&base.data_dir)).await?;
    let blueprint = Blueprint {
        config: base.loaded.config,
        config_file: base.loaded.path,
        source: base.loaded.source,
        redactor: base.redactor,
        data_dir: base.data_dir,
        environment: base.environment,
        own_channel: None,
        stays: true,
        space: Arc::new(SystemSpace),
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    };
    let daemon = Box::pin(Daemon::begin(blueprint, opened)).await?;
    tracing::info!(model = daemon.model(), "hob.ready");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = notify::keep_told(&daemon) => {}
    }
    tracing::info!("hob.stopping");
    notify::stopping();
    daemon.stop().await;
    tracing::info!("hob.stopped");
    Ok(())
}

/// Writes to the log which sections are off, and what should be known about the file.
fn say_what_is_off(loaded: &Loaded) {
    for SectionOff { section, key, what, fix, .. } in &loaded.off {
        tracing::error!(section, key, what, fix, "config.section_off");
    }
    for Note { key, what, fix, .. } in &loaded.notes {
        tracing::warn!(key, what, fix, "config.note");
    }
    if loaded.lacks_a_channel() && configured_channels(&loaded.config).is_empty() {
        tracing::error!("every channel is off, so nobody can reach Hob; `hob config check` says what is missing");
    }
}
