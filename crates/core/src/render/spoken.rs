//! Text for a voice: what Markdown says, without what only eyes make something of.

use crate::render::document::{Block, Span};
use crate::render::parse;

/// What stands for an address.
const ADDRESS: &str = "a link";

/// A Markdown text as it is read aloud: sentences on one line, without signs, addresses, code and pictures.
#[must_use]
pub fn spoken(text: &str) -> String {
    let mut said = Vec::new();
    blocks(&parse::parse(text), &mut said);
    said.join(" ")
}

fn blocks(all: &[Block], said: &mut Vec<String>) {
    for block in all {
        match block {
            Block::Paragraph(spans) | Block::Heading(_, spans) => said.extend(sentence(spans)),
            Block::Quote(inside) => blocks(inside, said),
            Block::List(list) => list.items.iter().for_each(|item| blocks(&item.blocks, said)),
            Block::Table(table) => {
                for row in &table.rows {
                    let cells: Vec<String> =
                        row.iter().map(|cell| words(cell)).filter(|cell| !cell.is_empty()).collect();
                    said.extend(closed(&cells.join(", ")));
                }
            }
            Block::Code { .. } | Block::Rule => {}
        }
    }
}

fn sentence(spans: &[Span]) -> Option<String> {
    closed(&words(spans))
}

/// The same, with an end to be heard.
fn closed(text: &str) -> Option<String> {
    let last = text.chars().next_back()?;
    let is_closed = !last.is_alphanumeric() && !matches!(last, ',' | ')' | '"' | '%' | '°');
    Some(if is_closed { text.to_owned() } else { format!("{text}.") })
}

fn words(spans: &[Span]) -> String {
    let whole: String = spans.iter().map(|span| span.text.as_str()).collect();
    let word = |word: &str| {
        let is_address =
            ["http://", "https://", "www."].iter().any(|start| word.trim_start_matches(['(', '<']).starts_with(start));
        if is_address { ADDRESS.to_owned() } else { word.chars().filter(|sign| !is_picture(*sign)).collect() }
    };
    let words: Vec<String> = whole.split_whitespace().map(word).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Is it a little picture, or what only sets one?
fn is_picture(sign: char) -> bool {
    matches!(u32::from(sign), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B50 | 0x2B55 | 0xFE0F | 0x200D | 0x20E3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_aloud_has_no_signs() {
        let text = "## Today ☀️\n\n**Tea** is at _five_, see [the plan](https://example.org/plan) or https://example.org.\n\n\
                    - buy `milk`\n- call *Ada*!\n\n1. First\n\n> She said so\n\n| room | degrees |\n|---|---|\n| kitchen | 21 |\n\n\
                    ```sh\nrm -rf /\n```\n\n---\n👍";
        let read =
            "Today. Tea is at five, see the plan or a link. buy milk. call Ada! First. She said so. kitchen, 21.";
        assert_eq!(spoken(text), read);
        assert_eq!(spoken("It is 21 °C."), "It is 21 °C.");
        assert_eq!(spoken("```\ncode\n```"), "");
    }
}
