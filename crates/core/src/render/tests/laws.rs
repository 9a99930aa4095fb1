//! What holds for every text on every platform.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::capabilities::{Capabilities, Markup};
use crate::domain::inbound::ChannelKind;
use crate::render::clean::clean;
use crate::render::document::{Block, Span};
use crate::render::lowering::lower;
use crate::render::oracle::{limited, shown};
use crate::render::parse::parse;
use crate::render::tests::corpus;
use crate::render::tests::mail;
use crate::render::validators;
use crate::render::{Chunk, RenderKit, TextFormat, is_hidden, is_visible, literal, messages, pieces, render};

/// The text of a tree, leaf by leaf.
fn leaves(blocks: &[Block], out: &mut Vec<String>) {
    let text = |spans: &[Span]| spans.iter().map(|span| span.text.as_str()).collect::<String>();
    for block in blocks {
        match block {
            Block::Paragraph(spans) | Block::Heading(_, spans) => out.push(text(spans)),
            Block::Code { text, .. } => out.push(text.clone()),
            Block::Quote(inside) => leaves(inside, out),
            Block::List(list) => list.items.iter().for_each(|item| leaves(&item.blocks, out)),
            Block::Table(table) => {
                let header = if table.continued { &[][..] } else { &table.header[..] };
                header.iter().chain(table.rows.iter().flatten()).for_each(|cell| out.push(text(cell)));
            }
            Block::Rule => {}
        }
    }
}

/// What a reader sees of a text, without white.
fn bare(text: &str) -> String {
    text.chars().filter(|sign| !is_hidden(*sign)).collect()
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|sign| rest.any(|other| other == sign))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn k2_every_chunk_is_valid_and_within_its_platforms_limit(text in corpus::any_text()) {
        for capabilities in limited() {
            for chunk in render(&text, &capabilities) {
                let told = shown(&chunk, &capabilities);
                prop_assert!(told.is_ok(), "{:?}: {:?}\n{}", capabilities, told, chunk.markup);
            }
        }
    }

    #[test]
    fn k2_words_that_are_no_markdown_are_shown_sign_for_sign_on_discord(text in corpus::any_text()) {
        let limit = Capabilities::of(ChannelKind::Discord).text_limit();
        let pieces = pieces(&text, TextFormat::Plain, ChannelKind::Discord);
        for piece in &pieces {
            let markup = literal(&piece.text);
            prop_assert!(limit.fits(&markup), "{} of {}", markup.len(), piece.text.len());
            prop_assert_eq!(validators::discord(&markup), Ok(format!("{}\n", clean(&piece.text))));
        }
        let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        prop_assert_eq!(bare(&all), bare(&text));
    }

    #[test]
    fn k2_all_chunks_together_tell_the_whole_text_in_order(text in corpus::any_text()) {
        for capabilities in limited() {
            let kit = RenderKit::new(&capabilities);
            let lowered = lower(parse(&text), &kit.shows());
            let mut whole = Vec::new();
            leaves(&lowered, &mut whole);
            let whole = bare(&whole.concat());
            let chunks = render(&text, &capabilities);
            let marked: Vec<String> = chunks.iter().map(|chunk| shown(chunk, &capabilities).unwrap()).collect();
            let plain: Vec<&str> = chunks.iter().map(|chunk| chunk.plain.as_str()).collect();
            if chunks.is_empty() {
                prop_assert!(!is_visible(&whole));
            } else if is_visible(&whole) {
                prop_assert!(is_subsequence(&whole, &bare(&marked.concat())), "{:?}\n{}\n{:#?}", capabilities, whole, marked);
                let mut plain = plain.concat();
                if matches!(capabilities.markup, Markup::SlackBlocks | Markup::SlackMrkdwn) {
                    plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
                }
                prop_assert!(is_subsequence(&whole, &bare(&plain)));
            }
        }
    }

    /// Nothing is said twice: the tree's parts are the tree, but for a table's header.
    #[test]
    fn k2_a_split_tree_is_the_tree(text in corpus::any_text()) {
        for capabilities in limited() {
            let kit = RenderKit::new(&capabilities);
            let lowered = lower(parse(&text), &kit.shows());
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            leaves(&lowered, &mut whole);
            for part in kit.splitter(kit.limit.unwrap()).split(lowered) {
                leaves(&part.tree, &mut parts);
            }
            prop_assert_eq!(bare(&parts.concat()), bare(&whole.concat()));
            // No cut is within what a reader sees as one sign: but in one that alone is too long, all are there still.
            let signs = |texts: &[String]| -> Vec<String> {
                let signs = texts.iter().flat_map(|text| text.graphemes(true)).map(bare);
                signs.filter(|sign| !sign.is_empty()).collect()
            };
            prop_assert_eq!(signs(&parts), signs(&whole));
        }
    }

    #[test]
    fn k2_html_is_safe_whatever_the_text_says(text in corpus::any_text()) {
        for capabilities in [*Capabilities::of(ChannelKind::Web), mail()] {
            for chunk in render(&text, &capabilities) {
                let told = validators::html(&chunk.markup);
                prop_assert!(told.is_ok(), "{:?}\n{}", told, chunk.markup);
                let mut whole = Vec::new();
                leaves(&parse(&text), &mut whole);
                prop_assert!(is_subsequence(&bare(&whole.concat()), &bare(&told.unwrap())));
            }
        }
    }

    #[test]
    fn k2_nothing_acts_on_a_terminal(text in corpus::any_text()) {
        for columns in [None, Some(30)] {
            for chunk in render(&text, &Capabilities::terminal(true, columns)) {
                let mut rest = chunk.markup.as_str();
                while let Some((_, after)) = rest.split_once('\u{1b}') {
                    let (number, after) = after.strip_prefix('[').and_then(|after| after.split_once('m')).unwrap();
                    prop_assert!(["1", "22", "3", "23", "9", "29", "36", "39"].contains(&number));
                    rest = after;
                }
                let acts = |sign: char| sign.is_control() && sign != '\n' && sign != '\t';
                prop_assert!(!chunk.plain.contains(acts));
            }
        }
    }
}

#[test]
fn k2_sections_make_messages_that_slack_takes() {
    let section = Chunk { markup: "a".repeat(2_900), plain: "a".repeat(2_900) };
    let made = messages(vec![section; 7]);
    let sizes: Vec<usize> = made.iter().map(|message| validators::sections(&message.markup).len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
    let short = Chunk { markup: "a".to_owned(), plain: "a".to_owned() };
    assert_eq!(messages(vec![short; 120]).len(), 3);
}
