//! What a run does when a quota is in the way of its next model call (rows C2, E15).

use super::{Script, done, says, wants};
use crate::machine::event::{Event, Reply};
use crate::machine::stop::QuotaStop;

fn stop(used: u64) -> Event {
    Event::QuotaReached(QuotaStop {
        name: "a guest's month".to_owned(),
        key: "guest_month_tokens".to_owned(),
        cap: 5_000,
        used,
        resets: "Tuesday, 1 December, 00:00".to_owned(),
    })
}

/// What the person was told at the end.
fn told(run: &Script) -> String {
    let text = |event: &Event| {
        if let Event::Replied(Reply::Notice { text }) = event { Some(text.clone()) } else { None }
    };
    run.journal.iter().rev().find_map(text).unwrap()
}

#[test]
fn c2_before_it_begins_nothing_is_begun() {
    let mut run = Script::queued();
    let effects = run.on(stop(5_012));
    assert_eq!(effects[1], r#"end Failed { why: "quota" }"#);
    insta::assert_snapshot!(told(&run), @"Your tokens for a guest's month are used up: 5012 of 5000. So I have not begun with this. They begin anew on Tuesday, 1 December, 00:00; or whoever runs me raises guest_month_tokens under [quotas] in config.toml.");
}

#[test]
fn c2_what_is_left_may_be_too_little_and_waiting_does_not_always_help() {
    let told_of = |used| {
        let mut run = Script::queued();
        run.on(stop(used));
        told(&run)
    };
    insta::assert_snapshot!(told_of(0), @"Your tokens for a guest's month do not allow the next step: 0 of 5000 are used, and it would take more than what is left. So I have not begun with this. Waiting does not help here: whoever runs me has to raise guest_month_tokens under [quotas] in config.toml.");
    assert!(
        told_of(4_999).starts_with("Your tokens for a guest's month do not allow the next step: 4999 of 5000 are used")
    );
    assert!(told_of(5_000).starts_with("Your tokens for a guest's month are used up: 5000 of 5000."));
}

#[test]
fn e15_at_the_quota_the_run_is_handed_back_with_what_was_done() {
    let mut run = Script::acting(&["look"]);
    run.check(stop(5_000), &[]);
    let effects = run.on(done("1.0"));
    assert_eq!(effects[1], r#"end Failed { why: "quota" }"#);
    insta::assert_snapshot!(told(&run), @r"
    Your tokens for a guest's month are used up: 5000 of 5000. So I have stopped here.
    Done so far:
    - look
    They begin anew on Tuesday, 1 December, 00:00; or whoever runs me raises guest_month_tokens under [quotas] in config.toml.
    ");
    assert_eq!(run.said().len(), 4, "the call, its result and the hand-off stay in the history");
}

#[test]
fn e15_an_answer_that_is_there_already_is_given() {
    let mut run = Script::begun();
    run.on(stop(5_000));
    run.check(says("hi"), &["answer hi", "end Completed"]);
    let mut other = Script::begun();
    other.on(wants(&["look"]));
    other.check(done("1.0"), &["ask a/one Work"]);
}
