//! Walks a tree and writes it line by line: what the markups of chats, mail and terminals have in common.
//!
//! A [`Dialect`] says how its platform writes text, styles and code; a [`Page`] takes it.

use std::rc::Rc;

use unicode_width::UnicodeWidthStr;

use crate::render::document::{Block, Item, List, Span, Style, Table};
use crate::render::page::{Container, DialectSigns, Page, PageFull, PutResult};
use crate::render::table;

/// Something that begins and ends within a line.
#[derive(Debug, Clone)]
pub(super) enum Mark {
    Link(Rc<str>),
    Style(Style),
}

/// Two links to one place are two.
impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Link(one), Self::Link(other)) => Rc::ptr_eq(one, other),
            (Self::Style(one), Self::Style(other)) => one == other,
            _ => false,
        }
    }
}

/// The styles, each alone; of those that begin and end together, the first is outside.
const STYLES: [Style; 4] = [Style::STRONG, Style::EMPHASIS, Style::STRIKE, Style::CODE];

/// How a platform writes.
pub(super) trait Dialect {
    fn signs(&self) -> &DialectSigns;
    /// Writes a part of a span that is within a line, so that it is shown as it is; white between spans has none.
    fn text(&self, page: &mut Page<'_>, text: &str, span: Option<&Span>) -> PutResult;
    /// Which of a span's marks the platform can show.
    fn marks(&self, span: &Span) -> Vec<Mark> {
        all_marks(span)
    }
    /// Begins a mark, of which `span` is the first.
    fn open(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult;
    /// Ends a mark, of which `span` is the last.
    fn close(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> PutResult;
    /// Writes a block of code.
    fn code(&self, page: &mut Page<'_>, language: Option<&str>, text: &str) -> PutResult;
    /// Begins the outermost quote.
    fn open_quote(&self, _page: &mut Page<'_>) -> PutResult {
        Ok(())
    }
    /// Ends the outermost quote.
    fn close_quote(&self, _page: &mut Page<'_>) -> PutResult {
        Ok(())
    }
    /// What a heading begins with; without it, headings are strong text.
    fn heading(&self, _level: u8) -> Option<&'static str> {
        None
    }
    /// A text's spans as the platform takes them.
    fn spans<'a>(&self, spans: &'a [Span]) -> std::borrow::Cow<'a, [Span]> {
        spans.into()
    }
}

/// The marks of a span: its styles, and its link within.
pub(super) fn all_marks(span: &Span) -> Vec<Mark> {
    let mut marks: Vec<Mark> = STYLES.into_iter().filter(|style| span.style.has(*style)).map(Mark::Style).collect();
    marks.extend(span.link.clone().map(Mark::Link));
    marks
}

/// Writes blocks, with a blank line between them unless they are `tight`.
pub(super) fn blocks(dialect: &dyn Dialect, page: &mut Page<'_>, blocks: &[Block], tight: bool) -> PutResult {
    for (index, part) in blocks.iter().enumerate() {
        if index > 0 {
            page.gap(tight)?;
        }
        block(dialect, page, part)?;
    }
    Ok(())
}

/// Writes one block.
pub(super) fn block(dialect: &dyn Dialect, page: &mut Page<'_>, block: &Block) -> PutResult {
    match block {
        Block::Paragraph(text) => spans(dialect, page, text),
        Block::Heading(level, text) => heading(dialect, page, *level, text),
        Block::Code { language, text } => code(dialect, page, language.as_deref(), text),
        Block::Quote(inside) => {
            let outermost = page.depth().0 == 0;
            if outermost {
                dialect.open_quote(page)?;
            }
            page.enter(Container::Quote, None);
            blocks(dialect, page, inside, false)?;
            page.leave();
            if outermost { dialect.close_quote(page) } else { Ok(()) }
        }
        Block::List(list) => {
            for (index, part) in list.items.iter().enumerate() {
                if index > 0 {
                    page.gap(list.tight)?;
                }
                item(dialect, page, list, index, part)?;
            }
            Ok(())
        }
        Block::Table(table) => rows(dialect, page, table, table.rows.len()),
        Block::Rule => {
            page.begin_line()?;
            page.put(dialect.signs().rule)
        }
    }
}

/// Writes a table's header and its first rows.
pub(super) fn rows(dialect: &dyn Dialect, page: &mut Page<'_>, table: &Table, rows: usize) -> PutResult {
    // A long table is not aligned only to learn that it is too long.
    if page.is_less_than(rows * table::row_units_min(table)) {
        return Err(PageFull);
    }
    code(dialect, page, None, &table::aligned(table, rows))
}

/// Writes a list's item; `index` is its place in the list.
pub(super) fn item(dialect: &dyn Dialect, page: &mut Page<'_>, list: &List, index: usize, item: &Item) -> PutResult {
    let marker = marker(dialect, page.depth().1, list, index, item);
    page.enter(Container::Item(marker.width()), (!item.continued).then_some(marker));
    if item.blocks.is_empty() {
        page.begin_line()?;
    }
    blocks(dialect, page, &item.blocks, list.tight)?;
    page.leave();
    Ok(())
}

/// What an item begins with, in a list with so many around it.
pub(super) fn marker(dialect: &dyn Dialect, depth: usize, list: &List, index: usize, item: &Item) -> String {
    let [outer, middle, inner] = dialect.signs().bullets;
    let task = match item.task {
        Some(true) => "☑ ",
        Some(false) => "☐ ",
        None => "",
    };
    match list.start {
        Some(start) => format!("{}. {task}", start.saturating_add(index as u64)),
        None => format!("{}{task}", [outer, middle, inner][depth.min(2)]),
    }
}

fn heading(dialect: &dyn Dialect, page: &mut Page<'_>, level: u8, text: &[Span]) -> PutResult {
    if let Some(sign) = dialect.heading(level) {
        page.begin_line()?;
        page.put(sign)?;
        // A heading is one line.
        let line = |span: &Span| span.like(span.text.replace('\n', " "));
        return spans(dialect, page, &text.iter().map(line).collect::<Vec<_>>());
    }
    let strong = |span: &Span| Span { style: span.style.with(Style::STRONG), ..span.clone() };
    spans(dialect, page, &text.iter().map(strong).collect::<Vec<_>>())
}

fn code(dialect: &dyn Dialect, page: &mut Page<'_>, language: Option<&str>, text: &str) -> PutResult {
    page.code(|page| dialect.code(page, language, text))
}

/// How many of the spans a mark goes on for, as far as matters for which is outside.
fn reach(dialect: &dyn Dialect, mark: &Mark, spans: &[Span]) -> usize {
    spans.iter().take(8).take_while(|span| dialect.marks(span).contains(mark)).count()
}

/// Writes a text's spans: white stays outside of marks, and what is open stays open as long as it can.
fn spans(dialect: &dyn Dialect, page: &mut Page<'_>, text: &[Span]) -> PutResult {
    let text = dialect.spans(text);
    let mut line = Line { dialect, open: Vec::new(), white: String::new(), previous: None };
    for (index, span) in text.iter().enumerate() {
        let in_code = span.style.has(Style::CODE);
        let core = if in_code { span.text.as_str() } else { span.text.trim() };
        if core.is_empty() {
            line.white.push_str(&span.text);
            continue;
        }
        let before = if in_code { 0 } else { span.text.len() - span.text.trim_start().len() };
        line.white.push_str(span.text.split_at(before).0);
        line.turn(page, text.split_at(index).1)?;
        line.say(page, core, span)?;
        line.white.push_str(span.text.split_at(before + core.len()).1);
        line.previous = Some(span.clone());
    }
    line.close(page, 0)
}

/// The marks that are open while a text is written.
struct Line<'a> {
    dialect: &'a dyn Dialect,
    open: Vec<Mark>,
    white: String,
    previous: Option<Span>,
}

