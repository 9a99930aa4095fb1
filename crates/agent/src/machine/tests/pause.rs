//! Standing still and ending at safe boundaries (rows B7, E1).

use super::{
    ANNA, BEN, Script, answers, asks, crash, done, fails, hard_limit, panic, says, steers, stop, stopped_tool, wants,
};
use crate::machine::event::Event;
use crate::machine::status::Status;
use crate::machine::stop::CancelReason;
use hob_model::error::ErrorClass;

fn pause() -> Event {
    Event::PauseRequested { by: BEN }
}

fn lift() -> Event {
    Event::PauseLifted { by: ANNA }
}

#[test]
fn e1_a_run_stands_still_before_the_tools_of_a_reply() {
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(wants(&["send", "look"]), &["paused"]);
    assert_eq!(run.state.status(), Status::Waiting);
    run.check(answers("go on"), &["ignored: nothing was asked"]);
    run.check(lift(), &["run 1.0 send #1", "run 1.1 look #1"]);
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
    run.check(says("done"), &["answer done", "end Completed"]);
}

#[test]
fn e1_a_run_stands_still_after_its_tools_before_the_model() {
    let mut run = Script::acting(&["send", "look"]);
    run.check(pause(), &[]);
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["paused"]);
    run.check(steers(ANNA, "and this"), &[]);
    run.check(lift(), &["ask a/one Work"]);
    assert_eq!(run.said().last().unwrap(), "user: and this", "what came meanwhile joins");
}

#[test]
fn e1_a_model_that_fails_is_not_asked_again_while_paused() {
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(fails(ErrorClass::Server), &["paused"]);
    run.check(lift(), &["ask a/one Work"]);
}

#[test]
fn e1_an_answer_that_was_under_way_is_given() {
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(says("done"), &["answer done", "end Completed"]);
    run.check(lift(), &["ignored: the run is over"]);
}

#[test]
fn e1_nothing_is_asked_while_paused_and_an_open_question_stays() {
    let mut run = Script::acting(&["ask_human", "send"]);
    run.check(asks("1.0", "which?"), &[]);
    run.check(pause(), &[]);
    run.check(done("1.1"), &["paused"]);
    run.check(lift(), &["human 1.0 asks: which?"]);
    run.check(pause(), &[]);
    run.check(answers("this"), &["paused"]);
    run.check(lift(), &["ask a/one Work"]);
    let mut run = Script::acting(&["ask_human"]);
    run.check(asks("1.0", "which?"), &["human 1.0 asks: which?"]);
    run.check(pause(), &[]);
    run.check(lift(), &[]);
    run.check(answers("this"), &["ask a/one Work"]);
}

#[test]
fn e1_a_pause_is_one_and_is_lifted_once() {
    let mut run = Script::begun();
    run.check(lift(), &["ignored: it was not paused"]);
    run.check(pause(), &[]);
    run.check(pause(), &["ignored: it is paused already"]);
    assert_eq!(run.run().pause, Some(BEN));
    run.check(lift(), &[]);
    assert_eq!(run.run().pause, None);
    run.check(wants(&["send"]), &["run 1.0 send #1"]);
    let mut run = Script::acting(&["send"]);
    run.check(pause(), &[]);
    run.check(done("1.0"), &["paused"]);
    run.check(pause(), &["ignored: it is paused already"]);
    run.check(lift(), &["ask a/one Work"]);
    run.check(pause(), &[]);
    run.check(wants(&["send"]), &["paused"]);
}

#[test]
fn e1_a_pause_survives_the_process() {
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(crash(), &["paused"]);
    run.check(crash(), &[]);
    run.check(lift(), &["ask a/one Work"]);
    let mut run = Script::acting(&["send", "look"]);
    run.check(pause(), &[]);
    run.check(crash(), &["paused"]);
    // What was under way is neither forgotten nor run again by itself.
    run.check(lift(), &["run 1.1 look #2"]);
    run.check(done("1.1"), &["human unsafe 1.0 send"]);
}

#[test]
fn e1_a_word_to_a_crashed_run_does_not_lift_its_pause() {
    let mut run = Script::acting(&["send"]);
    run.check(crash(), &["human unsafe 1.0 send"]);
    run.check(pause(), &[]);
    run.check(answers("it happened"), &["paused"]);
    run.check(lift(), &["ask a/one Work"]);
}

#[test]
fn b7_a_paused_run_is_cancelled_at_once() {
    let mut run = Script::acting(&["send"]);
    run.check(pause(), &[]);
    run.check(done("1.0"), &["paused"]);
    run.check(stop(), &["end Cancelled"]);
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(wants(&["send"]), &["paused"]);
    run.check(stop(), &["end Cancelled"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: Not run: the task ended before its turn came.");
    let mut run = Script::begun();
    run.check(pause(), &[]);
    run.check(wants(&["send"]), &["paused"]);
    run.check(
        panic(),
        &["notice Something broke inside me while I worked on this, and I stopped", "end Failed { why: \"panic\" }"],
    );
}

#[test]
fn b7_a_run_that_waits_for_a_person_is_cancelled_at_once_without_a_word() {
    let mut run = Script::acting(&["ask_human"]);
    run.check(asks("1.0", "which?"), &["human 1.0 asks: which?"]);
    run.check(stop(), &["end Cancelled"]);
    run.check(answers("this"), &["ignored: the run is over"]);
}

#[test]
fn b7_a_cancel_is_carried_out_at_the_next_safe_boundary_and_the_reply_is_suppressed() {
    let mut run = Script::begun();
    run.check(stop(), &["end Cancelled"]);
    run.check(says("too late"), &["ignored: the run is over"]);
    let interrupted = || Event::CancelRequested(CancelReason::Interrupted { by: ANNA });
    for cancel in [stop(), interrupted()] {
        let mut run = Script::acting(&["send", "look"]);
        run.check(cancel, &["abort 1.0 1.1"]);
        run.check(stopped_tool("1.0"), &[]);
        run.check(done("1.1"), &["end Cancelled"]);
    }
    // A limit is nobody's wish: it is told.
    let mut run = Script::acting(&["send"]);
    run.check(hard_limit(), &["abort 1.0"]);
    run.check(
        stopped_tool("1.0"),
        &["notice I ran out of time on this and stopped", "end Failed { why: \"hard_limit\" }"],
    );
}
