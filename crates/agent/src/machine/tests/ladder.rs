//! Rows A7 and E2, class by class.

use super::{Script, accepted, begun, fails, says};
use crate::machine::event::Event;
use crate::machine::run_start::RunStart;
use crate::machine::state::{ActiveState, Phase, State};
use hob_model::error::ErrorClass;

const TOLD: &str = "notice I could not get an answer from the model";

fn with_models(models: &[&str]) -> Script {
    let mut run = Script::queued();
    assert_eq!(run.state, State::Queued(accepted()));
    run.on(Event::Begun(Box::new(RunStart {
        models: models.iter().map(|&name| name.to_owned()).collect(),
        ..begun()
    })));
    run
}

fn waits(class: ErrorClass, retry_after_ms: u64) -> Event {
    Event::ModelFailed { class, message: "slow down".to_owned(), retry_after_ms: Some(retry_after_ms), pictures: false }
}

fn forced(run: &ActiveState) -> bool {
    matches!(&run.phase, Phase::Calling(call) if call.chain.forced)
}

#[test]
fn a7_what_passes_is_repeated_once_then_the_next_model_is_asked() {
    let passing = [
        (ErrorClass::Timeout, "timeout"),
        (ErrorClass::Network, "network"),
        (ErrorClass::Server, "server"),
        (ErrorClass::Malformed, "malformed"),
    ];
    for (class, name) in passing {
        let mut run = with_models(&["a", "b", "c"]);
        for (asked, next) in [("a", "ask b Work"), ("b", "ask c Work")] {
            run.check(fails(class), &[&format!("ask {asked} Work in 2000 ms")]);
            run.check(fails(class), &[next]);
        }
        run.check(fails(class), &["ask c Work in 2000 ms"]);
        run.check(fails(class), &[TOLD, &format!("end Failed {{ why: {name:?} }}")]);
    }
}

#[test]
fn e2_a_busy_provider_is_asked_three_times_more() {
    for class in [ErrorClass::RateLimit, ErrorClass::Overloaded] {
        let mut run = with_models(&["a", "b"]);
        run.check(fails(class), &["ask a Work in 1000 ms"]);
        run.check(fails(class), &["ask a Work in 2000 ms"]);
        run.check(fails(class), &["ask a Work in 4000 ms"]);
        run.check(fails(class), &["ask b Work"]);
        run.check(says("hi"), &["answer hi", "end Completed"]);
    }
}

#[test]
fn a7_the_provider_names_the_wait_once_and_up_to_a_minute() {
    for (wait, asked) in [(1, "ask a Work in 1 ms"), (60_000, "ask a Work in 60000 ms"), (60_001, "ask b Work")] {
        let mut run = with_models(&["a", "b"]);
        run.check(waits(ErrorClass::RateLimit, wait), &[asked]);
    }
    let mut run = with_models(&["a", "b"]);
    run.check(waits(ErrorClass::RateLimit, 0), &["ask a Work"]);
    run.check(waits(ErrorClass::RateLimit, 0), &["ask b Work"]);
    let mut run = with_models(&["a"]);
    run.check(waits(ErrorClass::RateLimit, 61_000), &[TOLD, r#"end Failed { why: "rate_limit" }"#]);
}

#[test]
fn a7_what_no_repetition_mends_goes_to_the_next_model_at_once() {
    let hopeless = [
        (ErrorClass::Auth, "auth"),
        (ErrorClass::Billing, "billing"),
        (ErrorClass::UnknownModel, "unknown_model"),
        (ErrorClass::ContextTooLong, "context_too_long"),
        (ErrorClass::BadRequest, "bad_request"),
    ];
    for (class, name) in hopeless {
        let mut run = with_models(&["a", "b"]);
        run.check(fails(class), &["ask b Work"]);
        run.check(fails(class), &[TOLD, &format!("end Failed {{ why: {name:?} }}")]);
    }
}

#[test]
fn a7_a_refusal_of_the_content_is_told_and_not_taken_elsewhere() {
    let mut run = with_models(&["a", "b"]);
    run.check(fails(ErrorClass::Refused), &[TOLD, r#"end Failed { why: "refused" }"#]);
}

#[test]
fn what_is_told_is_why_the_first_model_did_not_answer() {
    let why = |run: &Script| run.run().failure.as_ref().map(|failure| failure.class);
    let mut run = with_models(&["a", "b", "c"]);
    run.on(fails(ErrorClass::Billing));
    run.on(fails(ErrorClass::Auth));
    assert_eq!(why(&run), Some(ErrorClass::Billing), "the key of another model is not at fault");
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "billing" }"#]);
    let mut run = with_models(&["a", "b"]);
    run.on(fails(ErrorClass::Billing));
    run.check(fails(ErrorClass::Refused), &[TOLD, r#"end Failed { why: "refused" }"#]);
}

#[test]
fn e2_each_request_goes_round_all_models_from_the_one_that_answered() {
    let mut run = with_models(&["a", "b", "c"]);
    run.on(fails(ErrorClass::UnknownModel));
    run.check(super::wants(&["look"]), &["run 1.0 look #1"]);
    run.check(super::done("1.0"), &["ask b Work"]);
    run.check(fails(ErrorClass::UnknownModel), &["ask c Work"]);
    run.check(fails(ErrorClass::UnknownModel), &["ask a Work"]);
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "unknown_model" }"#]);
}

#[test]
fn e2_if_all_rest_the_first_is_asked_all_the_same() {
    let mut run = with_models(&["a", "b"]);
    run.check(fails(ErrorClass::Resting), &["ask b Work"]);
    assert!(!forced(run.run()));
    run.check(fails(ErrorClass::Resting), &["ask a Work"]);
    assert!(forced(run.run()));
    run.check(fails(ErrorClass::Timeout), &["ask a Work in 2000 ms"]);
    assert!(forced(run.run()), "its repetition as well");
    run.check(fails(ErrorClass::Timeout), &["ask b Work"]);
    run.check(says("hi"), &["answer hi", "end Completed"]);
}

#[test]
fn e2_nobody_is_told_of_an_outage_that_nobody_has_looked_at() {
    let mut run = with_models(&["a", "b"]);
    run.on(fails(ErrorClass::Resting));
    run.check(fails(ErrorClass::UnknownModel), &["ask a Work"]);
    assert!(forced(run.run()));
    run.check(fails(ErrorClass::Billing), &["ask b Work"]);
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "billing" }"#]);
}

#[test]
fn e2_who_finds_another_probing_after_its_own_wait_asks_all_the_same() {
    let mut run = with_models(&["a"]);
    run.check(waits(ErrorClass::RateLimit, 1_000), &["ask a Work in 1000 ms"]);
    run.check(fails(ErrorClass::Resting), &["ask a Work"]);
    assert!(forced(run.run()));
}

#[test]
fn a_run_without_any_model_is_told() {
    let mut run = with_models(&[]);
    run.check(fails(ErrorClass::UnknownModel), &[TOLD, r#"end Failed { why: "unknown_model" }"#]);
}

#[test]
fn a_late_failure_means_nothing() {
    let mut run = Script::acting(&["look"]);
    run.check(fails(ErrorClass::Server), &["ignored: no model was asked"]);
}
