use super::*;
use crate::agent::machine::event::{Event, JournalMismatch};
use crate::agent::machine::tests::{Script, answers, asks};
use crate::agent::replay::tests::{busy, recorded};
use crate::agent::replay::what_if::{Change, WhatIf, what_if};

#[test]
fn d8_a_tree_is_shown() {
    insta::assert_snapshot!(tree(&Tree::of(&recorded(&busy()))), @"");
}

#[test]
fn d8_a_waiting_run_is_shown() {
    let mut script = Script::acting(&["ask_human", "look"]);
    script.on(Event::SoftLimit);
    script.on(asks("1.0", "Red or blue?"));
    insta::assert_snapshot!(tree(&Tree::of(&recorded(&script))), @"");
    script.on(crate::agent::machine::tests::done("1.1"));
    script.on(answers("Blue."));
    let text = tree(&Tree::of(&recorded(&script)));
    assert!(text.contains("* human.answered Blue.\n"), "{text}");
}

#[test]
fn d8_a_run_that_never_began_is_shown() {
    let mut script = Script::queued();
    script.on(Event::Withdrawn);
    insta::assert_snapshot!(tree(&Tree::of(&recorded(&script))), @"");
}

#[test]
fn n2_a_verdict_is_told() {
    let mut run = recorded(&busy());
    let honest = verdict(12, &Verdict::of(&run));
    assert!(honest.starts_with("Run 12: 18 events folded.\nThe journal replays to the same effects.\nThe state is the one that was written down: state1:"), "{honest}");
    run.state_hash = Some("state1:00".to_owned());
    let told = verdict(12, &Verdict::of(&run));
    assert!(told.contains("NOT THE SAME STATE:\n  written down state1:00\n  folded       state1:"), "{told}");
    run.state_hash = None;
    run.events.truncate(2);
    run.broken = Some(crate::agent::replay::Broken { seq: 3, what: "no event".to_owned() });
    let mut found = Verdict::of(&run);
    found.told = vec![JournalMismatch { seq: 2, expected: "a".to_owned(), actual: "b".to_owned() }];
    insta::assert_snapshot!(verdict(12, &found), @"");
    run.state_hash = Some("state0:00".to_owned());
    let told = verdict(12, &Verdict::of(&run));
    assert!(
        told.ends_with("The state's hash was made by another edition (state0) and cannot be compared.\n"),
        "{told}"
    );
}

#[test]
fn n2_a_comparison_is_told() {
    let compared = |text: &str| {
        let change = Change { what: WhatIf::parse(text).unwrap(), bills: Vec::new() };
        report(12, &what_if(&recorded(&busy()), &change).unwrap())
    };
    insta::assert_snapshot!(compared("[limits]\niterations = 1"), @"");
    insta::assert_snapshot!(compared("models = ['c/three']"), @"");
    insta::assert_snapshot!(compared("[policy.truth]\nask_again = true"), @"");
}
