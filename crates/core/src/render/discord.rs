//! Discord's Markdown.
//!
//! A message has 2,000 characters as they are sent, signs and escapes included. Discord counts code points.

use std::borrow::Cow;

use crate::render::document::{Span, Style};
use crate::render::lines::{Dialect, Mark, all_marks};
use crate::render::links;
use crate::render::page::{CodeLines, DialectSigns, Page, PutResult};

/// Shows nothing, and keeps signs apart.
pub(super) const APART: &str = "\u{200b}";

const SIGNS: DialectSigns = DialectSigns {
    quote: ("> ", "> "),
    inner_quote: ("│ ", "│"),
    quote_is_marked: false,
    bullets: ["- ", "- ", "- "],
    code: CodeLines::Quoted,
    rule: "———",
    width: None,
    glue: Some(APART),
    marks_at_words: false,
};

/// Discord's Markdown.
pub(super) struct Discord;

/// Whether Discord masks the address: only for the web, and never behind a text that looks like another address.
pub(super) fn links(label: &str, address: &str) -> bool {
    let web = address.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    web && (label == address || !label.contains("://"))
}

/// Code in which no fence ends: never three backticks in a row.
pub(super) fn without_fences(text: &str) -> Cow<'_, str> {
    if !text.contains("```") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut run = 0;
    for sign in text.chars() {
        run = if sign == '`' { run + 1 } else { 0 };
        if run == 3 {
            out.push_str(APART);
            run = 1;
        }
        out.push(sign);
    }
    Cow::Owned(out)
}

/// The backticks around code within a line; none where the code has too many of its own.
fn ticks(code: &str) -> Option<&'static str> {
    if !code.contains('`') {
        Some("`")
    } else if code.contains("``") || code.starts_with('`') || code.ends_with('`') {
        None
    } else {
        Some("``")
    }
}

fn sign(style: Style) -> &'static str {
    match style {
        Style::STRONG => "**",
        Style::EMPHASIS => "*",
        _ => "~~",
    }
}

/// Whether the span is an address that leads to itself.
fn is_bare(span: &Span) -> bool {
    span.link.as_deref() == Some(span.text.as_str())
}

/// The span without line ends, where it is a link's.
pub(super) fn one_line(span: &Span) -> Span {
    if span.link.is_some() { span.like(span.text.replace('\n', " ")) } else { span.clone() }
}

/// The text with a backslash before whatever would act.
fn escape(text: &str, at_start: bool) -> Cow<'_, str> {
    let acts = |sign: char| matches!(sign, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '<');
    let digits = text.len() - text.trim_start_matches(|sign: char| sign.is_ascii_digit()).len();
    let begins = at_start && text.starts_with(['#', '-', '>', '+']);
    let numbered = at_start && digits > 0 && text.split_at(digits).1.starts_with('.');
    if !begins && !numbered && !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, sign) in text.char_indices() {
        if acts(sign) || (begins && at == 0) || (numbered && at == digits) {
            out.push('\\');
        }
        out.push(sign);
    }
    Cow::Owned(out)
}

/// Words that are not Markdown, so that Discord shows each sign of them: a command that is to be approved, say.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let content = line.trim_start();
        out.push_str(line.split_at(line.len() - content.len()).0);
        let mut at_start = true;
        for span in links::found(vec![Span::plain(content)]) {
            // Escaped, it would lead elsewhere.
            match is_bare(&span) {
                true => out.extend(["<", &span.text, ">"]),
                false => out.push_str(&escape(&span.text, at_start)),
            }
            at_start = false;
        }
    }
    out
}

impl Dialect for Discord {
    fn signs(&self) -> &DialectSigns {
        &SIGNS
    }

    fn text(&self, page: &mut Page<'_>, text: &str, span: Option<&Span>) -> PutResult {
        match span {
            // In brackets it ends where it ends, and Discord shows no preview of it.
            Some(span) if is_bare(span) => page.put(&format!("<{text}>")),
            Some(span) if span.style.has(Style::CODE) && ticks(&span.text).is_some() => page.put(text),
            _ => page.put(&escape(text, page.at_start())),
        }
    }

    fn marks(&self, span: &Span) -> Vec<Mark> {
        let mut marks = all_marks(span);
        marks.retain(|mark| *mark != Mark::Style(Style::CODE) || ticks(&span.text).is_some());
        if is_bare(span) {
            marks.retain(|mark| !matches!(mark, Mark::Link(_)));
        }
        marks
    }

    fn open(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult {
        match mark {
            Mark::Style(Style::CODE) => page.put(ticks(&span.text).unwrap_or_default()),
            Mark::Style(style) => page.put(sign(*style)),
            Mark::Link(_) => page.put("["),
        }
    }

    fn close(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult {
        match mark {
            Mark::Style(Style::CODE) => page.put(ticks(&span.text).unwrap_or_default()),
            Mark::Style(style) => page.put(sign(*style)),
            Mark::Link(address) => page.put(&format!("](<{address}>)")),
        }
    }

    fn code(&self, page: &mut Page<'_>, language: Option<&str>, text: &str) -> PutResult {
        page.begin_line()?;
        page.put("```")?;
        page.put(language.unwrap_or_default())?;
        page.end_line()?;
        page.code_lines(&without_fences(text), |page, line| page.put(line))?;
        page.end_line()?;
        page.begin_line()?;
        page.put("```")
    }

    fn heading(&self, level: u8) -> Option<&'static str> {
        match level {
            1 => Some("# "),
            2 => Some("## "),
            3 => Some("### "),
            _ => None,
        }
    }

    /// A link's text is one line.
    fn spans<'a>(&self, spans: &'a [Span]) -> Cow<'a, [Span]> {
        if !spans.iter().any(|span| span.link.is_some()) {
            return spans.into();
        }
        spans.iter().map(one_line).collect::<Vec<_>>().into()
    }
}
