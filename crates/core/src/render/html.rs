//! HTML for the web page and for mail: few tags, no scripts, nothing that is loaded from elsewhere.

use std::borrow::Cow;
use std::rc::Rc;

use crate::render::document::{Block, Cell, ColumnAlignment, Item, List, Span, Style, Table, same_link};

/// Where the HTML is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlTarget {
    /// On a page with a style sheet of its own.
    Web,
    /// In a mail, where styles are inline or not at all.
    Mail,
}

/// The text with entities for whatever HTML would take for its own.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            sign => out.push(sign),
        }
    }
    Cow::Owned(out)
}

pub(super) fn html(blocks: &[Block], shown: HtmlTarget) -> String {
    let mut writer = Writer { out: String::new(), shown };
    writer.blocks(blocks);
    writer.out
}

struct Writer {
    out: String,
    shown: HtmlTarget,
}

/// Tags of the styles, the outermost first.
const TAGS: [(Style, &str); 4] =
    [(Style::STRONG, "strong"), (Style::EMPHASIS, "em"), (Style::STRIKE, "del"), (Style::CODE, "code")];

impl Writer {
    fn tag(&mut self, tag: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            for part in [" ", name, "=\"", &escaped(value), "\""] {
                self.out.push_str(part);
            }
        }
        self.out.push('>');
    }

    fn open(&mut self, tag: &str, style: &str) {
        let styled = self.shown == HtmlTarget::Mail && !style.is_empty();
        let attributes = [("style", style)];
        self.tag(tag, if styled { &attributes } else { &[] });
    }

    fn close(&mut self, tag: &str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
            self.out.push('\n');
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => self.within("p", "margin:0 0 1em", |writer| writer.spans(text)),
            Block::Heading(level, text) => {
                let tag = ["h1", "h2", "h3", "h4", "h5", "h6"][usize::from(level.clamp(&1, &6) - 1)];
                self.within(tag, "margin:1em 0 .5em", |writer| writer.spans(text));
            }
            Block::Code { language, text } => {
                self.open("pre", "background:#f4f4f4;padding:.7em;overflow:auto");
                match language {
                    Some(language) => self.tag("code", &[("class", &format!("language-{language}"))]),
                    None => self.out.push_str("<code>"),
                }
                self.out.push_str(&escaped(text));
                self.out.push_str("</code></pre>");
            }
            Block::Quote(inside) => {
                self.open("blockquote", "margin:0 0 1em;padding-left:1em;border-left:3px solid #ccc");
                self.out.push('\n');
                self.blocks(inside);
                self.close("blockquote");
            }
            Block::List(list) => self.list(list),
            Block::Table(table) => self.table(table),
            Block::Rule => self.out.push_str("<hr>"),
        }
    }

    fn within(&mut self, tag: &str, style: &str, inside: impl FnOnce(&mut Self)) {
        self.open(tag, style);
        inside(self);
        self.close(tag);
    }

    fn list(&mut self, list: &List) {
        let tag = if list.start.is_some() { "ol" } else { "ul" };
        match list.start {
            Some(start) if start != 1 => self.tag(tag, &[("start", &start.to_string())]),
            _ => self.open(tag, ""),
        }
        self.out.push('\n');
        for item in &list.items {
            self.within("li", "", |writer| writer.item(item, list.tight));
            self.out.push('\n');
        }
        self.close(tag);
    }

    fn item(&mut self, item: &Item, tight: bool) {
        match item.task {
            Some(true) => self.out.push_str("☑ "),
            Some(false) => self.out.push_str("☐ "),
            None => {}
        }
        for (index, block) in item.blocks.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            match block {
                Block::Paragraph(text) if tight => self.spans(text),
                block => self.block(block),
            }
        }
    }

    fn table(&mut self, table: &Table) {
        self.open("table", "border-collapse:collapse");
        self.out.push_str("\n<thead>");
        self.row(table, &table.header, "th");
        self.out.push_str("</thead>\n<tbody>");
        for row in &table.rows {
            self.row(table, row, "td");
        }
        self.out.push_str("</tbody>\n</table>");
    }

    fn row(&mut self, table: &Table, row: &[Cell], tag: &str) {
        self.out.push_str("\n<tr>");
        for (column, cell) in row.iter().enumerate() {
            let side = match table.sides.get(column) {
                Some(ColumnAlignment::Middle) => "center",
                Some(ColumnAlignment::Right) => "right",
                Some(ColumnAlignment::Left) | None => "left",
            };
            match self.shown {
                // The page's policy forbids styles that stand in its text.
                HtmlTarget::Web => self.tag(tag, &[("class", side)]),
                HtmlTarget::Mail => {
                    let style = format!("text-align:{side};border:1px solid #ccc;padding:.2em .6em");
                    self.open(tag, &style);
                }
            }
            self.spans(cell);
            self.close(tag);
        }
        self.out.push_str("</tr>");
    }

    fn spans(&mut self, spans: &[Span]) {
        let mut link: Option<&Rc<str>> = None;
        let mut open: Vec<&str> = Vec::new();
        for span in spans {
            let moves = !same_link(link, span.link.as_ref());
            let tags = || TAGS.iter().filter(|(style, _)| span.style.has(*style)).map(|(_, tag)| *tag);
            let stays = open.iter().take_while(|open| !moves && tags().any(|tag| tag == **open)).count();
            open.drain(stays..).rev().for_each(|tag| self.close(tag));
            if moves {
                self.end_link(link);
                self.begin_link(span.link.as_ref());
                link = span.link.as_ref();
            }
            let new: Vec<&str> = tags().filter(|tag| !open.contains(tag)).collect();
            new.iter().for_each(|tag| self.open(tag, ""));
            open.extend(new);
            self.out.push_str(&escaped(&span.text).replace('\n', "<br>\n"));
        }
        open.drain(..).rev().for_each(|tag| self.close(tag));
        self.end_link(link);
    }

    /// Who follows a link does not tell where from, and the page that opens cannot reach back.
    fn begin_link(&mut self, link: Option<&Rc<str>>) {
        if let Some(address) = link {
            self.tag("a", &[("href", address), ("rel", "noopener noreferrer nofollow")]);
        }
    }

    fn end_link(&mut self, link: Option<&Rc<str>>) {
        if link.is_some() {
            self.out.push_str("</a>");
        }
    }
}
