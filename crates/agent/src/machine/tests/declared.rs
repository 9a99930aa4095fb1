//! Declared loops (rows D1, D2, D7).

use super::{ANNA, BEN, Script, accepted, begun, completion, cut_off, done, finished, more, says, steers, wants};
use crate::machine::Replay;
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::declared_loop::NUDGE;
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::note::LoopCeiling;
use crate::machine::policy::{DeclaredLoop, Policy, Termination};
use crate::machine::run_start::{ModelBill, RunStart};
use crate::machine::state::State;
use hob_core::domain::money::Money;
use hob_model::price::{Rate, Rates};

fn text(text: &str) -> Termination {
    Termination::TextIncludes { text: text.to_owned() }
}

fn result(tool: Option<&str>, exit_code: Option<i32>, contains: Option<&str>) -> Termination {
    Termination::ToolResult { tool: tool.map(str::to_owned), exit_code, contains: contains.map(str::to_owned) }
}

fn begin(max_cycles: u32, terminate: Vec<Termination>) -> Event {
    let policy = Policy { declared: Some(DeclaredLoop { max_cycles, terminate }), ..Policy::default() };
    Event::Begun(Box::new(RunStart { policy: Some(Box::new(policy)), ..begun() }))
}

/// A run in such a loop.
fn declared(max_cycles: u32, terminate: Vec<Termination>) -> Script {
    let mut run = Script::queued();
    run.check(begin(max_cycles, terminate), &["ask a/one Work"]);
    run
}

fn exited(call: &str, output: &str, code: i32) -> Event {
    finished(call, ToolOutcome::Exited { text: output.to_owned(), code })
}

/// Which condition was noted.
fn condition(run: &Script) -> Option<u32> {
    let noted = run
        .journal
        .iter()
        .find_map(|event| if let Event::Terminated(terminated) = event { Some(terminated.condition) } else { None });
    noted.unwrap()
}

/// Which ceiling was noted.
fn ceiling(run: &Script) -> Option<LoopCeiling> {
    run.journal
        .iter()
        .find_map(|event| if let Event::Terminated(terminated) = event { Some(terminated.ceiling) } else { None })
        .unwrap()
}

/// A run of which each reply costs a dollar, and which may cost so many.
fn paid(dollars: f64, declared: Option<DeclaredLoop>) -> Script {
    let rate = Rate::from_micro_usd(1_000_000_000_000);
    let rates = Rates { input: rate, cached: rate, cache_write: rate, output: rate, long: None };
    let policy = Policy { declared, run_usd: Some(Money::from_usd(dollars)), ..Policy::default() };
    let mut begun = RunStart { policy: Some(Box::new(policy)), ..begun() };
    begun.billing.models = vec![ModelBill { rates: Some(rates), per_mille: 1_000, window: None, assumed: None }];
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(begun)));
    run
}

#[test]
fn d2_budget_exhausted_means_the_money_of_this_run_and_completes_it() {
    let looped = |terminate| Some(DeclaredLoop { max_cycles: 9, terminate });
    let in_order = looped(vec![Termination::BudgetExhausted, text("DONE")]);
    for (declared, expected) in [(in_order, Some(0)), (looped(vec![text("OVER")]), None), (None, None)] {
        let mut run = paid(0.000_1, declared);
        run.on(said("DONE", &["look"]));
        assert!(run.run().cost >= Money::from_usd(0.000_1), "{:?}", run.run().cost);
        let effects = run.on(done("1.0"));
        assert_eq!((effects[0].as_str(), effects[2].as_str()), (ENDED[0], ENDED[1]), "{effects:?}");
        assert!(effects[1].starts_with("notice The $"), "{effects:?}");
        assert_eq!((condition(&run), ceiling(&run)), (expected, Some(LoopCeiling::Money)));
        assert!(run.run().last_turn.is_some(), "what it noted is kept");
    }
}

#[test]
fn d2_money_that_is_left_ends_nothing() {
    let mut run = paid(1_000_000.0, None);
    run.on(wants(&["look"]));
    run.check(done("1.0"), &["ask a/one Work"]);
}

fn said(text: &str, names: &[&str]) -> Event {
    Event::ModelAnswered(completion(text, names))
}

const ENDED: [&str; 2] = ["agent.loop.terminated", "end Completed"];
const USED_UP: &str = "notice All 3 steps that this task may take are used up, and it has not come to its end";

