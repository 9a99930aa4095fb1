//! A text that still grows, as it will be: what was begun in its last block and is still open is closed, so that no sign of Markdown
//! is seen that goes away with the next words. Pure.
//!
//! Never: a guess that outlives the next word; what is whole is shown as it is.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::render::parse::OPTIONS;

/// The text with what is open in its last block closed, or left out until it says what it is.
pub(super) fn completed(text: &str) -> String {
    let text = without_empty_code(without_bare_signs(text));
    let mut shown = without_last_marks(text.trim_end()).to_owned();
    let mut signs = open_signs(&shown);
    if let Some(at) = signs.iter().find(|sign| sign.is_open_link(&shown)).map(|sign| sign.range.clone()) {
        let label = shown.get(at.end..).unwrap_or_default();
        let label = label.split_once(']').map_or(label, |(label, _address)| label).to_owned();
        // One letter may be a task's mark.
        let label = if label.chars().count() > 1 { label } else { String::new() };
        let opens =
            if shown.get(..at.start).is_some_and(|before| before.ends_with('!')) { at.start - 1 } else { at.start };
        shown.replace_range(opens.., &label);
        signs = open_signs(&shown);
    }
    let mut closing = Vec::new();
    for sign in signs.iter().filter(|sign| sign.opens(&shown)) {
        closing.push(shown.get(sign.range.clone()).unwrap_or_default().to_owned());
        if sign.kind == '`' {
            break;
        }
    }
    shown.truncate(shown.trim_end().len());
    closing.iter().rev().for_each(|sign| shown.push_str(sign));
    if signs.iter().any(|sign| sign.kind == '|') { with_ruled_header(shown) } else { shown }
}

/// Without the marks that it ends in, if they mark nothing yet: what follows says whether they open, close, or are signs like any other.
fn without_last_marks(text: &str) -> &str {
    let (mut ends, mut is_code) = (0, false);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(_) if !is_code => ends = range.end,
            _ => {}
        }
    }
    let before = text.trim_end_matches(['*', '_', '~', '`']);
    if ends == text.len() && !before.ends_with('\\') { before.trim_end() } else { text }
}

/// A sign of Markdown that, as the text stands, marks nothing.
struct OpenSign {
    kind: char,
    range: Range<usize>,
}

impl OpenSign {
    fn is_mark(&self) -> bool {
        matches!(self.kind, '*' | '_' | '~' | '`')
    }

    /// Whether it begins something that goes on to the end. Within a word it hardly does.
    fn opens(&self, text: &str) -> bool {
        let before = text.get(..self.range.start).and_then(|before| before.chars().next_back());
        let behind = text.get(self.range.end..).and_then(|behind| behind.chars().next());
        self.is_mark()
            && behind.is_some_and(|next| !next.is_whitespace())
            && (self.kind == '`' || before.is_none_or(|last| !last.is_alphanumeric()))
    }

    /// Whether it begins a link whose label or address is not whole.
    fn is_open_link(&self, text: &str) -> bool {
        let behind = text.get(self.range.end..).unwrap_or_default();
        self.kind == '['
            && match behind.split_once(']') {
                None => !behind.contains('\n'),
                Some((_, "")) => true,
                Some((_, address)) => address.starts_with('(') && !address.contains([')', '\n']),
            }
    }
}

/// The signs in the last block that mark nothing.
fn open_signs(text: &str) -> Vec<OpenSign> {
    let mut signs = Vec::new();
    let mut is_code = false;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::Strong | Tag::Emphasis | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }) => {}
            // A row's cells that are not there yet have no place.
            Event::Start(tag) if !range.is_empty() => {
                signs.clear();
                is_code = matches!(tag, Tag::CodeBlock(_));
                let line = text.get(range.clone()).and_then(|block| block.lines().next());
                if matches!(tag, Tag::Paragraph) && line.is_some_and(|line| line.starts_with('|')) {
                    signs.push(OpenSign { kind: '|', range: range.start..range.start + 1 });
                }
            }
            Event::End(TagEnd::CodeBlock) | Event::Rule => signs.clear(),
            Event::Text(said) if !is_code => {
                let is_escaped = text.get(..range.start).is_some_and(|before| before.ends_with('\\'));
                let said = said.strip_prefix('!').unwrap_or(&said);
                let kind = said.chars().next().filter(|kind| said.chars().all(|sign| sign == *kind));
                let kind = kind.filter(|kind| matches!(kind, '*' | '_' | '~' | '`' | '['));
                let range = range.end - said.len()..range.end;
                signs.extend(kind.filter(|_| !is_escaped).map(|kind| OpenSign { kind, range }));
            }
            _ => {}
        }
    }
    signs
}

