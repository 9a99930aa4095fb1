//! What a run does when a budget is in the way of its next model call (row N10).

use super::{Script, accepted, answers, asks, cut_off, done, finished, says, wants};
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::run_start::ModelBill;
use crate::machine::stop::BudgetStop;
use hob_core::domain::money::Money;
use hob_core::policy::budget::{CapPeriod, CapScope};
use hob_model::price::Rates;

const DAY: CapScope = CapScope::House(CapPeriod::Day);

fn stop(scope: CapScope, resets: Option<&str>) -> Event {
    let (cap, used) = (Money::from_usd(1.0), Money::from_usd(0.99));
    Event::BudgetReached(BudgetStop { scope, cap, used, resets: resets.map(str::to_owned), persona: None })
}

/// What the person was told at the end.
fn told(run: &Script) -> String {
    let text = |event: &Event| {
        if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
    };
    run.journal.iter().rev().find_map(text).unwrap()
}

#[test]
fn n10_before_it_begins_nothing_is_begun() {
    let mut run = Script::queued();
    let effects = run.on(stop(DAY, Some("Sunday, 22 November, 00:00")));
    assert_eq!(effects[1], r#"end Failed { why: "budget" }"#);
    insta::assert_snapshot!(told(&run), @"The budget for a day does not allow the next step: $0.99 of $1.00 are spent or set aside, and it may cost more than what is left. So I have not begun with this. To go on, write to me again after Sunday, 22 November, 00:00; or whoever runs me raises day_usd under [budget] in config.toml.");
}

#[test]
fn n10_a_cap_that_no_call_fits_does_not_send_people_to_wait() {
    let told_of = |used: f64| {
        let mut run = Script::queued();
        let (cap, used) = (Money::from_usd(1.0), Money::from_usd(used));
        let resets = Some("Sunday".to_owned());
        run.on(Event::BudgetReached(BudgetStop { scope: DAY, cap, used, resets, persona: None }));
        told(&run)
    };
    insta::assert_snapshot!(told_of(0.0), @"The budget for a day does not allow the next step: $0.00 of $1.00 are spent or set aside, and it may cost more than what is left. So I have not begun with this. Waiting does not help here: whoever runs me has to raise day_usd under [budget] in config.toml.");
    assert!(told_of(1.0).starts_with("The budget for a day is used up: $1.00 of $1.00 are spent or set aside."));
}

#[test]
fn n10_at_the_cap_the_run_is_handed_back_with_what_was_done() {
    let mut run = Script::acting(&["look", "send"]);
    run.on(done("1.0"));
    run.check(stop(CapScope::Run, None), &[]);
    let effects = run.on(finished("1.1", ToolOutcome::Text { text: "no".to_owned(), is_error: true }));
    assert_eq!(effects[1], r#"end Failed { why: "budget" }"#);
    insta::assert_snapshot!(told(&run), @r"
    The budget for one task does not allow the next step: $0.99 of $1.00 are spent or set aside, and it may cost more than what is left. So I have stopped here.
    Done so far:
    - look
    - send: failed
    To go on, write to me again: a new message has a budget of its own. Whoever runs me can raise run_usd under [budget] in config.toml.
    ");
    assert_eq!(run.said().len(), 5, "the calls, their results and the hand-off stay in the history");
}

#[test]
fn n10_the_words_so_far_are_handed_back_too() {
    let mut run = Script::begun();
    run.on(stop(CapScope::House(CapPeriod::Hour), Some("12:00")));
    run.on(cut_off("Half of"));
    assert!(told(&run).contains("What I had to say so far:\nHalf of"), "{}", told(&run));
}

#[test]
fn n10_an_answer_that_is_there_already_is_given() {
    let mut run = Script::begun();
    run.on(stop(CapScope::House(CapPeriod::Month), None));
    run.check(says("hi"), &["answer hi", "end Completed"]);
}

#[test]
fn n10_a_person_who_answers_is_told_as_well() {
    let mut run = Script::acting(&["ask_human"]);
    run.on(asks("1.0", "which?"));
    run.on(stop(CapScope::Person(CapPeriod::Month), None));
    let effects = run.on(answers("this one"));
    assert_eq!(effects[1], r#"end Failed { why: "budget" }"#);
    let mut other = Script::begun();
    other.on(wants(&["look"]));
    other.check(done("1.0"), &["ask a/one Work"]);
}

#[test]
fn n10_prices_are_known_only_if_every_models_are() {
    let bill = |rates| ModelBill { rates, per_mille: 1_000, window: None, assumed: None };
    let (known, unknown) = (bill(Some(Rates::default())), bill(None));
    for (models, is_priced) in
        [(vec![known, known], true), (vec![known, unknown], false), (vec![known], false), (Vec::new(), false)]
    {
        let mut run = Script::begun().run().clone();
        run.billing.models = models.clone();
        assert_eq!(run.is_priced(), is_priced, "{models:?}");
    }
}

/// Nobody has asked for anything, so nobody is told.
#[test]
fn e14_a_heartbeat_without_a_budget_says_nothing() {
    let mut run = Script::fresh();
    run.on(Event::Accepted(AcceptedInput { order: RunKind::Heartbeat, ..accepted() }));
    assert_eq!(run.on(stop(DAY, None)), [r#"end Failed { why: "budget" }"#]);
}

#[test]
fn e14_what_is_wanted_comes_back() {
    for (order, is_written) in [(RunKind::Answer, false), (RunKind::Scheduled, true), (RunKind::Heartbeat, true)] {
        let written = serde_json::to_value(AcceptedInput { order, ..accepted() }).unwrap();
        assert_eq!(written.get("order").is_some(), is_written, "{order:?}");
        assert_eq!(serde_json::from_value::<AcceptedInput>(written).unwrap().order, order);
    }
}
