//! Messages that join on the way (row N5).

use super::{ANNA, BEN, Script, answers, asks, crash, done, fails, hard_limit, panic, says, steers, stop, wants};
use hob_model::error::ErrorClass;

#[test]
fn n5_they_join_at_the_next_boundary_in_order_and_others_by_name() {
    let mut run = Script::acting(&["look", "send"]);
    run.check(steers(ANNA, "and the shed"), &[]);
    run.check(done("1.0"), &[]);
    run.check(steers(BEN, "mine too"), &[]);
    assert_eq!(run.said(), ["user: hello"]);
    run.check(done("1.1"), &["ask a/one Work"]);
    assert_eq!(run.said()[4..], ["user: and the shed", "user: [Ben] mine too"]);
    let authors: Vec<_> = run.run().transcript.entries().skip(4).map(|entry| entry.author).collect();
    assert_eq!(authors, [Some(ANNA), Some(BEN)]);
    run.check(says("both"), &["answer both", "end Completed"]);
}

#[test]
fn an_answer_given_meanwhile_is_followed_by_another_turn() {
    let mut run = Script::begun();
    run.check(steers(BEN, "wait"), &[]);
    run.check(says("first thought"), &["ask a/one Work"]);
    run.check(says("second thought"), &["answer second thought", "end Completed"]);
    assert_eq!(run.said(), ["user: hello", "hob: first thought", "user: [Ben] wait", "hob: second thought"]);
}

#[test]
fn they_join_what_a_crash_makes_anew() {
    let mut run = Script::begun();
    run.check(steers(ANNA, "wait"), &[]);
    run.check(crash(), &["ask a/one Work"]);
    assert_eq!(run.said(), ["user: hello", "user: wait"]);
}

#[test]
fn n5_while_a_question_is_open_they_wait_for_its_answer() {
    let mut run = Script::acting(&["ask_human"]);
    run.on(asks("1.0", "blue?"));
    run.check(steers(BEN, "red!"), &[]);
    run.check(answers("blue"), &["ask a/one Work"]);
    assert_eq!(run.said()[2..], ["tool 1.0: blue", "user: [Ben] red!"]);
}

#[test]
fn a_run_that_ends_before_the_boundary_keeps_them_in_the_history() {
    let joined = "user: [Ben] me too".to_owned();
    for end in [stop(), hard_limit(), panic(), fails(ErrorClass::Refused)] {
        let mut run = Script::begun();
        run.on(steers(BEN, "me too"));
        run.on(end);
        assert!(run.state.status().is_final());
        assert_eq!(run.said()[1], joined);
    }
    let mut stopped = Script::acting(&["send"]);
    stopped.on(steers(BEN, "me too"));
    stopped.on(stop());
    stopped.on(super::stopped_tool("1.0"));
    assert_eq!(stopped.said()[3], joined);

    let mut given_up = Script::begun();
    given_up.on(wants(&["send"]));
    given_up.on(steers(BEN, "me too"));
    given_up.on(crash());
    given_up.on(answers("give up"));
    assert_eq!(given_up.said()[3], joined);
}
