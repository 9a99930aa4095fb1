use super::*;
use crate::exchange::surrogates::{SurrogateHalves, repaired};
use crate::reply_draft::REPLY_BYTES_MAX;

/// Feeds events as servers write them; answers with the text shown on the way, and the end.
fn feed(events: &[&str]) -> (String, Result<Completion, ModelError>) {
    let mut reply = Reply::new("a/b", ReasoningReplay::Never);
    let mut shown = String::new();
    for event in events {
        match reply.take(event) {
            Ok(text) => shown.push_str(&text),
            Err(error) => return (shown, Err(error)),
        }
    }
    (shown, reply.complete())
}

fn calls(events: &[&str]) -> Vec<(String, String, String)> {
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    let events: Vec<_> = events.iter().copied().chain([stop]).collect();
    let completion = feed(&events).1.unwrap();
    completion.calls().map(|call| (call.id.0.clone(), call.name.clone(), call.arguments.clone())).collect()
}

fn named(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    calls.iter().map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into())).collect()
}

#[test]
fn openai_cuts_arguments_and_mixes_parallel_calls() {
    let events = [
        r#"{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"y","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
    ];
    assert_eq!(calls(&events), named(&[("a", "x", "{\"q\":1}"), ("b", "y", "{}")]));
}

#[test]
fn gemini_puts_every_call_under_index_zero() {
    let events = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"{}"}}]}}]}"#,
    ];
    assert_eq!(calls(&events), named(&[("a", "x", "{}"), ("b", "x", "{}")]));
}

#[test]
fn other_servers_repeat_names_and_ids_or_leave_out_the_index_or_send_objects() {
    let repeated = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}]}}]}"#,
    ];
    assert_eq!(calls(&repeated), named(&[("a", "x", "{\"a\":1}")]));
    let no_index = [
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":{"k":1}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"y"}}]}}]}"#,
    ];
    assert_eq!(calls(&no_index), named(&[("a", "x", "{\"k\":1}"), ("b", "y", "{}")]));
    let cut_name = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"current_"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"time","arguments":" "}}]}}]}"#,
    ];
    assert_eq!(calls(&cut_name), named(&[("", "current_time", "{}")]));
}

#[test]
fn text_usage_and_stop_are_read_and_reasoning_is_not() {
    let (shown, completion) = feed(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":"","reasoning_content":"hm"}}],"usage":null}"#,
        r#"{"choices":[{"delta":{"content":"<think>hm</think>Hel","reasoning":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"lo <"},"finish_reason":"length"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}"#,
    ]);
    let completion = completion.unwrap();
    assert_eq!(shown, "Hello <");
    assert_eq!(completion.text(), shown);
    assert_eq!(completion.stop, StopReason::MaxTokens);
    assert_eq!(completion.usage, Usage { input_tokens: 7, output_tokens: 3, cached_tokens: 5, ..Usage::default() });
}

#[test]
fn each_server_counts_in_its_own_words() {
    let table = [
        // OpenRouter
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}"#,
            (9, 5, 4, 2, 3),
        ),
        // DeepSeek
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}"#,
            (9, 5, 8, 0, 0),
        ),
        // Moonshot
        (r#"{"prompt_tokens":9,"completion_tokens":5,"cached_tokens":7}"#, (9, 5, 7, 0, 0)),
        // xAI leaves the thinking out of what was written.
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":108,"completion_tokens_details":{"reasoning_tokens":94}}"#,
            (9, 99, 0, 0, 94),
        ),
        (r#"{"prompt_tokens":null,"completion_tokens":null,"prompt_tokens_details":null}"#, (0, 0, 0, 0, 0)),
    ];
    for (usage, (input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)) in table {
        let expected = Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens };
        let said = r#"{"delta":{"content":"ok"},"finish_reason":"stop""#;
        let beside = format!(r#"{{"choices":[{said}}}],"usage":{usage}}}"#);
        let within = format!(r#"{{"choices":[{said},"usage":{usage}}}]}}"#);
        for event in [beside, within] {
            assert_eq!(feed(&[&event]).1.unwrap().usage, expected, "{event}");
        }
    }
}

