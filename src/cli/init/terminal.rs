//! The terminal's side of the setup: a line editor that hides what must be hidden, and in which the arrow keys go through what
//! can be chosen.
//!
//! Never: colours, or a cursor anywhere but in the last line; any terminal can show it, and any log of one can be read.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ColorMode, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::init::asker::{Asker, SetupError, number, wrapped};
use crate::cli::next_step::refusal;
use hob_core::domain::lock::lock;
use hob_core::domain::secret::Secret;

/// Longer lines are hard to read, however wide the terminal is.
const COLUMNS_MAX: usize = 90;
/// What stands in a line before the words of an option.
const NUMBER_COLUMNS: usize = 20;
/// Where the terminal does not say how wide it is.
const COLUMNS_USUAL: usize = 80;

pub(in crate::cli) struct TerminalAsker {
    editor: Editor<MaskingHelper, MemHistory>,
    /// It can move no cursor, and so hide nothing.
    is_dumb: bool,
}

/// Puts stars over what is typed, and says which option a number stands for.
#[derive(Default)]
struct MaskingHelper {
    is_down: bool,
    offered: Arc<Mutex<OptionList>>,
    columns: usize,
}

/// What can be chosen just now; nothing: any line will do.
#[derive(Default)]
struct OptionList {
    options: Vec<String>,
    usual: usize,
    /// Where the arrow keys have gone to; they count while nothing is typed.
    chosen: Option<usize>,
}

impl OptionList {
    /// Goes to the option before or behind; it goes round. Gives whether there are any.
    fn go(&mut self, step: isize) -> bool {
        let here = self.chosen.unwrap_or(self.usual);
        let count = isize::try_from(self.options.len()).unwrap_or(0);
        let next = isize::try_from(here).ok().and_then(|here| here.checked_add(step)?.checked_rem_euclid(count));
        self.chosen = next.and_then(|next| usize::try_from(next).ok());
        self.chosen.is_some()
    }

    /// What is behind the cursor: the option that the line, or where the arrow keys have gone to, stands for.
    fn told(&self, line: &str) -> Option<String> {
        let option = |index: usize| self.options.get(index).map(String::as_str);
        if line.is_empty() {
            let chosen = self.chosen?;
            return Some(format!("{}  {}", chosen + 1, option(chosen)?));
        }
        Some(format!("  {}", option(number(line.trim(), self.options.len())?)?))
    }
}

/// An arrow key: it goes through the options, if there are any and nothing is typed.
struct ArrowHandler {
    step: isize,
    offered: Arc<Mutex<OptionList>>,
}

impl ConditionalEventHandler for ArrowHandler {
    fn handle(&self, _event: &Event, _count: RepeatCount, _positive: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let mut offered = lock(&self.offered);
        (context.line().is_empty() && offered.go(self.step)).then_some(Cmd::Repaint)
    }
}

impl Highlighter for MaskingHelper {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if self.is_down { Cow::Owned("*".repeat(line.width())) } else { Cow::Borrowed(line) }
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.is_down && kind != CmdKind::MoveCursor
    }
}

impl Completer for MaskingHelper {
    type Candidate = String;
}

impl Hinter for MaskingHelper {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, _context: &Context<'_>) -> Option<String> {
        let offered = lock(&self.offered);
        let told = offered.told(line).filter(|_| pos == line.len())?;
        // The line is not to break: what is typed next would stand elsewhere.
        Some(told.chars().take(self.columns.saturating_sub(NUMBER_COLUMNS)).collect())
    }
}

impl Validator for MaskingHelper {}
impl Helper for MaskingHelper {}

