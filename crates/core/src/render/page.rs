//! A page: it is written line by line, or only measured, and says when it is full.

use unicode_width::UnicodeWidthStr;

use crate::domain::capabilities::Limit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageFull;

/// Whether there was room.
pub(super) type PutResult = Result<(), PageFull>;

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
    Quote,
    /// An item whose text is indented by so many columns.
    Item(usize),
}

/// Which lines of code begin with what all lines of their container begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeLines {
    /// None: code stands at the margin.
    Bare,
    /// Those in the outermost quote, with its sign.
    Quoted,
    Indented,
}

/// What differs between dialects without being code.
pub(super) struct DialectSigns {
    /// What a quote's lines begin with, and its blank ones.
    pub(super) quote: (&'static str, &'static str),
    /// The same for quotes within quotes and lists.
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
    signs: &'a DialectSigns,
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
    /// Spaces that are written only if something follows on the line.
    held: usize,
    /// The last sign, and whether it was a mark's.
    last: Option<(char, bool)>,
    quotes: usize,
    lists: usize,
}

impl<'a> Page<'a> {
    /// An empty page. Without a limit, everything fits; unless it is `kept`, it is only measured.
    pub(super) fn new(signs: &'a DialectSigns, limit: Option<Limit>, room: Size, kept: bool) -> Self {
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
            held: 0,
            last: None,
            quotes: 0,
            lists: 0,
        }
    }

    /// How much is on it.
    pub(super) fn used(&self) -> Size {
        self.used
    }

    pub(super) fn into_text(self) -> String {
        self.written.unwrap_or_default()
    }

    /// How many quotes, and how many lists, are around what is written.
    pub(super) fn depth(&self) -> (usize, usize) {
        (self.quotes, self.lists)
    }

    /// Whether so many units are more than the page holds.
    pub(super) fn is_less_than(&self, units: usize) -> bool {
        self.limit.is_some() && units > self.room.units
    }

    /// What was written last on this line, and whether it was a mark's.
    pub(super) fn last(&self) -> Option<(char, bool)> {
        self.last
    }

    /// Tells what was written last on this line, and whether it was a mark's.
    pub(super) fn set_last(&mut self, sign: char, is_mark: bool) {
        self.last = Some((sign, is_mark));
    }

    /// Writes code, whose lines begin with what the signs leave of their container's.
    pub(super) fn code(&mut self, write: impl FnOnce(&mut Self) -> PutResult) -> PutResult {
        if self.signs.code == CodeLines::Indented {
            return write(self);
        }
        // A marker has its line, then code stands at the margin.
        let marker = self.prefixes.iter().rposition(|prefix| prefix.first.is_some() && prefix.blank.is_none());
        if let Some(marker) = marker {
            let within = self.prefixes.split_off(marker + 1);
            self.end_line()?;
            self.prefixes.extend(within);
        }
        let signs = self.signs;
        let kept = |prefix: &&Prefix| signs.code == CodeLines::Quoted && prefix.text == signs.quote.0;
        let mut around = std::mem::take(&mut self.prefixes);
        around.iter_mut().for_each(|prefix| prefix.first = None);
        self.prefixes = around.iter().filter(kept).cloned().collect();
        write(self)?;
        self.prefixes = around;
        Ok(())
    }

    /// The line's content has not begun.
    pub(super) fn at_start(&self) -> bool {
        self.at_start
    }

    /// Writes what the platform counts as it stands.
    pub(super) fn put(&mut self, text: &str) -> PutResult {
        self.put_as(text, text)
    }

    /// Writes what the platform counts as something else: as `shown`.
    pub(super) fn put_as(&mut self, text: &str, shown: &str) -> PutResult {
        if self.held > 0 {
            let spaces = " ".repeat(std::mem::take(&mut self.held));
            self.put(&spaces)?;
        }
        if let Some(limit) = self.limit {
            self.used.units += limit.measure(shown);
            if self.used.units > self.room.units {
                return Err(PageFull);
            }
        }
        if let Some(written) = &mut self.written {
            written.push_str(text);
        }
        self.at_start &= shown.is_empty();
        Ok(())
    }

    /// Counts markup that has a limit of its own.
    pub(super) fn weigh(&mut self, weight: usize) -> PutResult {
        self.used.weight += weight;
        if self.limit.is_some() && self.used.weight > self.room.weight { Err(PageFull) } else { Ok(()) }
    }

    /// Writes what the line begins with, unless that is done.
    pub(super) fn begin_line(&mut self) -> PutResult {
        if !std::mem::take(&mut self.at_margin) {
            return self.put_pending();
        }
        let start: String =
            self.prefixes.iter_mut().map(|prefix| prefix.first.take().unwrap_or_else(|| prefix.text.clone())).collect();
        self.column = start.width();
        self.put(&start)?;
        self.at_start = true;
        Ok(())
    }

    /// Writes what containers that begin within the line begin with.
    fn put_pending(&mut self) -> PutResult {
        if self.prefixes.iter().all(|prefix| prefix.first.is_none()) {
            return Ok(());
        }
        let pending: String = self.prefixes.iter_mut().filter_map(|prefix| prefix.first.take()).collect();
        self.column += pending.width();
        self.put(&pending)?;
        self.at_start = true;
        Ok(())
    }

    pub(super) fn end_line(&mut self) -> PutResult {
        self.held = 0;
        self.begin_line()?;
        self.put("\n")?;
        (self.at_margin, self.at_start, self.column, self.last) = (true, true, 0, None);
        Ok(())
    }

    /// Ends the line and leaves a blank one.
    pub(super) fn gap(&mut self, tight: bool) -> PutResult {
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
    pub(super) fn code_lines(&mut self, text: &str, write: impl Fn(&mut Self, &str) -> PutResult) -> PutResult {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.end_line()?;
            }
            self.begin_line()?;
            write(self, line)?;
        }
        Ok(())
    }

    pub(super) fn enter(&mut self, container: Container, marker: Option<String>) {
        let prefix = match container {
            Container::Item(columns) => Prefix { text: " ".repeat(columns), first: marker, blank: None },
            Container::Quote if self.signs.quote_is_marked && self.quotes == 0 => {
                Prefix { text: String::new(), first: None, blank: Some("") }
            }
            Container::Quote => {
                let (sign, blank) =
                    if self.quotes + self.lists == 0 { self.signs.quote } else { self.signs.inner_quote };
                // Where the quote around it is marked, it may begin within a line.
                let first = self.signs.quote_is_marked.then(|| sign.to_owned());
                Prefix { text: sign.to_owned(), first, blank: Some(blank) }
            }
        };
        match container {
            Container::Item(_) => self.lists += 1,
            Container::Quote => self.quotes += 1,
        }
        self.prefixes.push(prefix);
    }

    /// Leaves the innermost container.
    pub(super) fn leave(&mut self) {
        match self.prefixes.pop() {
            Some(prefix) if prefix.blank.is_some() => self.quotes -= 1,
            Some(_) => self.lists -= 1,
            None => {}
        }
    }

    /// Writes text within a line by words, broken where the line is full.
    pub(super) fn words(&mut self, text: &str) -> PutResult {
        let Some(width) = self.signs.width else { return self.put(text) };
        for word in text.split_inclusive(' ') {
            let columns = word.trim_end().width();
            if self.column + columns > width && !self.at_start {
                self.end_line()?;
                self.begin_line()?;
            }
            self.put(word.trim_end_matches(' '))?;
            self.held = word.len() - word.trim_end_matches(' ').len();
            self.column += word.width();
        }
        Ok(())
    }
}
