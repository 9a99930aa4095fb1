//! Calls whose risk depends on how things stand: each is looked at as it starts (row N6).

use super::{BEN, Script, answers, begun, crash, done, principal, stop, wants};
use crate::machine::accepted_input::SteeringMessage;
use crate::machine::event::Event;
use crate::machine::policy::Policy;
use crate::machine::question::Question;
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};
use hob_model::message::Pictures;

/// `set` changes something, and what depends on how things stand.
fn run_start() -> RunStart {
    let set = ToolFacts { changes: true, risk: Risk::Write, by_state: true, ..ToolFacts::default() };
    let mut policy = Policy::default();
    policy.guards.enabled = false;
    let tools = [("set".to_owned(), set), ("look".to_owned(), ToolFacts::default())].into();
    RunStart { tools, policy: Some(Box::new(policy)), ..begun() }
}

fn wanting(names: &[&str], expected: &[&str]) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(run_start())), &["ask a/one Work"]);
    // What was said of them before any was made is not what counts.
    run.check(Event::Assessed { calls: names.iter().map(|_| Assessment::usual(Risk::Read)).collect() }, &[]);
    run.check(wants(names), expected);
    run
}

fn looked(call: &str, grade: DangerGrade, why: &str) -> Event {
    let known = Assessment { grade, reasons: vec![why.to_owned()], ..Assessment::usual(Risk::Write) };
    Event::Looked { call: CallId(call.to_owned()), known }
}

fn reasons(run: &Script) -> Vec<String> {
    let Phase::Waiting { question: Question::Approval { concern, .. }, .. } = &run.run().phase else {
        panic!("{:?}", run.run().phase)
    };
    concern.reasons.clone()
}

#[test]
fn n6_each_call_of_a_reply_is_looked_at_and_asked_about_as_it_starts() {
    let mut run = wanting(&["set", "set"], &["look at 1.0 set"]);
    for (index, why) in ["1 → 2", "2 → 3"].into_iter().enumerate() {
        let call = format!("1.{index}");
        run.check(looked(&call, DangerGrade::Critical, why), &[&format!("human approves {call} set")]);
        assert_eq!(reasons(&run), [why]);
        run.check(answers("approve"), &[&format!("look at {call} set")]);
        run.check(looked(&call, DangerGrade::Critical, why), &[&format!("run {call} set #1")]);
        let next = if index < 1 { format!("look at 1.{} set", index + 1) } else { "ask a/one Work".to_owned() };
        run.check(done(&call), &[&next]);
    }
}

#[test]
fn a_yes_stands_as_long_as_it_is_what_would_happen() {
    let mut run = wanting(&["set"], &["look at 1.0 set"]);
    run.check(looked("1.0", DangerGrade::Critical, "7 → 9"), &["human approves 1.0 set"]);
    run.check(answers("approve"), &["look at 1.0 set"]);
    run.check(looked("1.0", DangerGrade::Critical, "8 → 9"), &["human approves 1.0 set"]);
    assert_eq!(reasons(&run), ["8 → 9"]);
    run.check(answers("approve"), &["look at 1.0 set"]);
    run.check(looked("1.0", DangerGrade::Refused, "no"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: Not run: nobody may have this call made. Why: no.");
}

#[test]
fn what_is_harmless_as_it_starts_is_made_in_its_turn() {
    let mut run = wanting(&["look", "set", "look"], &["run 1.0 look #1"]);
    run.check(done("1.0"), &["look at 1.1 set"]);
    run.check(looked("1.2", DangerGrade::Safe, ""), &["ignored: nobody waits for what is known of that call"]);
    run.check(looked("1.1", DangerGrade::Safe, ""), &["run 1.1 set #1"]);
    run.check(looked("1.1", DangerGrade::Critical, ""), &["ignored: nobody waits for what is known of that call"]);
    run.check(done("1.1"), &["run 1.2 look #1"]);
}

#[test]
fn a_look_is_made_again_after_a_crash_and_a_pause_and_not_after_a_stop() {
    let mut run = wanting(&["set"], &["look at 1.0 set"]);
    run.check(crash(), &["look at 1.0 set"]);
    run.check(Event::PauseRequested { by: BEN }, &[]);
    run.check(looked("1.0", DangerGrade::Safe, ""), &["paused"]);
    run.check(Event::PauseLifted { by: BEN }, &["look at 1.0 set"]);
    run.check(looked("1.0", DangerGrade::Critical, "x"), &["human approves 1.0 set"]);
    run.check(answers("approve"), &["look at 1.0 set"]);
    run.check(crash(), &["look at 1.0 set"]);
    run.check(stop(), &["end Cancelled"]);
    run.check(looked("1.0", DangerGrade::Critical, "x"), &["ignored: the run is over"]);
}

#[test]
fn n6_what_is_read_after_a_yes_is_told_before_the_call_starts() {
    let mut run = wanting(&["set"], &["look at 1.0 set"]);
    run.check(looked("1.0", DangerGrade::Critical, "x"), &["human approves 1.0 set"]);
    run.check(answers("approve"), &["look at 1.0 set"]);
    let taint = Taint::from_iter([OriginSource::new(Origin::Forwarded, "Mallory")]);
    let (text, pictures) = ("and this".to_owned(), Pictures::default());
    run.check(Event::Steered(SteeringMessage { run: RunId(9), principal: principal(BEN), text, taint, pictures }), &[]);
    run.check(looked("1.0", DangerGrade::Critical, "x"), &["human approves 1.0 set"]);
}