impl TerminalAsker {
    /// Takes the terminal. One of this kind (`TERM`) may be too simple to hide anything.
    pub(in crate::cli) fn open(term: Option<&str>) -> anyhow::Result<Self> {
        // Stars are no decoration: NO_COLOR does not take them away.
        let config = Config::builder().color_mode(ColorMode::Forced).auto_add_history(false).build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        let offered = Arc::<Mutex<OptionList>>::default();
        editor.set_helper(Some(MaskingHelper { offered: Arc::clone(&offered), ..MaskingHelper::default() }));
        for (key, step) in [(KeyCode::Up, -1), (KeyCode::Down, 1)] {
            let arrow = ArrowHandler { step, offered: Arc::clone(&offered) };
            editor.bind_sequence(KeyEvent(key, Modifiers::NONE), EventHandler::Conditional(Box::new(arrow)));
        }
        let is_dumb = term.is_none_or(|term| ["", "dumb", "cons25", "emacs"].contains(&term));
        Ok(Self { editor, is_dumb })
    }

    fn columns(&mut self) -> usize {
        let columns = self.editor.dimensions().map(|(columns, _)| usize::from(columns));
        columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS_USUAL).min(COLUMNS_MAX)
    }

    fn read(&mut self, prompt: &str) -> Result<String, SetupError> {
        // A long question stands above the line in which it is answered.
        let columns = self.columns();
        let text = wrapped(prompt, columns);
        let (above, last) = text.rsplit_once('\n').map_or((None, text.as_str()), |(above, last)| (Some(above), last));
        if let Some(above) = above {
            show(above);
        }
        match self.editor.readline(&format!("{} ", last.trim_end())) {
            Ok(line) => Ok(line.trim().to_owned()),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Err(SetupError::Left),
            Err(error) => Err(SetupError::Failed(
                anyhow::Error::new(error)
                    .context(refusal!("the terminal cannot be read"; "`hob init --non-interactive` needs none")),
            )),
        }
    }
}

impl Asker for TerminalAsker {
    fn tell(&mut self, text: &str) {
        show(&wrapped(text, self.columns()));
    }

    fn show(&mut self, picture: &str) {
        show(picture);
    }

    fn line(&mut self, prompt: &str) -> Result<String, SetupError> {
        self.read(prompt)
    }

    fn number(&mut self, prompt: &str, options: &[String], usual: usize) -> Result<String, SetupError> {
        self.offer(OptionList { options: options.to_vec(), usual, chosen: None });
        let read = self.read(prompt);
        let OptionList { chosen, .. } = self.offer(OptionList::default());
        match (read?, chosen) {
            (line, Some(chosen)) if line.is_empty() => {
                // What was behind the cursor is gone: it is to be seen what was taken.
                self.tell(&format!("{:>3}. {}", chosen + 1, options.get(chosen).map_or("", String::as_str)));
                Ok((chosen + 1).to_string())
            }
            (line, _) => Ok(line),
        }
    }

    fn secret(&mut self, prompt: &str) -> Result<Secret, SetupError> {
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
        self.set_masked(true);
        let read = self.read(prompt);
        self.set_masked(false);
        read.map(Secret::new)
    }
}

impl TerminalAsker {
    /// Offers this from now on, and gives what was offered.
    fn offer(&mut self, offer: OptionList) -> OptionList {
        let columns = self.columns();
        let Some(veil) = self.editor.helper_mut() else { return OptionList::default() };
        veil.columns = columns;
        std::mem::replace(&mut *lock(&veil.offered), offer)
    }

    fn set_masked(&mut self, is_down: bool) {
        if let Some(veil) = self.editor.helper_mut() {
            veil.is_down = is_down;
        }
    }
}

/// Whoever reads no further is not an error: the next question finds out.
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
    fn arrows_go_round_and_a_number_that_is_typed_goes_before_them() {
        let options = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut offered = OptionList { options: options(), usual: 0, chosen: None };
        assert_eq!(offered.told(""), None);
        for (step, expected) in [(1, "2  b"), (1, "3  c"), (1, "1  a"), (-1, "3  c"), (-1, "2  b")] {
            assert!(offered.go(step));
            assert_eq!(offered.told("").as_deref(), Some(expected));
        }
        for (line, expected) in [("3", Some("  c")), ("1.", Some("  a")), ("4", None), ("x", None)] {
            assert_eq!(offered.told(line).as_deref(), expected, "{line}");
        }
        assert!(!OptionList::default().go(1));
    }
}
