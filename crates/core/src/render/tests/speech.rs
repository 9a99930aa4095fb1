//! What is read aloud of a text.

use proptest::prelude::*;

use crate::policy::invisible::is_invisible;
use crate::render::speech::{spoken, spoken_alone};
use crate::render::tests::corpus;

const MUCH: usize = 4_000;

fn said(text: &str) -> String {
    spoken(text, MUCH)
}

#[test]
fn f10_what_is_there_for_the_eye_is_not_read_out() {
    let table = [
        ("Buy **milk** and _eggs_", "Buy milk and eggs."),
        ("# Tomorrow\n\nRain until noon; then sun!", "Tomorrow. Rain until noon; then sun!"),
        ("See [the forecast](https://example.org/a?b=c).", "See the forecast."),
        ("See https://www.example.org/a/b?c=d for more.", "See example.org for more."),
        ("Write to <ada@example.org>", "Write to ada@example.org."),
        ("Run this:\n\n```sh\nrm -rf /\n```\n\nThen wait.", "Run this: Then wait. The rest is in the text."),
        ("Set `config.toml` and `a && b`", "Set config.toml and. The rest is in the text."),
        ("```\nonly code\n```", ""),
        ("🎉 Done! 👨\u{200d}👩\u{200d}👧 → 1\u{fe0f}\u{20e3} left", "Done! 1 left."),
        ("🎉👍", ""),
        ("---", ""),
        ("", ""),
        ("- milk\n- eggs\n  - brown\n- [x] bread\n- [ ] tea", "milk. eggs. brown. Done: bread. To do: tea."),
        ("3. third\n4. fourth", "3: third. 4: fourth."),
        ("> He said: \"no\"", "He said: \"no\"."),
        ("| day | rain |\n|---|---|\n| Monday | 3 mm |\n| | none |", "day: Monday, rain: 3 mm. rain: none."),
        ("| only | heads |\n|---|---|", "only, heads."),
        ("one\ntwo", "one two."),
        ("a\u{202e}b\u{200b}c", "abc."),
        ("5 %", "5 %."),
        ("Is it?)", "Is it?)"),
        ("你好。", "你好。"),
    ];
    for (text, expected) in table {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn f10_what_is_too_long_to_be_read_out_ends_after_a_sentence_and_says_that_there_is_more() {
    let text = "One is here. Two is there. Three is nowhere to be found.";
    assert_eq!(spoken(text, text.len()), text);
    assert_eq!(spoken(text, text.len() - 1), "One is here. Two is there. The rest is in the text.");
    assert_eq!(spoken(text, 40), "One is here. The rest is in the text.");
    assert_eq!(spoken(text, 35), "One is The rest is in the text.", "of one sentence, the words that fit");
    assert_eq!(spoken(text, 10), "");
}

#[test]
fn where_nobody_sees_the_text_no_rest_is_read_out_of_it() {
    assert_eq!(spoken_alone("Run this:\n\n```sh\nrm -rf /\n```\n\nThen wait."), "Run this: Then wait.");
    assert_eq!(spoken_alone("```\nonly code\n```"), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn f10_every_text_is_read_out_on_one_line_within_its_bound(text in corpus::any_text(), most in 1_usize..400) {
        let speech = spoken(&text, most);
        prop_assert!(speech.chars().count() <= most, "{}", speech);
        prop_assert!(!speech.chars().any(|sign| sign.is_control() || is_invisible(sign)), "{:?}", speech);
        prop_assert!(!speech.contains("://"), "{:?}", speech);
        prop_assert!(speech.is_empty() || speech.chars().any(char::is_alphanumeric));
        prop_assert_eq!(&spoken(&text, most), &speech);
    }
}
