//! The terminal's side of the setup: a line editor that hides what must be hidden.
//!
//! Never: colours, or a cursor anywhere but in the last line; any terminal can show it, and any log of one can be read.

use std::borrow::Cow;
use std::io::Write as _;

use anyhow::anyhow;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Config, Editor, Helper};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::init::asker::{Asker, Halt, wrapped};
use hob_core::domain::secret::Secret;

/// Longer lines are hard to read, however wide the terminal is.
const COLUMNS_MAX: usize = 90;
/// Where the terminal does not say how wide it is.
const COLUMNS_USUAL: usize = 80;

/// The terminal.
pub(super) struct Screen {
    editor: Editor<Veil, MemHistory>,
    /// It can move no cursor, and so hide nothing.
    is_dumb: bool,
}

/// Puts stars over what is typed.
#[derive(Default)]
struct Veil {
    is_down: bool,
}

impl Highlighter for Veil {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if self.is_down { Cow::Owned("*".repeat(line.width())) } else { Cow::Borrowed(line) }
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.is_down && kind != CmdKind::MoveCursor
    }
}

impl Completer for Veil {
    type Candidate = String;
}

impl Hinter for Veil {
    type Hint = String;
}

impl Validator for Veil {}
impl Helper for Veil {}

impl Screen {
    /// Takes the terminal. One of this kind (`TERM`) may be too simple to hide anything.
    pub(super) fn open(term: Option<&str>) -> anyhow::Result<Self> {
        // Stars are no decoration: NO_COLOR does not take them away.
        let config = Config::builder().color_mode(ColorMode::Forced).auto_add_history(false).build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        editor.set_helper(Some(Veil::default()));
        let is_dumb = term.is_none_or(|term| ["", "dumb", "cons25", "emacs"].contains(&term));
        Ok(Self { editor, is_dumb })
    }

    fn columns(&mut self) -> usize {
        let columns = self.editor.dimensions().map(|(columns, _)| usize::from(columns));
        columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS_USUAL).min(COLUMNS_MAX)
    }

    fn read(&mut self, prompt: &str) -> Result<String, Halt> {
        // A long question stands above the line in which it is answered.
        let columns = self.columns();
        let text = wrapped(prompt, columns);
        let (above, last) = text.rsplit_once('\n').map_or((None, text.as_str()), |(above, last)| (Some(above), last));
        if let Some(above) = above {
            show(above);
        }
        match self.editor.readline(&format!("{} ", last.trim_end())) {
            Ok(line) => Ok(line.trim().to_owned()),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Err(Halt::Left),
            Err(error) => Err(Halt::Failed(anyhow!(error).context("the terminal cannot be read"))),
        }
    }
}

impl Asker for Screen {
    fn tell(&mut self, text: &str) {
        show(&wrapped(text, self.columns()));
    }

    fn line(&mut self, prompt: &str) -> Result<String, Halt> {
        self.read(prompt)
    }

    fn secret(&mut self, prompt: &str) -> Result<Secret, Halt> {
        if self.is_dumb {
            self.tell("This terminal cannot hide what is typed. Write it into a file, and name that file here.");
            let path = self.read("File: ")?;
            let text = std::fs::read_to_string(&path);
            return match text {
                Ok(text) => Ok(Secret::new(text.trim().to_owned())),
                Err(error) => {
                    self.tell(&format!("{path} cannot be read: {error}."));
                    Ok(Secret::new(String::new()))
                }
            };
        }
        self.veil(true);
        let read = self.read(prompt);
        self.veil(false);
        read.map(Secret::new)
    }
}

impl Screen {
    fn veil(&mut self, is_down: bool) {
        if let Some(veil) = self.editor.helper_mut() {
            veil.is_down = is_down;
        }
    }
}

/// Whoever reads no further is no error: the next question finds out.
fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        tracing::debug!(%error, "standard output is not read");
    }
}
