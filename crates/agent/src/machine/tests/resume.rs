//! Every row of the table in `resume.rs`, and the brake (rows B9–B11).

use super::{Script, answers, asks, crash, done, fails, says, stop, system, wants};
use crate::machine::event::{Event, JournalMismatch};
use crate::machine::status::Status;
use hob_model::error::ErrorClass;

fn drifted() -> Event {
    Event::Resumed { system: system(2) }
}

fn mismatched() -> Event {
    Event::Mismatched(JournalMismatch { seq: 3, expected: "a".to_owned(), actual: "b".to_owned() })
}

#[test]
fn n3_a_model_call_is_made_again_and_the_lost_one_accounted_for() {
    let mut run = Script::begun();
    run.check(crash(), &["ask a/one Work"]);
    run.check(says("hi"), &["answer hi", "end Completed"]);
    assert_eq!(run.run().usage.input_tokens, super::ESTIMATE + 10);
}

#[test]
fn the_model_that_was_fallen_back_to_is_asked_again_without_the_wait() {
    let mut run = Script::begun();
    run.on(fails(ErrorClass::UnknownModel));
    run.check(fails(ErrorClass::Server), &["ask b/two Work in 2000 ms"]);
    run.check(crash(), &["ask b/two Work"]);
}

#[test]
fn b10_recorded_results_are_used() {
    let mut run = Script::acting(&["send", "look"]);
    run.on(done("1.0"));
    run.check(crash(), &["run 1.1 look #2"]);
    run.check(done("1.1"), &["ask a/one Work"]);
    run.check(crash(), &["ask a/one Work"]);
}

#[test]
fn b10_idempotent_calls_run_again_before_a_person_is_asked_about_the_others() {
    let mut run = Script::acting(&["look", "send", "look"]);
    run.check(crash(), &["run 1.0 look #2", "run 1.2 look #2"]);
    run.check(done("1.2"), &[]);
    run.check(crash(), &["run 1.0 look #3"]);
    run.check(done("1.0"), &["human unsafe 1.1 send"]);
    assert_eq!(run.state.status(), Status::Waiting);
    run.check(crash(), &[]);
    run.check(answers("it happened"), &["ask a/one Work"]);
}

#[test]
fn a_question_stays_open() {
    let mut run = Script::acting(&["ask_human"]);
    run.on(asks("1.0", "blue?"));
    for _ in 0..5 {
        run.check(crash(), &[]);
    }
    run.check(drifted(), &[]);
    run.check(answers("yes"), &["ask a/one Work"]);
}

#[test]
fn b9_three_crashes_at_one_step_park_the_run() {
    let mut calling = Script::begun();
    calling.check(crash(), &["ask a/one Work"]);
    calling.check(crash(), &["ask a/one Work"]);
    calling.check(crash(), &["human crash loop"]);
    calling.check(answers("what?"), &["human crash loop"]);
    calling.check(answers("carry on"), &["ask a/one Work"]);
    calling.check(crash(), &["ask a/one Work"]);
    calling.check(says("hi"), &["answer hi", "end Completed"]);

    let mut acting = Script::acting(&["look", "send"]);
    acting.check(crash(), &["run 1.0 look #2"]);
    acting.check(crash(), &["run 1.0 look #3"]);
    acting.check(crash(), &["human crash loop"]);
    acting.check(answers("1"), &["run 1.0 look #4"]);
    acting.check(done("1.0"), &["human unsafe 1.1 send"]);
    acting.check(answers("3"), &["notice Given up", "end GivenUp"]);

    let mut parked = Script::begun();
    parked.on(crash());
    parked.on(crash());
    parked.on(crash());
    parked.check(stop(), &["end Cancelled"]);
}

#[test]
fn progress_takes_the_brake_off_and_failures_do_not() {
    let mut run = Script::begun();
    run.on(crash());
    run.on(crash());
    run.check(wants(&["look", "look"]), &["run 1.0 look #1", "run 1.1 look #1"]);
    run.on(crash());
    run.on(crash());
    run.check(done("1.0"), &[]);
    run.on(crash());
    run.check(crash(), &["run 1.1 look #5"]);
    run.check(done("1.1"), &["ask a/one Work"]);
    run.on(crash());
    run.check(fails(ErrorClass::Server), &["ask a/one Work in 2000 ms"]);
    run.on(crash());
    run.check(crash(), &["human crash loop"]);
}