impl Line<'_> {
    /// Closes and opens marks for the first of the spans, with the white between.
    fn turn(&mut self, page: &mut Page<'_>, spans: &[Span]) -> PutResult {
        let Some(span) = spans.first() else { return Ok(()) };
        let wanted = self.dialect.marks(span);
        let in_line = !self.dialect.signs().marks_at_words || !self.white.contains('\n');
        // Each stretch of code has marks of its own.
        let stays = |mark: &Mark| in_line && *mark != Mark::Style(Style::CODE) && wanted.contains(mark);
        let stays = self.open.iter().take_while(|mark| stays(mark)).count();
        self.close(page, stays)?;
        let white = std::mem::take(&mut self.white);
        self.write(page, &white, None)?;
        let mut new: Vec<Mark> = wanted.into_iter().filter(|mark| !self.open.contains(mark)).collect();
        new.sort_by_key(|mark| std::cmp::Reverse(reach(self.dialect, mark, spans)));
        for mark in new {
            page.begin_line()?;
            let touches = |last: char, marked: bool| {
                marked || (self.needs_words(&mark) && (last.is_alphanumeric() || last == '`'))
            };
            if page.last().is_some_and(|(last, marked)| touches(last, marked)) {
                page.put(self.dialect.signs().glue.unwrap_or_default())?;
            }
            self.dialect.open(page, &mark, span)?;
            page.set_last('(', false);
            self.open.push(mark);
        }
        Ok(())
    }

    fn needs_words(&self, mark: &Mark) -> bool {
        self.dialect.signs().marks_at_words && matches!(mark, Mark::Style(_))
    }

    /// Closes marks until so many are open.
    fn close(&mut self, page: &mut Page<'_>, stays: usize) -> PutResult {
        while self.open.len() > stays {
            let Some((mark, span)) = self.open.pop().zip(self.previous.as_ref()) else { break };
            self.dialect.close(page, &mark, span)?;
            page.set_last(')', true);
        }
        Ok(())
    }

    fn say(&mut self, page: &mut Page<'_>, text: &str, span: &Span) -> PutResult {
        let after_mark = page.last().is_some_and(|(_, marked)| marked);
        let word = text.chars().next().is_some_and(char::is_alphanumeric);
        if after_mark && word && self.dialect.signs().marks_at_words {
            page.put(self.dialect.signs().glue.unwrap_or_default())?;
        }
        self.write(page, text, Some(span))
    }

    fn write(&mut self, page: &mut Page<'_>, text: &str, span: Option<&Span>) -> PutResult {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                page.end_line()?;
            }
            if let Some(last) = part.chars().next_back() {
                page.begin_line()?;
                self.dialect.text(page, part, span)?;
                page.set_last(last, false);
            }
        }
        Ok(())
    }
}
