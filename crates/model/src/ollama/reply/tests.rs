use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::ErrorClass;
use crate::exchange::surrogates::SurrogateHalves;
use crate::message::{ReplyPart, Sealed};

const LABEL: &str = "ollama/qwen3";

/// Folds the lines; answers with the reply and what was shown.
fn folded(lines: &[Value]) -> (Result<Completion, ModelError>, String) {
    let mut reply = Reply::new(LABEL);
    let mut shown = String::new();
    for line in lines {
        match reply.take(&line.to_string()) {
            Ok(text) => shown.push_str(&text),
            Err(error) => return (Err(error), shown),
        }
    }
    (reply.complete(), shown)
}

fn said(content: &str) -> Value {
    json!({"model": "qwen3", "message": {"role": "assistant", "content": content}, "done": false})
}

fn thought(thinking: &str) -> Value {
    json!({"message": {"role": "assistant", "content": "", "thinking": thinking}, "done": false})
}

fn called(arguments: &Value) -> Value {
    let call = json!({"function": {"index": 0, "name": "look", "arguments": arguments}});
    json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false})
}

fn done(reason: &str) -> Value {
    json!({
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "total_duration": 5, "load_duration": 1, "prompt_eval_count": 26, "eval_count": 298,
    })
}

fn sealed(data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: LABEL.to_owned(), kind: THINKING.to_owned(), data: data.to_owned() })
}

fn call(arguments: &str) -> ReplyPart {
    let (id, name) = (CallId(String::new()), "look".to_owned());
    ReplyPart::Call(ToolCall { id, name, arguments: arguments.to_owned() })
}

#[test]
fn thoughts_are_sealed_before_what_follows_them() {
    let (completion, shown) = folded(&[
        thought("I "),
        thought("wonder"),
        said("Let me "),
        said("look<think>aside</think>."),
        thought("So"),
        called(&json!({"at": "Köln"})),
        called(&json!({})),
        done("stop"),
    ]);
    let completion = completion.unwrap();
    let parts =
        [sealed("I wonder"), ReplyPart::text("Let me look."), sealed("So"), call(r#"{"at":"Köln"}"#), call("{}")];
    assert_eq!(completion.parts, parts);
    assert_eq!(shown, "Let me look.");
    assert_eq!(completion.usage, Usage { input_tokens: 26, output_tokens: 298, ..Usage::default() });
}

#[test]
fn every_end_is_understood() {
    let cases = [
        (vec![said("ok"), done("stop")], Ok(StopReason::End)),
        (vec![said("ok"), done("length")], Ok(StopReason::MaxTokens)),
        (vec![said("ok"), json!({"done": true})], Ok(StopReason::End)),
        (vec![done("load")], Err(ErrorClass::Malformed)),
        (vec![thought("hm"), done("length")], Err(ErrorClass::Malformed)),
        (vec![said("Hel")], Err(ErrorClass::Network)),
        (vec![], Err(ErrorClass::Malformed)),
        (vec![json!([])], Err(ErrorClass::Malformed)),
        (vec![json!({"error": "model 'x' not found"})], Err(ErrorClass::UnknownModel)),
        (
            vec![said("Hel"), json!({"error": "an error was encountered while running the model: CUDA error"})],
            Err(ErrorClass::Server),
        ),
    ];
    for (lines, expected) in cases {
        let outcome = folded(&lines).0.map(|completion| completion.stop).map_err(|error| error.class);
        assert_eq!(outcome, expected, "{lines:?}");
    }
}

#[test]
fn arguments_are_kept_however_they_are_written() {
    let cases =
        [(json!({"a": 1}), r#"{"a":1}"#), (json!("{\"a\": 1}"), "{\"a\": 1}"), (json!(" "), "{}"), (Value::Null, "{}")];
    for (written, kept) in cases {
        assert_eq!(folded(&[called(&written), done("stop")]).0.unwrap().parts, [call(kept)]);
    }
}

#[test]
fn a_call_cut_off_by_the_limit_is_left_out() {
    let completion = folded(&[said("So"), called(&Value::Null), done("length")]).0.unwrap();
    assert_eq!((completion.parts, completion.stop), (vec![ReplyPart::text("So")], StopReason::MaxTokens));
}

proptest! {
    #[test]
    fn no_line_is_a_panic(lines in proptest::collection::vec("[\\[\\]{}:,\"a-z0-9 ]{0,40}", 0..6)) {
        let mut reply = Reply::new(LABEL);
        let outcome = lines.iter().try_for_each(|line| reply.take(line).map(|_shown| ()));
        prop_assert!(outcome.is_err() || reply.complete().is_err());
    }
}

#[test]
fn halves_of_a_character_are_joined_in_words_and_replaced_in_arguments() {
    let line = |message: &str| format!(r#"{{"message":{{"role":"assistant",{message}}},"done":false}}"#);
    let mut halves = SurrogateHalves::default();
    let lines = [
        line(r#""content":"a\ud83d""#),
        line(r#""content":"\ude00b""#),
        line(r#""content":"","tool_calls":[{"function":{"name":"look","arguments":{"at":"\ud83d"}}}]"#),
        done("stop").to_string(),
    ]
    .map(|line| serde_json::from_str(&halves.join_halves(line)).unwrap());
    let (completion, shown) = folded(&lines);
    assert_eq!(shown, "a😀b");
    assert_eq!(completion.unwrap().calls().next().unwrap().arguments, "{\"at\":\"\u{fffd}\"}");
}
