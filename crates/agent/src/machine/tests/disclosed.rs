//! Tools that are shown on need: a call through `use_tool` is the named tool's in everything but its name on the wire.

use super::{Script, answers, begun, crash, done};
use crate::machine::event::Event;
use crate::machine::run_start::RunStart;
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::{Approval, ToolFacts, USE_TOOL};
use hob_model::message::{Completion, Message, ToolCall};

fn reachable() -> RunStart {
    let facts = |approval| ToolFacts { approval, changes: true, ..ToolFacts::default() };
    let tools = [("pay", facts(Approval::Ask)), ("look", ToolFacts::default()), (USE_TOOL, ToolFacts::default())];
    let tools = tools.map(|(name, facts)| (name.to_owned(), facts)).into();
    RunStart { tools, idempotent_tools: vec!["look".to_owned(), USE_TOOL.to_owned()], ..begun() }
}

fn through(name: &str) -> ToolCall {
    let arguments = format!(r#"{{"name":"{name}","arguments":{{"n":1}}}}"#);
    ToolCall { id: CallId("theirs".to_owned()), name: USE_TOOL.to_owned(), arguments }
}

fn wanting(calls: &[ToolCall], expected: &[&str]) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(reachable())), &["ask a/one Work"]);
    run.check(Event::ModelAnswered(Completion::from_text_and_calls("", calls.to_vec())), expected);
    run
}

#[test]
fn d6_what_is_called_through_use_tool_is_approved_and_recorded_under_its_own_name() {
    let mut run = wanting(&[through("pay")], &["human approves 1.0 pay"]);
    run.check(answers("always"), &["run 1.0 pay #1"]);
    assert_eq!(run.run().granted.len(), 1);
    assert!(run.run().granted.iter().all(|scope| scope.starts_with("pay")));
    run.check(done("1.0"), &["ask a/one Work"]);
    assert!(run.run().ledger.summary_lines().contains("pay"), "{}", run.run().ledger.summary_lines());
    let messages = run.run().transcript.messages();
    let [.., asked, Message::Tool(result)] = messages else { panic!("{messages:?}") };
    let written = asked.calls().next().unwrap();
    assert_eq!((written.name.as_str(), result.name.as_str()), (USE_TOOL, USE_TOOL), "the wire keeps its name");
    assert_eq!(written.arguments, through("pay").arguments);
}

#[test]
fn what_is_safe_to_run_twice_is_so_through_use_tool() {
    let mut run = wanting(&[through("look")], &["run 1.0 look #1"]);
    run.check(crash(), &["run 1.0 look #2"]);
    let mut run = wanting(&[through("nothing")], &["run 1.0 use_tool #1"]);
    run.check(crash(), &["run 1.0 use_tool #2"]);
}

#[test]
fn b2_a_circle_through_use_tool_is_seen_as_the_tools_own() {
    let direct = ToolCall { name: "look".to_owned(), arguments: r#"{"n":1}"#.to_owned(), ..through("look") };
    let blocked = ["agent.loop.detected", "agent.guardrail.escalated"];
    let started = ["run 1.0 look #1", "run 1.1 look #1", "run 1.2 look #1"];
    let calls = [through("look"), direct, through("look"), through("look")];
    wanting(&calls, &[blocked.as_slice(), &started].concat());
}
