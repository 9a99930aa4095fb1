//! Text for platforms: Markdown as a tree, the tree in each platform's markup, cut into what one message takes.
//!
//! Never: I/O, or a cut inside what a reader sees as one character.
//! Start at [`render()`]; plain words that are not Markdown are cut by [`chunk::chunks`].
#![warn(clippy::string_slice)]

pub mod chunk;
pub mod clean;
mod discord;
mod document;
mod html;
mod lines;
mod links;
mod lowering;
#[cfg(any(test, feature = "fuzzing"))]
pub mod oracle;
mod page;
mod parse;
mod plain;
mod slack;
pub mod speech;
mod split;
mod table;
mod telegram;
mod unfinished;
#[cfg(any(test, feature = "fuzzing"))]
mod validators;

use crate::domain::capabilities::{Capabilities, Limit, Markup, Unit};
use crate::domain::inbound::ChannelKind;
use crate::policy::invisible::is_invisible;
use crate::render::clean::clean;
use crate::render::discord::Discord;
use crate::render::document::{Block, Span};
use crate::render::html::{HtmlTarget, html};
use crate::render::lines::Dialect;
use crate::render::lowering::{PlatformRendering, lower};
use crate::render::page::{Page, Size};
use crate::render::plain::Plain;
use crate::render::slack::Slack;
use crate::render::split::Splitter;
use crate::render::telegram::Telegram;

/// The least a message must hold, so that every piece of markup fits one.
pub(crate) const UNITS_MIN: usize = 512;

/// One message, as a platform takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// In the platform's markup.
    pub markup: String,
    /// Without markup, within the same limit: for a platform that refuses the other, and for what shows beside it (a
    /// mail's text part, a notice of Slack's `text`). It goes out as it is.
    pub plain: String,
}

/// The messages that say a Markdown text.
///
/// Each is within the platform's limit and complete in itself; together they hold the whole text in order. Text that
/// shows nothing has no messages.
pub fn render(text: &str, capabilities: &Capabilities) -> Vec<Chunk> {
    if capabilities.markup == Markup::Source {
        let source = |piece: String| Chunk { markup: piece.clone(), plain: piece };
        return chunk::chunks(text, capabilities.text_limit()).into_iter().map(source).collect();
    }
    let blocks = parse::parse(text);
    let kit = RenderKit::new(capabilities);
    let chunks = kit.chunks(blocks);
    if !chunks.is_empty() || !is_visible(text) {
        return chunks;
    }
    // Nothing but definitions, say: it is shown as it was written.
    kit.chunks(vec![Block::Paragraph(vec![Span::plain(clean(text).trim())])])
}

/// How much of a Markdown text that still grows, in bytes, can be shown by itself: whole blocks, to which nothing is added.
pub fn finished(text: &str) -> usize {
    parse::finished(text)
}

/// A Markdown text that still grows, as it will be: what is open in its last block is closed, or waits until it says what it is.
pub fn completed(text: &str) -> String {
    unfinished::completed(text)
}

/// What words are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Markdown, as models write it.
    Markdown,
    /// As they stand: Hob's own words, in which a star is a star.
    Plain,
}

/// One chunk of words for the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPiece {
    /// Without markup.
    pub text: String,
    /// In the platform's markup, where the words have one.
    pub markup: Option<String>,
}

/// Words as a platform's messages.
pub fn pieces(text: &str, form: TextFormat, channel: ChannelKind) -> Vec<RenderedPiece> {
    let capabilities = Capabilities::of(channel);
    match form {
        TextFormat::Plain => {
            let limit = capabilities.text_limit();
            let fitting = |piece: String| match capabilities.markup {
                // What keeps a sign from acting at most doubles it.
                Markup::DiscordMarkdown if !limit.fits(&literal(&piece)) => chunk::chunks(&piece, limit.halved()),
                _ => vec![piece],
            };
            let plain = |text| RenderedPiece { text, markup: None };
            chunk::chunks(text, limit).into_iter().flat_map(fitting).map(plain).collect()
        }
        TextFormat::Markdown => {
            let marked = |chunk: Chunk| RenderedPiece { text: chunk.plain, markup: Some(chunk.markup) };
            render(text, capabilities).into_iter().map(marked).collect()
        }
    }
}

/// Words that are not Markdown, as Discord shows them sign for sign. It has no other way to be told that a star is a star.
pub fn literal(text: &str) -> String {
    discord::literal(&clean(text))
}

/// Whether a reader sees anything of a text; platforms refuse what shows nothing.
fn is_visible(text: &str) -> bool {
    !text.chars().all(is_hidden)
}

/// Whether a reader sees nothing of it.
fn is_hidden(sign: char) -> bool {
    sign.is_whitespace() || sign.is_control() || is_invisible(sign)
}

/// What a platform's messages are made with.
struct RenderKit {
    capabilities: Capabilities,
    limit: Option<Limit>,
    markup: Box<dyn Dialect>,
    plain: Box<dyn Dialect>,
    links: fn(&str, &str) -> bool,
}

impl RenderKit {
    fn new(capabilities: &Capabilities) -> Self {
        let columns = capabilities.columns;
        let any: fn(&str, &str) -> bool = |_, _| true;
        let (markup, plain, links): (Box<dyn Dialect>, Plain, _) = match capabilities.markup {
            Markup::TelegramHtml => (Box::new(Telegram), Plain::chat(), telegram::links as fn(&str, &str) -> bool),
            Markup::SlackMrkdwn | Markup::SlackBlocks => (Box::new(Slack), Plain::slack(), any),
            Markup::DiscordMarkdown => (Box::new(Discord), Plain::chat(), discord::links as fn(&str, &str) -> bool),
            Markup::Ansi => (Box::new(Plain::ansi(columns)), Plain::page(columns), any),
            Markup::MailHtml | Markup::WebHtml | Markup::Plain | Markup::Source => {
                (Box::new(Plain::page(columns)), Plain::page(columns), any)
            }
        };
        let limit = capabilities.limit.map(|limit| limit.at_least(UNITS_MIN));
        Self { capabilities: *capabilities, limit, markup, plain: Box::new(plain), links }
    }

