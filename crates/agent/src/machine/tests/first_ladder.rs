//! The first edition of the rules, by which older journals still replay: row A7, class by class.

use super::{Script, accepted, begun, fails, says};
use crate::machine::begun::{Begun, Rules};
use crate::machine::event::Event;
use hob_model::error::ErrorClass;

const TOLD: &str = "notice I could not get an answer from the model";

fn with_models(models: &[&str]) -> Script {
    let mut run = Script::queued();
    assert_eq!(run.state, crate::machine::state::State::Queued(accepted()));
    run.on(Event::Begun(Box::new(Begun {
        models: models.iter().map(|&name| name.to_owned()).collect(),
        rules: Rules::default(),
        ..begun()
    })));
    run
}

#[test]
fn a7_what_passes_is_repeated_once_then_the_next_model_is_asked() {
    let passing = [
        (ErrorClass::RateLimit, "rate_limit"),
        (ErrorClass::Overloaded, "overloaded"),
        (ErrorClass::Timeout, "timeout"),
        (ErrorClass::Network, "network"),
        (ErrorClass::Server, "server"),
        (ErrorClass::Malformed, "malformed"),
    ];
    for (class, name) in passing {
        let mut run = with_models(&["a", "b", "c"]);
        run.check(fails(class), &["ask a Work in 2000 ms"]);
        run.check(fails(class), &["ask b Work"]);
        run.check(fails(class), &["ask b Work in 2000 ms"]);
        run.check(fails(class), &["ask c Work"]);
        run.check(fails(class), &["ask c Work in 2000 ms"]);
        run.check(fails(class), &[TOLD, &format!("end Failed {{ why: {name:?} }}")]);
    }
}

#[test]
fn a7_an_unknown_model_is_passed_over_at_once() {
    let mut run = with_models(&["a", "b"]);
    run.check(fails(ErrorClass::UnknownModel), &["ask b Work"]);
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "unknown_model" }"#]);
}

#[test]
fn a7_what_no_repetition_mends_is_told_at_once() {
    let hopeless = [
        (ErrorClass::Auth, "auth"),
        (ErrorClass::Billing, "billing"),
        (ErrorClass::ContextTooLong, "context_too_long"),
        (ErrorClass::Refused, "refused"),
        (ErrorClass::BadRequest, "bad_request"),
    ];
    for (class, name) in hopeless {
        let mut run = with_models(&["a", "b"]);
        run.check(fails(class), &[TOLD, &format!("end Failed {{ why: {name:?} }}")]);
    }
}

#[test]
fn a7_the_provider_names_the_wait_up_to_a_minute() {
    let table = [(None, 2_000), (Some(1), 1), (Some(59_999), 59_999), (Some(60_000), 60_000), (Some(u64::MAX), 60_000)];
    for (retry_after_ms, wait) in table {
        let mut run = with_models(&["a"]);
        let message = "slow down".to_owned();
        let failed = Event::ModelFailed { class: ErrorClass::RateLimit, message, retry_after_ms, pictures: false };
        run.check(failed, &[&format!("ask a Work in {wait} ms")]);
        run.check(says("hi"), &["answer hi", "end Completed"]);
    }
    let mut run = with_models(&["a"]);
    run.check(
        Event::ModelFailed {
            class: ErrorClass::RateLimit,
            message: String::new(),
            retry_after_ms: Some(0),
            pictures: false,
        },
        &["ask a Work"],
    );
    run.check(fails(ErrorClass::RateLimit), &[TOLD, r#"end Failed { why: "rate_limit" }"#]);
}

#[test]
fn without_a_fallback_the_second_failure_is_told() {
    let mut run = with_models(&["a"]);
    run.check(fails(ErrorClass::Timeout), &["ask a Work in 2000 ms"]);
    run.check(fails(ErrorClass::Server), &[TOLD, r#"end Failed { why: "server" }"#]);
}

#[test]
fn a_run_without_any_model_is_told() {
    let mut run = with_models(&[]);
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "unknown_model" }"#]);
}

#[test]
fn a_model_fallen_back_to_is_kept_and_failures_are_counted_per_request() {
    let mut run = with_models(&["a", "b"]);
    run.on(fails(ErrorClass::UnknownModel));
    run.check(super::wants(&["look"]), &["run 1.0 look #1"]);
    run.check(super::done("1.0"), &["ask b Work"]);
    run.check(fails(ErrorClass::Timeout), &["ask b Work in 2000 ms"]);
    run.check(super::wants(&["look"]), &["run 2.0 look #1"]);
    run.check(super::done("2.0"), &["ask b Work"]);
    run.check(fails(ErrorClass::Timeout), &["ask b Work in 2000 ms"]);
    run.check(fails(ErrorClass::Timeout), &[TOLD, r#"end Failed { why: "timeout" }"#]);
}

#[test]
fn a_late_failure_means_nothing() {
    let mut run = Script::acting(&["look"]);
    run.check(fails(ErrorClass::Server), &["ignored: no model was asked"]);
}
