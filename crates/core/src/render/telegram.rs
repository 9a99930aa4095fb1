//! Telegram's HTML: the tags that the Bot API knows, nested as it allows.
//!
//! A message has 4,096 UTF-16 units after its entities are parsed, so tags and escapes count nothing. Beyond 100
//! entities Telegram ignores markup, and it refuses entities that are more than some 9,500 bytes together, most of which
//! are addresses. Both are one weight here: an entity weighs at least a hundredth of what a message may.

use crate::render::document::{Span, Style};
use crate::render::html::escaped;
use crate::render::lines::{Dialect, Mark, all_marks};
use crate::render::page::{CodeLines, DialectSigns, Page, PutResult};

/// The weight of all entities of a message.
pub(super) const WEIGHT_MAX: usize = 9_000;

/// An entity's least weight.
const ENTITY: usize = WEIGHT_MAX / 100;

/// What an entity has besides its address, at most.
const OVERHEAD: usize = 20;

const SIGNS: DialectSigns = DialectSigns {
    quote: ("> ", ">"),
    inner_quote: ("│ ", "│"),
    quote_is_marked: true,
    bullets: ["• ", "◦ ", "▪ "],
    code: CodeLines::Bare,
    rule: "———",
    width: None,
    glue: None,
    marks_at_words: false,
};

/// Telegram's HTML.
pub(super) struct Telegram;

/// Whether Telegram makes a link of it: others it drops, and people are not mentioned by address.
pub(super) fn links(_label: &str, address: &str) -> bool {
    address.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
}

fn tag(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::STRONG => ("<b>", "</b>"),
        Style::EMPHASIS => ("<i>", "</i>"),
        Style::STRIKE => ("<s>", "</s>"),
        _ => ("<code>", "</code>"),
    }
}

impl Dialect for Telegram {
    fn signs(&self) -> &DialectSigns {
        &SIGNS
    }

    fn text(&self, page: &mut Page<'_>, text: &str, _span: Option<&Span>) -> PutResult {
        page.put_as(&escaped(text), text)
    }

    /// Code stands alone: nothing is nested in it, and it is in nothing but a quote.
    fn marks(&self, span: &Span) -> Vec<Mark> {
        let code = Mark::Style(Style::CODE);
        let mut marks = all_marks(span);
        if span.link.is_some() {
            marks.retain(|mark| *mark != code);
        } else if span.style.has(Style::CODE) {
            marks = vec![code];
        }
        marks
    }

    fn open(&self, page: &mut Page<'_>, mark: &Mark, _span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => {
                page.weigh(ENTITY)?;
                page.put_as(tag(*style).0, "")
            }
            Mark::Link(address) => {
                page.weigh(ENTITY.max(OVERHEAD + address.len()))?;
                page.put_as(&format!("<a href=\"{}\">", escaped(address)), "")
            }
        }
    }

    fn close(&self, page: &mut Page<'_>, mark: &Mark, _span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => page.put_as(tag(*style).1, ""),
            Mark::Link(_) => page.put_as("</a>", ""),
        }
    }

    fn code(&self, page: &mut Page<'_>, language: Option<&str>, text: &str) -> PutResult {
        if text.trim().is_empty() {
            // An entity must hold something.
            return Ok(());
        }
        page.weigh(ENTITY)?;
        page.begin_line()?;
        let (open, close) = match language {
            Some(language) => (format!("<pre><code class=\"language-{language}\">"), "</code></pre>"),
            None => ("<pre>".to_owned(), "</pre>"),
        };
        page.put_as(&open, "")?;
        page.code_lines(text, |page, line| page.put_as(&escaped(line), line))?;
        page.put_as(close, "")
    }

    fn open_quote(&self, page: &mut Page<'_>) -> PutResult {
        page.weigh(ENTITY)?;
        page.begin_line()?;
        page.put_as("<blockquote>", "")
    }

    fn close_quote(&self, page: &mut Page<'_>) -> PutResult {
        page.put_as("</blockquote>", "")
    }
}
