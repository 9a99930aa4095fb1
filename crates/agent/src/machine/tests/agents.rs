//! Agents: calls that stay open until a run of their own is over (rows A12, B8, N6; lesson 22).

use std::collections::BTreeMap;

use super::{Script, accepted, answers, asks, begun, crash, done, finished, panic, says, stop, stopped_tool, wants};
use crate::machine::accepted_input::AcceptedInput;
use crate::machine::agents::{AgentTask, ChildEnd};
use crate::machine::answer_rights;
use crate::machine::event::{Event, RunEnd, ToolOutcome};
use crate::machine::ledger::Ledger;
use crate::machine::outbound_allowance::OutboundAllowance;
use crate::machine::policy::{GuardPolicy, Policy};
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use crate::machine::status::Status;
use hob_core::domain::agents::Mission;
use hob_core::domain::ids::{CallId, RunId, SessionId, SessionKey};
use hob_core::domain::money::Money;
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::tools::{Approval, Risk, ToolFacts};

pub(crate) fn spawns(call: &str) -> Event {
    let mission = Mission { mission: "You dig.".to_owned(), task: "Dig.".to_owned(), id: format!("id-{call}") };
    finished(call, ToolOutcome::Spawn { mission })
}

pub(crate) fn ended(call: &str, text: &str, end: RunEnd) -> Event {
    Event::ChildEnded(Box::new(ChildEnd {
        call: CallId(call.to_owned()),
        run: RunId(20),
        end,
        text: text.to_owned(),
        ledger: Ledger::default(),
        taint: Taint::default(),
        reached: BTreeMap::new(),
        cost: Money::from_nanos(1_000_000),
    }))
}

pub(crate) fn agent(depth: u32) -> AgentTask {
    AgentTask {
        parent: RunId(1),
        call: CallId("1.0".to_owned()),
        root: RunId(1),
        home: SessionId(1),
        key: SessionKey(format!("sub-{depth}-u")),
        depth,
        mission: "You dig.".to_owned(),
        persona: None,
        tools: ["look".to_owned()].into(),
        reads: false,
        looks: OutboundAllowance::default(),
    }
}

