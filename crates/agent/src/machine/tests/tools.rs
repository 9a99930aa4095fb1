//! Batches (rows A5, D4, D5).

use super::{Script, asks, done, finished, says, stopped_tool, wants};
use crate::machine::event::ToolOutcome;

#[test]
fn d4_calls_run_in_parallel_and_the_model_sees_them_when_all_are_settled() {
    let mut run = Script::begun();
    run.check(wants(&["look", "send", "look"]), &["run 1.0 look #1", "run 1.1 send #1", "run 1.2 look #1"]);
    run.check(done("1.2"), &[]);
    run.check(done("1.0"), &[]);
    assert_eq!(run.said(), ["user: hello"], "nothing half is ever in the history");
    run.check(done("1.1"), &["ask a/one Work"]);
    run.check(says("all done"), &["answer all done", "end Completed"]);
    assert_eq!(
        run.said(),
        [
            "user: hello",
            "hob:  <1.0 look> <1.1 send> <1.2 look>",
            "tool 1.0: ok",
            "tool 1.1: ok",
            "tool 1.2: ok",
            "hob: all done"
        ]
    );
}

#[test]
fn d5_a_failure_is_a_result() {
    let mut run = Script::acting(&["send"]);
    let failed = ToolOutcome::Text { text: "no such file".to_owned(), is_error: true };
    run.check(finished("1.0", failed), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: no such file");
}

#[test]
fn an_interrupted_call_is_said_to_have_perhaps_had_an_effect() {
    let mut run = Script::acting(&["send"]);
    run.check(stopped_tool("1.0"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: Interrupted before it finished; it may have had a part of its effect.");
}

#[test]
fn a_result_that_nobody_waits_for_is_ignored() {
    let mut run = Script::begun();
    run.check(done("1.0"), &["ignored: no tool is running"]);
    run.check(wants(&["look", "look"]), &["run 1.0 look #1", "run 1.1 look #1"]);
    run.check(done("7.7"), &["ignored: that tool is not running"]);
    run.check(done("1.0"), &[]);
    run.check(done("1.0"), &["ignored: that tool is not running"]);
    run.check(says("too early"), &["ignored: no model was asked"]);
    run.check(done("1.1"), &["ask a/one Work"]);
}

#[test]
fn a_question_waits_until_the_other_calls_are_settled() {
    let mut run = Script::acting(&["ask_human", "send"]);
    run.check(asks("1.0", "blue?"), &[]);
    run.check(done("1.1"), &["human 1.0 asks: blue?"]);
}

#[test]
fn of_two_questions_in_one_reply_the_second_is_refused() {
    let mut run = Script::acting(&["ask_human", "ask_human"]);
    run.check(asks("1.1", "blue?"), &[]);
    run.check(asks("1.0", "or red?"), &["human 1.1 asks: blue?"]);
    run.check(super::answers("blue"), &["ask a/one Work"]);
    let said = run.said();
    assert!(said[2].starts_with("tool 1.0 failed: Only one question"), "{said:?}");
    assert_eq!(said[3], "tool 1.1: blue");
}
