//! A reply as a tree: what Markdown says, without its signs, and what every platform's markup is made from.
//!
//! Text in it is plain: nothing is escaped, and no control character but a line's end is left.

use std::rc::Rc;

/// How a stretch of text is set; a set of the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Style(u8);

impl Style {
    /// Important.
    pub(super) const STRONG: Self = Self(1);
    /// Stressed.
    pub(super) const EMPHASIS: Self = Self(2);
    /// Struck through.
    pub(super) const STRIKE: Self = Self(4);
    pub(super) const CODE: Self = Self(8);

    /// Both styles together.
    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both styles have.
    pub(super) fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of the other is in this one.
    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Text that is set in one way. A `\n` in it is a line's end that the reader sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// The text; never empty.
    pub(super) text: String,
    /// How it is set.
    pub(super) style: Style,
    /// Where it leads: an address that `links` found safe. The spans of one link share it.
    pub(super) link: Option<Rc<str>>,
}

impl Span {
    /// Text without any style.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: Style::default(), link: None }
    }

    /// Other text, set the same.
    pub(super) fn like(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), style: self.style, link: self.link.clone() }
    }

    /// Whether the next span is set the same, and in the same link.
    pub(super) fn continues(&self, next: &Self) -> bool {
        self.style == next.style && same_link(self.link.as_ref(), next.link.as_ref())
    }
}

/// Whether two spans are in the same link, not only in links to the same place.
pub(super) fn same_link(one: Option<&Rc<str>>, other: Option<&Rc<str>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Rc::ptr_eq(one, other),
        _ => false,
    }
}

/// Which side a column's text keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnAlignment {
    /// Left, also where nothing is said.
    Left,
    Middle,
    Right,
}

/// A cell's text.
pub(super) type Cell = Vec<Span>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) sides: Vec<ColumnAlignment>,
    /// The first row.
    pub(super) header: Vec<Cell>,
    /// The other rows, each with as many cells as the header.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Its first rows are in the chunk before; the header is repeated.
    pub(super) continued: bool,
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// A task: whether it is done.
    pub(super) task: Option<bool>,
    /// Its beginning is in the chunk before: it has no marker here.
    pub(super) continued: bool,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    /// The first item's number; a list without numbers has none.
    pub(super) start: Option<u64>,
    /// Its items follow each other without a blank line.
    pub(super) tight: bool,
    pub(super) items: Vec<Item>,
}

/// What stands on lines of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// Text.
    Paragraph(Vec<Span>),
    /// A heading of a level from 1 to 6.
    Heading(u8, Vec<Span>),
    /// Code, with the name of its language.
    Code {
        /// Letters, digits and `+-#._` only.
        language: Option<String>,
        /// Its lines, without a last line's end.
        text: String,
    },
    /// What somebody else said.
    Quote(Vec<Self>),
    List(List),
    Table(Table),
    /// A line across.
    Rule,
}
