//! The plain way (rows A5, E13), and replies that are none.

use super::{Script, completion, done, says, wants};
use crate::agent::machine::event::{Event, Reply};
use crate::agent::machine::state::Status;
use crate::model::message::{StopReason, Usage};

#[test]
fn a_reply_is_sent_and_ends_the_run() {
    let mut run = Script::begun();
    assert_eq!(run.state.status(), Status::Running);
    run.check(says("  hi there \n"), &["answer hi there", "end Completed"]);
    assert_eq!(run.said(), ["user: hello", "hob: hi there"]);
    assert_eq!(run.state.status(), Status::Completed);
    assert_eq!(run.run().usage, Usage { input_tokens: 10, output_tokens: 2, cached_tokens: 1, ..Usage::default() });
}

#[test]
fn only_the_exact_word_is_silence() {
    let table = [
        ("NO_REPLY", "silence"),
        (" [SILENT]\n", "silence"),
        ("no_reply", "answer no_reply"),
        ("NO_REPLY.", "answer NO_REPLY."),
        ("NO_REPLY [SILENT]", "answer NO_REPLY [SILENT]"),
        ("[silent]", "answer [silent]"),
        ("SILENT", "answer SILENT"),
    ];
    for (text, expected) in table {
        let mut run = Script::begun();
        run.check(says(text), &[expected, "end Completed"]);
        let in_history =
            if expected == "silence" { "hob: [no reply needed]".to_owned() } else { format!("hob: {text}") };
        assert_eq!(run.said()[1], in_history);
    }
}

#[test]
fn a_cut_off_answer_says_so_to_the_person_and_in_the_history() {
    let mut run = Script::begun();
    run.on(Event::ModelAnswered(completion("half", &[])).cut_off());
    let Some(Event::Replied(Reply::Answer { text })) = run.journal.iter().rev().nth(1) else { panic!("no answer") };
    insta::assert_snapshot!(text, @r"
    half

    (The model's output limit cut this answer off here.)
    ");
    assert_eq!(run.said()[1], format!("hob: {text}"));
}

#[test]
fn a_silence_that_was_cut_off_is_still_a_silence() {
    let mut run = Script::begun();
    run.check(Event::ModelAnswered(completion("NO_REPLY", &[])).cut_off(), &["silence", "end Completed"]);
}

#[test]
fn an_empty_reply_is_a_failure_that_is_repeated_once_per_model() {
    let mut run = Script::begun();
    run.check(says("  \n"), &["ask a/one Work in 2000 ms"]);
    run.check(says(""), &["ask b/two Work"]);
    run.check(says(""), &["ask b/two Work in 2000 ms"]);
    run.check(says(""), &["notice I could not get an answer from the model", r#"end Failed { why: "malformed" }"#]);
    assert_eq!(run.run().usage.input_tokens, 40, "every empty reply is paid for");
    assert_eq!(run.run().cycles, 0);
}

#[test]
fn words_beside_calls_stay_with_the_calls() {
    let mut run = Script::begun();
    run.check(Event::ModelAnswered(completion("let me see", &["look"])), &["run 1.0 look #1"]);
    run.check(done("1.0"), &["ask a/one Work"]);
    run.check(says("seen"), &["answer seen", "end Completed"]);
    assert_eq!(run.said(), ["user: hello", "hob: let me see <1.0 look>", "tool 1.0: ok", "hob: seen"]);
}

#[test]
fn call_ids_are_hobs_own_and_unique_whatever_the_provider_sent() {
    let mut run = Script::begun();
    run.check(wants(&["send", "send"]), &["run 1.0 send #1", "run 1.1 send #1"]);
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["run 2.0 send #1"]);
}

trait CutOff {
    fn cut_off(self) -> Event;
}

impl CutOff for Event {
    fn cut_off(self) -> Event {
        let Self::ModelAnswered(mut completion) = self else { panic!("not an answer") };
        completion.stop = StopReason::MaxTokens;
        Self::ModelAnswered(completion)
    }
}
