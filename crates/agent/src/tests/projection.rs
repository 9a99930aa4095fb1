//! What a step adds to the tables, and what a person sees of a question.

use crate::handover::HandoverChange;
use crate::journal::RunKey;
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::{Event, JournalMismatch, ToolOutcome};
use crate::machine::question::Question;
use crate::machine::run_start::{Billing, ModelBill, RunStart};
use crate::machine::state::{Phase, State};
use crate::machine::step;
use crate::machine::tests::world::noting;
use crate::machine::tests::{
    ANNA, ESTIMATE, Script, accepted, answers, asks, completion, crash, done, fails, panic, says, steers, stop, system,
    wants,
};
use crate::projection::buttons::QuestionPress;
use crate::projection::{AnsweringModel, HistoryMessage, ProjectionRow, rows};
use hob_core::domain::ids::{CallId, RunId, SessionId};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::money::Money;
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::principal::{Principal, Role};
use hob_core::domain::tools::{Approval, Risk, ToolFacts};
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, Message, ToolCall, Usage};
use hob_model::price::{Rate, Rates};

fn key() -> RunKey {
    RunKey { run: RunId(42), session: SessionId(1) }
}

/// The rows of one event, a line each.
fn projected(state: &mut State, event: Event) -> Vec<String> {
    let before = state.clone();
    let step = step(state, event);
    rows(&key(), 5, &before, &step, state).iter().map(shown).collect()
}

fn shown(row: &ProjectionRow) -> String {
    match row {
        ProjectionRow::Message(HistoryMessage { message: message @ Message::User { .. }, author, .. }) => {
            format!("history user {}: {}", author.map_or(0, |user| user.0), message.text())
        }
        ProjectionRow::Message(HistoryMessage { message: message @ Message::Assistant { .. }, .. }) => {
            format!("history hob: {} +{} calls", message.text(), message.calls().count())
        }
        ProjectionRow::Message(HistoryMessage { message: Message::Tool(result), .. }) => {
            format!("history tool {}", result.call)
        }
        ProjectionRow::Recalled(recalled) => format!("recalled {}", recalled.len()),
        ProjectionRow::ToolStarted { call, attempt, .. } => format!("call {} #{attempt}", call.id),
        ProjectionRow::ToolFinished { call, text, is_error } => {
            format!("finished {call} {text}{}", if *is_error { " (error)" } else { "" })
        }
        ProjectionRow::ModelAsked { seq, call, .. } => format!("asked {} at {seq}", call.label),
        ProjectionRow::Answered(AnsweringModel { first, by, .. }) => format!("{by} answers for {first}"),
        ProjectionRow::ModelEnded(end) => {
            format!("model {} {}/{}/{}", end.state, end.input_tokens, end.output_tokens, end.cached_tokens)
        }
        ProjectionRow::Deliver { call, delivery } => format!("delivers {call} to {}: {}", delivery.name, delivery.text),
        ProjectionRow::Undoable { call, tool, .. } => format!("{tool} of {call} can be taken back"),
        ProjectionRow::Granted { user, tool } => format!("granted {tool} to {user}"),
        ProjectionRow::Classed(classing) => format!("classes {} tools of {}", classing.tools.len(), classing.server),
        ProjectionRow::Summary { user, through, text, .. } => {
            format!("summary of {} through {through}: {text}", user.0)
        }
        ProjectionRow::Afresh => "afresh".to_owned(),
        ProjectionRow::Handover(HandoverChange::Keep(kept, through)) => {
            format!("keeps notes of {} on {} since {through}", kept.user.0, kept.notebook.objective)
        }
        ProjectionRow::Handover(HandoverChange::Clear(user, _)) => format!("drops notes of {}", user.0),
        ProjectionRow::Pruned { after } => format!("pruned after {after}"),
        ProjectionRow::AskOwners { seq, who, choices, .. } => {
            format!("ask owners at {seq} for {who} ({} buttons)", choices.len())
        }
        ProjectionRow::Attached { seq, text, .. } => format!("attaches at {seq}: {} characters", text.chars().count()),
        ProjectionRow::Resolved { question, outcome } => format!("question {question} is {outcome:?}"),
        ProjectionRow::Say { seq, text, choices, .. } => format!("say at {seq}: {text} ({} buttons)", choices.len()),
    }
}

