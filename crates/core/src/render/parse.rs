//! Markdown (CommonMark with GitHub's tables, strikethrough and tasks) to a tree.
//!
//! Raw HTML is text. An image is a link: nothing is loaded because a model wrote it. A line's end within a paragraph
//! stays one, since that is how models write. Containers deeper than [`DEPTH_MAX`] are opened, so that whoever walks
//! the tree may recurse.

use std::rc::Rc;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::render::clean::clean;
use crate::render::document::{Block, Cell, ColumnAlignment, Item, List, Span, Style, Table};
use crate::render::links;

/// How deep lists and quotes nest.
pub(super) const DEPTH_MAX: usize = 8;

/// The longest name of a language.
const LANGUAGE_CHARS_MAX: usize = 24;

pub(super) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// How much of a text that still grows, in bytes, is blocks to which nothing is added any more.
pub(super) fn finished(text: &str) -> usize {
    let (mut depth, mut last) = (0_usize, None);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let ends_blank = matches!(tag, Tag::Paragraph | Tag::Heading { .. });
                    last = Some((range, ends_blank));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = Some((range, true)),
            _ => {}
        }
    }
    let Some((range, ends_blank)) = last else { return 0 };
    let behind = text.get(range.end..).unwrap_or_default();
    // The line's end may be a part of the block.
    let blank = text.get(..range.end).is_some_and(|block| block.ends_with('\n')) && behind.contains('\n')
        || behind.matches('\n').count() > 1;
    // A line's indentation belongs to what begins there.
    let line_of = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    line_of(if ends_blank && blank { text.len() } else { range.start })
}

/// The tree of a text.
pub(super) fn parse(text: &str) -> Vec<Block> {
    let text = clean(text);
    let mut builder = Builder::default();
    for event in Parser::new_ext(&text, OPTIONS) {
        builder.take(event);
    }
    builder.flush();
    builder.blocks
}

/// What is open around the text.
enum OpenBlock {
    Quote(Vec<Block>),
    List(List),
    Item(Item),
    /// Too deep: its content goes to what is around it.
    Opened,
}

struct OpenLink {
    address: String,
    link: Option<Rc<str>>,
    /// Its text, but for that of links within.
    label: String,
    /// There is a link within.
    filled: bool,
}