#[test]
fn b9_a_stop_in_good_order_is_no_crash() {
    let mut run = Script::begun();
    for _ in 0..5 {
        run.check(Event::Suspended, &[]);
        run.check(crash(), &["ask a/one Work"]);
    }
    run.check(crash(), &["ask a/one Work"]);
    run.check(Event::Suspended, &[]);
    run.check(crash(), &["ask a/one Work"]);
    run.check(crash(), &["ask a/one Work"]);
    run.check(crash(), &["human crash loop"]);
}

#[test]
fn a_word_from_outside_makes_no_crash_of_a_good_stop() {
    let mut run = Script::begun();
    run.on(crash());
    run.on(crash());
    run.check(Event::Suspended, &[]);
    run.check(Event::SoftLimit, &[]);
    run.check(answers("hm"), &["ignored: nothing was asked"]);
    run.check(crash(), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);
    run.check(crash(), &["human crash loop"]);

    let mut stopped = Script::acting(&["look", "send"]);
    stopped.check(Event::Suspended, &[]);
    stopped.check(stop(), &["abort 1.0 1.1"]);
    stopped.check(crash(), &["end Cancelled"]);

    let mut mismatch = Script::begun();
    mismatch.on(crash());
    mismatch.on(crash());
    mismatch.on(Event::Suspended);
    mismatch.check(mismatched(), &["human mismatch 3"]);
    mismatch.on(answers("carry on"));
    mismatch.on(crash());
    mismatch.on(crash());
    mismatch.check(crash(), &["human crash loop"]);
}

#[test]
fn a_suspended_call_with_side_effects_is_as_doubtful_as_any() {
    let mut run = Script::acting(&["send"]);
    run.check(Event::Suspended, &[]);
    run.check(crash(), &["human unsafe 1.0 send"]);
}

#[test]
fn b11_a_changed_prompt_asks_once() {
    let mut run = Script::acting(&["look", "send"]);
    run.check(drifted(), &["human prompt"]);
    run.check(answers("it happened"), &["human prompt"]);
    run.check(answers("carry on"), &["run 1.0 look #2"]);
    run.check(drifted(), &["run 1.0 look #3"]);
    run.check(done("1.0"), &["human unsafe 1.1 send"]);
    run.check(answers("1"), &["ask a/one Work"]);
    run.check(drifted(), &["ask a/one Work"]);
    run.check(crash(), &["human prompt"]);
    run.check(answers("give up"), &["notice Given up", "end GivenUp"]);
}

#[test]
fn a_crash_loop_does_not_hide_a_changed_prompt_nor_the_other_way_round() {
    let mut run = Script::begun();
    run.on(crash());
    run.on(crash());
    run.check(drifted(), &["human prompt"]);
    run.check(answers("carry on"), &["ask a/one Work"]);
    run.check(drifted(), &["human crash loop"]);
    run.check(answers("carry on"), &["ask a/one Work"]);
    run.check(drifted(), &["ask a/one Work"]);
}

#[test]
fn b11_a_mismatch_asks_in_each_phase_and_carries_on_from_the_record() {
    let mut calling = Script::begun();
    calling.check(mismatched(), &["human mismatch 3"]);
    assert_eq!(calling.run().usage.input_tokens, super::ESTIMATE, "the call in flight is lost");
    calling.check(answers("1"), &["ask a/one Work"]);

    let mut acting = Script::acting(&["look", "send"]);
    acting.check(mismatched(), &["human mismatch 3"]);
    acting.check(answers("carry on"), &["run 1.0 look #2"]);
    acting.check(done("1.0"), &["human unsafe 1.1 send"]);

    let mut waiting = Script::acting(&["ask_human"]);
    waiting.on(asks("1.0", "blue?"));
    waiting.check(mismatched(), &["human mismatch 3"]);
    waiting.check(presses(1), &["ignored: that question is no longer open"]);
    waiting.check(answers("carry on"), &["human 1.0 asks: blue?"]);

    let mut queued = Script::queued();
    queued.check(
        mismatched(),
        &[
            "notice I was interrupted on this, and my record of it does not add up (event 3 of the journal should be a but is b)",
            r#"end Failed { why: "mismatch" }"#,
        ],
    );
}

fn presses(number: u32) -> Event {
    super::presses(number, "1")
}
