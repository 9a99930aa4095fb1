//! `hob run`: the daemon.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Base, runtime};
use crate::config::daemon::LogFormat;
use crate::config::load::{Loaded, Note};
use crate::config::off::SectionOff;
use crate::daemon::{Blueprint, Daemon, configured_channels};
use crate::domain::clock::SystemClock;
use crate::domain::rng::SystemRng;
use crate::telemetry::{self, Format, Sink};

/// How long the parts may take to show that they are alive before the watchdog is not fed.
const ALIVE_WITHIN: Duration = Duration::from_secs(20);

/// Serves the configured channels until SIGTERM or SIGINT.
///
/// # Errors
/// When no channel is configured, or something cannot be started.
pub(super) fn run(base: Base) -> anyhow::Result<()> {
    // With every channel off, Hob runs nevertheless: it says what is missing, and serves as soon as it is there. What is
    // closed until the file is mended is no reason to be down either: nobody would notice that it is.
    let may_be_without = base.fallback.is_some() || base.loaded.lacks_a_channel();
    if configured_channels(&base.loaded.config).is_empty() && !may_be_without {
        bail!(
            "no channel is configured: add [telegram], [slack], [discord] or [email] to config.toml (README.md, \
             \"Connect\"), or talk to Hob at the terminal with `hob chat`"
        );
    }
    let daemon = &base.loaded.config.daemon;
    let format = match daemon.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    telemetry::start(Sink::StandardError, format, &daemon.log)?;
    runtime(2).context("the runtime could not be started")?.block_on(serve(base))
}

async fn serve(base: Base) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let config = base.loaded.path.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    tracing::info!(config, data = %base.data_dir.display(), version = env!("CARGO_PKG_VERSION"), "hob.starting");
    let conditions = base.conditions();
    say_what_is_off(&base.loaded);
    let daemon = Box::pin(Daemon::start(Blueprint {
        config: base.loaded.config,
        config_file: base.loaded.path,
        source: base.loaded.source,
        redactor: base.redactor,
        data_dir: base.data_dir,
        environment: base.environment,
        own_channel: None,
        stays: true,
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    }))
    .await?;
    tracing::info!(model = daemon.model(), "hob.ready");
    notify(&[NotifyState::Ready]);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = feed_watchdog(&daemon) => {}
    }
    tracing::info!("hob.stopping");
    notify(&[NotifyState::Stopping]);
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

/// Tells systemd that Hob lives, as long as the runtime and the database's writer do what they are asked.
async fn feed_watchdog(daemon: &Daemon) {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    loop {
        if daemon.is_alive(ALIVE_WITHIN).await {
            notify(&[NotifyState::Watchdog]);
        } else {
            tracing::error!("the database's writer does not answer: the watchdog is not fed");
        }
        tokio::time::sleep(limit / 3).await;
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd could not be told");
    }
}
