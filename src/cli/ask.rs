//! `hob ask "…"`: one question, and its answer.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use crate::cli::attach::{self, AttachedWindow};
use crate::cli::chat::{WindowSession, begin, chat_of, ports};
use crate::cli::exit::{self, SilentExit};
use crate::cli::next_step::refuse;
use crate::cli::{CliContext, runtime, show, show_json};
use hob_console::pipe::once;
use hob_console::screen::Console;
use hob_core::domain::channel::{IdleReason, Intake};
use hob_core::domain::lock::lock;

/// What `hob ask` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AskArguments {
    /// The question
    #[arg(required = true, value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Ask it in a new conversation instead of the usual one
    #[arg(long)]
    pub new: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct AskReport {
    /// All that was said.
    reply: String,
    /// How it ended: `done`, `failed`, `quietly`, or `suspended` where Hob waits for an answer. A command has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<IdleReason>,
}

/// Takes what is said.
#[derive(Clone, Default)]
pub(super) struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl CapturedOutput {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.0)).trim_end().to_owned()
    }
}

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
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
pub(super) fn run(arguments: &AskArguments, base: CliContext) -> anyhow::Result<()> {
    begin(&base)?;
    let chat = chat_of(arguments.new);
    let question = arguments.question.join(" ");
    let window = attach::open(&base.data_dir, &chat)?;
    let asked = ask(question, base, window, &chat, arguments.json);
    let ended = runtime().context("the runtime could not be started")?.block_on(asked)?;
    match ended {
        None | Some(IdleReason::Done | IdleReason::Quietly) => Ok(()),
        Some(IdleReason::Suspended) => {
            // A window of `hob chat` is onto the usual conversation.
            let taker = if arguments.new { "its run's page takes it (`hob web`)" } else { "`hob chat` takes it" };
            eprintln!("hob: it waits for an answer: {taker}");
            Err(SilentExit(exit::FAILED).into())
        }
        Some(IdleReason::Failed) => Err(SilentExit(exit::FAILED).into()),
    }
}

async fn ask(
    question: String,
    base: CliContext,
    window: Option<AttachedWindow>,
    chat: &str,
    json: bool,
) -> anyhow::Result<Option<IdleReason>> {
    let heard = CapturedOutput::default();
    let console = Console::pipe(heard.clone());
    let session = Box::pin(WindowSession::of(base, window, chat, false)).await?;
    let window = Arc::clone(&session.window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, chat);
    // Printed at once: a Hob of its own may have more to do before it has stopped.
    let talk = async {
        let ended = once(question, &console, &*window, &ports).await?;
        let answered = AskReport { reply: heard.text(), ended };
        if json {
            show_json(&answered)?
        } else {
            show(&(answered.reply + "\n"))?
        }
        anyhow::Ok(ended)
    };
    match session.hold(&console, talk).await? {
        Some(ended) => Ok(ended),
        None => refuse!("the Hob that ran here has ended"; "ask again"),
    }
}
