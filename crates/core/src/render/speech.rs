//! A reply as somebody would read it aloud: its words, without what is there for the eye.
//!
//! Never: an address, code, a sign of Markdown, or more than may be spoken.
//! Start at [`spoken`].

use unicode_segmentation::UnicodeSegmentation;
use url::Url;

use crate::policy::invisible::is_invisible;
use crate::render::document::{Block, Cell, Item, List, Span, Style, Table};
use crate::render::{links, parse};

/// Ends what leaves something out that the text has.
pub const REST: &str = "The rest is in the text.";

/// What can be said of a Markdown text in at most so many characters; nothing: there is nothing to be said.
///
/// It is one line: for many programs each line is an utterance of its own.
pub fn spoken(text: &str, chars_max: usize) -> String {
    let Speech { sentences, leaves_out } = Speech::of(text);
    let whole = sentences.join(" ");
    if whole.is_empty() {
        return whole;
    }
    let rest = 1 + REST.len();
    let fits = |more: usize| whole.chars().count() + more <= chars_max;
    match leaves_out {
        false if fits(0) => whole,
        true if fits(rest) => format!("{whole} {REST}"),
        _ => {
            let begun = beginning(&whole, chars_max.saturating_sub(rest));
            if begun.is_empty() { String::new() } else { format!("{begun} {REST}") }
        }
    }
}

/// All that can be said of it, where nobody sees the text.
pub fn spoken_alone(text: &str) -> String {
    Speech::of(text).sentences.join(" ")
}

/// The first sentences that fit, or of one that alone is too long its first words.
fn beginning(whole: &str, chars_max: usize) -> &str {
    let fitting = |ends: &mut dyn Iterator<Item = usize>| {
        let fits = |end: &usize| whole.get(..*end).is_some_and(|part| part.trim_end().chars().count() <= chars_max);
        ends.take_while(fits).last().unwrap_or(0)
    };
    let mut sentences = whole.split_sentence_bound_indices().map(|(at, sentence)| at + sentence.len());
    let mut words = whole.split_word_bound_indices().map(|(at, word)| at + word.len());
    let end = match fitting(&mut sentences) {
        0 => fitting(&mut words),
        end => end,
    };
    whole.get(..end).unwrap_or_default().trim_end()
}

#[derive(Default)]
struct Speech {
    /// Each ends as a sentence does.
    sentences: Vec<String>,
    /// The text has something that is not said.
    leaves_out: bool,
}

impl Speech {
    fn of(text: &str) -> Self {
        let mut speech = Self::default();
        speech.blocks(&parse::parse(text));
        speech
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Paragraph(spans) | Block::Heading(_, spans) => self.say(spans),
                Block::Quote(blocks) => self.blocks(blocks),
                Block::List(list) => self.list(list),
                Block::Table(table) => self.table(table),
                Block::Code { .. } => self.leaves_out = true,
                Block::Rule => {}
            }
        }
    }

    fn say(&mut self, spans: &[Span]) {
        let words = self.words(spans);
        self.sentences.extend(sentence(&words));
    }

    fn list(&mut self, list: &List) {
        for (item, number) in list.items.iter().zip(list.start.unwrap_or(0)..) {
            let at = self.sentences.len();
            let Item { task, blocks, .. } = item;
            self.blocks(blocks);
            if let Some(first) = self.sentences.get_mut(at) {
                let number = list.start.map(|_| format!("{number}: "));
                let done = task.map(|done| if done { "Done: " } else { "To do: " });
                first.insert_str(0, &[number.as_deref(), done].map(Option::unwrap_or_default).concat());
            }
        }
    }

    /// A row is a sentence, in which each cell has its column's name before it.
    fn table(&mut self, table: &Table) {
        let header: Vec<String> = table.header.iter().map(|cell| self.words(cell)).collect();
        let row = |speech: &mut Self, cells: &[Cell]| {
            let cells = cells.iter().zip(&header).filter_map(|(cell, name)| {
                let cell = speech.words(cell);
                let named = || if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") };
                (!cell.is_empty()).then(named)
            });
            let cells: Vec<String> = cells.collect();
            speech.sentences.extend(sentence(&cells.join(", ")));
        };
        match table.rows.as_slice() {
            [] => self.sentences.extend(sentence(&header.join(", "))),
            rows => rows.iter().for_each(|cells| row(self, cells)),
        }
    }

    /// The words of spans, without what cannot be said.
    fn words(&mut self, spans: &[Span]) -> String {
        let mut words = String::new();
        for span in spans {
            match &span.link {
                // A label that is the address itself says where it leads.
                Some(link) if links::shows(&span.text, link) => words.push_str(&place(&span.text, link)),
                _ if span.style.has(Style::CODE) && !is_name(&span.text) => self.leaves_out = true,
                _ => words.push_str(&span.text),
            }
        }
        sayable(&words)
    }
}

/// Where an address leads, in a word: whom a letter or a call goes to, or the site.
fn place(label: &str, link: &str) -> String {
    let host = Url::parse(link).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.map_or_else(|| label.to_owned(), |host| host.strip_prefix("www.").unwrap_or(&host).to_owned())
}

/// Whether a piece of code is but a name: of a file, a setting, a command.
fn is_name(code: &str) -> bool {
    let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, ' ' | '.' | '-' | '_' | '@' | '/');
    code.chars().any(char::is_alphanumeric) && code.chars().all(is_plain) && !code.contains("//")
}

/// The words on one line, without pictures, arrows, addresses, and what nobody sees.
fn sayable(words: &str) -> String {
    let is_picture = |sign: char| {
        matches!(u32::from(sign), 0x2190..=0x21FF | 0x2300..=0x23FF | 0x2460..=0x27BF | 0x2900..=0x297F | 0x2B00..=0x2BFF
            | 0x3030 | 0x303D | 0x3297 | 0x3299 | 0x1F000..=0x1FAFF | 0x20D0..=0x20FF)
    };
    // A picture stands between words as a space does; what is invisible, in them.
    let shown = words.chars().filter(|sign| !is_invisible(*sign));
    let text: String = shown.map(|sign| if is_picture(sign) || sign.is_control() { ' ' } else { sign }).collect();
    let said = text.split_whitespace().filter(|word| !word.contains("://") && !is_mark(word));
    said.collect::<Vec<_>>().join(" ")
}

/// A word of signs that are there for the eye alone, and are named where they are read aloud.
fn is_mark(word: &str) -> bool {
    word.chars()
        .all(|sign| matches!(sign, '*' | '_' | '#' | '|' | '~' | '`' | '^' | '\\' | '<' | '>' | '=' | '•' | '·'))
}

/// Words with an end that is heard; none: there is nothing to hear.
fn sentence(words: &str) -> Option<String> {
    if !words.chars().any(char::is_alphanumeric) {
        return None;
    }
    let closes = |sign: char| matches!(sign, ')' | ']' | '"' | '\'' | '»' | '”' | '“' | '’' | '%' | '°');
    let last = words.trim_end_matches(closes).trim_end();
    let goes_on = last.len() < words.len() && last.is_empty() || last.ends_with(char::is_alphanumeric);
    Some(if goes_on { format!("{words}.") } else { words.to_owned() })
}
