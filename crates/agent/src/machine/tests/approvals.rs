//! Approvals (row D6): which calls wait for a word, what each word does, and that none counts twice.

use super::{
    ANNA, Script, answers, asks, begun, crash, done, hard_limit, presses, says, steers, stop, stopped_tool, wants,
};
use crate::machine::approval;
use crate::machine::event::Event;
use crate::machine::question::Question;
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use crate::machine::status::Status;
use crate::machine::texts::AFTER_DENIAL;
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::{Approval, ToolFacts};
use hob_model::message::{Completion, ToolCall};

/// `pay` is asked about, `wipe` each time, and `peek` too, which is safe to run twice.
fn careful() -> RunStart {
    let facts = |approval| ToolFacts { approval, ..ToolFacts::default() };
    let tools =
        [("pay", Approval::Ask), ("wipe", Approval::Critical), ("peek", Approval::Ask), ("send", Approval::Free)];
    RunStart {
        tools: tools.map(|(name, approval)| (name.to_owned(), facts(approval))).into(),
        idempotent_tools: vec!["look".to_owned(), "peek".to_owned()],
        ..begun()
    }
}

fn started(begun: RunStart) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(begun)), &["ask a/one Work"]);
    run
}

/// A run whose model wants these tools; `pay` and `wipe` need a word.
fn wanting(names: &[&str], expected: &[&str]) -> Script {
    let mut run = started(careful());
    run.check(wants(names), expected);
    run
}

fn expires(question: u32) -> Event {
    Event::Expired { question }
}

fn revoked(tool: &str) -> Event {
    Event::GrantRevoked { tool: tool.to_owned() }
}

#[test]
fn d6_a_call_waits_for_its_approval_and_is_made_once() {
    for yes in [answers("approve"), answers("1"), answers(" Approve! "), answers("yes"), presses(1, "1")] {
        let mut run = wanting(&["pay"], &["human approves 1.0 pay"]);
        assert_eq!(run.state.status(), Status::Waiting);
        run.check(yes.clone(), &["run 1.0 pay #1"]);
        run.check(yes, &["ignored: nothing was asked"]);
        run.check(done("1.0"), &["ask a/one Work"]);
        assert!(run.run().granted.is_empty(), "once is once");
        run.check(wants(&["pay"]), &["human approves 2.0 pay"]);
    }
}

