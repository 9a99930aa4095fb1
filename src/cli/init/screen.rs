//! The terminal's side of the setup: a line editor that hides what must be hidden, and in which the arrow keys go through what
//! can be chosen.
//!
//! Never: colours, or a cursor anywhere but in the last line; any terminal can show it, and any log of one can be read.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ColorMode, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::init::asker::{Asker, Halt, number, wrapped};
use hob_core::domain::secret::Secret;

/// Longer lines are hard to read, however wide the terminal is.
const COLUMNS_MAX: usize = 90;
/// What stands in a line before the words of an option.
const NUMBER_COLUMNS: usize = 20;
/// Where the terminal does not say how wide it is.
const COLUMNS_USUAL: usize = 80;

/// The terminal.
pub(super) struct Screen {
    editor: Editor<Veil, MemHistory>,
    /// It can move no cursor, and so hide nothing.
    is_dumb: bool,
}

/// Puts stars over what is typed, and says which option a number stands for.
#[derive(Default)]
struct Veil {
    is_down: bool,
    offered: Arc<Mutex<Offered>>,
    columns: usize,
}

/// What can be chosen just now; nothing: any line will do.
#[derive(Default)]
struct Offered {
    options: Vec<String>,
    usual: usize,
}

impl Offered {
    /// The number of the option before or behind the one whose number stands in the line; it goes round.
    fn next(&self, line: &str, step: isize) -> Option<String> {
        let count = self.options.len();
        let last = isize::try_from(count).ok().filter(|count| *count > 0)?;
        let here = number(line.trim(), count).unwrap_or(self.usual);
        let next = isize::try_from(here).ok()?.checked_add(step)?.rem_euclid(last);
        Some(next.saturating_add(1).to_string())
    }

    /// What the number in the line stands for.
    fn told(&self, line: &str) -> Option<&str> {
        number(line.trim(), self.options.len()).and_then(|index| self.options.get(index)).map(String::as_str)
    }
}

/// An arrow key: it goes through the options, if there are any.
struct Arrow {
    step: isize,
    offered: Arc<Mutex<Offered>>,
}

impl ConditionalEventHandler for Arrow {
    fn handle(&self, _event: &Event, _count: RepeatCount, _positive: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.next(context.line(), self.step).map(|number| Cmd::Replace(Movement::WholeLine, Some(number)))
    }
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

    fn hint(&self, line: &str, pos: usize, _context: &Context<'_>) -> Option<String> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let told = offered.told(line).filter(|_| pos == line.len())?;
        // The line is not to break: what is typed next would stand elsewhere.
        let room = self.columns.saturating_sub(NUMBER_COLUMNS);
        Some(format!("  {}", told.chars().take(room).collect::<String>()))
    }
}

impl Validator for Veil {}
impl Helper for Veil {}

impl Screen {
    /// Takes the terminal. One of this kind (`TERM`) may be too simple to hide anything.
    pub(super) fn open(term: Option<&str>) -> anyhow::Result<Self> {
        // Stars are no decoration: NO_COLOR does not take them away.
        let config = Config::builder().color_mode(ColorMode::Forced).auto_add_history(false).build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        let offered = Arc::<Mutex<Offered>>::default();
        editor.set_helper(Some(Veil { offered: Arc::clone(&offered), ..Veil::default() }));
        for (key, step) in [(KeyCode::Up, -1), (KeyCode::Down, 1)] {
            let arrow = Arrow { step, offered: Arc::clone(&offered) };
            editor.bind_sequence(KeyEvent(key, Modifiers::NONE), EventHandler::Conditional(Box::new(arrow)));
        }
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

    fn show(&mut self, picture: &str) {
        show(picture);
    }

    fn line(&mut self, prompt: &str) -> Result<String, Halt> {
        self.read(prompt)
    }

    fn number(&mut self, prompt: &str, options: &[String], usual: usize) -> Result<String, Halt> {
        self.offer(Offered { options: options.to_vec(), usual });
        let read = self.read(prompt);
        self.offer(Offered::default());
        read
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
    fn offer(&mut self, offer: Offered) {
        let columns = self.columns();
        if let Some(veil) = self.editor.helper_mut() {
            veil.columns = columns;
            *veil.offered.lock().unwrap_or_else(PoisonError::into_inner) = offer;
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_round_from_the_usual_one_or_from_what_is_typed() {
        let offered = Offered { options: ["a", "b", "c"].map(str::to_owned).to_vec(), usual: 0 };
        let table =
            [("", 1, "2"), ("", -1, "3"), ("2", 1, "3"), ("3", 1, "1"), ("1", -1, "3"), ("9", 1, "2"), ("x", -1, "3")];
        for (line, step, expected) in table {
            assert_eq!(offered.next(line, step).as_deref(), Some(expected), "{line} {step}");
        }
        assert_eq!(Offered::default().next("1", 1), None);
        assert_eq!((offered.told("2"), offered.told("4"), offered.told("")), (Some("b"), None, None));
    }
}
