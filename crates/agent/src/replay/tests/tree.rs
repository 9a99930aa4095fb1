use super::{busy, recorded};
use crate::machine::event::{Event, RunEnd, ToolOutcome};
use crate::machine::stop::CancelReason;
use crate::machine::tests::{Script, answers, asks, done, fails, finished, says, stop, wants};
use crate::replay::UnreadableRow;
use crate::replay::tree::{Evaluation, ModelRequestOutcome, RunTree};
use hob_core::domain::ids::UserId;
use hob_model::error::ErrorClass;

#[test]
fn d8_each_cycle_is_rebuilt_from_the_journal() {
    let tree = RunTree::of(&recorded(&busy()));
    let cycles: Vec<String> = tree
        .cycles
        .iter()
        .map(|cycle| {
            let asks: Vec<_> = cycle.asks.iter().map(|ask| (ask.model.as_str(), ask.took_ms, &ask.outcome)).collect();
            let calls: Vec<_> = cycle
                .calls
                .iter()
                .map(|call| (call.id.0.as_str(), call.name.as_str(), call.attempts, call.took_ms, &call.result))
                .collect();
            format!("{} {:?} {asks:?} {calls:?} {}", cycle.number, cycle.text, cycle.usage.input_tokens)
        })
        .collect();
    insta::assert_snapshot!(cycles.join("\n"), @r#"
    1 "I'll look." [("a/one", Some(100), Failed { class: Server, message: "no luck" }), ("a/one", Some(100), Answered)] [("1.0", "look", 1, Some(200), Some(CallResult { text: "ok", is_error: false })), ("1.1", "write_file", 1, Some(200), Some(CallResult { text: "disk full\n\n[It failed. Don't make results up: try another way, or say plainly what is not known or not done.]", is_error: true }))] 10
    2 "" [("a/one", Some(100), Answered)] [("2.0", "look", 1, Some(100), Some(CallResult { text: "ok", is_error: false }))] 10
    3 "It is full." [("a/one", Some(100), Answered)] [] 10
    "#);
    assert_eq!((tree.usage.input_tokens, tree.usage.output_tokens), (30, 6));
    assert_eq!(tree.models, ["a/one", "b/two"]);
}

#[test]
fn d8_an_evaluation_has_its_four_fields() {
    let tree = serde_json::to_value(RunTree::of(&recorded(&busy()))).unwrap();
    assert_eq!(tree["text"], "It is full.");
    assert_eq!(tree["final_tool_result"], "ok");
    assert_eq!(tree["cycles"], 3);
    assert_eq!(tree["terminated_by"], "answer");
    assert_eq!(tree["tree"].as_array().unwrap().len(), 3);
}

#[test]
fn d8_what_ended_a_run_is_told() {
    let by = |script: &mut Script, events: &[Event]| {
        for event in events {
            script.on(event.clone());
        }
        RunTree::of(&recorded(script)).evaluation.terminated_by
    };
    let table: Vec<(Script, Vec<Event>, Option<&str>)> = vec![
        (Script::queued(), vec![], None),
        (Script::queued(), vec![Event::Withdrawn], Some("withdrawn")),
        (Script::begun(), vec![], None),
        (Script::begun(), vec![says("Yes.")], Some("answer")),
        (Script::begun(), vec![says("NO_REPLY")], Some("silence")),
        (Script::acting(&["look"]), vec![Event::SoftLimit, done("1.0"), says("So far.")], Some("soft_limit")),
        (Script::begun(), vec![stop()], Some("stopped")),
        (
            Script::begun(),
            vec![Event::CancelRequested(CancelReason::Interrupted { by: UserId(1) })],
            Some("interrupted"),
        ),
        (Script::begun(), vec![Event::CancelRequested(CancelReason::HardLimit)], Some("hard_limit")),
        (Script::begun(), vec![fails(ErrorClass::Refused)], Some("refused")),
    ];
    for (mut script, events, expected) in table {
        assert_eq!(by(&mut script, &events).as_deref(), expected, "{events:?}");
    }
}

#[test]
fn d8_steps_that_ran_out_are_told() {
    let mut script = Script::begun();
    for cycle in 1..=10 {
        script.on(wants(&["look"]));
        let outcome = ToolOutcome::Text { text: format!("so far {cycle}"), is_error: false };
        script.on(finished(&format!("{cycle}.0"), outcome));
    }
    script.on(says("As far as I came."));
    let evaluation = RunTree::of(&recorded(&script)).evaluation;
    assert_eq!((evaluation.cycles, evaluation.terminated_by.as_deref()), (11, Some("iterations")));
}

#[test]
fn d8_questions_and_answers_stand_in_their_cycle() {
    let mut script = Script::acting(&["ask_human"]);
    script.on(asks("1.0", "Red or blue?"));
    script.on(answers("Blue."));
    let tree = RunTree::of(&recorded(&script));
    let remarks: Vec<String> =
        tree.cycles[0].remarks.iter().map(|remark| format!("{} {}", remark.kind, remark.text)).collect();
    insta::assert_snapshot!(remarks.join("\n"), @"
    human.asked Red or blue?
    human.answered Blue.
    ");
    assert_eq!(tree.cycles[0].calls[0].result.as_ref().unwrap().text, "Blue.");
    assert_eq!(tree.cycles[1].asks[0].outcome, ModelRequestOutcome::Open);
    assert_eq!((tree.ended_at, tree.evaluation.text), (None, None));
}

#[test]
fn d8_a_call_of_a_model_that_nobody_heard_is_told() {
    let mut script = Script::begun();
    script.on(crate::machine::tests::crash());
    script.on(says("Here I am."));
    let tree = RunTree::of(&recorded(&script));
    let outcomes: Vec<_> = tree.cycles[0].asks.iter().map(|ask| &ask.outcome).collect();
    assert_eq!(outcomes, [&ModelRequestOutcome::Unheard, &ModelRequestOutcome::Answered]);
}

#[test]
fn d8_what_can_be_read_is_shown() {
    let mut half = recorded(&busy());
    half.events.truncate(5);
    half.broken = Some(UnreadableRow { seq: 6, what: "no event".to_owned() });
    let tree = RunTree::of(&half);
    assert_eq!((tree.cycles.len(), tree.unreadable), (1, Some((6, "no event".to_owned()))));
    let mut nothing = recorded(&busy());
    nothing.events.clear();
    let tree = RunTree::of(&nothing);
    assert_eq!((tree.cycles.len(), tree.evaluation, tree.accepted_at), (0, Evaluation::default(), None));
}

#[test]
fn d8_ends_without_a_run_are_told() {
    let mut script = Script::queued();
    script.on(Event::Edited { text: "hello again".to_owned() });
    script.on(Event::Joined { run: hob_core::domain::ids::RunId(3) });
    let tree = RunTree::of(&recorded(&script));
    assert_eq!((tree.message.as_str(), tree.evaluation.terminated_by.as_deref()), ("hello again", Some("joined")));
    let before: Vec<_> = tree.before.iter().map(|remark| (remark.kind, remark.text.as_str())).collect();
    assert_eq!(before[0], ("input.edited", "text hello again"));
    assert_eq!(script.state.status(), crate::machine::status::Status::of(&RunEnd::Joined));
}
