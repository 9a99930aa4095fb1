//! A line editor on a thread of its own, with a history that outlives it.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, ExternalPrinter as _, Helper, KeyEvent, RepeatCount,
};
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthStr as _;

use crate::ConsoleError;
use crate::identity;
use crate::page::{LiveRegion, PagePiece, PageStyle, PrinterCommand, Size, TerminalPage};
use hob_core::domain::lock::lock;

/// How many lines the history keeps.
const HISTORY_LINES_MAX: usize = 1_000;
/// The history's file in the data directory.
const HISTORY_FILE: &str = "history";
/// Ends the bracketed paste that the editor had asked for, and the prompt's row.
const LEAVE_PROMPT: &[u8] = b"\x1b[?2004l\n";
/// What stands before the line that is typed.
pub(super) const PROMPT: &str = "> ";

/// The terminal that Hob was started from.
pub struct Terminal {
    editor: Editor<EditorHelper, FileHistory>,
    page: TerminalPage,
    history: PathBuf,
    is_dumb: bool,
}

impl Terminal {
    /// Takes the terminal, with the history in `data`, and the page for a `Console` to draw on. What begins with `/` is
    /// completed from `commands`, which are named without it.
    pub fn open(
        data: &Path,
        commands: Vec<String>,
        look: TerminalTraits,
    ) -> Result<(Self, TerminalPage), ConsoleError> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES_MAX)?
            .history_ignore_space(true)
            // A list below the prompt would come between it and what is live.
            .completion_type(CompletionType::Circular)
            // The helper colours nothing; it hears of what is drawn.
            .color_mode(ColorMode::Forced)
            .build();
        let mut editor = Editor::with_config(config)?;
        let history = data.join(HISTORY_FILE);
        match editor.load_history(&history) {
            Ok(()) => {}
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, path = %history.display(), "the history cannot be read"),
        }
        let page = match editor.create_external_printer().ok().filter(|_| !look.is_dumb) {
            Some(mut printer) => {
                let reflows = look.reflows.unwrap_or_else(identity::is_tmux);
                let style = PageStyle::AbovePrompt { styles: look.styles, reflows };
                TerminalPage::start(style, size, move |rows| printer.print(rows).map_err(io::Error::other))
            }
            None => TerminalPage::start(PageStyle::Plain, size, |text| {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()
            }),
        }
        .map_err(ConsoleError::Thread)?;
        let state = AtomicUsize::new(COMING);
        for key in ['C', 'D'] {
            let leaves = EventHandler::Conditional(Box::new(LeavingKey { page: page.clone(), always: key == 'C' }));
            editor.bind_sequence(KeyEvent::ctrl(key), leaves);
        }
        editor.set_helper(Some(EditorHelper { page: page.clone(), commands, state, line: Mutex::default() }));
        Ok((Self { editor, page: page.clone(), history, is_dumb: look.is_dumb }, page))
    }

    /// Shows this above the first prompt, broken between words.
    pub fn greet(&self, words: &str) -> io::Result<()> {
        self.page.draw(vec![PagePiece::Plain(words.to_owned())], LiveRegion::default())?;
        self.page.flush()
    }

    /// Starts the thread on which lines are edited.
    pub(super) fn start(self) -> Result<PromptLines, ConsoleError> {
        let (ask, asked) = sync_channel(1);
        let (typed, answers) = mpsc::channel(1);
        let tty = TtySettings::remember(self.is_dumb);
        let editing = Arc::clone(&tty.editing);
        thread::Builder::new()
            .name("console-editor".to_owned())
            .spawn(move || self.run(&asked, &typed, &editing))
            .map_err(ConsoleError::Thread)?;
        Ok(PromptLines { ask, answers, _tty: tty })
    }

    fn run(mut self, asked: &Receiver<String>, typed: &mpsc::Sender<PromptInput>, editing: &AtomicBool) {
        while let Ok(draft) = asked.recv() {
            if let Some(enter) = self.editor.helper() {
                enter.state.store(COMING, Ordering::SeqCst);
            }
            self.page.tell(PrinterCommand::Coming);
            editing.store(true, Ordering::SeqCst);
            let read = self.editor.readline_with_initial(PROMPT, (&draft, ""));
            editing.store(false, Ordering::SeqCst);
            self.page.prompt_leaves_row();
            let line = match &read {
                Ok(line) => line.clone(),
                Err(_) => self.editor.helper().map(EditorHelper::last).unwrap_or_default(),
            };
            self.page.tell(PrinterCommand::Free { typed: line });
            let entered = read.as_ref().ok().cloned();
            let answer = match read {
                Ok(line) => PromptInput::Line(line),
                Err(ReadlineError::Interrupted) => PromptInput::Interrupt,
                Err(ReadlineError::Eof) => PromptInput::Leave,
                Err(error) => PromptInput::Failed(error),
            };
            // The history waits for the disk; a Ctrl-C that comes meanwhile is for what this line has begun.
            let is_over = typed.blocking_send(answer).is_err();
            if let Some(line) = entered {
                self.remember(&line);
            }
            if is_over {
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

/// How the terminal is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalTraits {
    /// Words may be bold, or in colour.
    pub styles: bool,
    /// It knows no cursor movements.
    pub is_dumb: bool,
    /// Made narrower, it breaks the rows that are there; none: it is asked.
    pub reflows: Option<bool>,
}

/// How large the terminal is now.
fn size() -> Size {
    let told = rustix::termios::tcgetwinsize(io::stdout());
    told.map_or(Size::of(0, 0), |size| Size::of(size.ws_col.into(), size.ws_row.into()))
}

/// What came of a prompt.
#[derive(Debug)]
pub(super) enum PromptInput {
    Line(String),
    Interrupt,
    Leave,
    Failed(ReadlineError),
}

/// The lines that are typed, one when asked for one.
pub(super) struct PromptLines {
    ask: SyncSender<String>,
    answers: mpsc::Receiver<PromptInput>,
    _tty: TtySettings,
}

impl PromptLines {
    /// Shows the prompt, with `draft` to be edited. Then [`Self::answer`] is due, once.
    pub(super) fn ask(&self, draft: String) {
        if self.ask.send(draft).is_err() {
            tracing::debug!("the line editor has ended");
        }
    }

    /// What was typed. May be dropped and called again.
    pub(super) async fn answer(&mut self) -> PromptInput {
        self.answers.recv().await.unwrap_or(PromptInput::Leave)
    }
}

/// The prompt is not drawn yet.
const COMING: usize = 0;
/// The editor draws the prompt next because of a key.
const KEY: usize = 1;
/// If it draws the prompt next, it has printed something above it.
const STANDS: usize = 2;

/// Hears what the editor does, and tells the page: where its prompt is, and that it has printed.
struct EditorHelper {
    page: TerminalPage,
    commands: Vec<String>,
    state: AtomicUsize,
    /// What was typed last.
    line: Mutex<String>,
}

impl EditorHelper {
    fn last(&self) -> String {
        lock(&self.line).clone()
    }

    fn note(&self, line: &str) {
        self.page.set_prompt_columns(PROMPT.width() + line.width());
        line.clone_into(&mut lock(&self.line));
    }
}

impl Validator for EditorHelper {
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        self.note(line.input());
        self.page.prompt_leaves_row();
        Ok(ValidationResult::Valid(None))
    }
}

/// A key with which the prompt leaves its row, as it does with Enter: the page has to know before the editor lets go of the
/// terminal, for what it prints meanwhile the editor would never say it has printed.
struct LeavingKey {
    page: TerminalPage,
    /// Or only on an empty line.
    always: bool,
}

impl ConditionalEventHandler for LeavingKey {
    /// The key does what it always does.
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, typed: &EventContext<'_>) -> Option<Cmd> {
        if self.always || typed.line().is_empty() {
            self.page.prompt_leaves_row();
        }
        None
    }
}

