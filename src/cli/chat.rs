//! `hob chat`: a conversation at the terminal, or with a script through a pipe.

use std::io::{BufReader, IsTerminal, Stdout};
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::attach::{self, AttachedWindow};
use crate::cli::next_step::refuse;
use crate::cli::{CliContext, runtime};
use crate::daemon::idle::IdleWatcher;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, ServedChannels, chat_log};
use hob_config::environment::Environment;
use hob_console::interact::interact;
use hob_console::pipe::{ScriptInput, pipe};
use hob_console::screen::Console;
use hob_console::terminal::{Terminal, TerminalTraits};
use hob_console::{LOCAL, Ports, SessionIdle, place};
use hob_core::domain::channel::{Channel, Intake};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::rng::SystemRng;
use hob_router::command::LISTED;
use hob_telemetry::{Format, Sink};

/// What `hob chat` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ChatArguments {
    /// Begin a new conversation instead of the usual one
    #[arg(long)]
    pub new: bool,
}

/// Holds the conversation until the person leaves, or the script's last line is answered. Where a Hob runs on this data
/// directory, it is a window onto that.
///
/// # Errors
/// When something cannot be started, or the terminal cannot be used.
pub(super) fn run(arguments: ChatArguments, base: CliContext) -> anyhow::Result<()> {
    begin(&base)?;
    let chat = chat_of(arguments.new);
    let runtime = runtime().context("the runtime could not be started")?;
    let window = attach::open(&base.data_dir, &chat)?;
    runtime.block_on(async {
        match (window, std::io::stdin().is_terminal()) {
            (Some(window), true) => watched(base, window, &chat).await,
            (Some(window), false) => relay_script(window, &chat).await,
            (None, true) => typed(base, &chat).await,
            (None, false) => piped(base, &chat).await,
        }
    })
}

/// Opens the log, and tells what runs instead of the config file.
pub(super) fn begin(base: &CliContext) -> anyhow::Result<()> {
    hob_telemetry::start(Sink::File(&chat_log(&base.data_dir)), Format::Text, &base.loaded.config.daemon.log)?;
    if let Some(fallback) = &base.fallback {
        eprintln!("degraded: {}", hob_telemetry::hidden(&fallback.trouble(SystemClock.now()).to_string()));
    }
    Ok(())
}

pub(super) fn chat_of(new: bool) -> String {
    if new { attach::new_chat() } else { LOCAL.to_owned() }
}

/// The terminal, and what draws on it.
struct OpenTerminal {
    terminal: Terminal,
    console: Console<Stdout>,
    /// From its beginning on, SIGTERM is heard.
    terminate: Signal,
}

impl OpenTerminal {
    fn of(base: &CliContext) -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let commands = LISTED.iter().map(|(name, _)| (*name).to_owned()).collect();
        let (terminal, page) = Terminal::open(&base.data_dir, commands, terminal_style(&base.environment))?;
        Ok(Self { terminal, console: Console::terminal(page), terminate })
    }
}

/// A person at a Hob of their own, onto which others may open windows as well.
async fn typed(base: CliContext, chat: &str) -> anyhow::Result<()> {
    let opened = OpenTerminal::of(&base)?;
    let daemon = Box::pin(start(base, ServedChannels::Terminals)).await?;
    opened.terminal.greet(&format!("{}\n/help lists what can be said; Ctrl-D leaves.", daemon.model()))?;
    let window_service = daemon.windows().context("this Hob has no windows")?;
    let ended = talk(opened, attach::open_here(window_service, chat).await, chat).await;
    daemon.stop().await;
    ended
}

/// A person at a window onto the Hob that runs.
async fn watched(base: CliContext, window: AttachedWindow, chat: &str) -> anyhow::Result<()> {
    let opened = OpenTerminal::of(&base)?;
    opened.terminal.greet(
        "This is a window onto the Hob that runs here.\n/help lists what can be said; Ctrl-D closes the window.",
    )?;
    talk(opened, window, chat).await
}

async fn talk(opened: OpenTerminal, mut window: AttachedWindow, chat: &str) -> anyhow::Result<()> {
    let OpenTerminal { terminal, console, mut terminate } = opened;
    let frames = window.frames()?;
    let window = Arc::new(window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, chat);
    tokio::select! {
        ended = interact(terminal, &console, &ports) => Ok(ended?),
        () = window.show(frames, &console) => {
            refuse!("the Hob that ran here has ended"; "`hob chat` again, which runs one itself where none does")
        }
        _ = terminate.recv() => Ok(()),
    }
}

