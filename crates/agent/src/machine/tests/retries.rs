//! Tools that fail in passing (row B1), and tools that run alone (row D4).

use super::{Script, begun, crash, done, finished, says, stop, stopped_tool, wants};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::policy::{Policy, ToolPolicy};
use crate::machine::run_start::RunStart;
use hob_core::domain::tools::ToolFacts;

fn busy(call: &str) -> Event {
    finished(call, ToolOutcome::Transient { text: "busy".to_owned() })
}

/// A run that begins so and whose model wants these tools.
fn acting(begun: RunStart, names: &[&str]) -> Script {
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(begun)));
    run.on(wants(names));
    run
}

fn with_waits(retries_ms: &[u64]) -> RunStart {
    let tools = ToolPolicy { retries_ms: retries_ms.to_vec(), ..ToolPolicy::default() };
    RunStart { policy: Some(Box::new(Policy { tools, ..Policy::default() })), ..begun() }
}

#[test]
fn b1_an_idempotent_tool_that_fails_in_passing_is_run_again_after_half_a_second_two_and_eight() {
    let mut run = Script::acting(&["look"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 500 ms"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #3 in 2000 ms"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #4 in 8000 ms"]);
    run.check(busy("1.0"), &["ask a/one Work"]);
    insta::assert_snapshot!(run.said()[2], @r"
    tool 1.0 failed: busy
    (Tried 4 times.)
    ");
}

#[test]
fn b1_what_comes_at_last_is_the_result() {
    let mut run = Script::acting(&["look", "look"]);
    run.check(busy("1.1"), &["agent.tool.retry", "run 1.1 look #2 in 500 ms"]);
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
    assert_eq!(run.said()[2..], ["tool 1.0: ok", "tool 1.1: ok"]);
    assert_eq!(run.journal.iter().filter(|event| matches!(event, Event::ToolRetried(_))).count(), 1);
}

#[test]
fn b1_a_tool_with_side_effects_is_never_run_again() {
    let mut run = Script::acting(&["send"]);
    run.check(busy("1.0"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: busy");
}

#[test]
fn b1_the_waits_are_the_policys() {
    let mut none = acting(with_waits(&[]), &["look"]);
    none.check(busy("1.0"), &["ask a/one Work"]);
    assert_eq!(none.said()[2], "tool 1.0 failed: busy");
    let mut one = acting(with_waits(&[7]), &["look"]);
    one.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 7 ms"]);
    one.check(busy("1.0"), &["ask a/one Work"]);
}

#[test]
fn b1_an_error_that_stays_is_not_tried_again() {
    let mut run = Script::acting(&["look"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 500 ms"]);
    let gone = ToolOutcome::Text { text: "gone".to_owned(), is_error: true };
    run.check(finished("1.0", gone), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: gone");
}

#[test]
fn b1_attempts_that_a_crash_cut_off_count() {
    let mut run = Script::acting(&["look"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 500 ms"]);
    run.check(crash(), &["run 1.0 look #3"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #4 in 8000 ms"]);
    run.check(busy("1.0"), &["ask a/one Work"]);
}

#[test]
fn b1_a_run_that_is_being_stopped_runs_nothing_again() {
    let mut run = Script::acting(&["look", "look"]);
    run.check(stop(), &["abort 1.0 1.1"]);
    run.check(busy("1.0"), &[]);
    run.check(stopped_tool("1.1"), &["end Cancelled"]);
}

#[test]
fn b1_a_wait_before_a_tool_can_be_stopped() {
    let mut run = Script::acting(&["look"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 500 ms"]);
    run.check(stop(), &["abort 1.0"]);
    run.check(stopped_tool("1.0"), &["end Cancelled"]);
}

#[test]
fn d4_where_one_tool_runs_alone_the_calls_go_one_after_another() {
    let alone = ToolFacts { exclusive: true, ..ToolFacts::default() };
    let tools = [("send".to_owned(), alone), ("look".to_owned(), ToolFacts::default())].into();
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(RunStart { tools, ..begun() })));
    run.check(wants(&["look", "send", "look"]), &["run 1.0 look #1"]);
    run.check(busy("1.0"), &["agent.tool.retry", "run 1.0 look #2 in 500 ms"]);
    run.check(done("1.0"), &["run 1.1 send #1"]);
    run.check(done("1.1"), &["run 1.2 look #1"]);
    run.check(done("1.2"), &["ask a/one Work"]);
    run.check(wants(&["other", "third"]), &["run 2.0 other #1", "run 2.1 third #1"]);
    run.check(done("2.1"), &[]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(says("all done"), &["answer all done", "end Completed"]);
}

#[test]
fn d5_a_call_that_was_not_let_through_is_an_error() {
    let mut run = Script::acting(&["send"]);
    run.check(finished("1.0", ToolOutcome::Denied { reason: "not today".to_owned() }), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: not today");
}
