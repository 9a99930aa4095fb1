//! `hob ask "…"`: one question, and its answer.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use crate::cli::attached::{self, Window};
use crate::cli::chat::{AtRest, Visit, begin, chat_of, ports, start};
use crate::cli::exit::{self, Said};
use crate::cli::{Base, runtime, show, show_json};
use hob_console::pipe::once;
use hob_console::screen::Console;
use hob_console::{ConsoleError, place};
use hob_core::domain::channel::{Channel, Ended, Intake};

/// What `hob ask` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AskArguments {
    /// The question
    #[arg(required = true, value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Ask it in a conversation of its own, beside the usual one
    #[arg(long)]
    pub new: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Answered {
    /// All that was said.
    reply: String,
    /// How it ended: `done`, `failed`, `quietly`, or `suspended` where Hob waits for an answer. A command has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Ended>,
}

/// Takes what is said.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).trim_end().to_owned()
    }
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks, and prints the answer.
///
/// # Errors
/// When it cannot be asked; that it failed, or waits for an answer, as an exit code.
pub(super) fn run(arguments: &AskArguments, base: Base) -> anyhow::Result<()> {
    begin(&base)?;
    let chat = chat_of(arguments.new);
    let question = arguments.question.join(" ");
    let window = attached::open(&base.data_dir, &chat)?;
    let heard = Heard::default();
    let console = Arc::new(Console::pipe(heard.clone()));
    let ended = runtime().context("the runtime could not be started")?.block_on(async {
        match window {
            Some(window) => attached(window, question, &console, &chat).await,
            None => alone(base, question, console, &chat).await,
        }
    })?;
    let answered = Answered { reply: heard.text(), ended };
    if arguments.json {
        show_json(&answered)?
    } else {
        show(&(answered.reply + "\n"))?
    }
    match ended {
        None | Some(Ended::Done | Ended::Quietly) => Ok(()),
        Some(Ended::Suspended) => {
            eprintln!("hob: it waits for an answer: `hob chat` takes it");
            Err(Said(exit::FAILED).into())
        }
        Some(Ended::Failed) => Err(Said(exit::FAILED).into()),
    }
}

async fn attached(
    mut window: Window,
    question: String,
    console: &Console<Heard>,
    chat: &str,
) -> anyhow::Result<Option<Ended>> {
    let frames = window.frames()?;
    let window = Arc::new(window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, chat);
    let ended: Result<Option<Ended>, ConsoleError> = tokio::select! {
        ended = once(question, console, &*window, &ports) => ended,
        () = window.show(frames, console) => anyhow::bail!("the Hob that ran here has ended"),
    };
    Ok(ended?)
}

async fn alone(
    base: Base,
    question: String,
    console: Arc<Console<Heard>>,
    chat: &str,
) -> anyhow::Result<Option<Ended>> {
    let daemon = Box::pin(start(base, Arc::clone(&console) as Arc<dyn Channel>, Visit::Script)).await?;
    let quiet = AtRest(daemon.rest(), place(chat));
    let ended = once(question, &console, &quiet, &ports(daemon.router(), chat)).await;
    daemon.stop().await;
    Ok(ended?)
}
