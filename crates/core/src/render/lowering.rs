//! Makes of a tree one that a platform can show: tables that fit, links that it takes.

use crate::render::document::{Block, Item, List, Span, Table};
use crate::render::{links, table};

/// What a platform can show.
pub(super) struct PlatformRendering {
    /// The widest table, in columns.
    pub(super) table_columns_max: usize,
    /// The longest row of a table, in chars.
    pub(super) row_chars_max: usize,
    /// The longest address of a link, in bytes.
    pub(super) link_bytes_max: usize,
    /// Whether it makes a link of a label and an address.
    pub(super) links: fn(&str, &str) -> bool,
}

/// The same blocks as the platform shows them.
pub(super) fn lower(blocks: Vec<Block>, shows: &PlatformRendering) -> Vec<Block> {
    blocks.into_iter().map(|block| lower_block(block, shows)).collect()
}

fn lower_block(block: Block, shows: &PlatformRendering) -> Block {
    match block {
        Block::Paragraph(text) => Block::Paragraph(lower_links(text, shows)),
        Block::Heading(level, text) => Block::Heading(level, lower_links(text, shows)),
        Block::Quote(blocks) => Block::Quote(lower(blocks, shows)),
        Block::List(list) => {
            let item = |item: Item| Item { blocks: lower(item.blocks, shows), ..item };
            Block::List(List { items: list.items.into_iter().map(item).collect(), ..list })
        }
        Block::Table(table) => lower_table(table, shows),
        Block::Code { .. } | Block::Rule => block,
    }
}

fn lower_table(table: Table, shows: &PlatformRendering) -> Block {
    let fits = table::width(&table) <= shows.table_columns_max
        && table::longest(&table, |text| text.chars().count()) <= shows.row_chars_max;
    if fits { Block::Table(table) } else { lower_block(table::listed(&table), shows) }
}

/// Writes the address behind the label where it cannot be a link.
fn lower_links(text: Vec<Span>, shows: &PlatformRendering) -> Vec<Span> {
    if text.iter().all(|span| span.link.is_none()) {
        return text;
    }
    let mut out: Vec<Span> = Vec::with_capacity(text.len());
    let mut rest = text.into_iter().peekable();
    let mut label = String::new();
    while let Some(mut span) = rest.next() {
        let Some(link) = span.link.clone() else {
            out.push(span);
            continue;
        };
        label.push_str(&span.text);
        let ends = rest.peek().is_none_or(|next| next.link.as_ref() != Some(&link));
        // Spans of one link fare alike, as far as their label is known: only its last span sees all of it.
        if link.len() > shows.link_bytes_max || !(shows.links)(&label, &link) {
            span.link = None;
            let after = span.like(format!(" <{link}>"));
            out.push(span);
            if ends && !links::shows(&label, &link) {
                out.push(after);
            }
        } else {
            out.push(span);
        }
        if ends {
            label.clear();
        }
    }
    out
}
