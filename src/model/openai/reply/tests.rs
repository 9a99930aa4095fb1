use super::*;

/// Feeds events as servers write them; answers with the text shown on the way, and the end.
fn feed(events: &[&str]) -> (String, Result<Completion, ModelError>) {
    let mut reply = Reply::default();
    let mut shown = String::new();
    for event in events {
        match reply.take(serde_json::from_str(event).unwrap()) {
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