impl Completer for EditorHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok((0, completions(line.get(..at).unwrap_or_default(), &self.commands)))
    }
}

/// The commands that a line may become.
fn completions(line: &str, commands: &[String]) -> Vec<String> {
    let Some(begun) = line.strip_prefix('/') else { return Vec::new() };
    let fitting = commands.iter().filter(|command| command.starts_with(begun));
    fitting.map(|command| format!("/{command} ")).collect()
}

impl Hinter for EditorHelper {
    type Hint = String;
}

/// The editor asks for a line's colours when it draws the prompt: after a key, for which it asks first whether they changed, or
/// because it has printed something above. Nothing else tells.
impl Highlighter for EditorHelper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        self.note(line);
        match self.state.swap(STANDS, Ordering::SeqCst) {
            COMING => self.page.tell(PrinterCommand::Up),
            KEY => {}
            _ => self.page.tell(PrinterCommand::Printed),
        }
        Cow::Borrowed(line)
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        self.note(line);
        // Before the first time there is nothing that could have been printed.
        let stands = self.state.compare_exchange(STANDS, KEY, Ordering::SeqCst, Ordering::SeqCst);
        stands.is_ok() || self.state.load(Ordering::SeqCst) == KEY
    }
}

impl Helper for EditorHelper {}

/// The terminal's settings before the conversation, which this puts back: the editor cannot if it ends while a line is edited
/// (a signal, an error elsewhere).
struct TtySettings {
    settings: Option<String>,
    editing: Arc<AtomicBool>,
}

impl TtySettings {
    /// What is typed while no line is edited is kept for the next one as it is, and not shown where the page is drawn: the
    /// terminal would take a Ctrl-U for its own. A dumb terminal has nobody but itself to edit a line and to show it.
    fn remember(is_dumb: bool) -> Self {
        let quiet = || if is_dumb { Ok(String::new()) } else { stty(&["-echo", "-icanon"]) };
        let settings = match stty(&["-g"]).and_then(|settings| quiet().map(|_| settings)) {
            Ok(settings) => Some(settings.trim().to_owned()),
            Err(error) => {
                tracing::debug!(%error, "the terminal's settings cannot be remembered");
                None
            }
        };
        Self { settings, editing: Arc::default() }
    }
}

impl Drop for TtySettings {
    fn drop(&mut self) {
        let Some(settings) = self.settings.as_deref() else { return };
        let leave = if self.editing.load(Ordering::SeqCst) { LEAVE_PROMPT } else { &[] };
        let restored = stty(&[settings]).and_then(|_| io::stdout().write_all(leave));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_a_command_is_completed() {
        let commands = ["status", "stop", "help"].map(str::to_owned);
        assert_eq!(completions("/st", &commands), ["/status ", "/stop "]);
        assert_eq!(completions("/", &commands).len(), 3);
        for line in ["st", "/nothing", "", "say /st"] {
            assert_eq!(completions(line, &commands), Vec::<String>::new(), "{line}");
        }
    }
}
