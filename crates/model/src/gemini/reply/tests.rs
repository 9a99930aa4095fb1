use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::exchange::surrogates::SurrogateHalves;
use crate::message::{ReplyPart, Sealed};

const LABEL: &str = "google/gemini-3-pro-preview";

/// Folds the events; answers with the reply and what was shown.
fn folded(events: &[Value]) -> (Result<Completion, ModelError>, String) {
    let mut reply = Reply::new(LABEL);
    let mut shown = String::new();
    for event in events {
        match reply.take(&event.to_string()) {
            Ok(text) => shown.push_str(&text),
            Err(error) => return (Err(error), shown),
        }
    }
    (reply.complete(), shown)
}

fn event(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason}]})
}

fn sealed(kind: &str, data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: LABEL.to_owned(), kind: kind.to_owned(), data: data.to_owned() })
}

fn call(id: &str, arguments: &str) -> ReplyPart {
    let (id, name) = (CallId(id.to_owned()), "look".to_owned());
    ReplyPart::Call(ToolCall { id, name, arguments: arguments.to_owned() })
}

#[test]
fn signatures_stand_before_the_part_on_which_they_came() {
    let (completion, shown) = folded(&[
        event(&json!([{"text": "Let me "}])),
        event(&json!([{"text": "look."}])),
        event(
            &json!([{"functionCall": {"name": "look", "args": {"at": "Köln"}, "id": "gp7"}, "thoughtSignature": "A+/="}]),
        ),
        event(&json!([{"functionCall": {"name": "look"}}])),
        event(&json!([{"text": "", "thoughtSignature": "B=="}])),
        end("STOP"),
    ]);
    let parts = [
        ReplyPart::text("Let me look."),
        sealed(SIGNATURE, "A+/="),
        sealed(CALL_ID, "gp7"),
        call("gp7", r#"{"at":"Köln"}"#),
        call("", "{}"),
        sealed(LONE_SIGNATURE, "B=="),
    ];
    assert_eq!(completion.unwrap().parts, parts);
    assert_eq!(shown, "Let me look.");
}

#[test]
fn thoughts_are_never_shown() {
    let (completion, shown) = folded(&[
        event(
            &json!([{"text": "I wonder", "thought": true}, {"text": "Yes<think>no</think>", "thoughtSignature": "S"}]),
        ),
        event(&json!([{"text": "!"}])),
        end("STOP"),
    ]);
    let parts = [sealed(SIGNATURE, "S"), ReplyPart::text("Yes"), ReplyPart::text("!")];
    assert_eq!((completion.unwrap().parts.as_slice(), shown.as_str()), (&parts[..], "Yes!"));
}

#[test]
fn tokens_are_counted_as_the_contract_says() {
    let mut last = end("STOP");
    last["usageMetadata"] = json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "thoughtsTokenCount": 20,
        "totalTokenCount": 127, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
    });
    let mut first = event(&json!([{"text": "ok"}]));
    first["usageMetadata"] = json!({"promptTokenCount": 100, "totalTokenCount": 100});
    let usage =
        Usage { input_tokens: 100, output_tokens: 27, cached_tokens: 60, reasoning_tokens: 20, ..Usage::default() };
    assert_eq!(folded(&[first, last]).0.unwrap().usage, usage);
}

#[test]
fn every_end_is_understood() {
    let said = |text: &str, reason: &str| folded(&[event(&json!([{"text": text}])), end(reason)]).0;
    let stops = [
        ("STOP", Ok(StopReason::End), Err(ErrorClass::Malformed)),
        ("MAX_TOKENS", Ok(StopReason::MaxTokens), Err(ErrorClass::Malformed)),
        ("SAFETY", Ok(StopReason::ContentFilter), Err(ErrorClass::Refused)),
        ("RECITATION", Ok(StopReason::ContentFilter), Err(ErrorClass::Refused)),
        ("PROHIBITED_CONTENT", Ok(StopReason::ContentFilter), Err(ErrorClass::Refused)),
        ("MALFORMED_FUNCTION_CALL", Err(ErrorClass::Malformed), Err(ErrorClass::Malformed)),
        ("MISSING_THOUGHT_SIGNATURE", Err(ErrorClass::BadRequest), Err(ErrorClass::BadRequest)),
        ("OTHER", Ok(StopReason::End), Err(ErrorClass::Server)),
    ];
    for (reason, with_words, without) in stops {
        let class = |outcome: Result<Completion, ModelError>| outcome.map(|c| c.stop).map_err(|error| error.class);
        assert_eq!(class(said("ok", reason)), with_words, "{reason}");
        assert_eq!(class(said("", reason)), without, "{reason}");
    }
}

