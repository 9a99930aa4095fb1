//! The plain way (rows A5, E13), and replies that are none.

use super::{BEN, Script, completion, cut_off, done, fails, says, steers, wants};
use crate::machine::event::{Event, RunReply};
use crate::machine::model::joined;
use crate::machine::status::Status;
use hob_model::error::ErrorClass;
use hob_model::message::{Message, ReplyPart, Sealed, Usage};

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
fn e13_only_the_exact_word_is_silence() {
    let table = [
        ("NO_REPLY", "silence"),
        (" [SILENT]\n", "silence"),
        ("no_reply", "answer no_reply"),
        ("NO_REPLY.", "answer NO_REPLY."),
        ("NO_REPLY [SILENT]", "answer NO_REPLY [SILENT]"),
        ("[silent]", "answer [silent]"),
        ("SILENT", "answer SILENT"),
        ("I would say NO_REPLY to that", "answer I would say NO_REPLY to that"),
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
fn e4_a_reply_that_was_cut_off_goes_on_where_it_stopped() {
    let mut run = Script::begun();
    run.check(cut_off("One two "), &["ask a/one Work"]);
    run.check(cut_off("three"), &["ask a/one Work"]);
    run.check(says(" four."), &["answer One two three four.", "end Completed"]);
    let said = run.said();
    assert_eq!((said[1].as_str(), said[3].as_str(), said[5].as_str()), ("hob: One two ", "hob: three", "hob:  four."));
}

#[test]
fn e4_five_continuations_at_most_then_what_there_is() {
    let mut run = Script::begun();
    for part in ["1 ", "2 ", "3 ", "4 ", "5 "] {
        run.check(cut_off(part), &["ask a/one Work"]);
    }
    assert_eq!(run.on(cut_off("and more"))[1], "end Completed");
    let Some(Event::Replied(RunReply::Answer { text })) = run.journal.iter().rev().nth(1) else { panic!("no answer") };
    insta::assert_snapshot!(text, @r"
    1 2 3 4 5 and more

    (The model's output limit cut this answer off here.)
    ");
}

#[test]
fn e4_what_was_said_before_tools_or_a_message_that_joined_is_told_in_the_end() {
    let mut run = Script::begun();
    run.on(cut_off("One, "));
    run.check(wants(&["look"]), &["run 2.0 look #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.on(steers(BEN, "me too"));
    run.check(says("two, "), &["ask a/one Work"]);
    run.check(says("three."), &["answer One, three.", "end Completed"]);
}

#[test]
fn e4_a_model_with_nothing_to_add_has_said_it_all() {
    let mut run = Script::begun();
    run.on(cut_off("One, two."));
    run.check(says(" "), &["answer One, two.", "end Completed"]);
}

#[test]
fn e4_what_there_is_is_not_lost_when_the_rest_cannot_be_had() {
    let mut run = Script::begun();
    run.on(cut_off("The first half"));
    let told = run.on(fails(ErrorClass::Refused));
    assert!(told[0].starts_with("answer The first half\n\n(I could not get an answer"), "{told:?}");
    assert_eq!(told[1], r#"end Failed { why: "refused" }"#);
}

#[test]
fn a_repetition_at_the_seam_is_said_once() {
    let table = [
        ("Es war einmal ein König", " in Thule", "Es war einmal ein König in Thule"),
        (
            "Once upon a time there was a king",
            "a time there was a king in Thule",
            "Once upon a time there was a king in Thule",
        ),
        ("a b", "b c", "a bb c"),
        ("", "x", "x"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa!", "aaaaaaaaaaaaaaaaaaaaaaaa!"),
    ];
    for (before, more, expected) in table {
        assert_eq!(joined(before, more), expected);
    }
}

#[test]
fn what_the_model_sealed_stays_before_its_words() {
    let sealed = |data: &str| {
        ReplyPart::Sealed(Sealed { model: "a/one".to_owned(), kind: "thinking".to_owned(), data: data.to_owned() })
    };
    let mut run = Script::begun();
    let mut wanted = completion("", &["look"]);
    wanted.parts.insert(0, sealed("1"));
    run.on(Event::ModelAnswered(wanted));
    run.on(done("1.0"));
    let mut answer = completion("There.", &[]);
    answer.parts.insert(0, sealed("2"));
    run.check(Event::ModelAnswered(answer), &["answer There.", "end Completed"]);
    let messages = run.run().transcript.messages();
    let (Message::Assistant { parts: first }, Message::Assistant { parts: last }) = (&messages[1], &messages[3]) else {
        panic!("{messages:?}")
    };
    assert_eq!((&first[0], &last[..]), (&sealed("1"), &[sealed("2"), ReplyPart::text("There.")][..]));
}

#[test]
fn a_silence_that_was_cut_off_is_still_a_silence() {
    let mut run = Script::begun();
    run.check(cut_off("NO_REPLY"), &["silence", "end Completed"]);
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
fn a5_words_beside_calls_stay_with_the_calls() {
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