#[test]
fn what_is_to_go_back_stands_before_its_part() {
    let events = [
        r#"{"choices":[{"delta":{"reasoning_content":"Hm, "}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"so.","content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Well."}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s+/="}}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let mut reply = Reply::new("a/b", ReasoningReplay::Content);
    let shown: String = events.iter().map(|event| reply.take(event).unwrap()).collect();
    assert_eq!(shown, "Well.");
    let parts: Vec<_> = reply
        .complete()
        .unwrap()
        .parts
        .iter()
        .map(|part| match part {
            ReplyPart::Sealed(sealed) => format!("{} {} {}", sealed.model, sealed.kind, sealed.data),
            ReplyPart::Text { text } => text.clone(),
            ReplyPart::Call(call) => call.name.clone(),
        })
        .collect();
    insta::assert_snapshot!(parts.join("\n"), @r#"
    a/b reasoning_content Hm, so.
    Well.
    a/b extra_content {"google":{"thought_signature":"s+/="}}
    x
    "#);
}

#[test]
fn what_the_limit_cut_off_is_no_call() {
    let cut = |arguments: &str, reason: &str| {
        let call = format!(r#"{{"index":0,"id":"a","function":{{"name":"x","arguments":"{arguments}"}}}}"#);
        feed(&[&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"{reason}"}}]}}"#)]).1
    };
    for arguments in ["", "{", r#"{\"q\":1"#, "[]"] {
        let error = cut(arguments, "length").unwrap_err();
        assert_eq!(
            error.message,
            "The model used up its output limit before it said anything whole: allow it more output tokens, or less thinking.",
            "{arguments}"
        );
        assert_eq!(cut(arguments, "content_filter").unwrap_err().class, ErrorClass::Refused, "{arguments}");
        assert!(cut(arguments, "tool_calls").is_ok(), "{arguments}");
    }
    assert_eq!(cut("{}", "length").unwrap().calls().count(), 1);
}

#[test]
fn what_is_no_reply_is_an_error() {
    let stop = |reason: &str, text: &str| {
        format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"{reason}"}}]}}"#)
    };
    let cases = [
        ("no events", vec![], ErrorClass::Malformed),
        ("no end", vec![r#"{"choices":[{"delta":{"content":"Hel"}}]}"#.to_owned()], ErrorClass::Network),
        ("only reasoning", vec![stop("stop", "<think>hm</think> ")], ErrorClass::Malformed),
        ("cut before the first word", vec![stop("length", "<think>hm")], ErrorClass::Malformed),
        ("withheld", vec![stop("content_filter", "")], ErrorClass::Refused),
        ("failed", vec![stop("error", "Hel")], ErrorClass::Server),
        ("error", vec![r#"{"error":{"code":429,"message":"slow down"}}"#.to_owned()], ErrorClass::RateLimit),
        ("error as text", vec![r#"{"error":"upstream died"}"#.to_owned()], ErrorClass::Server),
        ("too long", vec![stop("stop", &"x".repeat(REPLY_BYTES_MAX + 1))], ErrorClass::Malformed),
    ];
    for (name, events, class) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        assert_eq!(feed(&events).1.unwrap_err().class, class, "{name}");
    }
}

#[test]
fn halves_of_a_character_are_joined_in_words_and_arguments() {
    let call = |arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":{arguments}}}}}]}}}}]}}"#
        )
    };
    let mut halves = SurrogateHalves::default();
    let events = [
        r#"{"choices":[{"delta":{"content":"a\ud83d"}}]}"#.to_owned(),
        r#"{"choices":[{"delta":{"content":"\ude00b\udc00"}}]}"#.to_owned(),
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"x","arguments":""}}]}}]}"#
            .to_owned(),
        // A character in the arguments, halves of JSON within JSON, and a lone one of these.
        call(r#""{\"a\":\"\ud83d""#),
        call(r#""\ude00\\ud83d""#),
        call(r#""\\ude01\\ud83d\"}""#),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
    ]
    .map(|event| halves.join_halves(event));
    let (shown, completion) = feed(&events.each_ref().map(String::as_str));
    assert_eq!(shown, "a😀b\u{fffd}");
    let arguments = repaired(completion.unwrap().calls().next().unwrap().arguments.clone());
    let arguments: Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(arguments["a"], "😀😁\u{fffd}");
}
