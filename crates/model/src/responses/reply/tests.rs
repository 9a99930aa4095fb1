use super::*;
use crate::error::ErrorClass;
use crate::message::{ReplyPart, Sealed};

const TEXT: &str = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#;
const DONE: &str = r#"{"type":"response.completed","response":{"status":"completed","incomplete_details":null,"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":3},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}}"#;

/// Feeds events as the API writes them; answers with the text shown on the way, and the end.
fn feed(events: &[&str]) -> (String, Result<Completion, ModelError>) {
    let mut reply = Reply::new("openai/m");
    let mut shown = String::new();
    for event in events {
        match reply.take(event) {
            Ok(text) => shown.push_str(&text),
            Err(error) => return (shown, Err(error)),
        }
    }
    (shown, reply.complete())
}

fn words(delta: &str) -> String {
    serde_json::json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": delta}).to_string()
}

fn call(arguments: &str) -> String {
    let item = serde_json::json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": arguments,
    });
    serde_json::json!({"type": "response.output_item.done", "output_index": 2, "item": item}).to_string()
}

fn cut(reason: &str) -> String {
    let response = serde_json::json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "usage": null});
    serde_json::json!({"type": "response.incomplete", "response": response}).to_string()
}

#[test]
fn f5_reasoning_is_sealed_before_what_came_of_it_and_shown_to_nobody() {
    let thought = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA+/=","status":null}}"#;
    let summary = r#"{"type":"response.reasoning_summary_text.delta","delta":"Hm."}"#;
    let created = r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}"#;
    let (said, more) = (words("Hel"), words("lo"));
    let call = call(r#"{"at":1}"#);
    let (shown, outcome) = feed(&[created, summary, thought, TEXT, &said, &more, &call, DONE]);
    let completion = outcome.unwrap();
    assert_eq!(shown, "Hello");
    let data = r#"{"id":"rs_1","summary":[],"encrypted_content":"gAAA+/="}"#.to_owned();
    let (id, name, arguments) = (CallId("call_1".to_owned()), "look".to_owned(), r#"{"at":1}"#.to_owned());
    let parts = [
        ReplyPart::Sealed(Sealed { model: "openai/m".to_owned(), kind: REASONING.to_owned(), data }),
        ReplyPart::text("Hello"),
        ReplyPart::Call(ToolCall { id, name, arguments }),
    ];
    assert_eq!(completion.parts, parts);
    let usage =
        Usage { input_tokens: 11, output_tokens: 9, cached_tokens: 3, cache_write_tokens: 0, reasoning_tokens: 4 };
    assert_eq!((completion.usage, completion.stop), (usage, StopReason::End));
}

#[test]
fn k1_the_phase_of_each_message_is_kept_with_its_words_whenever_it_is_told() {
    let item = |kind: &str, phase: Value| {
        let item = serde_json::json!({"type": "message", "id": "msg_1", "role": "assistant", "phase": phase});
        serde_json::json!({"type": format!("response.output_item.{kind}"), "item": item}).to_string()
    };
    let (first, second) = (words("Let me see."), words("Dry."));
    let phase = |phase: &str| {
        let (model, kind) = ("openai/m".to_owned(), PHASE.to_owned());
        ReplyPart::Sealed(Sealed { model, kind, data: phase.to_owned() })
    };
    let parts = [phase("commentary"), ReplyPart::text("Let me see."), phase("x"), ReplyPart::text("\n\nDry.")];
    for told in ["added", "done"] {
        let phase_of = |kind: &str, phase: &str| item(kind, if kind == told { phase.into() } else { 1.into() });
        let events = [
            phase_of("added", "commentary"),
            first.clone(),
            phase_of("done", "commentary"),
            phase_of("added", "x"),
            second.clone(),
            phase_of("done", "x"),
        ];
        let events: Vec<&str> = events.iter().map(String::as_str).chain([DONE]).collect();
        let (shown, outcome) = feed(&events);
        assert_eq!((shown.as_str(), outcome.unwrap().parts.as_slice()), ("Let me see.\n\nDry.", &parts[..]), "{told}");
    }
    let both = [item("added", "x".into()), second.clone(), item("done", "x".into())];
    let completion = feed(&[&both[0], &both[1], &both[2], DONE]).1.unwrap();
    assert_eq!(completion.parts, [phase("x"), ReplyPart::text("Dry.")]);
}

#[test]
fn f5_reasoning_that_is_not_sealed_is_not_kept() {
    let thought = r#"{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1","summary":[]}}"#;
    let completion = feed(&[thought, TEXT, &words("a"), DONE]).1.unwrap();
    assert_eq!(completion.parts, [ReplyPart::text("a")]);
}

#[test]
fn f5_a_reply_that_was_cut_off_says_so_and_a_cut_call_is_left_out() {
    let said = words("a");
    let table = [
        ("max_output_tokens", StopReason::MaxTokens),
        ("content_filter", StopReason::ContentFilter),
        ("another", StopReason::MaxTokens),
    ];
    for (reason, stop) in table {
        let completion = feed(&[TEXT, &said, &cut(reason)]).1.unwrap();
        assert_eq!((completion.text().as_ref(), completion.stop), ("a", stop), "{reason}");
    }
    let completion = feed(&[TEXT, &said, &call(r#"{"at":"#), &cut("max_output_tokens")]).1.unwrap();
    assert_eq!(completion.parts, [ReplyPart::text("a")]);
}

#[test]
fn f5_two_messages_of_a_reply_do_not_run_together() {
    let (said, next) = (words("Looking."), words("Found."));
    let (shown, outcome) = feed(&[TEXT, &said, TEXT, &next, DONE]);
    assert_eq!(shown, "Looking.\n\nFound.");
    assert_eq!(outcome.unwrap().text(), shown);
}

#[test]
fn f5_what_the_model_declines_is_said_in_its_words() {
    let refusal = r#"{"type":"response.refusal.delta","delta":"I cannot."}"#;
    let (shown, outcome) = feed(&[TEXT, refusal, DONE]);
    assert_eq!((shown.as_str(), outcome.unwrap().text().as_ref()), ("I cannot.", "I cannot."));
}

#[test]
fn f5_errors_in_the_stream_are_classified() {
    let rate = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}}"#;
    let server = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"An error occurred"}}}"#;
    let flat = r#"{"type":"error","code":"server_error","message":"An error occurred","param":null}"#;
    let nested =
        r#"{"type":"error","error":{"type":"server_error","code":"server_error","message":"An error occurred"}}"#;
    let table = [
        (rate, ErrorClass::RateLimit),
        (server, ErrorClass::Server),
        (flat, ErrorClass::Server),
        (nested, ErrorClass::Server),
        (r#"{"type":"response.output_text.delta","delta":7}"#, ErrorClass::Malformed),
        ("[DONE]", ErrorClass::Malformed),
    ];
    for (event, class) in table {
        let said = words("a");
        assert_eq!(feed(&[TEXT, &said, event]).1.unwrap_err().class, class, "{event}");
    }
}

#[test]
fn f5_a_stream_that_ends_early_is_no_reply() {
    assert_eq!(feed(&[]).1.unwrap_err().class, ErrorClass::Malformed);
    assert_eq!(feed(&[TEXT, &words("a")]).1.unwrap_err().class, ErrorClass::Network);
}

#[test]
fn f5_a_flood_is_not_kept() {
    let piece = "x".repeat(64 * 1024);
    let flood = [
        words(&piece),
        serde_json::json!({"type": "response.function_call_arguments.delta", "delta": piece}).to_string(),
        call(&piece),
        serde_json::json!({"type": "response.output_item.done", "item": {"type": "reasoning", "encrypted_content": piece}})
            .to_string(),
    ];
    for event in flood {
        let mut reply = Reply::new("openai/m");
        let refused = (0..129).find_map(|_| reply.take(&event).err());
        assert_eq!(refused.map(|error| error.class), Some(ErrorClass::Malformed));
    }
}