/// How the terminal is drawn on: with styles, unless its owner wants none (https://no-color.org).
fn terminal_style(environment: &Environment) -> TerminalTraits {
    let term = environment.text("TERM").unwrap_or("dumb");
    let is_set = |name: &str| environment.text(name).is_some_and(|value| !value.is_empty());
    // Those that cut rows when they are made narrower, where all others break them.
    let cuts = is_set("XTERM_VERSION") || ["linux", "rxvt"].iter().any(|cutting| term.starts_with(cutting));
    // Screen cuts them; tmux, which may go by its name, breaks them.
    let is_either = term.starts_with("screen") && !is_set("TMUX");
    let reflows = (!is_either).then_some(!cuts);
    TerminalTraits { styles: !is_set("NO_COLOR"), is_dumb: term == "dumb", reflows }
}

async fn piped(base: CliContext, chat: &str) -> anyhow::Result<()> {
    let console = Arc::new(Console::pipe(std::io::stdout()));
    let daemon = Box::pin(start(base, ServedChannels::Own(Arc::clone(&console) as Arc<dyn Channel>))).await?;
    eprintln!("{}", daemon.model());
    let quiet = RestCheck(daemon.idle_watcher(), place(chat));
    let mut terminate = signal(SignalKind::terminate())?;
    let ports = ports(daemon.router(), chat);
    let ended = tokio::select! {
        ended = pipe(input(), &console, &quiet, &ports) => ended,
        _ = terminate.recv() => Ok(()),
    };
    daemon.stop().await;
    Ok(ended?)
}

/// A script at a window onto the Hob that runs.
async fn relay_script(mut window: AttachedWindow, chat: &str) -> anyhow::Result<()> {
    let console = Console::pipe(std::io::stdout());
    let frames = window.frames()?;
    let window = Arc::new(window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, chat);
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = pipe(input(), &console, &*window, &ports) => Ok(ended?),
        () = window.show(frames, &console) => refuse!("the Hob that ran here has ended"; "say again what was not answered"),
        _ = terminate.recv() => Ok(()),
    }
}

fn input() -> ScriptInput {
    ScriptInput { lines: Box::new(BufReader::new(std::io::stdin())), errors: Box::new(std::io::stderr()) }
}

/// A daemon in this process; one that somebody else may open windows onto stays.
pub(super) async fn start(base: CliContext, serves: ServedChannels) -> anyhow::Result<Daemon> {
    let conditions = base.conditions();
    let daemon = Box::pin(Daemon::start(Blueprint {
        config: base.loaded.config,
        config_file: base.loaded.path,
        source: base.loaded.source,
        redactor: base.redactor,
        data_dir: base.data_dir,
        environment: base.environment,
        stays: matches!(serves, ServedChannels::Terminals),
        serves,
        trial: None,
        space: Arc::new(SystemSpace),
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    }))
    .await?;
    Ok(daemon)
}

pub(super) fn ports(intake: Arc<dyn Intake>, chat: &str) -> Ports {
    Ports { intake, rng: Arc::new(SystemRng), clock: Arc::new(SystemClock), name: "you".to_owned(), place: place(chat) }
}

/// Quiet when a conversation is at rest.
pub(super) struct RestCheck(pub(super) IdleWatcher, pub(super) Conversation);

#[async_trait]
impl SessionIdle for RestCheck {
    async fn quiet(&self) {
        self.0.at_rest(&self.1).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_a_terminal_is_drawn_on_as_it_can_and_as_its_owner_wants() {
        let of = |variables: &[(&'static str, &'static str)]| terminal_style(&Environment::of("/", variables.to_vec()));
        let usual = TerminalTraits { styles: true, is_dumb: false, reflows: Some(true) };
        assert_eq!(of(&[("TERM", "xterm-256color")]), usual);
        assert_eq!(of(&[("TERM", "tmux-256color"), ("NO_COLOR", "1")]), TerminalTraits { styles: false, ..usual });
        assert_eq!(of(&[("TERM", "xterm"), ("NO_COLOR", "")]), usual);
        assert_eq!(
            of(&[("TERM", "xterm"), ("XTERM_VERSION", "390")]),
            TerminalTraits { reflows: Some(false), ..usual }
        );
        assert_eq!(of(&[("TERM", "screen")]), TerminalTraits { reflows: None, ..usual });
        assert_eq!(of(&[("TERM", "screen"), ("TMUX", "/tmp/x")]), usual);
        assert!(of(&[("TERM", "dumb")]).is_dumb && of(&[]).is_dumb);
    }
}
