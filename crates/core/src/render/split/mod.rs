//! Splits a tree into trees that each fit a message: between blocks, else between items, lines, rows or words.
//!
//! What is split goes on as what it was: a quote as a quote, code with its language, a list with its numbers, a table
//! with its header. What fits is found by writing it on a page that is only measured ([`Page`]), once with the markup and
//! once without, since a chunk may have to go out as plain text.

mod code;
mod text;

use std::collections::VecDeque;

use unicode_width::UnicodeWidthStr;

use crate::domain::capabilities::Limit;
use crate::render::document::{Block, Item, List, Span, Table};
use crate::render::lines::{self, Dialect};
use crate::render::page::{Container, Page, PutResult, Size};
use crate::render::write;

/// The room in a message: for its markup and for its plain form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct MessageRoom {
    markup: Size,
    plain: Size,
}

impl MessageRoom {
    fn less(self, other: Self) -> Option<Self> {
        Some(Self { markup: self.markup.less(other.markup)?, plain: self.plain.less(other.plain)? })
    }
}

/// Where blocks are written.
#[derive(Debug, Clone)]
struct SplitPosition {
    room: MessageRoom,
    path: Vec<Container>,
    /// No blank line is between blocks.
    tight: bool,
    /// Nothing is in the message yet: something must go into it.
    empty: bool,
}

impl SplitPosition {
    fn with(&self, room: MessageRoom, empty: bool) -> Self {
        Self { room, path: self.path.clone(), tight: self.tight, empty }
    }

    fn within(&self, container: Container, tight: bool) -> Self {
        let mut path = self.path.clone();
        path.push(container);
        Self { room: self.room, path, tight, empty: self.empty }
    }
}

/// A part that goes into the message, and what is left for the next.
type SplitParts<T> = (Option<T>, Option<T>);

/// What goes into one message.
pub(super) struct SplitMessage {
    #[cfg_attr(not(test), expect(dead_code, reason = "the laws compare it with what was to be split"))]
    pub(super) tree: Vec<Block>,
    /// In the platform's markup.
    pub(super) markup: String,
    /// Without.
    pub(super) plain: String,
}

/// Splits for one platform.
pub(super) struct Splitter<'a> {
    pub(super) markup: &'a dyn Dialect,
    /// Its plain text.
    pub(super) plain: &'a dyn Dialect,
    /// The limit of both.
    pub(super) limit: Limit,
    /// How much fits one message.
    pub(super) size: Size,
}

