use proptest::prelude::*;

use super::*;
use crate::domain::capabilities::{Capabilities, Unit};
use crate::domain::inbound::ChannelKind;

fn utf16(max: usize) -> Limit {
    Limit::new(max, Unit::Utf16)
}

#[test]
fn prefers_paragraphs_then_lines_then_words() {
    assert_eq!(chunks("one two\n\nthree four", utf16(12)), ["one two", "three four"]);
    assert_eq!(chunks("one two\nthree four", utf16(12)), ["one two", "three four"]);
    assert_eq!(chunks("one two three", utf16(8)), ["one two", "three"]);
    assert_eq!(chunks("abcdefghij", utf16(4)), ["abcd", "efgh", "ij"]);
}

#[test]
fn a_short_first_paragraph_makes_no_tiny_chunk() {
    assert_eq!(chunks("Hi.\n\none two three four", utf16(16)), ["Hi.\n\none two", "three four"]);
}

#[test]
fn keeps_indentation_after_a_line_cut() {
    assert_eq!(chunks("if x {\n    y();\n}", utf16(7)), ["if x {", "    y()", ";\n}"]);
}

#[test]
fn blank_text_has_no_chunks() {
    assert_eq!(chunks("", utf16(5)), [""; 0]);
    assert_eq!(chunks(" \n\t \r\n ", utf16(2)), [""; 0]);
    assert_eq!(chunks(&format!("{}b", " ".repeat(50)), utf16(5)), ["b"]);
}

#[test]
fn counts_in_the_platforms_unit() {
    assert_eq!(chunks("😀😀😀", utf16(4)), ["😀😀", "😀"]);
    assert_eq!(chunks("😀😀😀", Limit::new(2, Unit::Chars)), ["😀😀", "😀"]);
    assert_eq!(chunks("ääää", Limit::new(5, Unit::Bytes)), ["ää", "ää"]);
}

#[test]
fn a_family_stays_together_unless_it_alone_is_too_long() {
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(chunks(&format!("abcd{family}"), utf16(12)), ["abcd", family]);
    let zalgo = format!("a{}", "\u{301}".repeat(9));
    assert_eq!(chunks(&zalgo, utf16(4)).concat(), zalgo);
    assert_eq!(chunks(&zalgo, utf16(4)).len(), 3);
}

#[test]
fn telegrams_limit_is_exact() {
    let telegram = Capabilities::of(ChannelKind::Telegram).text_limit();
    assert_eq!(chunks(&"x".repeat(4096), telegram).len(), 1);
    assert_eq!(chunks(&"x".repeat(4097), telegram).len(), 2);
    assert_eq!(chunks(&"😀".repeat(2048), telegram).len(), 1);
    assert_eq!(chunks(&"😀".repeat(2049), telegram).len(), 2);
}

/// Text rich in what is hard: blanks, line ends, combining marks, flags, joined emoji, prepended marks.
fn hard_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,9}",
        "[ \t]{1,4}",
        "(\n|\r\n|\r|\u{2029}){1,3}",
        Just("e\u{301}".to_owned()),
        Just(" \u{301}".to_owned()),
        Just("\u{600} ".to_owned()),
        Just("🇩🇪".to_owned()),
        Just("👨‍👩‍👧‍👦".to_owned()),
        Just("한".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_limit() -> impl Strategy<Value = Limit> {
    (1_usize..40, prop_oneof![Just(Unit::Utf16), Just(Unit::Chars), Just(Unit::Bytes)])
        .prop_map(|(max, unit)| Limit::new(max, unit))
}

proptest! {
    #[test]
    fn every_chunk_fits_and_none_is_blank(text in hard_text(), limit in any_limit()) {
        for chunk in chunks(&text, limit) {
            prop_assert!(limit.fits(&chunk));
            prop_assert!(!chunk.trim().is_empty());
        }
    }

    #[test]
    fn only_whitespace_between_chunks_is_lost(text in hard_text(), limit in any_limit()) {
        let mut rest = text.as_str();
        for chunk in chunks(&text, limit) {
            let at = rest.find(&chunk);
            prop_assert!(at.is_some(), "{chunk:?} is not in {rest:?}");
            let (gap, found) = rest.split_at(at.unwrap());
            prop_assert!(gap.trim().is_empty(), "lost {gap:?}");
            rest = found.strip_prefix(chunk.as_str()).unwrap();
        }
        prop_assert!(rest.trim().is_empty(), "lost {rest:?}");
    }

    #[test]
    fn no_cut_is_inside_a_cluster_that_fits(text in hard_text(), limit in any_limit()) {
        let clusters: Vec<(usize, &str)> = text.grapheme_indices(true).collect();
        let mut at = 0;
        for chunk in chunks(&text, limit) {
            let start = at + text.split_at(at).1.find(&chunk).unwrap();
            at = start + chunk.len();
            for cut in [start, at] {
                let around = clusters.iter().find(|(from, grapheme)| *from < cut && cut < from + grapheme.len());
                prop_assert!(around.is_none_or(|(_, grapheme)| !limit.fits(grapheme)), "cut inside {around:?}");
            }
        }
    }

    #[test]
    fn what_fits_without_the_blanks_behind_it_is_one_chunk(text in "[a-z](.{0,20}[a-z])?", blank in "[ \n]{0,9}") {
        prop_assert_eq!(chunks(&format!("{text}{blank}"), Limit::new(text.len(), Unit::Bytes)), [text]);
    }

    #[test]
    fn chunking_a_chunk_changes_nothing(text in hard_text(), limit in any_limit()) {
        for chunk in chunks(&text, limit) {
            prop_assert_eq!(chunks(&chunk, limit), [chunk.clone()]);
        }
    }
}