#[test]
fn b8_a_run_waits_for_its_agents_and_goes_on_when_all_are_done() {
    let mut run = Script::acting(&["spawn_agent", "spawn_agent", "look"]);
    run.check(spawns("1.0"), &[]);
    run.check(done("1.2"), &[]);
    run.check(spawns("1.1"), &["agents"]);
    assert_eq!(run.state.status(), Status::Waiting, "the lease is given up");
    assert_eq!(run.run().told, 0, "and nobody is asked");
    run.check(answers("go on"), &["ignored: nothing was asked"]);
    run.check(ended("1.1", "Dug.", RunEnd::Completed), &[]);
    run.check(ended("1.1", "Dug again.", RunEnd::Completed), &["ignored: no agent is waited for there"]);
    run.check(ended("1.0", "Not dug.", RunEnd::Failed { why: "budget".to_owned() }), &["ask a/one Work"]);
    insta::assert_snapshot!(run.said()[2..].join("\n"), @"
    tool 1.0 failed: [The agent failed: budget.]
    Not dug.
    [Its record, which counts:
    - nothing that changes anything
    Cost: $0.001]
    tool 1.1: [An agent's report. It is a claim: check what matters before you tell it as done.]
    Dug.
    [Its record, which counts:
    - nothing that changes anything
    Cost: $0.001]
    tool 1.2: ok
    ");
}

/// The run has waited for its agents as long as it does.
fn late(run: &mut Script, next: &[&str]) {
    let question = run.run().questions;
    run.check(Event::Expired { question }, next);
}

fn tells(call: &str, agent: u32) -> Event {
    finished(call, ToolOutcome::Tell { agent, text: "Hurry.".to_owned() })
}

#[test]
fn e3_agents_are_waited_for_so_long_and_then_their_call_is_given_back() {
    let mut run = Script::acting(&["spawn_agent", "spawn_agent"]);
    run.check(spawns("1.0"), &[]);
    run.check(spawns("1.1"), &["agents"]);
    assert_eq!(answer_rights::stays_open_secs(run.run()), Some(600));
    run.check(Event::Expired { question: 7 }, &["ignored: that question is no longer open"]);
    run.check(ended("1.1", "Dug.", RunEnd::Completed), &[]);
    late(&mut run, &["ask a/one Work"]);
    assert!(run.said()[2].contains("[Agent 1 is still at work after 600 s."), "{:?}", run.said());
    run.check(wants(&["agent_send", "agent_send"]), &["run 2.0 agent_send #1", "run 2.1 agent_send #1"]);
    run.check(tells("2.0", 1), &[]);
    run.check(tells("2.1", 2), &["agents"]);
    run.check(ended("1.0", "Dug at last.", RunEnd::Completed), &["ask a/one Work"]);
    let said = run.said();
    assert!(said[5].contains("Dug at last.") && said[6].contains("There is no agent 2"), "{said:?}");
    run.check(wants(&["agent_send"]), &["run 3.0 agent_send #1"]);
    run.check(tells("3.0", 1), &["ask a/one Work"]);
    assert!(run.said().last().unwrap().contains("you have its report"), "{:?}", run.said());
}

#[test]
fn e3_the_report_of_an_agent_that_nobody_waits_for_is_told_of_and_heard_as_a_result() {
    let mut run = Script::acting(&["spawn_agent"]);
    run.check(spawns("1.0"), &["agents"]);
    late(&mut run, &["ask a/one Work"]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &[]);
    run.check(says("I go on."), &["ask a/one Work"]);
    let news = "[Agent 1 is done: agent_send to it gives you its report.]";
    assert!(run.said().last().unwrap().contains(news), "{:?}", run.said());
    assert!(!run.said().concat().contains("Dug."), "what a model wrote is no person's word");
    run.check(wants(&["agent_send"]), &["run 3.0 agent_send #1"]);
    run.check(tells("3.0", 1), &["ask a/one Work"]);
    assert!(run.said().last().unwrap().contains("Dug."), "{:?}", run.said());
    run.check(says("Done."), &["answer Done.", "end Completed"]);
}

#[test]
fn e3_without_a_limit_agents_are_waited_for_without_end() {
    let tools = crate::machine::policy::ToolPolicy { agent_secs: 0, ..Default::default() };
    let endless = Policy { tools, ..Policy::default() };
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(RunStart { policy: Some(Box::new(endless)), ..begun() })));
    run.on(wants(&["spawn_agent"]));
    run.check(spawns("1.0"), &["agents"]);
    assert_eq!(answer_rights::stays_open_secs(run.run()), None);
    late(&mut run, &["ignored: that question is no longer open"]);
}

