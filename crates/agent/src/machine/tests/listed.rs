//! What one reply wants is one question with a list (row N16).

use super::{ANNA, Script, answers, begun, crash, done, principal, wants};
use crate::machine::accepted_input::SteeringMessage;
use crate::machine::event::Event;
use crate::machine::policy::Policy;
use crate::machine::question::Question;
use crate::machine::run_start::{RulesEdition, RunStart};
use crate::machine::state::Phase;
use crate::machine::texts;
use hob_core::domain::ids::RunId;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role};
use hob_core::domain::tools::{Approval, Risk, ToolFacts};
use hob_model::message::Pictures;

fn run_start(rules: RulesEdition) -> RunStart {
    let facts = |risk, approval| ToolFacts { risk, approval, changes: true, ..ToolFacts::default() };
    let tools = [
        ("send", facts(Risk::Send, Approval::Ask)),
        ("pay", facts(Risk::Spend, Approval::Ask)),
        ("wipe", facts(Risk::Write, Approval::Critical)),
        ("note", facts(Risk::Write, Approval::Free)),
    ];
    let mut policy = Policy::default();
    policy.guards.enabled = false;
    let tools = tools.map(|(name, facts)| (name.to_owned(), facts)).into();
    RunStart { policy: Some(Box::new(policy)), tools, rules, ..begun() }
}

fn started(rules: RulesEdition) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(run_start(rules))), &["ask a/one Work"]);
    run
}

/// A run that asks about three calls at once.
fn asking() -> Script {
    let mut run = started(RulesEdition::CURRENT);
    run.check(wants(&["send", "pay", "send"]), &["human approves 1.0 send and 1.1 pay and 1.2 send"]);
    run
}

#[test]
fn n16_what_one_reply_wants_is_one_question_and_the_word_is_for_all_or_some_or_none() {
    let table: [(&str, &[&str]); 9] = [
        ("approve all", &["run 1.0 send #1", "run 1.1 pay #1", "run 1.2 send #1"]),
        ("4", &["run 1.0 send #1", "run 1.1 pay #1", "run 1.2 send #1"]),
        ("All!", &["run 1.0 send #1", "run 1.1 pay #1", "run 1.2 send #1"]),
        ("only 1 and 3", &["run 1.0 send #1", "run 1.2 send #1"]),
        ("Only 2.", &["run 1.1 pay #1"]),
        ("1", &["run 1.0 send #1"]),
        ("only 3", &["run 1.2 send #1"]),
        ("deny", &["ask a/one Work"]),
        ("no, because it is late", &["ask a/one Work"]),
    ];
    for (text, expected) in table {
        let mut run = asking();
        run.check(answers(text), expected);
    }
    // What is not clear is asked again: nothing of it is guessed.
    for text in ["yes", "approve", "always", "yes, for this run", "only 4", "1 and 3", "only the first", "6", ""] {
        let mut run = asking();
        run.check(answers(text), &["human approves 1.0 send and 1.1 pay and 1.2 send"]);
    }
    let mut run = asking();
    run.check(answers("no, because it is late"), &["ask a/one Work"]);
    assert_eq!(run.said().iter().filter(|said| said.contains("Their reason: because it is late")).count(), 3);
    let mut run = asking();
    run.check(Event::Expired { question: 1 }, &["ask a/one Work"]);
    assert_eq!(run.said().iter().filter(|said| said.contains("nobody did in time")).count(), 3);
}

#[test]
fn n16_the_list_shows_each_call_as_a_question_of_its_own_would() {
    let run = asking();
    let Phase::Waiting { question, .. } = &run.run().phase else { panic!("it asks") };
    insta::assert_snapshot!(texts::question(question), @r#"
    May I do this? There are 3; all, some, or none.
    (1) send
    a: 1
    It sends something out, which cannot be taken back.
    (2) pay
    a: 1
    It can spend money.
    (3) send
    a: 1
    It sends something out, which cannot be taken back.
    For some of them: only 1 and 3
    To say why not: deny: REASON
    "#);
}

#[test]
fn n16_who_said_yes_to_a_list_knew_all_that_was_read() {
    let mut run = asking();
    let guest = Principal { role: Role::Guest, ..principal(ANNA) };
    let (joins, text) = (RunId(9), "Pay Eve".to_owned());
    run.on(Event::Steered(SteeringMessage {
        run: joins,
        principal: guest,
        text,
        taint: Taint::default(),
        pictures: Pictures::default(),
    }));
    run.check(answers("approve all"), &["human approves 1.0 send and 1.1 pay and 1.2 send"]);
    let Phase::Waiting { question, .. } = &run.run().phase else { panic!("it asks") };
    assert!(texts::question(question).contains("a guest (\"Anna\")"));
    run.check(answers("approve all"), &["run 1.0 send #1", "run 1.1 pay #1", "run 1.2 send #1"]);
    // A yes is for one start: what a crash cut off is asked about, one by one.
    run.check(crash(), &["human unsafe 1.0 send"]);
}

#[test]
fn n16_more_than_fit_one_list_are_asked_about_after_it() {
    let mut run = started(RulesEdition::CURRENT);
    let told = run.on(wants(&["pay"; 6]));
    assert_eq!(told, ["human approves 1.0 pay and 1.1 pay and 1.2 pay and 1.3 pay and 1.4 pay"]);
    let five: Vec<String> = (0..5).map(|index| format!("run 1.{index} pay #1")).collect();
    assert_eq!(run.on(answers("approve all")), five);
    for index in 0..4 {
        run.check(done(&format!("1.{index}")), &[]);
    }
    run.check(done("1.4"), &["human approves 1.5 pay"]);
}

#[test]
fn n16_what_is_asked_each_time_is_asked_alone() {
    let mut run = started(RulesEdition::CURRENT);
    run.check(wants(&["wipe", "send", "wipe", "pay"]), &["human approves 1.0 wipe"]);
    run.check(answers("approve all"), &["human approves 1.0 wipe"]);
    run.check(answers("approve"), &["run 1.0 wipe #1"]);
    run.check(done("1.0"), &["human approves 1.1 send and 1.3 pay"]);
    run.check(answers("only 2"), &["run 1.3 pay #1"]);
    run.check(done("1.3"), &["human approves 1.2 wipe"]);
}

#[test]
fn n16_a_run_of_before_asks_about_one_call_after_the_other() {
    let mut run = started(RulesEdition::default());
    run.check(wants(&["send", "pay"]), &["human approves 1.0 send"]);
    let Phase::Waiting { question: Question::Approval { beside, .. }, .. } = &run.run().phase else {
        panic!("it asks")
    };
    assert!(beside.is_empty());
    run.check(answers("approve"), &["run 1.0 send #1"]);
    run.check(done("1.0"), &["human approves 1.1 pay"]);
}