/// Without a last line that so far has only signs: what it begins, its next word says. A line of dashes would make a heading of the
/// paragraph above.
fn without_bare_signs(text: &str) -> &str {
    let begin = text.rfind('\n').map_or(0, |end| end + 1);
    let (before, line) = text.split_at_checked(begin).unwrap_or(("", text));
    let said = line.trim();
    let is_bare = said.chars().all(|sign| matches!(sign, '-' | '=' | '+' | '*' | '_' | '#' | '>' | '|' | ':' | ' '));
    let number = said.trim_end_matches(['.', ')']);
    let is_number = !number.is_empty() && number.len() < 4 && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_fence = !said.is_empty() && said.len() < 3 && said.bytes().all(|sign| sign == b'`');
    if is_fence || (is_bare || is_number) && !is_in_code(before) { before } else { text }
}

/// Without code of which so far only the fence stands.
fn without_empty_code(text: &str) -> &str {
    let mut opened = None;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => opened = Some(range.start),
            Event::Text(_) => opened = None,
            _ => {}
        }
    }
    opened.and_then(|at| text.get(..at)).unwrap_or(text)
}

/// Whether the text ends in code, where every sign is one.
fn is_in_code(text: &str) -> bool {
    let mut blocks = Parser::new_ext(text, OPTIONS).into_offset_iter();
    blocks.any(|(event, range)| matches!(event, Event::Start(Tag::CodeBlock(_))) && range.end == text.len())
}

/// The first row of a table, as which it will be known by the second.
fn with_ruled_header(mut text: String) -> String {
    let row = text.lines().next_back().unwrap_or_default().trim();
    let is_alone =
        row.starts_with('|') && !text.trim_end().lines().rev().nth(1).is_some_and(|above| above.starts_with('|'));
    let cells = row.trim_matches('|').replace("\\|", "").matches('|').count() + 1;
    if is_alone {
        text.push_str("\n|");
        text.push_str(&"---|".repeat(cells));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f8_what_is_open_is_closed_and_what_is_bare_waits() {
        let table = [
            ("plain words", "plain words"),
            ("a **bold", "a **bold**"),
            ("a **bold ", "a **bold**"),
            ("a **bold*", "a **bold**"),
            ("a **bold**", "a **bold**"),
            ("a **", "a"),
            ("a **bold *and", "a **bold *and***"),
            ("~~gone", "~~gone~~"),
            ("run `ls -", "run `ls -`"),
            ("run `a **b", "run `a **b`"),
            ("run ``a`", "run ``a``"),
            ("2 * 3", "2 * 3"),
            ("2*3", "2*3"),
            ("snake_case", "snake_case"),
            ("see [the pa", "see the pa"),
            ("see [the page](https://a", "see the page"),
            ("see [the page](https://a)", "see [the page](https://a)"),
            ("an ![image](htt", "an image"),
            ("a [note] here", "a [note] here"),
            ("\\*no", "\\*no"),
            ("Lists:\n-", "Lists:\n"),
            ("- one\n- **two", "- one\n- **two**"),
            ("**over**\n\nnext **one", "**over**\n\nnext **one**"),
            ("```\na **b", "```\na **b"),
            ("```\n--", "```\n--"),
            ("So:\n\n```sh\n", "So:"),
            ("| a | b", "| a | b\n|---|---|"),
            ("| a | b |\n|--", "| a | b |\n|---|---|"),
            ("| a |\n|---|\n| **x", "| a |\n|---|\n| **x**"),
        ];
        for (text, expected) in table {
            assert_eq!(completed(text).trim_end(), expected.trim_end(), "{text:?}");
        }
    }
}