#[test]
fn d2_words_end_the_loop_in_a_reply_and_after_a_batch() {
    let mut run = declared(5, vec![text("DONE")]);
    run.check(says(" it is DONE now "), &[ENDED[0], "answer it is DONE now", ENDED[1]]);
    assert_eq!(condition(&run), Some(0));

    let mut run = declared(5, vec![text("DONE")]);
    run.check(said("DONE, but look", &["look"]), &["run 1.0 look #1"]);
    run.check(done("1.0"), &[ENDED[0], "answer DONE, but look", ENDED[1]]);

    let mut run = declared(5, vec![text("DONE")]);
    run.check(said("done", &["look"]), &["run 1.0 look #1"]);
    run.check(finished("1.0", ToolOutcome::Text { text: "DONE".to_owned(), is_error: false }), &["ask a/one Work"]);
}

#[test]
fn d2_a_result_ends_the_loop_by_its_tool_code_and_words() {
    let table = [
        (result(None, Some(0), None), true),
        (result(None, Some(1), None), false),
        (result(Some("look"), Some(0), None), true),
        (result(Some("send"), Some(0), None), false),
        (result(None, None, Some("7 passed")), true),
        (result(None, None, Some("8 passed")), false),
        (result(Some("look"), Some(0), Some("passed")), true),
        (result(Some("look"), Some(1), Some("passed")), false),
        (result(Some("look"), Some(0), Some("failed")), false),
    ];
    for (condition, ends) in table {
        let mut run = declared(5, vec![condition.clone()]);
        run.on(wants(&["look"]));
        let expected: &[&str] = if ends { &[ENDED[0], "answer all 7 passed", ENDED[1]] } else { &["ask a/one Work"] };
        let effects = run.on(exited("1.0", "all 7 passed\n", 0));
        assert_eq!(effects, expected, "{condition:?}");
    }
}

#[test]
fn d2_a_result_without_a_code_has_none_and_a_code_is_a_failure_or_not() {
    let mut run = declared(5, vec![result(None, Some(0), None), result(None, Some(3), None)]);
    run.on(wants(&["look", "look"]));
    run.check(done("1.0"), &[]);
    run.check(exited("1.1", "no", 2), &["ask a/one Work"]);
    assert_eq!(run.said()[2..], ["tool 1.0: ok", "tool 1.1 failed: no"]);
    run.on(said("see", &["look"]));
    run.check(exited("2.0", "no", 3), &[ENDED[0], "answer see", ENDED[1]]);
    assert_eq!(condition(&run), Some(1));
}

#[test]
fn d2_the_first_condition_in_order_ends_the_loop() {
    for (terminate, expected) in [
        (vec![text("DONE"), result(None, None, Some("ok"))], Some(0)),
        (vec![result(None, None, Some("ok")), text("DONE")], Some(0)),
        (vec![text("OVER"), result(None, None, Some("ok")), text("DONE")], Some(1)),
        (vec![text("OVER"), text("DONE"), Termination::BudgetExhausted], Some(1)),
    ] {
        let mut run = declared(1, terminate);
        run.on(said("DONE", &["look"]));
        run.check(done("1.0"), &[ENDED[0], "answer DONE", ENDED[1]]);
        assert_eq!(condition(&run), expected);
    }
}