#[test]
fn what_is_no_reply_is_an_error_of_its_class() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}});
    let late = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let spent = json!([{"error": {
        "code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}],
    }}]);
    let cases = [
        ("blocked", vec![blocked], ErrorClass::Refused),
        ("late", vec![event(&json!([{"text": "Hel"}])), late], ErrorClass::Overloaded),
        ("spent", vec![spent], ErrorClass::RateLimit),
        ("no end", vec![event(&json!([{"text": "Hel"}]))], ErrorClass::Network),
        ("nothing", vec![], ErrorClass::Malformed),
        ("no parts", vec![json!({"candidates": [{"content": {}}]})], ErrorClass::Malformed),
        ("a number", vec![json!(1)], ErrorClass::Malformed),
        ("an empty list", vec![json!([])], ErrorClass::Malformed),
    ];
    for (name, events, class) in cases {
        let error = folded(&events).0.unwrap_err();
        assert_eq!(error.class, class, "{name}: {error}");
    }
}

#[test]
fn the_wait_that_google_names_is_believed() {
    let spent = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerDay"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
    ]}});
    let error = folded(&[spent]).0.unwrap_err();
    assert_eq!(error.retry_after, Some(std::time::Duration::from_secs(7)));
}

#[test]
fn a_call_cut_off_by_the_limit_is_left_out() {
    let cut = [event(&json!([{"text": "So"}, {"functionCall": {"name": "look", "id": "a"}}])), end("MAX_TOKENS")];
    let completion = folded(&cut).0.unwrap();
    assert_eq!((completion.parts, completion.stop), (vec![ReplyPart::text("So")], StopReason::MaxTokens));
}

proptest! {
    #[test]
    fn no_event_is_a_panic(events in proptest::collection::vec("[\\[\\]{}:,\"a-z0-9 ]{0,40}", 0..6)) {
        let mut reply = Reply::new(LABEL);
        let outcome = events.iter().try_for_each(|event| reply.take(event).map(|_shown| ()));
        prop_assert!(outcome.is_err() || reply.complete().is_err());
    }

    #[test]
    fn what_is_shown_is_what_is_kept(parts in proptest::collection::vec(
        (prop_oneof![Just(""), Just("a "), Just("<th"), Just("ink>"), Just("</think>"), Just("é")], any::<bool>(), 0..3_u8),
        0..10,
    )) {
        let part = |(text, thought, kind): &(&str, bool, u8)| match kind {
            0 => json!({"text": text, "thought": thought}),
            1 => json!({"text": text, "thoughtSignature": "S"}),
            _ => json!({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "C"}),
        };
        let mut events: Vec<_> = parts.iter().map(|p| event(&json!([part(p)]))).collect();
        events.push(end("STOP"));
        let (completion, shown) = folded(&events);
        if let Ok(completion) = completion {
            prop_assert_eq!(completion.text(), shown.as_str());
        }
    }
}

#[test]
fn halves_of_a_character_are_joined_in_words_and_replaced_in_arguments() {
    let part = |part: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"index":0}}]}}"#);
    let mut halves = SurrogateHalves::default();
    let events = [
        part(r#"{"text":"a\ud83d"}"#),
        part(r#"{"text":"\ude00b"}"#),
        part(r#"{"functionCall":{"id":"c","name":"look","args":{"at":"\ud83d"}}}"#),
        end("STOP").to_string(),
    ]
    .map(|event| serde_json::from_str(&halves.join_halves(event)).unwrap());
    let (completion, shown) = folded(&events);
    assert_eq!(shown, "a😀b");
    assert_eq!(completion.unwrap().calls().next().unwrap().arguments, "{\"at\":\"\u{fffd}\"}");
}
