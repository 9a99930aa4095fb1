//! `hob chat`: a conversation at the terminal, or with a script through a pipe.

use std::io::{BufReader, IsTerminal};
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Base, runtime};
use crate::daemon::rest::RestWatch;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, chat_log};
use hob_config::environment::Environment;
use hob_console::interact::interact;
use hob_console::pipe::{Input, pipe};
use hob_console::screen::Console;
use hob_console::terminal::Terminal;
use hob_console::{Ports, Quiet, local};
use hob_core::domain::channel::Channel;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::rng::SystemRng;
use hob_telemetry::{Format, Sink};

/// Holds the conversation until the person leaves, or the script's last line is answered.
///
/// # Errors
/// When something cannot be started, or the terminal cannot be used.
pub(super) fn run(base: Base) -> anyhow::Result<()> {
    hob_telemetry::start(Sink::File(&chat_log(&base.data_dir)), Format::Text, &base.loaded.config.daemon.log)?;
    if let Some(fallback) = &base.fallback {
        eprintln!("degraded: {}", hob_telemetry::hidden(&fallback.trouble(SystemClock.now()).to_string()));
    }
    let runtime = runtime(2).context("the runtime could not be started")?;
    if std::io::stdin().is_terminal() { runtime.block_on(typed(base)) } else { runtime.block_on(piped(base)) }
}

async fn typed(base: Base) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let (terminal, page) = Terminal::open(&base.data_dir)?;
    let width = page.width();
    let console = if shows_styles(&base.environment) { Console::styled(page, width) } else { Console::terminal(page) };
    let console = Arc::new(console);
    let daemon = Box::pin(start(base, Arc::clone(&console) as Arc<dyn Channel>, Visit::Person)).await?;
    println!("{}\n/help lists what can be said; Ctrl-D leaves.", daemon.model());
    let ports = ports(&daemon);
    let ended = tokio::select! {
        ended = interact(terminal, &console, &ports) => ended,
        _ = terminate.recv() => Ok(()),
    };
    daemon.stop().await;
    Ok(ended?)
}

/// Whether the terminal shows styles, and its owner wants them (https://no-color.org).
fn shows_styles(environment: &Environment) -> bool {
    let knows_some = environment.text("TERM").is_some_and(|term| term != "dumb");
    std::io::stdout().is_terminal() && knows_some && environment.text("NO_COLOR").is_none()
}

async fn piped(base: Base) -> anyhow::Result<()> {
    let console = Arc::new(Console::pipe(std::io::stdout()));
    let daemon = Box::pin(start(base, Arc::clone(&console) as Arc<dyn Channel>, Visit::Script)).await?;
    eprintln!("{}", daemon.model());
    let input = Input { lines: Box::new(BufReader::new(std::io::stdin())), errors: Box::new(std::io::stderr()) };
    let quiet = AtRest(daemon.rest());
    let mut terminate = signal(SignalKind::terminate())?;
    let ports = ports(&daemon);
    let ended = tokio::select! {
        ended = pipe(input, &console, &quiet, &ports) => ended,
        _ = terminate.recv() => Ok(()),
    };
    daemon.stop().await;
    Ok(ended?)
}

/// Who talks.
enum Visit {
    /// Somebody at the terminal.
    Person,
    /// What comes through a pipe.
    Script,
}

async fn start(base: Base, console: Arc<dyn Channel>, visit: Visit) -> anyhow::Result<Daemon> {
    let conditions = base.conditions();
    let daemon = Box::pin(Daemon::start(Blueprint {
        config: base.loaded.config,
        config_file: base.loaded.path,
        source: base.loaded.source,
        redactor: base.redactor,
        data_dir: base.data_dir,
        environment: base.environment,
        own_channel: Some(console),
        stays: matches!(visit, Visit::Person),
        space: Arc::new(SystemSpace),
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    }))
    .await?;
    Ok(daemon)
}

fn ports(daemon: &Daemon) -> Ports {
    Ports { intake: daemon.router(), rng: Arc::new(SystemRng), clock: Arc::new(SystemClock), name: "you".to_owned() }
}

/// Quiet when the conversation at the terminal is at rest.
pub(super) struct AtRest(pub(super) RestWatch);

#[async_trait]
impl Quiet for AtRest {
    async fn quiet(&self) {
        self.0.at_rest(&local()).await;
    }
}