    fn chunks(&self, blocks: Vec<Block>) -> Vec<Chunk> {
        if let (Markup::WebHtml, Some(limit)) = (self.capabilities.markup, self.limit) {
            return self.html_messages(blocks, limit);
        }
        let pages = match self.capabilities.markup {
            Markup::MailHtml => Some(html(&blocks, HtmlTarget::Mail)),
            Markup::WebHtml => Some(html(&blocks, HtmlTarget::Web)),
            _ => None,
        };
        let blocks = lower(blocks, &self.shows());
        let chunks = match self.limit {
            Some(limit) => {
                let sheets = self.splitter(limit).split(blocks).into_iter();
                sheets.map(|sheet| Chunk { markup: sheet.markup, plain: sheet.plain }).collect()
            }
            None => {
                let markup = pages.unwrap_or_else(|| write(&*self.markup, &blocks));
                vec![Chunk { markup, plain: write(&*self.plain, &blocks) }]
            }
        };
        let chunks: Vec<Chunk> = chunks.into_iter().filter(|chunk| is_visible(&chunk.plain)).collect();
        if self.capabilities.markup == Markup::SlackBlocks { messages(chunks) } else { chunks }
    }

    /// Messages of HTML: as many blocks to each as fit. A block that is too long by itself is cut as text.
    fn html_messages(&self, blocks: Vec<Block>, limit: Limit) -> Vec<Chunk> {
        let plain = |blocks: Vec<Block>| write(&*self.plain, &lower(blocks, &self.shows()));
        let (mut messages, mut open, mut used) = (Vec::new(), Vec::new(), 0);
        let close = |open: &mut Vec<Block>| {
            let blocks = std::mem::take(open);
            Chunk { markup: html(&blocks, HtmlTarget::Web), plain: plain(blocks) }
        };
        for block in blocks {
            let long = limit.measure(&html(std::slice::from_ref(&block), HtmlTarget::Web));
            if used + long > limit.max() && !open.is_empty() {
                messages.push(close(&mut open));
                used = 0;
            }
            if long > limit.max() {
                let sheets = self.splitter(limit.halved()).split(lower(vec![block], &self.shows()));
                let cut = |text: String| Chunk { markup: html_of_text(&text), plain: text };
                messages.extend(sheets.into_iter().map(|sheet| cut(sheet.plain)));
                continue;
            }
            used += long;
            open.push(block);
        }
        if !open.is_empty() {
            messages.push(close(&mut open));
        }
        messages.retain(|message| is_visible(&message.plain));
        messages
    }

    fn splitter(&self, limit: Limit) -> Splitter<'_> {
        let size = Size { units: limit.max(), weight: telegram::WEIGHT_MAX };
        Splitter { markup: &*self.markup, plain: &*self.plain, limit, size }
    }

    fn shows(&self) -> PlatformRendering {
        let units = self.limit.map_or(usize::MAX, Limit::max);
        // A terminal's tables are indented as its code is.
        let indent = match self.capabilities.markup {
            Markup::Ansi | Markup::Plain => plain::INDENT.len(),
            _ => 0,
        };
        PlatformRendering {
            table_columns_max: self.capabilities.columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent)),
            row_chars_max: units / 8,
            link_bytes_max: (units / 8).min(2_048),
            links: self.links,
        }
    }
}

/// Text as it stands, each line its own.
fn html_of_text(text: &str) -> String {
    format!("<pre>{}</pre>", html::escaped(text))
}

fn write(dialect: &dyn Dialect, tree: &[Block]) -> String {
    let mut page = Page::new(dialect.signs(), None, Size::default(), true);
    // A page without a limit is never full.
    if lines::blocks(dialect, &mut page, tree, false).is_err() {
        return String::new();
    }
    page.into_text()
}

/// How much one of Slack's messages holds in all its sections. Slack refuses blocks that are too long together and says
/// nowhere from when on; people have met its `msg_blocks_too_long` between 11,300 and 13,300 characters.
const SLACK_MESSAGE: (usize, Unit) = (10_000, Unit::Utf16);

/// How many blocks one of Slack's messages has at most.
const SLACK_BLOCKS_MAX: usize = 50;

fn messages(sections: Vec<Chunk>) -> Vec<Chunk> {
    let limit = Limit::new(SLACK_MESSAGE.0, SLACK_MESSAGE.1);
    let size = |chunk: &Chunk| limit.measure(&chunk.markup).max(limit.measure(&chunk.plain)) + "\n\n".len();
    let mut messages: Vec<Vec<Chunk>> = Vec::new();
    let mut used = 0;
    for section in sections {
        let more = size(&section);
        match messages.last_mut() {
            Some(last) if used + more <= limit.max() && last.len() < SLACK_BLOCKS_MAX => {
                used += more;
                last.push(section);
            }
            _ => {
                used = more;
                messages.push(vec![section]);
            }
        }
    }
    let message = |sections: Vec<Chunk>| {
        let (texts, plain): (Vec<String>, Vec<String>) =
            sections.into_iter().map(|section| (section.markup, section.plain)).unzip();
        Chunk { markup: slack::blocks(&texts), plain: plain.join("\n\n") }
    };
    messages.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests;
