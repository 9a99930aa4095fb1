//! Counts against tiktoken's own, hard input, and a provider that counts otherwise.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{Image, MediaType, Sealed, ToolCall, ToolResult};
use hob_core::domain::ids::CallId;

fn theirs(text: &str) -> u64 {
    tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len() as u64
}

#[test]
fn b14_counts_are_the_known_ones() {
    let table = [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("👨‍👩‍👧‍👦", 18),
    ];
    for (text, expected) in table {
        assert_eq!((text, count(text)), (text, expected));
        assert_eq!(theirs(text), expected, "{text}");
    }
}

#[test]
fn b14_real_text_counts_as_tiktoken_counts_it() {
    let texts = [
        include_str!("../tokens.rs"),
        include_str!("split.rs"),
        include_str!("../../../../README.md"),
        include_str!("../../../../config.example.toml"),
        "Größenwahn & Übermut – „Žluťoučký kůň“, Привет, как дела? 안녕하세요 مرحبا שלום हिन्दी में लिखा ไทย",
        "\u{feff}\u{200b}a\u{301}\r\n\r\n\t \u{3000}x\u{2028}  '\u{17f} 'S 'LL 'Ve Ⅷ ½ ٣٤٥٦ 𝟘𝟙 𐐀",
    ];
    for text in texts {
        assert_eq!(count(text), theirs(text), "{text}");
        for line in text.lines() {
            assert_eq!(count(line), theirs(line), "{line}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_counts_as_tiktoken_counts_it(text in any::<String>()) {
        prop_assert_eq!(count(&text), theirs(&text));
    }

    #[test]
    fn any_mixture_counts_as_tiktoken_counts_it(
        words in proptest::collection::vec(proptest::sample::select(vec![
            " ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "a", "The", " word", "12", "3456", "ß", "日本", "。", "-", "=>", "```",
            "\u{a0}", "é", "e\u{301}", "😀", "\u{200d}", "½", "ſ", "K", "_", "/", "हि", "…",
        ]), 0..60),
    ) {
        let text = words.concat();
        prop_assert_eq!(count(&text), theirs(&text));
    }
}

#[test]
fn hard_input_comes_to_an_end() {
    let word: String = (0..100_000_u32).map(|n| char::from(b'a' + (n % 997 * n % 26) as u8)).collect();
    // Counting that grew with the square of the length would take hours here.
    for text in ["a".repeat(1 << 18), word, "😀".repeat(1 << 16), " ".repeat(1 << 18), "=".repeat(1 << 18)] {
        let count = count(&text);
        assert!(count > 0 && count <= text.len() as u64);
    }
    // Cut into parts, a word without end is off by less than one token a kilobyte.
    let cut = count(&"ab".repeat(5000));
    assert!(cut.abs_diff(theirs(&"ab".repeat(5000))) <= 10);
}

#[test]
fn every_part_of_a_request_counts() {
    let call = ToolCall { id: CallId::new(0, 0), name: "look".to_owned(), arguments: "{}".to_owned() };
    let result =
        ToolResult { call: call.id.clone(), name: "look".to_owned(), text: "hello world".to_owned(), is_error: false };
    let image = Image::new(MediaType::Png, "A".repeat(1 << 20));
    let sealed = Sealed { model: "a/b".to_owned(), kind: "thinking".to_owned(), data: "x".repeat(400) };
    let table = [
        (Message::user("hello world"), 4 + 2),
        (Message::User { parts: vec![UserPart::Image(image), UserPart::text("hello world")] }, 4 + 1000 + 2),
        (Message::assistant("hello world", vec![call]), 4 + 2 + 8 + 1 + 1),
        (Message::Assistant { parts: vec![ReplyPart::Sealed(sealed)] }, 4 + 100),
        (Message::Tool(result), 4 + 8 + 1 + 2),
    ];
    for (message, expected) in &table {
        assert_eq!(super::message(message), *expected, "{message:?}");
    }
    let tools = [ToolSchema { name: "look".to_owned(), description: "hello world".to_owned(), parameters: json!({}) }];
    let messages: Vec<Message> = table.into_iter().map(|(message, _)| message).collect();
    assert_eq!(estimate("hello world", &tools, &messages), 3 + 4 + 2 + (8 + 1 + 2 + 1) + 6 + 1006 + 16 + 104 + 15);
}

/// A provider whose tokens are smaller, and which puts more around each message.
fn reported(messages: &[Message]) -> u64 {
    let words: u64 = messages.iter().map(|message| count(&message.text()) * 14 / 10).sum();
    words + 7 * messages.len() as u64
}

#[test]
fn b14_ten_turns_teach_how_a_provider_counts() {
    let texts = ["What is on the shopping list?", "ok", "Milk, bread and two lemons; the milk is the most urgent one."];
    let mut messages = Vec::new();
    let mut samples: Vec<Sample> = Vec::new();
    let mut error = f64::MAX;
    for turn in 0..10 {
        messages.push(Message::user(texts[turn % texts.len()]));
        let estimated = estimate("Be brief.", &[], &messages);
        let reported = reported(&messages);
        let expected = Calibration::from_samples(&samples).apply(estimated);
        error = expected.abs_diff(reported) as f64 / reported as f64;
        // Now and then a report is nonsense.
        let told = if turn % 4 == 3 { [0, 3, u64::MAX][turn / 4] } else { reported };
        samples.insert(0, Sample { estimated, reported: told });
        messages.push(Message::assistant(texts[(turn + 1) % texts.len()], Vec::new()));
    }
    assert!(error < 0.1, "{error}");
    let uncalibrated = estimate("Be brief.", &[], &messages);
    assert!(reported(&messages).abs_diff(uncalibrated) * 5 > uncalibrated, "the provider is too much like cl100k");
}

#[test]
fn absurd_reports_change_nothing() {
    let sample = |estimated, reported| Sample { estimated, reported };
    let table: &[(&[Sample], f64)] = &[
        (&[], 1.0),
        (&[sample(0, 10), sample(10, 0), sample(1, u64::MAX), sample(u64::MAX, 1)], 1.0),
        (&[sample(100, 401), sample(100, 24)], 1.0),
        (&[sample(100, 400)], 4.0),
        (&[sample(100, 25)], 0.25),
        (&[sample(100, 150), sample(100, 30), sample(100, 150), sample(100, 140)], 1.5),
    ];
    for (samples, factor) in table {
        let calibration = Calibration::from_samples(samples);
        assert!((calibration.factor() - factor).abs() < 1e-9, "{samples:?} {calibration:?}");
    }
    let old = [[sample(100, 200); 10].as_slice(), [sample(100, 100); 100].as_slice()].concat();
    assert!((Calibration::from_samples(&old).factor() - 2.0).abs() < 1e-9);
    assert_eq!(Calibration::from_samples(&[sample(100, 400)]).apply(u64::MAX), u64::MAX);
}