impl Splitter<'_> {
    /// The messages, in order; each fits.
    pub(super) fn split(&self, blocks: Vec<Block>) -> Vec<SplitMessage> {
        let mut queue = VecDeque::from(blocks);
        let mut chunks = Vec::new();
        let place = SplitPosition { room: self.full(), path: Vec::new(), tight: false, empty: true };
        while !queue.is_empty() {
            let taken = self.take(&mut queue, &place);
            if taken.is_empty() {
                // Something always fits a message; should it not, it goes alone, and the platform has the last word.
                chunks.push(self.unlimited(queue.pop_front().into_iter().collect()));
            } else {
                self.push(taken, &mut chunks);
            }
        }
        chunks
    }

    /// Parts are measured each for itself. Should they be more together, they are split with more to spare.
    fn push(&self, taken: Vec<Block>, chunks: &mut Vec<SplitMessage>) {
        let less = Size { units: self.size.units - self.size.units / 8, weight: self.size.weight };
        match self.written(taken) {
            Ok(sheet) => chunks.push(sheet),
            Err(taken) if less.units * 2 < self.limit.max() => chunks.push(self.unlimited(taken)),
            Err(taken) => {
                let careful = Splitter { markup: self.markup, plain: self.plain, limit: self.limit, size: less };
                chunks.extend(careful.split(taken));
            }
        }
    }

    /// The tree as it is written, if that fits a message.
    fn written(&self, tree: Vec<Block>) -> Result<SplitMessage, Vec<Block>> {
        let one = |dialect: &dyn Dialect| {
            let mut page = Page::new(dialect.signs(), Some(self.limit), self.size, true);
            lines::blocks(dialect, &mut page, &tree, false).ok().map(|()| page.into_text())
        };
        match one(self.markup).zip(one(self.plain)) {
            Some((markup, plain)) => Ok(SplitMessage { tree, markup, plain }),
            None => Err(tree),
        }
    }

    /// The same of a tree that nothing can make fit.
    fn unlimited(&self, tree: Vec<Block>) -> SplitMessage {
        SplitMessage { markup: write(self.markup, &tree), plain: write(self.plain, &tree), tree }
    }

    fn full(&self) -> MessageRoom {
        MessageRoom { markup: self.size, plain: self.size }
    }

    /// How much of the place's room the writing takes; none if it does not fit.
    fn measure(
        &self,
        place: &SplitPosition,
        write: &dyn Fn(&dyn Dialect, &mut Page<'_>) -> PutResult,
    ) -> Option<MessageRoom> {
        let one = |dialect: &dyn Dialect, room: Size| {
            let mut page = Page::new(dialect.signs(), Some(self.limit), room, false);
            place.path.iter().for_each(|container| page.enter(*container, None));
            write(dialect, &mut page).ok().map(|()| page.used())
        };
        Some(MessageRoom { markup: one(self.markup, place.room.markup)?, plain: one(self.plain, place.room.plain)? })
    }

    fn fits(&self, place: &SplitPosition, block: &Block) -> bool {
        self.measure(place, &|dialect, page| lines::block(dialect, page, block)).is_some()
    }

    /// What the gap between blocks or items takes; no place is too small for one.
    fn gap(&self, place: &SplitPosition, tight: bool) -> MessageRoom {
        let used = self.measure(&place.with(self.full(), false), &|_, page| page.gap(tight));
        used.unwrap_or_else(|| self.full())
    }

    /// Whether what does not fit here is cut rather than left for the next message, `alone` telling if it fits one.
    fn is_worth_cutting(&self, place: &SplitPosition, alone: &dyn Fn(&SplitPosition) -> bool) -> bool {
        let (left, all) = (place.room.markup.units.min(place.room.plain.units), self.size.units);
        if place.empty || left * 2 > all {
            return true;
        }
        let next = SplitPosition { room: self.full(), path: place.path.clone(), tight: place.tight, empty: true };
        left * 4 > all && !alone(&next)
    }

    /// Takes blocks off the queue for as long as they fit.
    fn take(&self, queue: &mut VecDeque<Block>, place: &SplitPosition) -> Vec<Block> {
        let mut taken: Vec<Block> = Vec::new();
        let mut left = place.room;
        let mut cut = false;
        let gap = self.gap(place, place.tight);
        while let Some(block) = queue.pop_front() {
            let room = if taken.is_empty() { Some(left) } else { left.less(gap) };
            let Some(room) = room else {
                queue.push_front(block);
                break;
            };
            let here = place.with(room, place.empty && taken.is_empty());
            let used = self.measure(&here, &|dialect, page| lines::block(dialect, page, &block));
            if let Some(rest) = used.and_then(|used| room.less(used)) {
                left = rest;
                taken.push(block);
                continue;
            }
            let worth = self.is_worth_cutting(&here, &|next| self.fits(next, &block));
            let (head, rest) = if worth { self.cut(block, &here) } else { (None, Some(block)) };
            cut = head.is_some();
            taken.extend(head);
            if let Some(rest) = rest {
                queue.push_front(rest);
            }
            break;
        }
        if !cut && !queue.is_empty() {
            give_back_headings(&mut taken, queue, place.empty);
        }
        taken
    }

    /// Cuts a block that does not fit.
    fn cut(&self, block: Block, place: &SplitPosition) -> SplitParts<Block> {
        match block {
            Block::Paragraph(text) => self.cut_text(text, place, &Block::Paragraph),
            Block::Heading(level, text) => self.cut_text(text, place, &|text| Block::Heading(level, text)),
            Block::Code { language, text } => {
                let block = |text: &str| Block::Code { language: language.clone(), text: text.to_owned() };
                let most = place.room.plain.units;
                match code::cut(&text, most, place.empty, &|head| self.fits(place, &block(head))) {
                    Some((head, rest)) => (Some(block(head)), Some(block(rest))),
                    None => (None, Some(block(&text))),
                }
            }
            Block::Quote(inside) => self.cut_quote(inside, place),
            Block::List(list) => self.cut_list(list, place),
            Block::Table(table) => self.cut_table(table, place),
            Block::Rule => (None, Some(Block::Rule)),
        }
    }

    fn cut_text(
        &self,
        mut text: Vec<Span>,
        place: &SplitPosition,
        block: &dyn Fn(Vec<Span>) -> Block,
    ) -> SplitParts<Block> {
        let fits = |head: Vec<Span>| self.fits(place, &block(head));
        let head = text::cut(&mut text, place.room.plain.units, place.empty, &fits);
        (head.map(block), some(text).map(block))
    }

    fn cut_quote(&self, inside: Vec<Block>, place: &SplitPosition) -> SplitParts<Block> {
        let around = Block::Quote(Vec::new());
        let used = self.measure(place, &|dialect, page| lines::block(dialect, page, &around));
        let Some(room) = used.and_then(|used| place.room.less(used)) else { return (None, Some(Block::Quote(inside))) };
        let mut queue = VecDeque::from(inside);
        let head = self.take(&mut queue, &place.with(room, place.empty).within(Container::Quote, false));
        (some(head).map(Block::Quote), some(queue.into()).map(Block::Quote))
    }

    fn cut_list(&self, mut list: List, place: &SplitPosition) -> SplitParts<Block> {
        let mut queue = VecDeque::from(std::mem::take(&mut list.items));
        let mut taken: Vec<Item> = Vec::new();
        let mut left = place.room;
        let mut next = 0;
        let gap = self.gap(place, list.tight);
        while let Some(item) = queue.pop_front() {
            let room = if taken.is_empty() { Some(left) } else { left.less(gap) };
            let Some(room) = room else {
                queue.push_front(item);
                break;
            };
            let here = place.with(room, place.empty && taken.is_empty());
            let measured = |place: &SplitPosition| {
                self.measure(place, &|dialect, page| lines::item(dialect, page, &list, next, &item))
            };
            if let Some(rest) = measured(&here).and_then(|used| room.less(used)) {
                left = rest;
                taken.push(item);
                next += 1;
                continue;
            }
            let worth = self.is_worth_cutting(&here, &|next| measured(next).is_some());
            let (head, rest) = if worth { self.cut_item(&list, next, item, &here) } else { (None, Some(item)) };
            next += usize::from(rest.is_none());
            taken.extend(head);
            if let Some(rest) = rest {
                queue.push_front(rest);
            }
            break;
        }
        let start = list.start.map(|start| start.saturating_add(next as u64));
        let rest = some(queue.into()).map(|items| Block::List(List { start, tight: list.tight, items }));
        (some(taken).map(|items| Block::List(List { items, ..list })), rest)
    }

    fn cut_item(&self, list: &List, index: usize, item: Item, place: &SplitPosition) -> SplitParts<Item> {
        let depth = place.path.iter().filter(|container| matches!(container, Container::Item(_))).count();
        let marker = lines::marker(self.markup, depth, list, index, &item);
        // The marker has a line of its own where the item begins with code.
        let line = self.measure(place, &|_, page| {
            page.begin_line()?;
            page.put(&marker)?;
            page.end_line()
        });
        let Some(room) = line.and_then(|line| place.room.less(line)) else { return (None, Some(item)) };
        let inside = place.with(room, place.empty).within(Container::Item(marker.width()), list.tight);
        let mut queue = VecDeque::from(item.blocks);
        let head = self.take(&mut queue, &inside);
        let begun = item.continued || !head.is_empty();
        let rest = some(queue.into()).map(|blocks| Item { task: item.task, continued: begun, blocks });
        (some(head).map(|blocks| Item { task: item.task, continued: item.continued, blocks }), rest)
    }

    fn cut_table(&self, mut table: Table, place: &SplitPosition) -> SplitParts<Block> {
        let fits =
            |rows: usize| self.measure(place, &|dialect, page| lines::rows(dialect, page, &table, rows)).is_some();
        // Each row has at least its line's end.
        let rows = last_that(1, table.rows.len().min(place.room.plain.units), &fits);
        let Some(rows) = rows.filter(|rows| *rows < table.rows.len()) else { return (None, Some(Block::Table(table))) };
        let rest = table.rows.split_off(rows);
        let after = Table { sides: table.sides.clone(), header: table.header.clone(), rows: rest, continued: true };
        (Some(Block::Table(table)), Some(Block::Table(after)))
    }
}

/// Headings go with what they head: those at the end of a message wait for the next, unless nothing else is in it.
fn give_back_headings(taken: &mut Vec<Block>, queue: &mut VecDeque<Block>, empty: bool) {
    let kept = taken.iter().rposition(|block| !matches!(block, Block::Heading(..))).map_or(0, |last| last + 1);
    if kept > 0 || !empty {
        taken.drain(kept..).rev().for_each(|heading| queue.push_front(heading));
    }
}

/// The parts, if there are any.
fn some<T>(parts: Vec<T>) -> Option<Vec<T>> {
    Some(parts).filter(|parts| !parts.is_empty())
}

/// The last number of a range that `fits`, where all up to some number do.
fn last_that(first: usize, last: usize, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (first, last + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low > first).then(|| low - 1)
}
