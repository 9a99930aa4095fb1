//! Slack's mrkdwn, and the sections that carry it.
//!
//! Slack has no escape for its own signs: `&`, `<` and `>` are written as entities, a fence in code is kept apart, and
//! the rest is Slack's to guess. A section has 3,000 characters and a message 50 of them; what Slack calls a character
//! is nowhere said, so that the larger count, UTF-16 units, is taken.

use std::borrow::Cow;

use serde::Serialize;

use crate::render::discord::{APART, one_line, without_fences};
use crate::render::document::{Span, Style, same_link};
use crate::render::lines::{Dialect, Mark, all_marks};
use crate::render::page::{CodeLines, DialectSigns, Page, PutResult};

const SIGNS: DialectSigns = DialectSigns {
    quote: ("> ", ">"),
    inner_quote: ("│ ", "│"),
    quote_is_marked: false,
    bullets: ["• ", "◦ ", "▪ "],
    code: CodeLines::Bare,
    rule: "———",
    width: None,
    glue: Some(APART),
    marks_at_words: true,
};

/// Slack's mrkdwn.
pub(super) struct Slack;

/// The text as Slack shows it: nobody is called by it, and nothing in it is a link.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            sign => out.push(sign),
        }
    }
    Cow::Owned(out)
}

/// The text as Slack shows it, also where it holds what would begin code.
pub(super) fn neutral(text: &str) -> Cow<'_, str> {
    if text.contains("```") { without_fences(&escaped(text)).into_owned().into() } else { escaped(text) }
}

fn sign(style: Style) -> &'static str {
    match style {
        Style::STRONG => "*",
        Style::EMPHASIS => "_",
        Style::STRIKE => "~",
        _ => "`",
    }
}

impl Dialect for Slack {
    fn signs(&self) -> &DialectSigns {
        &SIGNS
    }

    fn text(&self, page: &mut Page<'_>, text: &str, _span: Option<&Span>) -> PutResult {
        if page.at_start() && text.starts_with('>') {
            // Slack takes the entity for a quote's sign, too.
            page.put(APART)?;
        }
        if text.starts_with('`') && page.last().is_some_and(|(last, is_mark)| is_mark || last == '`') {
            page.put(APART)?;
        }
        page.put(&neutral(text))
    }

    fn marks(&self, span: &Span) -> Vec<Mark> {
        let mut marks = all_marks(span);
        let as_code = !span.text.contains('`') && span.link.is_none();
        marks.retain(|mark| *mark != Mark::Style(Style::CODE) || as_code);
        marks
    }

    fn open(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => page.put(sign(*style)),
            Mark::Link(address) if span.text == **address => page.put("<"),
            Mark::Link(address) => page.put(&format!("<{}|", escaped(address))),
        }
    }

    fn close(&self, page: &mut Page<'_>, mark: &Mark, _span: &Span) -> PutResult {
        match mark {
            Mark::Style(style) => page.put(sign(*style)),
            Mark::Link(_) => page.put(">"),
        }
    }

    fn code(&self, page: &mut Page<'_>, _language: Option<&str>, text: &str) -> PutResult {
        page.begin_line()?;
        page.put("```")?;
        page.end_line()?;
        page.code_lines(&neutral(text), |page, line| page.put(line))?;
        page.end_line()?;
        page.begin_line()?;
        page.put("```")
    }

    /// A link is one span: Slack shows no styles within its text, only around it.
    fn spans<'a>(&self, spans: &'a [Span]) -> Cow<'a, [Span]> {
        if !spans.iter().any(|span| span.link.is_some()) {
            return spans.into();
        }
        let mut out: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match out.last_mut() {
                Some(last) if span.link.is_some() && same_link(last.link.as_ref(), span.link.as_ref()) => {
                    last.text.push_str(&span.text.replace('\n', " "));
                    last.style = last.style.common(span.style);
                }
                _ => out.push(one_line(span)),
            }
        }
        out.into()
    }
}

/// A block of Slack's Block Kit: text.
#[derive(Serialize)]
struct Section<'a> {
    r#type: &'static str,
    text: Text<'a>,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
    /// Slack makes no links and mentions of its own: they would appear in code, too.
    verbatim: bool,
}

/// The value of a message's `blocks`, of mrkdwn texts.
pub(super) fn blocks(texts: &[String]) -> String {
    let section = |text: &String| {
        let text = Text { r#type: "mrkdwn", text, verbatim: true };
        serde_json::to_string(&Section { r#type: "section", text })
    };
    // Strings always serialise.
    let sections: Vec<String> = texts.iter().filter_map(|text| section(text).ok()).collect();
    format!("[{}]", sections.join(","))
}
