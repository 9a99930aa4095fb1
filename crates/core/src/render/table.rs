//! Tables for platforms without tables: in columns of a fixed width, or as a list where they are too wide.

use unicode_width::UnicodeWidthStr;

use crate::render::document::{Block, Cell, ColumnAlignment, Item, List, Span, Style, Table};
use crate::render::links;

/// Between columns.
const BETWEEN: &str = " | ";

/// A cell's text, with the addresses of its links.
fn words(cell: &Cell) -> String {
    let mut words = String::new();
    for (index, span) in cell.iter().enumerate() {
        words.push_str(&span.text.replace(['\n', '\t'], " "));
        let next = cell.get(index + 1);
        if let Some(link) = span.link.as_ref().filter(|_| next.is_none_or(|next| next.link != span.link))
            && !links::shows(&span.text, link)
        {
            [" <", link, ">"].into_iter().for_each(|part| words.push_str(part));
        }
    }
    words
}

/// The columns' widths, of the header and the first rows.
fn widths(table: &Table, rows: usize) -> Vec<usize> {
    let mut widths = vec![0; table.header.len()];
    for row in std::iter::once(&table.header).chain(table.rows.iter().take(rows)) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = words(cell).width().max(*width);
        }
    }
    widths
}

/// How wide the table is in columns of a fixed width.
pub(super) fn width(table: &Table) -> usize {
    let widths = widths(table, table.rows.len());
    widths.iter().sum::<usize>() + BETWEEN.len() * widths.len().saturating_sub(1)
}

/// What each row takes at least: the signs between its columns but the last, and its line's end.
pub(super) fn row_units_min(table: &Table) -> usize {
    1 + (BETWEEN.len() * table.header.len().saturating_sub(1)).saturating_sub(1)
}

/// The longest row, by `measure`, without its padding.
pub(super) fn longest(table: &Table, measure: impl Fn(&str) -> usize) -> usize {
    let row = |row: &Vec<Cell>| row.iter().map(|cell| measure(&words(cell)) + BETWEEN.len()).sum();
    std::iter::once(&table.header).chain(&table.rows).map(row).max().unwrap_or(0)
}

/// The header and the first rows in columns of a fixed width.
pub(super) fn aligned(table: &Table, rows: usize) -> String {
    let widths = widths(table, rows);
    let line = |row: &Vec<Cell>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let text = words(cell);
            let room = width.saturating_sub(text.width());
            let before = match table.sides.get(column).unwrap_or(&ColumnAlignment::Left) {
                ColumnAlignment::Left => 0,
                ColumnAlignment::Middle => room / 2,
                ColumnAlignment::Right => room,
            };
            format!("{}{text}{}", " ".repeat(before), " ".repeat(room - before))
        });
        cells.collect::<Vec<_>>().join(BETWEEN).trim_end().to_owned()
    };
    let under = widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-+-");
    let lines = [line(&table.header), under].into_iter().chain(table.rows.iter().take(rows).map(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A table as a list: an item for each row, a line for each cell with its column's header before it.
pub(super) fn listed(table: &Table) -> Block {
    let item = |row: &Vec<Cell>| {
        let mut text: Vec<Span> = Vec::new();
        for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            if !text.is_empty() {
                text.push(Span::plain("\n"));
            }
            let header = table.header.get(column).map(Vec::as_slice).unwrap_or_default();
            let strong = |span: &Span| Span { style: span.style.with(Style::STRONG), ..span.clone() };
            text.extend(header.iter().map(strong));
            if !header.is_empty() {
                text.push(Span::plain(": "));
            }
            text.extend(cell.iter().cloned());
        }
        Item { task: None, continued: false, blocks: vec![Block::Paragraph(text)] }
    };
    // A table without rows has a header still.
    let rows = if table.rows.is_empty() { std::slice::from_ref(&table.header) } else { &table.rows };
    let rows = rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty()));
    Block::List(List { start: None, tight: table.header.len() < 3, items: rows.map(item).collect() })
}
