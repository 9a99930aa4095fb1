//! A line editor on a thread of its own, with a history that outlives it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, ExternalPrinter as _, Helper};
use tokio::sync::mpsc;

use crate::ConsoleError;
use crate::page::{Page, Style};

/// How many lines the history keeps.
const HISTORY_LINES_MAX: usize = 1_000;
/// The history's file in the data directory.
const HISTORY_FILE: &str = "history";
/// Ends the bracketed paste that the editor had asked for, and the prompt's row.
const LEAVE_PROMPT: &[u8] = b"\x1b[?2004l\n";
/// What stands before the line that is typed.
const PROMPT: &str = "> ";

/// The terminal that Hob was started from.
pub struct Terminal {
    editor: Editor<Enter, FileHistory>,
    page: Page,
    history: PathBuf,
}

impl Terminal {
    /// Takes the terminal, with the history in `data`, and the page for a `Console` to write on.
    ///
    /// # Errors
    /// When standard input or output cannot be used.
    pub fn open(data: &Path) -> Result<(Self, Page), ConsoleError> {
        let config = Config::builder().max_history_size(HISTORY_LINES_MAX)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        let history = data.join(HISTORY_FILE);
        match editor.load_history(&history) {
            Ok(()) => {}
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, path = %history.display(), "the history cannot be read"),
        }
        let page = match editor.create_external_printer() {
            Ok(mut printer) => {
                Page::start(Style::AbovePrompt, move |rows| printer.print(rows).map_err(io::Error::other))
            }
            Err(error) => {
                tracing::debug!(%error, "a terminal without cursor movements");
                Page::start(Style::Plain, |text| {
                    let mut out = io::stdout().lock();
                    out.write_all(text.as_bytes())?;
                    out.flush()
                })
            }
        }
        .map_err(ConsoleError::Thread)?;
        editor.set_helper(Some(Enter { page: page.clone() }));
        Ok((Self { editor, page: page.clone(), history }, page))
    }

    /// Starts the thread on which lines are edited.
    pub(super) fn start(self) -> Result<Lines, ConsoleError> {
        let (ask, asked) = sync_channel(1);
        let (typed, answers) = mpsc::channel(1);
        let tty = Tty::remember();
        let editing = Arc::clone(&tty.editing);
        thread::Builder::new()
            .name("console-editor".to_owned())
            .spawn(move || self.run(&asked, &typed, &editing))
            .map_err(ConsoleError::Thread)?;
        Ok(Lines { ask, answers, _tty: tty })
    }

    fn run(mut self, asked: &Receiver<String>, typed: &mpsc::Sender<Typed>, editing: &AtomicBool) {
        while let Ok(draft) = asked.recv() {
            let columns = self.editor.dimensions().map(|(columns, _)| usize::from(columns));
            self.page.release(columns);
            editing.store(true, Ordering::SeqCst);
            let read = self.editor.readline_with_initial(PROMPT, (&draft, ""));
            editing.store(false, Ordering::SeqCst);
            self.page.hold();
            self.page.release(columns);
            let answer = match read {
                Ok(line) => {
                    self.remember(&line);
                    Typed::Line(line)
                }
                Err(ReadlineError::Interrupted) => Typed::Interrupt,
                Err(ReadlineError::Eof) => Typed::Leave,
                Err(error) => Typed::Failed(error),
            };
            if typed.blocking_send(answer).is_err() {
                return;
            }
        }
    }

    /// Keeps the line at once: Hob may be stopped at any time.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let kept = self.editor.add_history_entry(line).and_then(|_| self.editor.append_history(&self.history));
        if let Err(error) = kept {
            tracing::warn!(%error, path = %self.history.display(), "the history cannot be written");
        }
    }
}

/// What came of a prompt.
#[derive(Debug)]
pub(super) enum Typed {
    Line(String),
    Interrupt,
    Leave,
    Failed(ReadlineError),
}

/// The lines that are typed, one when asked for one.
pub(super) struct Lines {
    ask: SyncSender<String>,
    answers: mpsc::Receiver<Typed>,
    _tty: Tty,
}

impl Lines {
    /// Shows the prompt, with `draft` to be edited. Then [`Self::answer`] is due, once.
    pub(super) fn ask(&self, draft: String) {
        if self.ask.send(draft).is_err() {
            tracing::debug!("the line editor has ended");
        }
    }

    /// What was typed. May be dropped and called again.
    pub(super) async fn answer(&mut self) -> Typed {
        self.answers.recv().await.unwrap_or(Typed::Leave)
    }
}

/// Tells the page that Enter was pressed, before the prompt leaves its row.
struct Enter {
    page: Page,
}

impl Validator for Enter {
    fn validate(&self, _: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        self.page.hold();
        Ok(ValidationResult::Valid(None))
    }
}

impl Completer for Enter {
    type Candidate = String;
}

impl Hinter for Enter {
    type Hint = String;
}

impl Highlighter for Enter {}

impl Helper for Enter {}

/// The terminal's settings before a line was edited. If the conversation ends while one is (a signal, an error
/// elsewhere), the editor cannot put them back; this does.
struct Tty {
    settings: Option<String>,
    editing: Arc<AtomicBool>,
}

impl Tty {
    fn remember() -> Self {
        let settings = match stty(&["-g"]) {
            Ok(settings) => Some(settings.trim().to_owned()),
            Err(error) => {
                tracing::debug!(%error, "the terminal's settings cannot be remembered");
                None
            }
        };
        Self { settings, editing: Arc::default() }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        let Some(settings) = self.settings.as_deref().filter(|_| self.editing.load(Ordering::SeqCst)) else {
            return;
        };
        let restored = stty(&[settings]).and_then(|_| io::stdout().write_all(LEAVE_PROMPT));
        if let Err(error) = restored {
            tracing::warn!(%error, "the terminal's settings were not put back; `stty sane` does it");
        }
    }
}

fn stty(arguments: &[&str]) -> io::Result<String> {
    let done = Command::new("stty").args(arguments).stdin(Stdio::inherit()).output()?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned()))
    }
}
