//! What is said of replies that are not as they should be.

use super::*;
use hob_model::message::StopReason;

fn calling(name: &str, arguments: &str) -> Completion {
    let call = ToolCall { id: CallId("call_x".to_owned()), name: name.to_owned(), arguments: arguments.to_owned() };
    Completion::from_text_and_calls("", vec![call])
}

#[test]
fn only_the_right_call_passes() {
    called(&calling("echo_number", r#"{"number": 7341}"#)).unwrap();
    called(&calling("echo_number", r#"{"number": 7341, "why": "told to"}"#)).unwrap();
    let wrong = [
        Completion::from_text_and_calls("The number\nis 7341.", Vec::new()),
        calling("echo", r#"{"number": 7341}"#),
        calling("echo_number", "7341"),
        calling("echo_number", ""),
        calling("echo_number", r#"{"number": 7342}"#),
        calling("echo_number", r#"{"number": "7341"}"#),
    ];
    let said = wrong.map(|completion| called(&completion).unwrap_err().what);
    insta::assert_snapshot!(said.join("\n"), @"
    it called no tool, but said: The number is 7341.
    it called echo, which is not a tool, in place of echo_number
    it called echo_number with arguments that are not of its form: 7341
    it called echo_number with arguments that are not of its form: 
    it called echo_number with {\"number\": 7342}, and was told to with 7341
    it called echo_number with {\"number\": \"7341\"}, and was told to with 7341
    ");
}

#[test]
fn the_end_must_be_words() {
    assert_eq!(last_words(&Completion::from_text_and_calls(" It is\n7341. ", Vec::new())).unwrap(), "It is 7341.");
    let silent = Completion { stop: StopReason::MaxTokens, ..Completion::default() };
    assert_eq!(last_words(&silent).unwrap_err().what, "with the result in hand it said nothing");
    let again = calling("echo_number", "{}");
    assert_eq!(last_words(&again).unwrap_err().what, "with the result in hand it called echo_number again");
    assert_eq!(last_words(&Completion::from_text_and_calls("x".repeat(500), Vec::new())).unwrap().chars().count(), 201);
}

#[test]
fn a_step_is_a_line() {
    let step = TrialStep {
        what: "called the tool",
        latency_ms: 1234,
        input_tokens: 210,
        cached_tokens: 64,
        output_tokens: 20,
        cost: Some(Money::from_nanos(92_500)),
    };
    assert_eq!(
        step.to_string(),
        "  called the tool: 1.2 s, 210 tokens read (64 of them cached), 20 written, $0.000093"
    );
    let free = TrialStep { cached_tokens: 0, cost: None, ..step };
    assert_eq!(free.to_string(), "  called the tool: 1.2 s, 210 tokens read, 20 written, price unknown");
}

#[test]
fn every_failure_comes_with_advice() {
    let all = [
        ErrorClass::Auth,
        ErrorClass::Billing,
        ErrorClass::RateLimit,
        ErrorClass::Overloaded,
        ErrorClass::UnknownModel,
        ErrorClass::ContextTooLong,
        ErrorClass::Refused,
        ErrorClass::BadRequest,
        ErrorClass::Timeout,
        ErrorClass::Network,
        ErrorClass::Server,
        ErrorClass::Malformed,
        ErrorClass::Resting,
    ];
    for class in all {
        assert!(advice(class).ends_with('.'), "{class:?}");
    }
}