#[test]
fn d2_the_cycles_end_it_with_an_honest_word_whether_declared_or_not() {
    for (terminate, expected) in [(vec![text("DONE")], None), (vec![text("DONE"), Termination::BudgetExhausted], None)]
    {
        let mut run = declared(3, terminate);
        for cycle in 1..3 {
            run.on(wants(&["look"]));
            let text = format!("so far {cycle}");
            let outcome = ToolOutcome::Text { text, is_error: false };
            run.check(finished(&format!("{cycle}.0"), outcome), &["ask a/one Work"]);
        }
        run.on(said("nearly", &["look"]));
        run.check(done("3.0"), &[ENDED[0], USED_UP, ENDED[1]]);
        assert_eq!((condition(&run), ceiling(&run)), (expected, Some(LoopCeiling::Cycles)));
        assert!(run.run().last_turn.is_some(), "its task has not come to its end: what it noted is kept");
        let told = run.journal.iter().find_map(|event| {
            if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
        });
        insta::allow_duplicates! {
            insta::assert_snapshot!(told.unwrap(), @r"
            All 3 steps that this task may take are used up, and it has not come to its end. My last words on it were:
            nearly
            ");
        }
    }
}

#[test]
fn d2_one_cycle_is_told_as_one() {
    let mut run = declared(1, vec![text("DONE")]);
    let effects = run.on(says("hm"));
    insta::assert_snapshot!(effects.join("\n"), @r#"
    agent.loop.terminated
    notice The one step that this task may take is used up, and it has not come to its end
    end Completed
    "#);
}

#[test]
fn d7_a_reply_with_neither_calls_nor_an_end_is_nudged_to_the_last_cycle() {
    let mut run = declared(3, vec![text("DONE")]);
    run.check(says("I will now go on."), &["ask a/one Work"]);
    assert_eq!(run.said()[1..], ["hob: I will now go on.".to_owned(), format!("user: {NUDGE}")]);
    run.check(says("NO_REPLY"), &["ask a/one Work"]);
    run.check(says("Still at it."), &[ENDED[0], USED_UP, ENDED[1]]);
    insta::assert_snapshot!(NUDGE, @"[This task is not at its end yet, and your reply called no tool. Go on with the next step; say that it is done, in the words agreed upon, only when it is.]");
}

#[test]
fn d7_no_other_loop_is_nudged() {
    let mut run = Script::begun();
    run.check(says("I will now go on."), &["answer I will now go on.", "end Completed"]);
}

#[test]
fn d7_what_was_cut_off_goes_on_before_it_is_judged() {
    let mut run = declared(5, vec![text("ALL DONE")]);
    run.check(cut_off("it is ALL "), &["ask a/one Work"]);
    run.check(says("DONE"), &[ENDED[0], "answer it is ALL DONE", ENDED[1]]);

    let mut run = declared(2, vec![text("ALL DONE")]);
    run.on(cut_off("it is "));
    assert_eq!(run.on(cut_off("not"))[0], ENDED[0], "the cycles are used up");
}

#[test]
fn d7_a_nudge_forgets_what_was_not_the_answer() {
    let mut run = declared(5, vec![text("DONE")]);
    run.on(cut_off("I think "));
    run.check(says("so."), &["ask a/one Work"]);
    run.check(says("DONE"), &[ENDED[0], "answer DONE", ENDED[1]]);
}

#[test]
fn d2_what_somebody_says_meanwhile_is_heard_before_the_end() {
    let mut run = declared(5, vec![text("DONE")]);
    run.on(steers(BEN, "and the door"));
    run.check(says("DONE"), &["ask a/one Work"]);
    assert_eq!(run.said().last().unwrap(), "user: [Ben] and the door");
    run.on(said("DONE", &["look"]));
    run.on(steers(ANNA, "wait"));
    run.check(done("2.0"), &["ask a/one Work"]);
    assert_eq!(run.said().last().unwrap(), "user: wait");

    let mut last = declared(1, vec![text("DONE")]);
    last.on(steers(BEN, "and the door"));
    assert_eq!(last.on(says("no"))[0], ENDED[0], "no cycle is left to hear it in");
    assert!(last.said().contains(&"user: [Ben] and the door".to_owned()), "but it is not forgotten");
}

#[test]
fn d1_the_cycles_stand_in_the_place_of_the_iterations() {
    let mut run = declared(12, vec![text("DONE")]);
    run.on(wants(&["request_more_iterations"]));
    run.check(more("1.0"), &["ask a/one Work"]);
    assert_eq!(
        run.said().last().unwrap(),
        "tool 1.0 failed: Not granted: this task has 12 steps in all. Finish with what you have."
    );
    for cycle in 2..12 {
        run.on(wants(&["look"]));
        let outcome = ToolOutcome::Text { text: format!("so far {cycle}"), is_error: false };
        run.check(finished(&format!("{cycle}.0"), outcome), &["ask a/one Work"]);
    }
    run.on(wants(&["look"]));
    assert_eq!(run.on(done("12.0"))[0], ENDED[0]);
}

#[test]
fn d2_the_last_turn_is_no_cycle_of_the_loop() {
    let mut run = declared(12, vec![text("DONE")]);
    run.on(wants(&["look"]));
    run.on(Event::SoftLimit);
    run.check(done("1.0"), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);
    run.check(says("so far"), &["answer so far", "end Completed"]);
}

#[test]
fn d7_a_heartbeat_may_end_in_silence_in_any_loop() {
    let mut state = State::Empty;
    let mut replay = Replay::default();
    let heartbeat = Event::Accepted(AcceptedInput { order: RunKind::Heartbeat, ..accepted() });
    for event in [heartbeat, begin(3, vec![text("DONE")]), says("NO_REPLY")] {
        for event in crate::machine::step(&mut state, event).events {
            replay.feed(&event);
        }
    }
    assert_eq!(replay.mismatch(), None);
    assert_eq!(state.status().as_str(), "completed");
    assert_eq!(state.active().unwrap().told, 0);
}
