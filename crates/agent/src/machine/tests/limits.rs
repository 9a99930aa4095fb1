//! Iterations (rows A6, A11) and time (row B6).

use super::{Script, begun, completion, crash, done, fails, finished, hard_limit, more, panic, says, wants};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::run_start::{IterationLimits, RunStart};
use hob_model::error::ErrorClass;

/// Goes round with one tool `times` times; the model is asked to work after all but perhaps the last.
fn go_round(run: &mut Script, times: u32) -> Vec<String> {
    let mut last = Vec::new();
    for _ in 0..times {
        let cycle = run.run().cycles + 1;
        run.check(wants(&["look"]), &[&format!("run {cycle}.0 look #1")]);
        let text = format!("look {cycle}");
        last = run.on(finished(&format!("{cycle}.0"), ToolOutcome::Text { text, is_error: false }));
    }
    last
}

#[test]
fn a11_at_the_iteration_limit_there_is_a_message_and_no_silence() {
    let mut run = Script::begun();
    assert_eq!(go_round(&mut run, 9), ["ask a/one Work"]);
    assert_eq!(go_round(&mut run, 1), ["ask a/one WrapUpIterations"]);
    run.check(says("so far"), &["answer so far", "end Completed"]);
}

#[test]
fn a11_calls_in_the_last_word_are_not_made() {
    let mut run = Script::begun();
    go_round(&mut run, 10);
    run.check(Event::ModelAnswered(completion("that is all", &["send"])), &["answer that is all", "end Completed"]);
    assert_eq!(run.said().last().unwrap(), "hob: that is all");
}

#[test]
fn a11_a_last_word_of_nothing_but_calls_is_no_answer() {
    let mut run = Script::begun();
    go_round(&mut run, 10);
    run.check(wants(&["send"]), &["ask a/one WrapUpIterations in 2000 ms"]);
    run.check(wants(&["send"]), &["ask b/two WrapUpIterations"]);
    run.check(says("done"), &["answer done", "end Completed"]);
}

#[test]
fn a6_more_iterations_are_granted_to_the_cap_and_then_refused() {
    let mut run = Script::begun();
    let table = [
        (20, "tool 1.0: Granted: up to 20 steps in all."),
        (25, "tool 2.0: Granted: up to 25 steps in all."),
        (25, "tool 3.0: Not granted: 25 steps are the most. Finish with what you have."),
    ];
    for (index, (limit, told)) in table.into_iter().enumerate() {
        run.on(wants(&["request_more_iterations"]));
        run.check(more(&format!("{}.0", index + 1)), &["ask a/one Work"]);
        assert_eq!(run.run().limits.iterations, limit);
        assert_eq!(run.said().last().unwrap(), told);
    }
    assert_eq!(go_round(&mut run, 21), ["ask a/one Work"]);
    assert_eq!(go_round(&mut run, 1), ["ask a/one WrapUpIterations"]);
}

#[test]
fn a6_more_may_be_asked_for_in_the_last_batch() {
    let mut run = Script::begun();
    go_round(&mut run, 9);
    run.check(wants(&["request_more_iterations"]), &["run 10.0 request_more_iterations #1"]);
    run.check(more("10.0"), &["ask a/one Work"]);
}

#[test]
fn a6_a_cap_below_the_limit_takes_nothing_away() {
    let mut run = Script::queued();
    let limits = IterationLimits { iterations: 10, iterations_step: 10, iterations_cap: 5 };
    run.on(Event::Begun(Box::new(RunStart { limits, ..begun() })));
    run.on(wants(&["request_more_iterations"]));
    run.check(more("1.0"), &["ask a/one Work"]);
    assert_eq!(run.said().last().unwrap(), "tool 1.0: Not granted: 10 steps are the most. Finish with what you have.");
    assert_eq!(run.run().limits.iterations, 10);
}

#[test]
fn without_any_iteration_the_first_call_has_no_tools() {
    let mut run = Script::queued();
    let limits = IterationLimits { iterations: 0, iterations_step: 10, iterations_cap: 25 };
    run.check(Event::Begun(Box::new(RunStart { limits, ..begun() })), &["ask a/one WrapUpIterations"]);
}

#[test]
fn b6_after_the_soft_limit_the_next_call_is_the_last() {
    let mut calling = Script::begun();
    calling.check(Event::SoftLimit, &[]);
    calling.check(wants(&["look"]), &["run 1.0 look #1"]);
    calling.check(done("1.0"), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);
    calling.check(says("so far"), &["answer so far", "end Completed"]);

    let mut acting = Script::acting(&["look", "send"]);
    acting.check(done("1.0"), &[]);
    acting.check(Event::SoftLimit, &[]);
    acting.check(done("1.1"), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);

    let mut waiting = Script::acting(&["ask_human"]);
    waiting.on(super::asks("1.0", "blue?"));
    waiting.check(Event::SoftLimit, &[]);
    waiting.check(super::answers("yes"), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);

    let mut answering = Script::begun();
    answering.check(Event::SoftLimit, &[]);
    answering.check(says("in time"), &["answer in time", "end Completed"]);
}

#[test]
fn b6_time_goes_before_iterations_and_the_ladder_keeps_the_purpose() {
    let mut run = Script::begun();
    go_round(&mut run, 9);
    run.on(Event::SoftLimit);
    assert_eq!(go_round(&mut run, 1), ["agent.exhaustion.soft", "ask a/one WrapUpTime"]);
    run.check(fails(ErrorClass::Timeout), &["ask a/one WrapUpTime in 2000 ms"]);
    run.check(fails(ErrorClass::Timeout), &["ask b/two WrapUpTime"]);
}

#[test]
fn b6_the_soft_limit_is_noted_once() {
    let mut run = Script::acting(&["look"]);
    run.on(Event::SoftLimit);
    run.check(done("1.0"), &["agent.exhaustion.soft", "ask a/one WrapUpTime"]);
    run.check(crash(), &["ask a/one WrapUpTime"]);
}

#[test]
fn b6_the_hard_limit_ends_the_run_and_tells() {
    let mut run = Script::begun();
    run.check(hard_limit(), &["notice I ran out of time on this and stopped", "end Failed { why: \"hard_limit\" }"]);
}

#[test]
fn c10_what_breaks_inside_is_told_to_the_person() {
    let mut run = Script::acting(&["look"]);
    let told = "notice Something broke inside me while I worked on this, and I stopped";
    run.check(panic(), &[told, "end Failed { why: \"panic\" }"]);
}
