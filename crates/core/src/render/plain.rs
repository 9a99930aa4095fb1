//! Text without markup, and with a terminal's: for whatever shows no other, and for a chunk that was refused.

use crate::render::document::{Span, Style};
use crate::render::lines::{Dialect, Mark};
use crate::render::page::{CodeLines, DialectSigns, Page, PutResult};
use crate::render::{links, slack};

/// What stands for white at a line's start and is not taken away.
pub(super) const INDENT: &str = "    ";

/// Plain text, or nearly.
pub(super) struct Plain {
    signs: DialectSigns,
    /// What is done to the text.
    text: Text,
}

/// What the text has besides itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    /// Nothing.
    Bare,
    /// Slack's entities: without them it would act.
    Slack,
    /// A terminal's sequences.
    Ansi,
}

impl Plain {
    /// For a chat: lines as they are.
    pub(super) fn chat() -> Self {
        Self::new(None, Text::Bare)
    }

    /// For a chat on Slack, which wants `&`, `<` and `>` as entities even there.
    pub(super) fn slack() -> Self {
        let mut plain = Self::new(None, Text::Slack);
        // Slack knows no quote in a quote, and would have the sign escaped.
        plain.signs.inner_quote = ("│ ", "│");
        plain
    }

    /// For pages: lines of at most `width` columns, code indented.
    pub(super) fn page(width: Option<usize>) -> Self {
        Self::new(width, Text::Bare).indented()
    }

    /// For a terminal that shows styles.
    pub(super) fn ansi(width: Option<usize>) -> Self {
        let mut plain = Self::new(width, Text::Ansi).indented();
        plain.signs.quote = ("│ ", "│");
        plain.signs.inner_quote = plain.signs.quote;
        plain
    }

    fn new(width: Option<usize>, text: Text) -> Self {
        let signs = DialectSigns {
            quote: ("> ", ">"),
            inner_quote: ("> ", ">"),
            quote_is_marked: false,
            bullets: ["• ", "◦ ", "▪ "],
            code: CodeLines::Bare,
            rule: "———",
            width,
            glue: None,
            marks_at_words: false,
        };
        Self { signs, text }
    }

    fn indented(mut self) -> Self {
        self.signs.code = CodeLines::Indented;
        self
    }

    fn put(&self, page: &mut Page<'_>, text: &str) -> PutResult {
        match self.text {
            Text::Slack => page.words(&slack::neutral(text)),
            Text::Bare | Text::Ansi => page.words(text),
        }
    }

    /// Switches a style on or off where the text has styles.
    fn switch(&self, page: &mut Page<'_>, sequence: &str) -> PutResult {
        if self.text == Text::Ansi { page.put_as(sequence, "") } else { Ok(()) }
    }
}

/// What switches a style on and off.
fn sequences(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::STRONG => ("\x1b[1m", "\x1b[22m"),
        Style::EMPHASIS => ("\x1b[3m", "\x1b[23m"),
        Style::STRIKE => ("\x1b[9m", "\x1b[29m"),
        _ => CODE,
    }
}

const CODE: (&str, &str) = ("\x1b[36m", "\x1b[39m");

impl Dialect for Plain {
    fn signs(&self) -> &DialectSigns {
        &self.signs
    }

    fn text(&self, page: &mut Page<'_>, text: &str, _span: Option<&Span>) -> PutResult {
        self.put(page, text)
    }

    fn open(&self, page: &mut Page<'_>, mark: &Mark, _span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => self.switch(page, sequences(*style).0),
            Mark::Link(_) => Ok(()),
        }
    }

    fn close(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => self.switch(page, sequences(*style).1),
            Mark::Link(address) if links::shows(&span.text, address) => Ok(()),
            Mark::Link(address) => self.put(page, &format!(" <{address}>")),
        }
    }

    fn code(&self, page: &mut Page<'_>, _language: Option<&str>, text: &str) -> PutResult {
        page.code_lines(text, |page, line| {
            if self.signs.code == CodeLines::Indented {
                page.put(INDENT)?;
            }
            self.switch(page, CODE.0)?;
            // Code is not broken: its lines mean something.
            match self.text {
                Text::Slack => page.put(&slack::neutral(line))?,
                Text::Bare | Text::Ansi => page.put(line)?,
            }
            self.switch(page, CODE.1)
        })
    }
}
