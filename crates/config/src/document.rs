//! TOML text as a tree in which everything knows its line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::problem::Problem;

/// A value and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DocumentNode {
    /// From 1.
    pub(super) line: usize,
    /// What stands there.
    pub(super) value: DocumentValue,
}

/// What can stand in a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DocumentValue {
    Text(String),
    /// A whole number; `None` if it is too big for 64 bits.
    Integer(Option<i64>),
    /// A number with a point.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A date, a time or both.
    Date,
    List(Vec<DocumentNode>),
    /// A table, in whatever notation.
    Table(DocumentTable),
    /// Something that a problem has been reported for already.
    Broken,
}

/// The keys of a table: each with the line it is first named on, which may be a header's.
pub(super) type DocumentTable = BTreeMap<String, (usize, DocumentNode)>;

impl DocumentValue {
    /// What it is, in the user's words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a point",
            Self::Bool(_) => "true or false",
            Self::Date => "a date or time",
            Self::List(items) if items.iter().any(|i| matches!(i.value, Self::Table(_))) => "a list of sections",
            Self::List(_) => "a list",
            Self::Table(_) => "a section",
            Self::Broken => "broken",
        }
    }
}

/// Reads `text` as TOML, or says everything that keeps it from being TOML.
pub(super) fn parse(file: &Path, text: &str) -> Result<DocumentTable, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::of(text);
    if errors.is_empty() {
        return Ok(table(root.get_ref(), &lines));
    }
    let mut problems: Vec<Problem> = errors.iter().map(|error| lines.problem(file, error)).collect();
    problems.sort();
    problems.dedup_by_key(|problem| problem.line);
    Err(problems)
}

fn table(from: &DeTable<'_>, lines: &Lines<'_>) -> DocumentTable {
    from.iter()
        .map(|(key, value)| (key.get_ref().to_string(), (lines.at(key.span().start).0, node(value, lines))))
        .collect()
}

fn node(from: &toml::Spanned<DeValue<'_>>, lines: &Lines<'_>) -> DocumentNode {
    let value = match from.get_ref() {
        DeValue::String(text) => DocumentValue::Text(text.to_string()),
        DeValue::Integer(number) => DocumentValue::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()),
        // What is no number is reported as wrong, whatever it is taken for.
        DeValue::Float(number) => DocumentValue::Float(number.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => DocumentValue::Bool(*flag),
        DeValue::Datetime(_) => DocumentValue::Date,
        DeValue::Array(items) => DocumentValue::List(items.iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(inner) => DocumentValue::Table(table(inner, lines)),
    };
    DocumentNode { line: lines.at(from.span().start).0, value }
}

/// Where the lines of a text begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte offset, both from 1; the column in characters.
    fn at(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        (line, before + 1)
    }

    fn problem(&self, file: &Path, error: &toml::de::Error) -> Problem {
        let (line, column) = self.at(error.span().unwrap_or(Range { start: 0, end: 0 }).start);
        // `message` names what was expected; only the error's `Display` would quote the line.
        let why = format!("is not TOML: {}", error.message().replace('\n', ", "));
        let fix = "text needs quotes, a section is `[name]`, a setting `key = value`".to_owned();
        Problem { file: file.to_owned(), line, column: Some(column), key: String::new(), why, fix }
    }
}