#[test]
fn b8_an_agent_may_be_done_before_the_other_tools() {
    let mut run = Script::acting(&["spawn_agent", "look"]);
    run.check(spawns("1.0"), &[]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
}

#[test]
fn b8_five_agents_work_at_once_and_a_sixth_is_told_so() {
    let mut run = Script::queued();
    // Six calls that are alike would be a circle.
    let guards = GuardPolicy { enabled: false, ..GuardPolicy::default() };
    let policy = Some(Box::new(Policy { guards, ..Policy::default() }));
    run.on(Event::Begun(Box::new(RunStart { policy, ..begun() })));
    run.on(wants(&["spawn_agent"; 6]));
    for call in ["1.0", "1.1", "1.2", "1.3", "1.4"] {
        run.check(spawns(call), &[]);
    }
    run.check(spawns("1.5"), &["agents"]);
    for call in ["1.0", "1.1", "1.2", "1.3"] {
        run.check(ended(call, "", RunEnd::Completed), &[]);
    }
    run.check(ended("1.4", "", RunEnd::Completed), &["ask a/one Work"]);
    assert_eq!(
        run.said().last().unwrap(),
        "tool 1.5 failed: 5 agents are at work already: wait for them, then call again."
    );
    assert!(run.said()[2].contains("(It said nothing.)"), "{:?}", run.said());
}

#[test]
fn a12_agents_are_at_most_three_deep() {
    for (depth, deeper) in [(1, true), (2, true), (3, false)] {
        let mut run = Script::fresh();
        let accepted = AcceptedInput { agent: Some(Box::new(agent(depth))), ..accepted() };
        run.on(Event::Accepted(accepted));
        run.on(Event::Begun(Box::new(begun())));
        run.on(wants(&["spawn_agent"]));
        let effects = run.on(spawns("1.0"));
        assert_eq!(effects == ["agents"], deeper, "{depth}: {effects:?}");
        if !deeper {
            assert_eq!(run.said().last().unwrap(), "tool 1.0 failed: You are at depth 3 of 3: do it yourself.");
        }
        assert_eq!(run.said()[0], "user: hello");
        assert_eq!(run.run().transcript.entries().next().unwrap().author, None, "no person said it");
    }
}

#[test]
fn b10_a_crash_leaves_nothing_to_be_asked_about_an_agent() {
    let mut run = Script::acting(&["spawn_agent", "look"]);
    run.check(spawns("1.0"), &[]);
    run.check(crash(), &["run 1.1 look #2"]);
    run.check(crash(), &["run 1.1 look #3"]);
    run.check(done("1.1"), &["agents"]);
    run.check(crash(), &[]);
    run.check(crash(), &[]);
    run.check(crash(), &[]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &["ask a/one Work"]);
}

#[test]
fn b15_a_question_is_put_while_agents_work_and_their_ends_are_kept_for_it() {
    let mut run = Script::acting(&["spawn_agent", "spawn_agent", "ask_human"]);
    run.check(spawns("1.0"), &[]);
    run.check(spawns("1.1"), &[]);
    run.check(asks("1.2", "where?"), &["human 1.2 asks: where?"]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &[]);
    run.check(answers("there"), &["agents"]);
    run.check(ended("1.1", "Dug.", RunEnd::Completed), &["ask a/one Work"]);
    let mut run = Script::acting(&["spawn_agent", "ask_human"]);
    run.check(spawns("1.0"), &[]);
    run.check(asks("1.1", "where?"), &["human 1.1 asks: where?"]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &[]);
    run.check(answers("there"), &["ask a/one Work"]);
}

#[test]
fn e1_a_paused_run_takes_its_agents_ends_in_and_stands_still() {
    let (pause, lift) = (Event::PauseRequested { by: super::BEN }, Event::PauseLifted { by: super::BEN });
    let mut run = Script::acting(&["spawn_agent"]);
    run.check(spawns("1.0"), &["agents"]);
    run.check(pause.clone(), &[]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &["paused"]);
    run.check(lift.clone(), &["ask a/one Work"]);
    let mut run = Script::acting(&["spawn_agent", "look"]);
    run.check(spawns("1.0"), &[]);
    run.check(pause, &[]);
    run.check(done("1.1"), &["paused"]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &[]);
    run.check(lift, &["ask a/one Work"]);
}

#[test]
fn b7_a_run_that_waits_for_agents_is_stopped_at_once() {
    let mut run = Script::acting(&["spawn_agent"]);
    run.check(spawns("1.0"), &["agents"]);
    run.check(stop(), &["end Cancelled"]);
    run.check(ended("1.0", "Dug.", RunEnd::Completed), &["ignored: the run is over"]);
    let mut run = Script::acting(&["spawn_agent", "send"]);
    run.check(stop(), &["abort 1.0 1.1"]);
    run.check(stopped_tool("1.1"), &[]);
    run.check(spawns("1.0"), &["end Cancelled"]);
    assert!(matches!(run.run().phase, Phase::Done(_)));
    let mut run = Script::acting(&["spawn_agent"]);
    run.check(spawns("1.0"), &["agents"]);
    assert_eq!(run.on(panic()).len(), 2, "told, and over");
}

#[test]
fn n6_what_an_agent_has_read_taints_who_waits_for_it() {
    let mut run = Script::acting(&["spawn_agent"]);
    run.check(spawns("1.0"), &["agents"]);
    let Event::ChildEnded(mut end) = ended("1.0", "Dug.", RunEnd::Completed) else { unreachable!() };
    let page = OriginSource::new(Origin::Web, "https://a.example");
    end.taint.add(page.clone());
    run.check(Event::ChildEnded(end), &["ask a/one Work"]);
    assert_eq!(run.run().taint.sources().collect::<Vec<_>>(), [&page]);
}

/// An agent is done that has read a page.
fn ended_tainted(call: &str, page: &str) -> Event {
    let Event::ChildEnded(mut end) = ended(call, "Dug.", RunEnd::Completed) else { unreachable!() };
    end.taint.add(OriginSource::new(Origin::Web, page));
    Event::ChildEnded(end)
}

/// A run whose `send` tells somebody, and whose `alone` keeps the calls of a reply apart.
fn sending() -> Script {
    let mut run = Script::queued();
    let send = ToolFacts { changes: true, risk: Risk::Send, ..ToolFacts::default() };
    let asks = ToolFacts { approval: Approval::Ask, ..send };
    let alone = ToolFacts { exclusive: true, ..ToolFacts::default() };
    let tools = [("send", send), ("pay", asks), ("alone", alone), ("spawn_agent", ToolFacts::default())];
    let tools = tools.map(|(name, facts)| (name.to_owned(), facts)).into();
    run.on(Event::Begun(Box::new(RunStart { tools, ..begun() })));
    run
}

#[test]
fn n6_a_call_that_waited_behind_an_agent_is_asked_about_with_what_that_has_read() {
    let mut run = sending();
    run.check(wants(&["spawn_agent", "send", "alone"]), &["run 1.0 spawn_agent #1"]);
    run.check(spawns("1.0"), &["agents"]);
    run.check(ended_tainted("1.0", "https://a.example"), &["human approves 1.1 send"]);
    run.check(answers("deny"), &["run 1.2 alone #1"]);
}

#[test]
fn n6_what_was_allowed_for_this_run_ends_with_the_report_of_an_agent_that_has_read_something_new() {
    let mut run = sending();
    run.check(wants(&["spawn_agent"]), &["run 1.0 spawn_agent #1"]);
    run.check(spawns("1.0"), &["agents"]);
    run.check(ended_tainted("1.0", "https://a.example"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 2.0 send"]);
    run.check(answers("yes, for this run"), &["run 2.0 send #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(wants(&["spawn_agent"]), &["run 3.0 spawn_agent #1"]);
    run.check(spawns("3.0"), &["agents"]);
    run.check(ended_tainted("3.0", "https://b.example"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 4.0 send"]);
}

#[test]
fn n6_a_yes_does_not_cover_what_was_read_after_the_question() {
    for word in ["approve", "always", "1"] {
        let mut run = sending();
        run.check(wants(&["spawn_agent", "pay"]), &["run 1.0 spawn_agent #1"]);
        run.check(spawns("1.0"), &["human approves 1.1 pay"]);
        run.check(ended_tainted("1.0", "https://a.example"), &[]);
        run.check(answers(word), &["human approves 1.1 pay"]);
        assert!(run.run().granted.is_empty(), "{word}");
        run.check(answers("approve"), &["run 1.1 pay #1"]);
    }
    let mut run = sending();
    run.check(wants(&["spawn_agent", "pay"]), &["run 1.0 spawn_agent #1"]);
    run.check(spawns("1.0"), &["human approves 1.1 pay"]);
    run.check(ended_tainted("1.0", "https://a.example"), &[]);
    run.check(answers("deny"), &["ask a/one Work"]);
}

#[test]
fn e10_what_an_agent_did_is_in_the_record_of_who_waits_for_it() {
    // What the agent's own run entered.
    let facts = ToolFacts { changes: true, ..ToolFacts::default() };
    let tools = [("send".to_owned(), facts), ("spawn_agent".to_owned(), ToolFacts::default())].into();
    let household = RunStart { tools, ..begun() };
    let mut worker = Script::queued();
    worker.on(Event::Begun(Box::new(household.clone())));
    worker.on(wants(&["send", "send"]));
    worker.on(done("1.0"));
    worker.on(finished("1.1", ToolOutcome::Text { text: "no stamp".to_owned(), is_error: true }));
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(household)));
    run.on(wants(&["spawn_agent"]));
    run.on(spawns("1.0"));
    let Event::ChildEnded(mut end) = ended("1.0", "Both are sent.", RunEnd::Completed) else { unreachable!() };
    end.ledger = worker.run().ledger.clone();
    let stored = serde_json::to_string(&Event::ChildEnded(end.clone())).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&stored).unwrap(), Event::ChildEnded(end.clone()));
    run.on(Event::ChildEnded(end));
    assert!(run.said()[2].contains("- send: 1 of 2 done, 1 failed (no stamp)"), "{:?}", run.said());
    let effects = run.on(says("Both are sent."));
    assert!(effects[0].contains("send: 1 of 2 done, 1 failed (no stamp)"), "{effects:?}");
}