/// The model that should answer does.
const OWN: &str = "a/one answers for a/one";

fn check(run: &mut Script, event: Event, expected: &[&str]) {
    let after = format!("{event:?}");
    assert_eq!(projected(&mut run.state, event), expected, "after {after}");
}

#[test]
fn c8_c9_a_run_writes_what_was_said_what_was_called_and_what_it_cost() {
    let mut run = Script::queued();
    check(
        &mut run,
        Event::Begun(Box::new(crate::machine::tests::begun())),
        &["asked a/one at 6", "history user 1: hello"],
    );
    check(&mut run, wants(&["look", "send"]), &["model answered 10/2/1", OWN, "call 1.0 #1", "call 1.1 #1"]);
    check(&mut run, done("1.0"), &["finished 1.0 ok"]);
    check(
        &mut run,
        done("1.1"),
        &["finished 1.1 ok", "asked a/one at 6", "history hob:  +2 calls", "history tool 1.0", "history tool 1.1"],
    );
    check(&mut run, fails(ErrorClass::Timeout), &["model failed 0/0/0", "asked a/one at 6"]);
    check(
        &mut run,
        says("hi"),
        &["model answered 10/2/1", OWN, "say at 6: hi (0 buttons)", "history hob: hi +0 calls"],
    );
    check(&mut run, says("late"), &[]);
}

#[test]
fn n6_owners_are_asked_whatever_only_they_may_answer() {
    let guest = Principal { role: Role::Guest, ..accepted().principal };
    let taint = Taint::from_iter(OriginSource::of_speaker(&guest, ChannelKind::Telegram));
    let facts = ToolFacts { risk: Risk::Send, changes: true, ..ToolFacts::default() };
    let tools = [("send".to_owned(), facts)].into();
    let mut run = Script::fresh();
    run.on(Event::Accepted(AcceptedInput { principal: guest, ..accepted() }));
    run.on(Event::Begun(Box::new(RunStart { taint, tools, ..crate::machine::tests::begun() })));
    run.on(wants(&["send"]));
    run.on(answers("approve"));
    let cut_off = projected(&mut run.state, crash()).join("\n");
    assert!(cut_off.contains("ask owners at 6 for Anna (3 buttons)"), "{cut_off}");
    assert!(cut_off.contains("Only an owner can answer this.\n1. it happened"), "{cut_off}");
    let question = run.run().questions;
    let again = projected(&mut run.state, Event::Expired { question }).join("\n");
    assert!(again.contains("say at 6: I am still waiting for an answer to this.\n"), "{again}");
    assert!(again.contains("ask owners at 6 for Anna (3 buttons)"), "{again}");
}

#[test]
fn e13_silence_is_history_and_nothing_is_sent() {
    let mut run = Script::begun();
    check(&mut run, says("NO_REPLY"), &["model answered 10/2/1", OWN, "history hob: [no reply needed] +0 calls"]);
}

#[test]
fn a_call_that_nobody_heard_of_again_is_billed_by_estimate_exactly_once() {
    let lost = format!("model lost {ESTIMATE}/0/0");
    let dropped = format!("model dropped {ESTIMATE}/0/0");
    let mismatch = JournalMismatch { seq: 3, expected: "a".to_owned(), actual: "b".to_owned() };
    let table = [
        (crash(), &lost),
        (Event::Resumed { system: system(2) }, &lost),
        (Event::Mismatched(mismatch), &lost),
        (stop(), &dropped),
        (panic(), &dropped),
    ];
    for (event, expected) in table {
        let mut run = Script::begun();
        let rows = projected(&mut run.state, event);
        assert_eq!(&rows[0], expected);
        assert_eq!(run.state.active().unwrap().usage.input_tokens, ESTIMATE, "the run's own sum agrees with the bill");
    }
    let mut acting = Script::acting(&["look"]);
    check(&mut acting, crash(), &["model lost 0/0/0", "call 1.0 #2"]);
}

