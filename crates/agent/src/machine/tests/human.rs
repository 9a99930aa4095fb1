//! Questions and their answers (rows B10, B15).

use super::{Script, answers, asks, crash, done, presses, says, wants};
use crate::machine::human::Decision;
use crate::machine::status::Status;

fn unsure() -> Script {
    let mut run = Script::acting(&["send"]);
    run.check(crash(), &["human unsafe 1.0 send"]);
    run
}

#[test]
fn b15_the_answer_to_ask_human_is_the_calls_result() {
    let mut run = Script::acting(&["send", "ask_human"]);
    run.check(asks("1.1", "blue or red?"), &[]);
    run.check(done("1.0"), &["human 1.1 asks: blue or red?"]);
    assert_eq!(run.state.status(), Status::Waiting);
    run.check(crash(), &[]);
    run.check(answers("1"), &["ask a/one Work"]);
    run.check(says("painted"), &["answer painted", "end Completed"]);
    assert_eq!(run.said()[3], "tool 1.1: 1", "words are the person's own, not a choice's number");
}

#[test]
fn nothing_was_asked() {
    let mut run = Script::begun();
    run.check(answers("yes"), &["ignored: nothing was asked"]);
    run.check(wants(&["send"]), &["run 1.0 send #1"]);
    run.check(answers("yes"), &["ignored: nothing was asked"]);
}

#[test]
fn b10_a_doubtful_call_is_decided_by_words_number_or_button() {
    for happened in ["it happened", "  It Happened! ", "1", "1.", " 1 "] {
        let mut run = unsure();
        run.check(answers(happened), &["ask a/one Work"]);
        assert_eq!(run.said()[2], "tool 1.0: This call took effect; a person confirmed it. Its output was lost.");
    }
    for again in ["run it again", "RUN IT AGAIN.", "2"] {
        let mut run = unsure();
        run.check(answers(again), &["run 1.0 send #2"]);
        run.check(done("1.0"), &["ask a/one Work"]);
    }
    for give_up in ["give up", "3", "3!"] {
        let mut run = unsure();
        run.check(answers(give_up), &["notice Given up", "end GivenUp"]);
        assert_eq!(run.said()[2], "tool 1.0 failed: Given up; whether it took effect is not known.");
        assert_eq!(run.state.status(), Status::Cancelled);
    }
    let mut run = unsure();
    run.check(presses(1, "2"), &["run 1.0 send #2"]);
}

#[test]
fn anything_else_asks_again_under_the_same_number() {
    let mut run = unsure();
    for garbage in ["what?", "", "0", "4", "-1", "carry on", "it happened twice", "1 2", "99999999999999999999999"] {
        run.check(answers(garbage), &["human unsafe 1.0 send"]);
        assert_eq!(run.run().questions, 1);
    }
    run.check(presses(1, "it happened"), &["ask a/one Work"]);
}

#[test]
fn a_stale_button_does_nothing() {
    let mut run = Script::acting(&["send", "send"]);
    run.check(crash(), &["human unsafe 1.0 send"]);
    run.check(presses(2, "1"), &["ignored: that question is no longer open"]);
    run.check(presses(1, "1"), &["human unsafe 1.1 send"]);
    assert_eq!(run.run().questions, 2);
    run.check(presses(1, "2"), &["ignored: that question is no longer open"]);
    run.check(presses(2, "1"), &["ask a/one Work"]);
    run.check(presses(2, "1"), &["ignored: nothing was asked"]);
}

#[test]
fn doubtful_calls_come_one_after_another() {
    let mut run = Script::acting(&["send", "look", "send", "send"]);
    run.check(done("1.1"), &[]);
    run.check(crash(), &["human unsafe 1.0 send"]);
    run.check(answers("it happened"), &["human unsafe 1.2 send"]);
    run.check(answers("run it again"), &["run 1.2 send #2"]);
    run.check(done("1.2"), &["human unsafe 1.3 send"]);
    run.check(answers("it happened"), &["ask a/one Work"]);
    assert_eq!(run.run().questions, 3);
}

#[test]
fn a_crash_after_run_it_again_asks_anew() {
    let mut run = unsure();
    run.check(answers("run it again"), &["run 1.0 send #2"]);
    run.check(crash(), &["human unsafe 1.0 send #2"]);
    assert_eq!(run.run().questions, 2);
    run.check(presses(1, "2"), &["ignored: that question is no longer open"]);
    run.check(answers("2"), &["run 1.0 send #3"]);
    run.check(done("1.0"), &["ask a/one Work"]);
}

#[test]
fn a_doubtful_call_goes_before_a_question_of_the_same_batch() {
    let mut run = Script::acting(&["ask_human", "send"]);
    run.check(asks("1.0", "blue?"), &[]);
    run.check(crash(), &["human unsafe 1.1 send"]);
    run.check(answers("it happened"), &["human 1.0 asks: blue?"]);
    run.check(answers("yes"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0: yes");
}

#[test]
fn b10_what_would_have_decided_a_question_is_known_by_what_could_be_chosen() {
    let approval = ["approve", "always", "deny"];
    let cut_off = ["it happened", "run it again", "give up"];
    let table: [(&str, &[&str], bool); 9] = [
        (" Approve! ", &approval, true),
        ("3", &approval, true),
        ("yes", &approval, true),
        ("no, it is too dear", &approval, true),
        ("4", &approval, false),
        ("How much was it?", &approval, false),
        ("2", &cut_off, true),
        ("no, it is too dear", &cut_off, false),
        ("1", &[], false),
    ];
    for (text, labels, expected) in table {
        assert_eq!(Decision::would_have_decided(text, labels), expected, "{text} {labels:?}");
    }
}