#[test]
fn d6_the_question_is_bound_to_the_call_and_its_arguments() {
    let run = wanting(&["pay"], &["human approves 1.0 pay"]);
    let Phase::Waiting { question: Question::Approval { call, name, arguments, grantable, .. }, .. } = &run.run().phase
    else {
        panic!("{:?}", run.run().phase)
    };
    assert_eq!((call.0.as_str(), name.as_str(), arguments.as_str(), *grantable), ("1.0", "pay", r#"{"a":1}"#, true));
    let run = wanting(&["wipe"], &["human approves 1.0 wipe"]);
    assert!(matches!(&run.run().phase, Phase::Waiting { question: Question::Approval { grantable: false, .. }, .. }));
}

#[test]
fn d6_a_rejection_is_a_result_with_its_reason() {
    for (no, result) in [
        ("deny", "They gave no reason."),
        ("3", "They gave no reason."),
        ("No.", "They gave no reason."),
        ("deny: too dear", "Their reason: too dear"),
        ("no, because it rains", "Their reason: because it rains"),
    ] {
        let mut run = wanting(&["pay"], &["human approves 1.0 pay"]);
        run.check(answers(no), &["ask a/one Work"]);
        let expected =
            format!("tool 1.0 failed: Not run: a person did not approve this call. {result}\n\n{AFTER_DENIAL}");
        assert_eq!(run.told()[2], expected, "{no}");
    }
}

#[test]
fn d6_anything_else_decides_nothing() {
    let mut run = wanting(&["pay"], &["human approves 1.0 pay"]);
    for garbage in ["what?", "", "4", "0", "no milk today", "approve it twice", "carry on", "give up"] {
        run.check(answers(garbage), &["human approves 1.0 pay"]);
        assert_eq!(run.run().questions, 1);
    }
    run.check(steers(ANNA, "approve"), &[]);
    assert_eq!(run.state.status(), Status::Waiting, "what joins approves nothing");
    run.check(presses(2, "1"), &["ignored: that question is no longer open"]);
    run.check(presses(0, "1"), &["ignored: that question is no longer open"]);
    run.check(presses(1, "1"), &["run 1.0 pay #1"]);
}

#[test]
fn d6_free_calls_go_first_and_questions_come_one_at_a_time() {
    let mut run = wanting(&["pay", "send", "look", "wipe"], &["run 1.1 send #1", "run 1.2 look #1"]);
    run.check(done("1.1"), &[]);
    run.check(done("1.2"), &["human approves 1.0 pay"]);
    run.check(answers("approve"), &["run 1.0 pay #1"]);
    run.check(done("1.0"), &["human approves 1.3 wipe"]);
    assert_eq!(run.run().questions, 2);
    run.check(presses(1, "1"), &["ignored: that question is no longer open"]);
    run.check(answers("deny"), &["ask a/one Work"]);
}

#[test]
fn d6_an_approval_goes_before_a_question_of_the_same_batch() {
    let mut run = wanting(&["ask_human", "pay"], &["run 1.0 ask_human #1"]);
    run.check(asks("1.0", "red or blue?"), &["human approves 1.1 pay"]);
    run.check(answers("deny"), &["human 1.0 asks: red or blue?"]);
    run.check(answers("red"), &["ask a/one Work"]);
}

#[test]
fn d6_always_covers_calls_like_that_one_from_then_on() {
    for always in ["always", "2"] {
        let mut run = wanting(&["pay", "peek", "pay"], &["human approves 1.0 pay"]);
        run.check(answers(always), &["run 1.0 pay #1", "run 1.2 pay #1"]);
        run.check(done("1.0"), &[]);
        run.check(done("1.2"), &["human approves 1.1 peek"]);
        run.check(answers("deny"), &["ask a/one Work"]);
        run.check(wants(&["pay"]), &["run 2.0 pay #1"]);
        assert_eq!(run.run().granted.iter().collect::<Vec<_>>(), [r#"pay a="1""#]);
    }
}

#[test]
fn d6_always_says_nothing_of_other_arguments() {
    let paying = |to: &str| {
        let call = ToolCall {
            id: CallId(String::new()),
            name: "pay".to_owned(),
            arguments: format!(r#"{{"note":"x","to":"{to}"}}"#),
        };
        Event::ModelAnswered(Completion::from_text_and_calls("", vec![call]))
    };
    let mut run = started(careful());
    run.check(paying("Ben"), &["human approves 1.0 pay"]);
    run.check(answers("always"), &["run 1.0 pay #1"]);
    run.check(done("1.0"), &["ask a/one Work"]);
    run.check(paying("Ben"), &["run 2.0 pay #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(paying("Eve"), &["human approves 3.0 pay"]);
    // What cannot be named in a line is not granted.
    run.check(answers("deny"), &["ask a/one Work"]);
    run.check(paying(&"x".repeat(400)), &["human approves 4.0 pay"]);
    run.check(answers("always"), &["human approves 4.0 pay"]);
}

#[test]
fn d6_what_was_granted_before_holds() {
    let mut run =
        started(RunStart { granted: vec![r#"pay a="1""#.to_owned(), r#"wipe a="1""#.to_owned()], ..careful() });
    run.check(wants(&["pay"]), &["run 1.0 pay #1"]);
    run.check(done("1.0"), &["ask a/one Work"]);
    run.check(wants(&["wipe"]), &["human approves 2.0 wipe"]);
}

#[test]
fn d6_always_never_covers_a_critical_command() {
    let mut run = wanting(&["wipe"], &["human approves 1.0 wipe"]);
    run.check(answers("always"), &["human approves 1.0 wipe"]);
    run.check(answers("3"), &["human approves 1.0 wipe"]);
    run.check(answers("2"), &["ask a/one Work"]);
    assert!(run.run().granted.is_empty());
    assert!(run.said()[2].contains("did not approve"), "2 is deny where always is not offered");
}

#[test]
fn d6_a_grant_is_revoked_at_once() {
    let exclusive = ToolFacts { approval: Approval::Ask, exclusive: true, ..ToolFacts::default() };
    let granted = vec![r#"pay a="1""#.to_owned()];
    let mut begun = RunStart { granted, ..careful() };
    begun.tools.insert("pay".to_owned(), exclusive);
    let mut run = started(begun);
    run.check(wants(&["pay", "pay"]), &["run 1.0 pay #1"]);
    run.check(revoked("wipe"), &["ignored: that was not granted to this run"]);
    run.check(revoked(r#"pay a="1""#), &[]);
    run.check(revoked(r#"pay a="1""#), &["ignored: that was not granted to this run"]);
    run.check(done("1.0"), &["human approves 1.1 pay"]);
}

#[test]
fn d6_an_approval_is_used_up_by_a_crash() {
    for tool in ["pay", "peek", "wipe"] {
        let asked = format!("human approves 1.0 {tool}");
        let mut run = wanting(&[tool], &[&asked]);
        run.check(crash(), &[]);
        assert_eq!(run.state.status(), Status::Waiting, "the question stays open");
        run.check(answers("approve"), &[&format!("run 1.0 {tool} #1")]);
        run.check(crash(), &[&format!("human unsafe 1.0 {tool}")]);
        run.check(presses(1, "1"), &["ignored: that question is no longer open"]);
        run.check(answers("run it again"), &[&format!("run 1.0 {tool} #2")]);
        run.check(done("1.0"), &["ask a/one Work"]);
    }
    let mut run = started(RunStart { granted: vec![r#"peek a="1""#.to_owned()], ..careful() });
    run.check(wants(&["peek"]), &["run 1.0 peek #1"]);
    run.check(crash(), &["run 1.0 peek #2"]);
}

#[test]
fn d6_calls_that_wait_for_a_word_survive_a_crash_of_their_batch() {
    let mut run = wanting(&["pay", "send"], &["run 1.1 send #1"]);
    run.check(crash(), &["human unsafe 1.1 send"]);
    run.check(answers("it happened"), &["human approves 1.0 pay"]);
    run.check(answers("approve"), &["run 1.0 pay #1"]);
}

#[test]
fn d6_a_stop_voids_the_question_and_closes_the_batch() {
    let mut run = wanting(&["pay", "wipe"], &["human approves 1.0 pay"]);
    run.check(stop(), &["end Cancelled"]);
    assert_eq!(
        run.said()[2..],
        [
            "tool 1.0 failed: Not run: the task ended before its turn came.",
            "tool 1.1 failed: Not run: the task ended before its turn came."
        ]
    );
    run.check(answers("approve"), &["ignored: the run is over"]);
    let mut run = wanting(&["pay", "send"], &["run 1.1 send #1"]);
    run.check(stop(), &["abort 1.1"]);
    run.check(stopped_tool("1.1"), &["end Cancelled"]);
    let mut run = wanting(&["pay"], &["human approves 1.0 pay"]);
    run.check(hard_limit(), &["notice I ran out of time on this and stopped", "end Failed { why: \"hard_limit\" }"]);
}

#[test]
fn d6_a_question_expires_and_is_told_to_the_model() {
    let mut run = wanting(&["pay"], &["human approves 1.0 pay"]);
    run.check(expires(2), &["ignored: that question is no longer open"]);
    run.check(expires(0), &["ignored: that question is no longer open"]);
    assert!(approval::expiring(run.run(), 1).is_some());
    run.check(expires(1), &["ask a/one Work"]);
    assert!(approval::expiring(run.run(), 1).is_none());
    assert!(
        run.said()[2].starts_with("tool 1.0 failed: Not run: a person had to approve this call"),
        "{:?}",
        run.said()
    );
    run.check(presses(1, "1"), &["ignored: nothing was asked"]);
    run.check(expires(1), &["ignored: that question is no longer open"]);
    run.check(says("not done"), &["answer not done", "end Completed"]);
}

#[test]
fn b15_only_approvals_expire_and_other_questions_are_put_again() {
    let mut run = Script::acting(&["ask_human"]);
    run.check(asks("1.0", "red or blue?"), &["human 1.0 asks: red or blue?"]);
    run.check(expires(1), &["human 1.0 asks: red or blue?"]);
    run.check(crash(), &[]);
    run.check(answers("days later: red"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0: days later: red");
}
