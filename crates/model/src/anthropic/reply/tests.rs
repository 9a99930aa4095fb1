use proptest::prelude::*;

use super::*;
use crate::error::ErrorClass;
use crate::exchange::surrogates::SurrogateHalves;

/// Feeds events; answers with the text shown on the way, and the end.
fn feed(events: &[&str]) -> (String, Result<Completion, ModelError>) {
    let mut reply = Reply::new("anthropic/m");
    let mut shown = String::new();
    for event in events {
        match reply.take(event) {
            Ok(text) => shown.push_str(&text),
            Err(error) => return (shown, Err(error)),
        }
    }
    (shown, reply.complete())
}

fn start(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, kind: &str, field: &str, value: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":{value:?}}}}}"#)
}

fn stop(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn end(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":9}}}}"#)
}

const TEXT: &str = r#"{"type":"text","text":""}"#;
const CALL: &str = r#"{"type":"tool_use","id":"toolu_1","name":"look","input":{}}"#;

fn fed(events: &[String]) -> (String, Result<Completion, ModelError>) {
    feed(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn words_usage_and_stop_are_read() {
    let (shown, outcome) = feed(&[
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"A"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h!"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"yet_unknown"}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42,"output_tokens_details":{"thinking_tokens":30}}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let completion = outcome.unwrap();
    assert_eq!((shown.as_str(), &*completion.text()), ("Ah!", "Ah!"));
    let usage = Usage {
        input_tokens: 2105,
        output_tokens: 42,
        cached_tokens: 2000,
        cache_write_tokens: 100,
        reasoning_tokens: 30,
    };
    assert_eq!((completion.usage, completion.stop), (usage, StopReason::End));
}

#[test]
fn blocks_may_be_interleaved() {
    let second = CALL.replace("toolu_1", "toolu_2");
    let (shown, outcome) = fed(&[
        start(0, TEXT),
        start(1, CALL),
        start(2, &second),
        delta(1, "input_json_delta", "partial_json", r#"{"q":"#),
        delta(0, "text_delta", "text", "Hi"),
        delta(2, "input_json_delta", "partial_json", ""),
        delta(1, "input_json_delta", "partial_json", "1}"),
        stop(2),
        stop(0),
        stop(1),
        end("tool_use"),
    ]);
    let completion = outcome.unwrap();
    let calls: Vec<_> = completion.calls().map(|call| (call.id.0.as_str(), call.arguments.as_str())).collect();
    assert_eq!((shown.as_str(), calls), ("Hi", vec![("toolu_1", r#"{"q":1}"#), ("toolu_2", "{}")]));
}

#[test]
fn words_for_a_block_that_is_not_the_newest_stand_where_they_came() {
    let words = |index, words| delta(index, "text_delta", "text", words);
    let (shown, outcome) =
        fed(&[start(0, TEXT), words(0, "a"), start(1, TEXT), words(1, "b"), words(0, "c"), end("end_turn")]);
    assert_eq!((shown.as_str(), &*outcome.unwrap().text()), ("abc", "abc"));
}

#[test]
fn thinking_is_kept_in_place_and_never_shown() {
    let (shown, outcome) = fed(&[
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, "thinking_delta", "thinking", "hm"),
        delta(0, "thinking_delta", "thinking", ", 東京"),
        delta(0, "signature_delta", "signature", "Eq=="),
        stop(0),
        start(1, r#"{"type":"redacted_thinking","data":"x+/="}"#),
        stop(1),
        start(2, TEXT),
        delta(2, "text_delta", "text", "<think>more</think>Ah"),
        stop(2),
        end("end_turn"),
    ]);
    assert_eq!(shown, "Ah");
    let seals = outcome.unwrap().parts.into_iter().map(|part| match part {
        ReplyPart::Sealed(Sealed { model, kind, data }) => format!("{model} {kind} {data}"),
        ReplyPart::Text { text } => text,
        ReplyPart::Call(call) => call.name,
    });
    insta::assert_snapshot!(seals.collect::<Vec<_>>().join("\n"), @r#"
    anthropic/m thinking {"signature":"Eq==","thinking":"hm, 東京","type":"thinking"}
    anthropic/m redacted_thinking {"data":"x+/=","type":"redacted_thinking"}
    Ah
    "#);
}

#[test]
fn a_call_that_was_cut_off_is_none() {
    let with = |json: &str, last: &[String]| {
        let events = [start(0, TEXT), delta(0, "text_delta", "text", "Hi"), stop(0), start(1, CALL)];
        let json = delta(1, "input_json_delta", "partial_json", json);
        let events: Vec<_> = events.into_iter().chain([json]).chain(last.iter().cloned()).collect();
        let completion = fed(&events).1.unwrap();
        let calls = completion.calls().map(|call| call.arguments.clone()).collect::<Vec<_>>();
        (calls, completion.stop)
    };
    let arguments = |json: &str| vec![json.to_owned()];
    let cut = StopReason::MaxTokens;
    assert_eq!(with("", &[stop(1), end("tool_use")]), (arguments("{}"), StopReason::End));
    assert_eq!(with(r#"{"q":"#, &[stop(1), end("max_tokens")]), (vec![], cut));
    assert_eq!(with("", &[stop(1), end("max_tokens")]), (vec![], cut));
    assert_eq!(with("", &[end("max_tokens")]), (vec![], cut));
    assert_eq!(with("{}", &[end("model_context_window_exceeded")]), (arguments("{}"), cut));
    assert_eq!(with("", &[stop(1), end("refusal")]), (vec![], StopReason::ContentFilter));
    let next = [stop(1), start(2, CALL), stop(2), end("max_tokens")];
    assert_eq!(with("", &next), (arguments("{}"), cut), "the first was whole, the last was not");
}

#[test]
fn what_is_no_reply_is_an_error() {
    let thinking = start(0, r#"{"type":"thinking","thinking":"h","signature":"s"}"#);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let table = [
        (vec![], ErrorClass::Malformed),
        (vec![end("end_turn")], ErrorClass::Malformed),
        (vec![thinking.clone(), stop(0), end("max_tokens")], ErrorClass::Malformed),
        (vec![start(0, CALL), stop(0), end("max_tokens")], ErrorClass::Malformed),
        (vec![end("refusal")], ErrorClass::Refused),
        (vec![start(0, TEXT), delta(0, "text_delta", "text", "Hi")], ErrorClass::Network),
        (vec![overloaded.to_owned()], ErrorClass::Overloaded),
        (vec![r#"{"type":"error","error":{"type":"api_error","message":"x"}}"#.to_owned()], ErrorClass::Server),
        (vec![delta(3, "text_delta", "text", "Hi")], ErrorClass::Malformed),
        (vec!["{nonsense".to_owned()], ErrorClass::Malformed),
        (vec!["[1]".to_owned()], ErrorClass::Malformed),
        ((0..300).map(|index| start(index, TEXT)).collect(), ErrorClass::Malformed),
    ];
    for (events, class) in table {
        let error = fed(&events).1.unwrap_err();
        assert_eq!(error.class, class, "{events:?}: {error}");
    }
    let error = fed(&[thinking, stop(0), end("max_tokens")]).1.unwrap_err();
    assert!(error.message.contains("output limit"), "{error}");
}

#[test]
fn a_reply_has_an_end() {
    let mut reply = Reply::new("m");
    reply.take(&start(0, TEXT)).unwrap();
    let long = delta(0, "text_delta", "text", &"x".repeat(1024 * 1024));
    let grown = (0..9).try_for_each(|_| reply.take(&long).map(|_shown| ()));
    assert_eq!(grown.unwrap_err().class, ErrorClass::Malformed);
}

proptest! {
    #[test]
    fn no_order_of_events_is_a_panic(picks in proptest::collection::vec((0..9_usize, 0..3_u64), 0..24)) {
        let events: Vec<_> = picks.into_iter().map(|(pick, index)| match pick {
            0 => start(index, TEXT),
            1 => start(index, CALL),
            2 => start(index, r#"{"type":"thinking"}"#),
            3 if index == 2 => delta(index, "text_delta", "text", "a<think>b"),
            3 => delta(index, "text_delta", "text", "c<th"),
            4 => delta(index, "input_json_delta", "partial_json", "{"),
            5 => delta(index, "signature_delta", "signature", "s"),
            6 => stop(index),
            7 => start(index, "{}"),
            _ => end("max_tokens"),
        }).collect();
        let (shown, outcome) = fed(&events);
        if let Ok(completion) = outcome {
            prop_assert!(!completion.text().contains('b'));
            prop_assert_eq!(shown, completion.text());
        }
    }
}

#[test]
fn halves_of_a_character_are_joined_in_words_and_arguments() {
    let half = |index: u64, kind: &str, field: &str, json: &str| {
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":{json}}}}}"#)
    };
    let mut halves = SurrogateHalves::default();
    let events = [
        start(0, TEXT),
        half(0, "text_delta", "text", r#""a\ud83d""#),
        half(0, "text_delta", "text", r#""\ude00b""#),
        stop(0),
        start(1, CALL),
        half(1, "input_json_delta", "partial_json", r#""{\"a\":\"\ud83d""#),
        half(1, "input_json_delta", "partial_json", r#""\ude00\"}""#),
        stop(1),
        end("tool_use"),
    ]
    .map(|event| halves.join_halves(event));
    let (shown, completion) = fed(&events);
    assert_eq!(shown, "a😀b");
    assert_eq!(completion.unwrap().calls().next().unwrap().arguments, "{\"a\":\"😀\"}");
}