#[test]
fn c8_each_call_is_billed_at_the_price_it_was_begun_with() {
    let rates =
        Rates { input: Rate::from_micro_usd(2_000_000), output: Rate::from_micro_usd(8_000_000), ..Rates::FREE };
    let billing = Billing {
        models: vec![
            ModelBill { rates: Some(rates), per_mille: 1_500, window: None, assumed: None },
            ModelBill { rates: None, per_mille: 1_000, window: None, assumed: None },
        ],
        context_tokens: 100,
        reply_tokens: 1_000,
    };
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(RunStart { billing, ..crate::machine::tests::begun() })));
    let Phase::Calling(call) = &run.run().phase else { panic!("no call") };
    assert_eq!((call.counted, call.input_estimate), (ESTIMATE, ESTIMATE * 3 / 2));
    assert_eq!(call.reserve, Some(Money::from_nanos(i64::try_from(ESTIMATE * 3 / 2).unwrap() * 2_000 + 8_000_000)));
    let before = run.state.clone();
    let mut after = before.clone();
    let step = step(&mut after, wants(&["look"]));
    let cost = rows(&key(), 5, &before, &step, &after).into_iter().find_map(|row| match row {
        ProjectionRow::ModelEnded(end) => end.cost,
        _ => None,
    });
    run.on(wants(&["look"]));
    // 9 tokens read at $2 and 2 written at $8 a million; one from the cache costs nothing here.
    assert_eq!((cost, run.run().cost), (Some(34_000), Money::from_nanos(34_000)));
    run.on(done("1.0"));
    run.on(fails(ErrorClass::UnknownModel));
    let Phase::Calling(call) = &run.run().phase else { panic!("no call") };
    assert_eq!((call.label.as_str(), call.reserve), ("b/two", None), "nobody knows its price");
}

#[test]
fn c8_a_reply_without_a_report_of_its_tokens_is_billed_by_estimate() {
    let mut run = Script::begun();
    let silent = Completion { usage: Usage::default(), ..completion("hi", &[]) };
    let rows = projected(&mut run.state, Event::ModelAnswered(silent));
    assert_eq!(rows[0], format!("model answered {ESTIMATE}/5/0"));
    assert_eq!(run.run().usage.input_tokens, ESTIMATE, "the run's own sum agrees with the bill");
}

#[test]
fn c10_a_panic_before_the_beginning_is_said() {
    let mut run = Script::queued();
    let rows = projected(&mut run.state, panic());
    assert!(rows[1].starts_with("say at 6: Something broke"), "{rows:?}");
}

/// The question that `event` leads to, as it is sent.
fn sent(run: &mut Script, event: Event) -> (String, Vec<String>) {
    let before = run.state.clone();
    let step = step(&mut run.state, event);
    rows(&key(), 5, &before, &step, &run.state)
        .into_iter()
        .find_map(|row| match row {
            ProjectionRow::Say { text, choices, .. } => {
                Some((text, choices.into_iter().map(|choice| format!("{} = {}", choice.label, choice.token)).collect()))
            }
            _ => None,
        })
        .unwrap()
}

