//! What a run does when a quota is in the way of its next model call (rows C2, E15).

use super::{Script, done, says, wants};
use crate::machine::event::{Event, RunReply};
use crate::machine::stop::{BudgetStop, QuotaScope, QuotaStop};

fn stop(used: u64) -> Event {
    let (name, key) = ("a guest's month".to_owned(), "guest_month_tokens".to_owned());
    let resets = "Tuesday, 1 December, 00:00".to_owned();
    Event::QuotaReached(QuotaStop { name, key, cap: 5_000, used, resets, whose: QuotaScope::Person })
}

#[test]
fn c2_whose_tokens_they_are_and_where_they_are_raised_is_told() {
    let told_of = |whose, name: &str| {
        let (key, resets) = ("month_tokens".to_owned(), "Tuesday".to_owned());
        let mut run = Script::queued();
        run.on(Event::QuotaReached(QuotaStop { name: name.to_owned(), key, cap: 9, used: 9, resets, whose }));
        told(&run)
    };
    insta::assert_snapshot!(told_of(QuotaScope::House, "a month"), @"The house's tokens for a month are used up: 9 of 9. So I have not begun with this. They begin anew on Tuesday; or whoever runs me raises month_tokens under [budget] in config.toml.");
    insta::assert_snapshot!(told_of(QuotaScope::Persona("cook".to_owned()), "a month as cook"), @"The tokens for a month as cook are used up: 9 of 9. So I have not begun with this. They begin anew on Tuesday; or whoever runs me raises month_tokens under [personas.cook] in config.toml.");
}

#[test]
fn c2_a_stop_of_before_reads_as_it_did() {
    let old = r#"{"name":"an hour","key":"hour_tokens","cap":10,"used":10,"resets":"12:00"}"#;
    let stop: QuotaStop = serde_json::from_str(old).unwrap();
    assert_eq!((stop.whose.clone(), serde_json::to_string(&stop).unwrap()), (QuotaScope::Person, old.to_owned()));
    let old = r#"{"scope":"person_month","cap":10,"used":10,"resets":null}"#;
    let stop: BudgetStop = serde_json::from_str(old).unwrap();
    assert_eq!((stop.scope.usd_key(), serde_json::to_string(&stop).unwrap()), ("person_month_usd", old.to_owned()));
}

/// What the person was told at the end.
fn told(run: &Script) -> String {
    let text = |event: &Event| {
        if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
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
