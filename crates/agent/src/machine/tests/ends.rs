//! Stop, hard limit and panic, in each phase (rows B6, B7).

use super::{ANNA, Script, answers, asks, begun, crash, done, hard_limit, panic, says, stop, stopped_tool, wants};
use crate::machine::event::Event;
use crate::machine::run_start::RunStart;
use crate::machine::status::Status;
use crate::machine::stop::CancelReason;
use hob_core::domain::tools::ToolFacts;

const OUT_OF_TIME: [&str; 2] = ["notice I ran out of time on this and stopped", r#"end Failed { why: "hard_limit" }"#];
const BROKEN: [&str; 2] =
    ["notice Something broke inside me while I worked on this, and I stopped", r#"end Failed { why: "panic" }"#];

fn waiting() -> Script {
    let mut run = Script::acting(&["send", "ask_human"]);
    run.on(done("1.0"));
    run.check(asks("1.1", "blue?"), &["human 1.1 asks: blue?"]);
    assert_eq!(run.state.status(), Status::Waiting);
    run
}

#[test]
fn b7_a_stop_drops_the_model_call_and_says_nothing() {
    let mut run = Script::begun();
    run.check(stop(), &["end Cancelled"]);
    assert_eq!(run.said(), ["user: hello"]);
    assert_eq!(run.run().usage.input_tokens, super::ESTIMATE, "the dropped call is paid for");
    run.check(says("too late"), &["ignored: the run is over"]);
}

#[test]
fn b7_a_stop_ends_running_tools_first_and_keeps_whole_pairs() {
    let mut run = Script::acting(&["look", "send", "send"]);
    run.check(done("1.1"), &[]);
    run.check(stop(), &["abort 1.0 1.2"]);
    run.check(stop(), &["ignored: the run is being cancelled already"]);
    run.check(hard_limit(), &["abort 1.0 1.2"]);
    run.check(stopped_tool("1.0"), &[]);
    run.check(stopped_tool("1.2"), &["end Cancelled"]);
    let part = "Interrupted before it finished; it may have had a part of its effect.";
    assert_eq!(
        run.said(),
        [
            "user: hello".to_owned(),
            "hob:  <1.0 look> <1.1 send> <1.2 send>".to_owned(),
            format!("tool 1.0 failed: {part}"),
            "tool 1.1: ok".to_owned(),
            format!("tool 1.2 failed: {part}"),
        ]
    );
    assert_eq!(run.state.status(), Status::Cancelled);
}

#[test]
fn b7_what_has_an_effect_is_awaited_unless_it_is_to_be_at_once() {
    let acting = || {
        let mut run = Script::queued();
        let changing = ToolFacts { changes: true, ..ToolFacts::default() };
        let tools = [("send".to_owned(), changing)].into();
        run.on(Event::Begun(Box::new(RunStart { tools, ..begun() })));
        run.on(wants(&["look", "send"]));
        run
    };
    let mut run = acting();
    run.check(stop(), &["abort 1.0"]);
    assert_eq!(run.run().effects_under_way(), ["send"]);
    run.check(stopped_tool("1.0"), &[]);
    run.check(done("1.1"), &["end Cancelled"]);
    assert_eq!(run.said()[3], "tool 1.1: ok");

    let mut at_once = acting();
    at_once.on(stop());
    at_once.check(Event::CancelRequested(CancelReason::StoppedNow { by: ANNA }), &["abort 1.0 1.1"]);
    at_once.check(stopped_tool("1.0"), &[]);
    at_once.check(stopped_tool("1.1"), &["end Cancelled"]);
}

#[test]
fn a_tool_that_finishes_or_asks_while_it_is_stopped_keeps_its_record() {
    let mut run = Script::acting(&["look", "ask_human"]);
    run.on(stop());
    run.check(done("1.0"), &[]);
    run.check(asks("1.1", "blue?"), &["end Cancelled"]);
    assert_eq!(run.said()[2], "tool 1.0: ok");
    assert!(run.said()[3].starts_with("tool 1.1 failed: Stopped by the user"));
}

#[test]
fn a_stop_voids_the_question() {
    let mut run = waiting();
    run.check(stop(), &["end Cancelled"]);
    assert!(run.said()[3].starts_with("tool 1.1 failed: Stopped by the user"));
    run.check(answers("yes"), &["ignored: the run is over"]);
}

#[test]
fn an_interruption_is_a_stop() {
    let mut run = Script::begun();
    run.check(Event::CancelRequested(CancelReason::Interrupted { by: ANNA }), &["end Cancelled"]);
}

#[test]
fn b6_the_hard_limit_ends_and_tells_in_each_phase() {
    let mut calling = Script::begun();
    calling.check(hard_limit(), &OUT_OF_TIME);
    assert!(calling.said()[1].starts_with("hob: I ran out of time"));

    let mut acting = Script::acting(&["send", "look"]);
    acting.check(hard_limit(), &["abort 1.0 1.1"]);
    acting.check(stop(), &["ignored: the run is being cancelled already"]);
    acting.check(stopped_tool("1.1"), &[]);
    acting.check(stopped_tool("1.0"), &OUT_OF_TIME);

    let mut waiting = waiting();
    waiting.check(hard_limit(), &OUT_OF_TIME);
    assert!(waiting.said()[3].starts_with("tool 1.1 failed: Interrupted"), "nobody stopped it: {:?}", waiting.said());
    assert_eq!(waiting.state.status(), Status::Failed);
}

#[test]
fn a_stop_that_was_not_carried_out_is_carried_out_after_a_crash() {
    let mut run = Script::acting(&["look", "send"]);
    run.on(stop());
    run.check(crash(), &["end Cancelled"]);
    assert!(run.said()[2].starts_with("tool 1.0 failed: Stopped by the user"));

    let mut late = Script::acting(&["look", "send"]);
    late.on(hard_limit());
    late.check(crash(), &OUT_OF_TIME);
    assert!(late.said()[2].starts_with("tool 1.0 failed: Interrupted"));
}

#[test]
fn c10_a_panic_is_told_in_each_phase() {
    let mut queued = Script::queued();
    queued.check(panic(), &BROKEN);
    assert_eq!(queued.state.status(), Status::Failed);

    let mut calling = Script::begun();
    calling.check(panic(), &BROKEN);
    assert_eq!(calling.run().usage.input_tokens, super::ESTIMATE);

    let mut acting = Script::acting(&["look", "send"]);
    acting.on(done("1.0"));
    acting.check(panic(), &BROKEN);
    assert_eq!(acting.said()[2], "tool 1.0: ok");

    let mut stopping = Script::acting(&["send"]);
    stopping.on(stop());
    stopping.check(panic(), &BROKEN);

    let mut waiting = waiting();
    waiting.check(panic(), &BROKEN);
    assert_eq!(waiting.state.status(), Status::Failed);
}