#[test]
fn questions_as_people_see_them() {
    let (text, buttons) = sent(&mut Script::acting(&["send"]), crash());
    insta::assert_snapshot!(text, @r#"
    I was interrupted while this call was under way, and I can't tell whether it took effect:
    send
    a: 1
    What shall I do?
    1. it happened
    2. run it again
    3. give up
    "#);
    assert_eq!(buttons, ["it happened = q:42:1:1", "run it again = q:42:1:2", "give up = q:42:1:3"]);

    let mut acting = Script::acting(&["ask_human"]);
    let (text, buttons) = sent(&mut acting, asks("1.0", "Blue or red?"));
    insta::assert_snapshot!(text, @"Blue or red?");
    assert_eq!(buttons, [""; 0]);

    let (text, buttons) = sent(&mut Script::begun(), Event::Resumed { system: system(2) });
    insta::assert_snapshot!(text, @r"
    I was interrupted on this, and my instructions have been changed since. Shall I carry on with those I began with?
    1. carry on
    2. give up
    ");
    assert_eq!(buttons, ["carry on = q:42:1:1", "give up = q:42:1:2"]);

    let mismatch = JournalMismatch {
        seq: 5,
        expected: "tool.started 1.0 send attempt 1".to_owned(),
        actual: "run.resumed".to_owned(),
    };
    let (text, _) = sent(&mut Script::begun(), Event::Mismatched(mismatch));
    insta::assert_snapshot!(text, @r"
    I was interrupted on this, and my record of it does not add up (event 5 of the journal should be tool.started 1.0 send attempt 1 but is run.resumed). Shall I carry on from what is recorded?
    1. carry on
    2. give up
    ");

    let mut looping = Script::begun();
    looping.on(crash());
    looping.on(crash());
    let (text, _) = sent(&mut looping, crash());
    insta::assert_snapshot!(text, @r"
    I was cut off three times in a row at the same step of this, so I have stopped trying by myself. Shall I carry on?
    1. carry on
    2. give up
    ");
}

#[test]
fn a_question_asked_again_keeps_its_buttons_and_the_next_has_new_ones() {
    let mut run = Script::acting(&["send", "send"]);
    let first = sent(&mut run, crash());
    assert_eq!(sent(&mut run, answers("what?")), first);
    let (_, second) = sent(&mut run, answers("1"));
    assert_eq!(second[0], "it happened = q:42:2:1");
}

#[test]
fn question_only_takes_the_words_it_offers() {
    let question = Question::CrashLoop;
    let parse = |text| crate::machine::human::Decision::parse(text, &question);
    assert_eq!(parse("it happened"), None);
    assert_eq!(parse("3"), None);
}

#[test]
fn press_tokens_come_back_and_nothing_else_does() {
    for press in [
        QuestionPress { run: 42, question: 1, choice: 3 },
        QuestionPress { run: i64::MAX, question: u32::MAX, choice: usize::MAX },
        QuestionPress { run: 0, question: 0, choice: 0 },
    ] {
        assert_eq!(QuestionPress::parse(&press.token()), Some(press));
        assert!(press.token().len() <= 64, "Telegram takes no longer ones");
    }
    for token in
        ["", "q", "q:", "q:1:2", "q:1:2:3:4", "q:a:2:3", "q:1:-2:3", "q:1:2:", "r:1:2:3", " q:1:2:3", "q:1:2:3 "]
    {
        assert_eq!(QuestionPress::parse(token), None, "{token:?}");
    }
}

#[test]
fn c9_words_beside_calls_are_written_with_them() {
    let mut run = Script::begun();
    projected(&mut run.state, Event::ModelAnswered(completion("let me see", &["look"])));
    let rows = projected(&mut run.state, done("1.0"));
    assert_eq!(rows[2], "history hob: let me see +1 calls");
}

#[test]
fn c6_what_a_tool_wants_delivered_is_queued_once_with_the_end_of_its_call() {
    let delivery =
        DeliveryRequest { to: None, name: "this conversation".to_owned(), text: "look".to_owned(), file: None };
    let outcome = ToolOutcome::Deliver { delivery };
    let sent = Event::ToolFinished { call: CallId("1.0".to_owned()), outcome, source: None, draft: None, undo: None };
    let mut run = Script::acting(&["send_message", "look"]);
    let rows = projected(&mut run.state, sent.clone());
    let queued =
        "The message is queued for delivery to this conversation; it is sent as soon as the platform takes it.";
    assert_eq!(rows, [format!("finished 1.0 {queued}"), "delivers 1.0 to this conversation: look".to_owned()]);
    assert_eq!(projected(&mut run.state, sent.clone()), Vec::<String>::new(), "its call had ended");
    let mut stopped = Script::acting(&["send_message"]);
    stopped.on(stop());
    let rows = projected(&mut stopped.state, sent.clone());
    assert!(rows.iter().any(|row| row.starts_with("delivers")), "what was on its way is told: {rows:?}");
    assert_eq!(projected(&mut stopped.state, sent), Vec::<String>::new());
}

/// The rows of a run that noted something, at `event`.
fn after_noting(event: Event) -> Vec<String> {
    let mut run = Script::acting(&["update_run_journal"]);
    let change = noting("Paint the fence");
    run.on(Event::ToolFinished {
        call: CallId("1.0".to_owned()),
        outcome: ToolOutcome::Notebook { change },
        source: None,
        draft: None,
        undo: None,
    });
    projected(&mut run.state, event)
}

#[test]
fn b12_what_was_noted_is_kept_unless_the_task_came_to_its_end() {
    assert_eq!(after_noting(says("done")).last().unwrap(), "drops notes of 1");
    let kept = "keeps notes of 1 on Paint the fence since 0";
    for event in [stop(), panic(), fails(ErrorClass::Refused)] {
        assert_eq!(after_noting(event.clone()).last().unwrap(), kept, "{event:?}");
    }
    let mut wrapping_up = Script::acting(&["update_run_journal"]);
    wrapping_up.on(Event::SoftLimit);
    let change = noting("Paint the fence");
    wrapping_up.on(Event::ToolFinished {
        call: CallId("1.0".to_owned()),
        outcome: ToolOutcome::Notebook { change },
        source: None,
        draft: None,
        undo: None,
    });
    assert_eq!(projected(&mut wrapping_up.state, says("so far")).last().unwrap(), kept);
    let mut silent = Script::begun();
    assert!(!projected(&mut silent.state, stop()).iter().any(|row| row.contains("notes")), "nothing was noted");
}

#[test]
fn e14_only_a_heartbeat_that_said_nothing_to_anybody_is_pruned() {
    let heartbeat = |events: Vec<Event>| {
        let mut state = State::Empty;
        let begun = Event::Begun(Box::new(crate::machine::tests::begun()));
        let opening = [Event::Accepted(AcceptedInput { order: RunKind::Heartbeat, ..accepted() }), begun];
        let rows = opening.into_iter().chain(events).flat_map(|event| projected(&mut state, event));
        rows.last().unwrap()
    };
    assert_eq!(heartbeat(vec![says("NO_REPLY")]), "pruned after 0");
    assert_eq!(heartbeat(vec![stop()]), "pruned after 0", "it was stopped before it said anything");
    assert_eq!(heartbeat(vec![says("fire")]), "history hob: fire +0 calls");
    let joined = vec![wants(&["look"]), steers(ANNA, "hello"), done("1.0"), says("NO_REPLY")];
    assert_eq!(heartbeat(joined), "history hob: [no reply needed] +0 calls", "somebody's words are in it");
    let asked = vec![wants(&["ask_human"]), asks("1.0", "blue?"), answers("yes"), says("NO_REPLY")];
    assert_eq!(heartbeat(asked), "history hob: [no reply needed] +0 calls", "it asked");
    let mut answering = Script::begun();
    let rows = projected(&mut answering.state, says("NO_REPLY"));
    assert!(!rows.iter().any(|row| row.starts_with("pruned")), "{rows:?}");
}

#[test]
fn d6_what_a_question_leaves_out_goes_before_it_as_a_file() {
    let arguments = format!(r#"{{"body":"{}","to":"Ben"}}"#, "x".repeat(5_000));
    let call = ToolCall { id: CallId(String::new()), name: "send".to_owned(), arguments };
    let facts = ToolFacts { approval: Approval::Ask, ..ToolFacts::default() };
    let begun = RunStart { tools: [("send".to_owned(), facts)].into(), ..crate::machine::tests::begun() };
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(begun)));
    let rows = projected(&mut run.state, Event::ModelAnswered(Completion::from_text_and_calls("", vec![call])));
    let attached = rows.iter().position(|row| row.starts_with("attaches at ")).unwrap();
    assert!(rows[attached].ends_with(": 5014 characters"), "{rows:?}");
    assert!(
        rows[attached + 1].starts_with("say at ") && rows[attached + 1].contains("\nto: Ben\nbody: xxx"),
        "{rows:?}"
    );
}
