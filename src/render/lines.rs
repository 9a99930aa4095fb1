//! Walks a tree and writes it line by line: what the markups of chats, mail and terminals have in common.
//!
//! A [`Dialect`] says how its platform writes text, styles and code. A [`Page`] writes it, or only measures it, and
//! stops as soon as more is written than a message holds.

use std::rc::Rc;

use unicode_width::UnicodeWidthStr;

use crate::render::chunk::Limit;
use crate::render::document::{Block, Item, List, Span, Style, Table, same_link};
use crate::render::table;

/// The page is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// Whether there was room.
pub(super) type Put = Result<(), Full>;

/// How much is on a page, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Size {
    /// In the platform's unit of length.
    pub(super) units: usize,
    /// In the platform's unit of markup, where it has such a limit too.
    pub(super) weight: usize,
}

impl Size {
    /// What is left of this one; none if the other is larger.
    pub(super) fn less(self, other: Self) -> Option<Self> {
        Some(Self { units: self.units.checked_sub(other.units)?, weight: self.weight.checked_sub(other.weight)? })
    }
}

/// What a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// A quote.
    Quote,
    /// An item whose text is indented by so many columns.
    Item(usize),
}

/// Something that begins and ends within a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// A link.
    Link(Rc<str>),
    /// One of the styles.
    Style(Style),
}

/// The styles, each alone; of those that begin and end together, the first is outside.
const STYLES: [Style; 4] = [Style::STRONG, Style::EMPHASIS, Style::STRIKE, Style::CODE];

/// Which lines of code begin with what all lines of their container begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeLines {
    /// None: code stands at the margin.
    Bare,
    /// Those in a quote, with the quote's sign.
    Quoted,
    /// All.
    Indented,
}

