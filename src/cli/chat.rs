//! `hob chat`: a conversation at the terminal, or with a script through a pipe.

use std::io::{BufReader, IsTerminal, Stdout, Write};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::attach::{self, AttachedWindow};
use crate::cli::next_step::refuse;
use crate::cli::{CliContext, runtime};
use crate::daemon::error::StartError;
use crate::daemon::terminal_windows::WindowFrame;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, OpenedData, ServedChannels, chat_log};
use hob_config::environment::Environment;
use hob_console::interact::interact;
use hob_console::pipe::{ScriptInput, pipe};
use hob_console::screen::Console;
use hob_console::terminal::{Terminal, TerminalTraits};
use hob_console::{LOCAL, Ports, place};
use hob_core::domain::channel::Intake;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::rng::SystemRng;
use hob_router::command::LISTED;
use hob_store::lock::LockError;
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
        if std::io::stdin().is_terminal() {
            Box::pin(typed(base, window, &chat)).await
        } else {
            Box::pin(piped(base, window, &chat)).await
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

/// A window onto a conversation, and the Hob behind it where none ran before: others may open windows onto that as well.
pub(super) struct WindowSession {
    pub(super) window: Arc<AttachedWindow>,
    frames: mpsc::Receiver<WindowFrame>,
    daemon: Option<Daemon>,
}

impl WindowSession {
    /// `stays`: whether somebody sits here; a script or a question is there for a moment.
    pub(super) async fn of(
        base: CliContext,
        window: Option<AttachedWindow>,
        chat: &str,
        stays: bool,
    ) -> anyhow::Result<Self> {
        let (mut window, daemon) = match window {
            Some(window) => (window, None),
            None => Box::pin(run_or_attach(base, chat, stays)).await?,
        };
        let frames = window.frames()?;
        Ok(Self { window: Arc::new(window), frames, daemon })
    }

    /// A window onto a Hob that ends with it.
    pub(super) async fn with(daemon: Daemon, chat: &str) -> anyhow::Result<Self> {
        let mut window = attach::open_here(daemon.windows(), chat).await;
        let frames = window.frames()?;
        Ok(Self { window: Arc::new(window), frames, daemon: Some(daemon) })
    }

    /// Which model answers, where this process asks it.
    fn model(&self) -> Option<&str> {
        self.daemon.as_ref().map(Daemon::model)
    }

    /// Shows what is said in the window as long as `talk` lasts; none: the Hob ended before. One of its own ends with it.
    pub(super) async fn hold<W, T, E>(
        self,
        console: &Console<W>,
        talk: impl Future<Output = Result<T, E>>,
    ) -> Result<Option<T>, E>
    where
        W: Write + Send + 'static,
    {
        let Self { window, frames, daemon } = self;
        let mut talk = pin!(talk);
        let ended = tokio::select! {
            ended = &mut talk => ended.map(Some),
            // The last that was shown may have been all that was waited for.
            () = window.show(frames, console) => match futures::poll!(&mut talk) {
                Poll::Ready(ended) => ended.map(Some),
                Poll::Pending => Ok(None),
            },
        };
        if let Some(daemon) = daemon {
            daemon.stop().await;
        }
        ended
    }
}

/// A person at the terminal.
async fn typed(base: CliContext, window: Option<AttachedWindow>, chat: &str) -> anyhow::Result<()> {
    let OpenTerminal { terminal, console, mut terminate } = OpenTerminal::of(&base)?;
    let session = Box::pin(WindowSession::of(base, window, chat, true)).await?;
    terminal.greet(&match session.model() {
        Some(model) => format!("{model}\n/help lists what can be said; Ctrl-D leaves."),
        None => {
            "This is a window onto the Hob that runs here.\n/help lists what can be said; Ctrl-D closes the window."
                .to_owned()
        }
    })?;
    let ports = ports(Arc::clone(&session.window) as Arc<dyn Intake>, chat);
    let talk = async {
        tokio::select! {
            ended = interact(terminal, &console, &ports) => ended,
            _ = terminate.recv() => Ok(()),
        }
    };
    if session.hold(&console, talk).await?.is_none() {
        refuse!("the Hob that ran here has ended"; "`hob chat` again, which runs one itself where none does");
    }
    Ok(())
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

/// A script.
async fn piped(base: CliContext, window: Option<AttachedWindow>, chat: &str) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let console = Console::pipe(std::io::stdout());
    let session = Box::pin(WindowSession::of(base, window, chat, false)).await?;
    if let Some(model) = session.model() {
        eprintln!("{model}");
    }
    let window = Arc::clone(&session.window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, chat);
    let talk = async {
        tokio::select! {
            ended = pipe(input(), &console, &*window, &ports) => ended,
            _ = terminate.recv() => Ok(()),
        }
    };
    if session.hold(&console, talk).await?.is_none() {
        refuse!("the Hob that ran here has ended"; "say again what was not answered");
    }
    Ok(())
}

fn input() -> ScriptInput {
    ScriptInput { lines: Box::new(BufReader::new(std::io::stdin())), errors: Box::new(std::io::stderr()) }
}

/// A Hob in this process with a window onto it, at terminals alone; or a window onto that of another which was quicker.
async fn run_or_attach(base: CliContext, chat: &str, stays: bool) -> anyhow::Result<(AttachedWindow, Option<Daemon>)> {
    let conditions = base.conditions();
    let blueprint = Blueprint {
        state: base.state(),
        config: base.loaded.config,
        config_file: base.loaded.path,
        source: base.loaded.source,
        redactor: base.redactor,
        data_dir: base.data_dir,
        environment: base.environment,
        stays,
        serves: ServedChannels::Terminals,
        trial: None,
        space: Arc::new(SystemSpace),
        conditions,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    };
    let opened = OpenedData::of(&blueprint, &|_leader| ControlFlow::Break(())).await;
    if let Err(StartError::Lock(LockError::Taken { .. })) = &opened
        && let Some(window) = attach::open(&blueprint.data_dir, chat)?
    {
        return Ok((window, None));
    }
    let daemon = Box::pin(Daemon::begin(blueprint, opened?)).await?;
    Ok((attach::open_here(daemon.windows(), chat).await, Some(daemon)))
}

pub(super) fn ports(intake: Arc<dyn Intake>, chat: &str) -> Ports {
    Ports { intake, rng: Arc::new(SystemRng), clock: Arc::new(SystemClock), name: "you".to_owned(), place: place(chat) }
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