#[derive(Default)]
struct Builder {
    blocks: Vec<Block>,
    frames: Vec<OpenBlock>,
    depth: usize,
    spans: Vec<Span>,
    strong: usize,
    emphasis: usize,
    strike: usize,
    targets: Vec<OpenLink>,
    table: Option<Table>,
    row: Vec<Cell>,
    code: Option<(Option<String>, String)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text, Style::default()),
            // White alone is nothing to mark.
            Event::Code(text) if text.trim().is_empty() => self.text(&text, Style::default()),
            Event::Code(text) => self.text(&text, Style::CODE),
            Event::SoftBreak | Event::HardBreak => self.text("\n", Style::default()),
            Event::Rule => {
                self.flush();
                self.push(Block::Rule);
            }
            Event::TaskListMarker(done) => {
                if let Some(OpenBlock::Item(item)) = self.frames.last_mut() {
                    item.task = Some(done);
                }
            }
            // None of these is switched on.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, Style::default());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.strong += 1,
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => self.target(&format!("mailto:{dest_url}")),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.target(&dest_url),
            Tag::CodeBlock(kind) => {
                self.flush();
                self.code = Some((language(&kind), String::new()));
            }
            Tag::BlockQuote(_) => self.open(OpenBlock::Quote(Vec::new())),
            Tag::List(start) => self.open(OpenBlock::List(List { start, tight: true, items: Vec::new() })),
            Tag::Item => {
                let within = matches!(self.frames.last(), Some(OpenBlock::List(_)));
                let item = Item { task: None, continued: false, blocks: Vec::new() };
                self.flush();
                self.frames.push(if within { OpenBlock::Item(item) } else { OpenBlock::Opened });
            }
            Tag::Paragraph => {
                self.flush();
                let mut around = self.frames.iter_mut().rev();
                if let (Some(OpenBlock::Item(_)), Some(OpenBlock::List(list))) = (around.next(), around.next()) {
                    list.tight = false;
                }
            }
            Tag::Table(sides) => {
                self.flush();
                let sides = sides.into_iter().map(side).collect();
                self.table = Some(Table { sides, header: Vec::new(), rows: Vec::new(), continued: false });
            }
            _ => self.flush(),
        }
    }

    /// Begins a link; of one within another, the outer counts.
    fn target(&mut self, address: &str) {
        let outer = self.targets.first().and_then(|target| target.link.clone());
        let link = outer.or_else(|| links::safe(address).map(Rc::from));
        let address = clean(address).into_owned();
        self.targets.push(OpenLink { address, link, label: String::new(), filled: false });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Heading(level) => {
                let spans = self.finished();
                if !spans.is_empty() {
                    self.push(Block::Heading(level as u8, spans));
                }
            }
            TagEnd::CodeBlock => {
                if let Some((language, mut text)) = self.code.take() {
                    text.truncate(text.trim_end_matches('\n').len());
                    self.push(Block::Code { language, text });
                }
            }
            TagEnd::TableCell => {
                let cell = self.finished();
                self.row.push(cell);
            }
            TagEnd::TableHead => {
                let row = std::mem::take(&mut self.row);
                self.table.iter_mut().for_each(|table| table.header.clone_from(&row));
            }
            TagEnd::TableRow => {
                let row = std::mem::take(&mut self.row);
                self.table.iter_mut().for_each(|table| table.rows.push(row.clone()));
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.push(Block::Table(table));
                }
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.close(),
            _ => self.flush(),
        }
    }

    fn open(&mut self, frame: OpenBlock) {
        self.flush();
        if self.depth < DEPTH_MAX {
            self.depth += 1;
            self.frames.push(frame);
        } else {
            self.frames.push(OpenBlock::Opened);
        }
    }

    fn close(&mut self) {
        self.flush();
        match self.frames.pop() {
            Some(OpenBlock::Quote(blocks)) => {
                self.depth -= 1;
                self.push(Block::Quote(blocks));
            }
            Some(OpenBlock::List(list)) => {
                self.depth -= 1;
                self.push(Block::List(list));
            }
            Some(OpenBlock::Item(item)) => {
                if let Some(OpenBlock::List(list)) = self.frames.last_mut() {
                    list.items.push(item);
                }
            }
            Some(OpenBlock::Opened) | None => {}
        }
    }

    fn push(&mut self, block: Block) {
        let shows = match &block {
            Block::Code { text, .. } => !text.trim().is_empty(),
            Block::Quote(blocks) => !blocks.is_empty(),
            Block::List(list) => !list.items.is_empty(),
            Block::Paragraph(_) | Block::Heading(..) | Block::Table(_) | Block::Rule => true,
        };
        if !shows {
            return;
        }
        let blocks = self.frames.iter_mut().rev().find_map(|frame| match frame {
            OpenBlock::Quote(blocks) => Some(blocks),
            OpenBlock::Item(item) => Some(&mut item.blocks),
            OpenBlock::List(_) | OpenBlock::Opened => None,
        });
        blocks.unwrap_or(&mut self.blocks).push(block);
    }

    fn text(&mut self, text: &str, style: Style) {
        // References to characters (`&#27;`) are decoded only now.
        let text = clean(text);
        if let Some((_, code)) = &mut self.code {
            code.push_str(&text);
            return;
        }
        if text.is_empty() {
            return;
        }
        let set = [(self.strong, Style::STRONG), (self.emphasis, Style::EMPHASIS), (self.strike, Style::STRIKE)];
        let style = set.iter().filter(|(open, _)| *open > 0).fold(style, |style, (_, set)| style.with(*set));
        let link = self.targets.last_mut().and_then(|target| {
            target.label.push_str(&text);
            target.link.clone()
        });
        let span = Span { text: text.into_owned(), style, link };
        match self.spans.last_mut() {
            Some(last) if last.continues(&span) => last.text.push_str(&span.text),
            _ => self.spans.push(span),
        }
    }

    /// A link without a label shows its address; what cannot be a link says where it would have led.
    fn end_link(&mut self) {
        let Some(target) = self.targets.last() else { return };
        let label = target.label.trim();
        let said = if label.is_empty() && !target.filled {
            Some(target.address.clone())
        } else if target.link.is_none() && label != target.address && !target.address.is_empty() {
            Some(format!(" ({})", target.address))
        } else {
            None
        };
        if let Some(said) = said {
            self.text(&said, Style::default());
        }
        self.targets.pop();
        if let Some(outer) = self.targets.last_mut() {
            outer.filled = true;
        }
    }

    /// The spans since the last block, without the white around them.
    fn finished(&mut self) -> Vec<Span> {
        let mut spans = std::mem::take(&mut self.spans);
        trim(&mut spans);
        links::found(spans)
    }

    fn flush(&mut self) {
        let spans = self.finished();
        if !spans.is_empty() {
            self.push(Block::Paragraph(spans));
        }
    }
}

/// Takes the white at both ends away; of code, only what has nothing else.
pub(super) fn trim(spans: &mut Vec<Span>) {
    while let Some(last) = spans.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        spans.pop();
    }
    let blank = spans.iter().take_while(|span| span.text.trim_start().is_empty()).count();
    spans.drain(..blank);
    if let Some(first) = spans.first_mut() {
        let white = first.text.len() - first.text.trim_start().len();
        first.text.drain(..white);
    }
}

fn side(alignment: Alignment) -> ColumnAlignment {
    match alignment {
        Alignment::None | Alignment::Left => ColumnAlignment::Left,
        Alignment::Center => ColumnAlignment::Middle,
        Alignment::Right => ColumnAlignment::Right,
    }
}

/// The first word behind the fence, where it is a name.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || "+-#._".contains(sign);
    let fits = !word.is_empty() && word.len() <= LANGUAGE_CHARS_MAX && word.chars().all(is_name);
    fits.then(|| word.to_owned())
}