/// What differs between dialects without being code.
pub(super) struct Signs {
    /// What a quote's lines begin with, and its blank ones.
    pub(super) quote: (&'static str, &'static str),
    /// The same for quotes within quotes.
    pub(super) inner_quote: (&'static str, &'static str),
    /// The outermost quote is marked as a whole, so that only those within have signs.
    pub(super) quote_is_marked: bool,
    /// The markers of lists without numbers, by depth.
    pub(super) bullets: [&'static str; 3],
    /// What code's lines begin with.
    pub(super) code: CodeLines,
    /// A line across.
    pub(super) rule: &'static str,
    /// Where lines are broken.
    pub(super) width: Option<usize>,
    /// Stands where a mark would touch what keeps the platform from seeing it.
    pub(super) glue: Option<&'static str>,
    /// A style's mark must not touch a word on its outside, and its line must hold both its ends.
    pub(super) marks_at_words: bool,
}

/// How a platform writes.
pub(super) trait Dialect {
    /// Its signs.
    fn signs(&self) -> &Signs;
    /// Writes a part of a span that is within a line, so that it is shown as it is; white between spans has none.
    fn text(&self, page: &mut Page<'_>, text: &str, span: Option<&Span>) -> Put;
    /// Which of a span's marks the platform can show.
    fn marks(&self, span: &Span) -> Vec<Mark> {
        all_marks(span)
    }
    /// Begins a mark, of which `span` is the first.
    fn open(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> Put;
    /// Ends a mark, of which `span` is the last.
    fn close(&self, page: &mut Page<'_>, mark: &Mark, span: &Span) -> Put;
    /// Writes a block of code.
    fn code(&self, page: &mut Page<'_>, language: Option<&str>, text: &str) -> Put;
    /// Begins the outermost quote.
    fn open_quote(&self, _page: &mut Page<'_>) -> Put {
        Ok(())
    }
    /// Ends the outermost quote.
    fn close_quote(&self, _page: &mut Page<'_>) -> Put {
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

#[derive(Clone)]
struct Prefix {
    text: String,
    /// What the first line has instead.
    first: Option<String>,
    /// What a blank line has; only quotes have something.
    blank: Option<&'static str>,
}

/// What is written, or measured.
pub(super) struct Page<'a> {
    signs: &'a Signs,
    written: Option<String>,
    limit: Option<Limit>,
    room: Size,
    used: Size,
    prefixes: Vec<Prefix>,
    /// No prefix is written on this line.
    at_margin: bool,
    /// Nothing of the line's content is written.
    at_start: bool,
    column: usize,
    /// The last sign, and whether it was a mark's.
    last: Option<(char, bool)>,
    quotes: usize,
    lists: usize,
}

impl<'a> Page<'a> {
    /// An empty page. Without a limit, everything fits; unless it is `kept`, it is only measured.
    pub(super) fn new(signs: &'a Signs, limit: Option<Limit>, room: Size, kept: bool) -> Self {
        Self {
            signs,
            written: kept.then(String::new),
            limit,
            room,
            used: Size::default(),
            prefixes: Vec::new(),
            at_margin: true,
            at_start: true,
            column: 0,
            last: None,
            quotes: 0,
            lists: 0,
        }
    }

    /// How much is on it.
    pub(super) fn used(&self) -> Size {
        self.used
    }

    /// What is on it.
    pub(super) fn into_text(self) -> String {
        self.written.unwrap_or_default()
    }

    /// The line's content has not begun.
    pub(super) fn at_start(&self) -> bool {
        self.at_start
    }

    /// Writes what the platform counts as it stands.
    pub(super) fn put(&mut self, text: &str) -> Put {
        self.put_as(text, text)
    }

    /// Writes what the platform counts as something else: as `shown`.
    pub(super) fn put_as(&mut self, text: &str, shown: &str) -> Put {
        if let Some(limit) = self.limit {
            self.used.units += limit.measure(shown);
            if self.used.units > self.room.units {
                return Err(Full);
            }
        }
        if let Some(written) = &mut self.written {
            written.push_str(text);
        }
        self.at_start &= shown.is_empty();
        Ok(())
    }

    /// Counts markup that has a limit of its own.
    pub(super) fn weigh(&mut self, weight: usize) -> Put {
        self.used.weight += weight;
        if self.limit.is_some() && self.used.weight > self.room.weight { Err(Full) } else { Ok(()) }
    }

    /// Writes what the line begins with, unless that is done.
    pub(super) fn begin_line(&mut self) -> Put {
        if !std::mem::take(&mut self.at_margin) {
            return Ok(());
        }
        let start: String =
            self.prefixes.iter_mut().map(|prefix| prefix.first.take().unwrap_or_else(|| prefix.text.clone())).collect();
        self.column = start.width();
        self.put(&start)?;
        self.at_start = true;
        Ok(())
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) -> Put {
        self.begin_line()?;
        self.put("\n")?;
        (self.at_margin, self.at_start, self.column, self.last) = (true, true, 0, None);
        Ok(())
    }

    /// Ends the line and leaves a blank one.
    pub(super) fn gap(&mut self, tight: bool) -> Put {
        self.end_line()?;
        if tight {
            return Ok(());
        }
        let quotes = self.prefixes.iter().rposition(|prefix| prefix.blank.is_some()).map_or(0, |last| last + 1);
        let blank: String =
            self.prefixes.iter().take(quotes).map(|prefix| prefix.blank.unwrap_or(&prefix.text)).collect();
        self.put(&blank)?;
        self.put("\n")?;
        self.at_start = true;
        Ok(())
    }

    /// Writes lines of code within their container.
    pub(super) fn code_lines(&mut self, text: &str, write: impl Fn(&mut Self, &str) -> Put) -> Put {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.end_line()?;
            }
            self.begin_line()?;
            write(self, line)?;
        }
        Ok(())
    }

    /// Enters a container.
    pub(super) fn enter(&mut self, container: Container, marker: Option<String>) {
        let prefix = match container {
            Container::Item(columns) => Prefix { text: " ".repeat(columns), first: marker, blank: None },
            Container::Quote if self.signs.quote_is_marked && self.quotes == 0 => {
                Prefix { text: String::new(), first: None, blank: Some("") }
            }
            Container::Quote => {
                let (sign, blank) = if self.quotes == 0 { self.signs.quote } else { self.signs.inner_quote };
                Prefix { text: sign.to_owned(), first: None, blank: Some(blank) }
            }
        };
        match container {
            Container::Item(_) => self.lists += 1,
            Container::Quote => self.quotes += 1,
        }
        self.prefixes.push(prefix);
    }

    fn leave(&mut self) {
        match self.prefixes.pop() {
            Some(prefix) if prefix.blank.is_some() => self.quotes -= 1,
            Some(_) => self.lists -= 1,
            None => {}
        }
    }

    /// Writes text within a line by words, broken where the line is full.
    pub(super) fn words(&mut self, text: &str) -> Put {
        let Some(width) = self.signs.width else { return self.put(text) };
        for word in text.split_inclusive(' ') {
            let columns = word.trim_end().width();
            if self.column + columns > width && !self.at_start {
                self.end_line()?;
                self.begin_line()?;
            }
            self.put(word)?;
            self.column += word.width();
        }
        Ok(())
    }
}

/// Writes blocks, with a blank line between them unless they are `tight`.
pub(super) fn blocks(dialect: &dyn Dialect, page: &mut Page<'_>, blocks: &[Block], tight: bool) -> Put {
    for (index, part) in blocks.iter().enumerate() {
        if index > 0 {
            page.gap(tight)?;
        }
        block(dialect, page, part)?;
    }
    Ok(())
}

/// Writes one block.
pub(super) fn block(dialect: &dyn Dialect, page: &mut Page<'_>, block: &Block) -> Put {
    match block {
        Block::Paragraph(text) => spans(dialect, page, text),
        Block::Heading(level, text) => heading(dialect, page, *level, text),
        Block::Code { language, text } => code(dialect, page, language.as_deref(), text),
        Block::Quote(inside) => {
            let outermost = page.quotes == 0;
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
                item(dialect, page, list, (index, part))?;
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
pub(super) fn rows(dialect: &dyn Dialect, page: &mut Page<'_>, table: &Table, rows: usize) -> Put {
    code(dialect, page, None, &table::aligned(table, rows))
}

/// Writes a list's item; `index` is its place in the list.
pub(super) fn item(dialect: &dyn Dialect, page: &mut Page<'_>, list: &List, (index, item): (usize, &Item)) -> Put {
    let marker = marker(dialect, page.lists, list, (index, item));
    page.enter(Container::Item(marker.width()), (!item.continued).then_some(marker));
    if item.blocks.is_empty() {
        page.begin_line()?;
    }
    blocks(dialect, page, &item.blocks, list.tight)?;
    page.leave();
    Ok(())
}

/// What an item begins with, in a list with so many around it.
pub(super) fn marker(dialect: &dyn Dialect, depth: usize, list: &List, (index, item): (usize, &Item)) -> String {
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

fn heading(dialect: &dyn Dialect, page: &mut Page<'_>, level: u8, text: &[Span]) -> Put {
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

fn code(dialect: &dyn Dialect, page: &mut Page<'_>, language: Option<&str>, text: &str) -> Put {
    let kept: fn(&Prefix) -> bool = match dialect.signs().code {
        CodeLines::Indented => return dialect.code(page, language, text),
        CodeLines::Bare => |_| false,
        CodeLines::Quoted => |prefix| prefix.blank.is_some(),
    };
    // A marker has its line, then code stands at the margin.
    if page.prefixes.iter().any(|prefix| prefix.first.is_some()) {
        page.end_line()?;
    }
    let around = std::mem::take(&mut page.prefixes);
    page.prefixes = around.iter().filter(|prefix| kept(prefix)).cloned().collect();
    let put = dialect.code(page, language, text);
    page.prefixes = around;
    put
}

/// How many of the spans a mark goes on for, as far as matters for which is outside.
fn reach(dialect: &dyn Dialect, mark: &Mark, spans: &[Span]) -> usize {
    spans.iter().take(8).take_while(|span| dialect.marks(span).contains(mark)).count()
}

/// Writes a text's spans: white stays outside of marks, and what is open stays open as long as it can.
fn spans(dialect: &dyn Dialect, page: &mut Page<'_>, text: &[Span]) -> Put {
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
    fn turn(&mut self, page: &mut Page<'_>, spans: &[Span]) -> Put {
        let Some(span) = spans.first() else { return Ok(()) };
        let wanted = self.dialect.marks(span);
        let same = |mark: &Mark| match mark {
            Mark::Link(_) => {
                let before = self.previous.as_ref().and_then(|previous| previous.link.as_ref());
                wanted.contains(mark) && same_link(before, span.link.as_ref())
            }
            Mark::Style(_) => wanted.contains(mark),
        };
        let in_line = !self.dialect.signs().marks_at_words || !self.white.contains('\n');
        let stays = self.open.iter().take_while(|mark| in_line && same(mark)).count();
        self.close(page, stays)?;
        let white = std::mem::take(&mut self.white);
        self.write(page, &white, None)?;
        let mut new: Vec<Mark> = wanted.into_iter().filter(|mark| !self.open.contains(mark)).collect();
        new.sort_by_key(|mark| std::cmp::Reverse(reach(self.dialect, mark, spans)));
        for mark in new {
            page.begin_line()?;
            let touches = |last: char, marked: bool| marked || (self.needs_words(&mark) && last.is_alphanumeric());
            if page.last.is_some_and(|(last, marked)| touches(last, marked)) {
                page.put(self.dialect.signs().glue.unwrap_or_default())?;
            }
            self.dialect.open(page, &mark, span)?;
            page.last = Some(('(', false));
            self.open.push(mark);
        }
        Ok(())
    }

    fn needs_words(&self, mark: &Mark) -> bool {
        self.dialect.signs().marks_at_words && matches!(mark, Mark::Style(_))
    }

    /// Closes marks until so many are open.
    fn close(&mut self, page: &mut Page<'_>, stays: usize) -> Put {
        while self.open.len() > stays {
            let Some((mark, span)) = self.open.pop().zip(self.previous.as_ref()) else { break };
            self.dialect.close(page, &mark, span)?;
            page.last = Some((')', true));
        }
        Ok(())
    }

    fn say(&mut self, page: &mut Page<'_>, text: &str, span: &Span) -> Put {
        let after_mark = page.last.is_some_and(|(_, marked)| marked);
        let word = text.chars().next().is_some_and(char::is_alphanumeric);
        if after_mark && word && self.dialect.signs().marks_at_words {
            page.put(self.dialect.signs().glue.unwrap_or_default())?;
        }
        self.write(page, text, Some(span))
    }

    fn write(&mut self, page: &mut Page<'_>, text: &str, span: Option<&Span>) -> Put {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                page.end_line()?;
            }
            if let Some(last) = part.chars().next_back() {
                page.begin_line()?;
                self.dialect.text(page, part, span)?;
                page.last = Some((last, false));
            }
        }
        Ok(())
    }
}
