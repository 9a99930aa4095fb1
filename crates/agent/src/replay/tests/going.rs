//! Runs that go on from where their record ends.

use super::{busy, recorded};
use crate::machine::effect::{ModelCall, ModelCallPurpose};
use crate::machine::event::{Event, RunEnd, ToolOutcome};
use crate::machine::run_start::RunStart;
use crate::machine::tests::agents::{ended, spawns};
use crate::machine::tests::{Script, begun, completion, done, finished, says, stopped_tool, wants};
use crate::replay::what_if::continuation::{AnsweredCall, ContinuedRun, NextStep};
use crate::replay::what_if::{WhatIf, WhatIfChange, WhatIfReport, what_if_until_request};
use hob_core::domain::tools::{Approval, ToolFacts};
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Message, ReplyPart};

const OTHER_PROMPT: &str = "system = 'You are another.'";

fn asked(script: &Script, text: &str) -> (WhatIfReport, Option<ContinuedRun>) {
    let change = WhatIfChange { what: WhatIf::parse(text).unwrap(), bills: Vec::new() };
    what_if_until_request(&recorded(script), &change).unwrap()
}

fn going(script: &Script, text: &str) -> ContinuedRun {
    asked(script, text).1.unwrap()
}

#[track_caller]
fn asks(going: &mut ContinuedRun) -> ModelCall {
    match going.next_step() {
        NextStep::Ask(call) => call,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn over(going: &mut ContinuedRun) -> String {
    match going.next_step() {
        NextStep::Over(why) => why,
        other => panic!("{other:?}"),
    }
}

/// The tools that were called, and whether the record has an answer.
fn calls(going: &mut ContinuedRun) -> Vec<(String, bool)> {
    going.take_calls().into_iter().map(|AnsweredCall { name, is_recorded, .. }| (name, is_recorded)).collect()
}

fn results(going: &ContinuedRun) -> Vec<String> {
    let said = going.run().unwrap().transcript.messages().iter();
    let results = said.filter_map(|message| match message {
        Message::Tool(result) => Some(result.text.split("\n\n").next().unwrap_or_default().to_owned()),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    results.collect()
}

fn answer(going: &mut ContinuedRun, event: Event) {
    match event {
        Event::ModelAnswered(completion) => going.answered(completion),
        other => panic!("{other:?}"),
    }
}

#[test]
fn n2_a_run_goes_on_where_the_record_has_no_answer_and_ends() {
    let (report, going) = asked(&busy(), "[limits]\niterations = 1");
    assert_eq!(report.stopped.unwrap().seq, 10);
    let mut going = going.unwrap();
    assert_eq!(asks(&mut going).purpose, ModelCallPurpose::WrapUpIterations);
    assert_eq!(asks(&mut going).purpose, ModelCallPurpose::WrapUpIterations, "until there is an answer");
    answer(&mut going, says("The disk is full."));
    assert_eq!(over(&mut going), "the run is over (completed)");
    assert_eq!((going.sum().cycles, going.sum().status), (2, "completed"));
    assert_eq!(calls(&mut going), []);
}

#[test]
fn n2_recorded_replies_answer_no_other_request() {
    let (report, going) = asked(&busy(), OTHER_PROMPT);
    let stopped = report.stopped.unwrap();
    assert_eq!((stopped.seq, report.notes), (2, vec![]));
    insta::assert_snapshot!(stopped.why, @"here the model would have been asked otherwise, and what it would have answered is not on record");
    assert_eq!(asks(&mut going.unwrap()).label, "a/one");
    let (report, going) = asked(&busy(), "[limits]\niterations = 11");
    assert_eq!((report.stopped, going), (None, None), "the record answers everything");
}

#[test]
fn n2_tools_answer_from_the_record_in_its_order_or_are_not_performed() {
    let mut script = Script::begun();
    for event in [wants(&["look"]), done("1.0"), wants(&["look"]), finished_with("2.0", "better"), says("Good.")] {
        script.on(event);
    }
    let mut going = going(&script, OTHER_PROMPT);
    asks(&mut going);
    for _ in 0..2 {
        answer(&mut going, wants(&["look", "write_file"]));
        asks(&mut going);
        assert_eq!(calls(&mut going), [("look".to_owned(), true), ("write_file".to_owned(), false)]);
    }
    let refused = "Not performed in a what-if: the record has no call of write_file with these arguments.";
    assert_eq!(results(&going), ["ok", refused, "better", refused]);
    let mut other = completion("", &["look"]);
    for part in &mut other.parts {
        if let ReplyPart::Call(call) = part {
            call.arguments = r#"{"a":2}"#.to_owned();
        }
    }
    going.answered(other);
    asks(&mut going);
    assert_eq!(calls(&mut going), [("look".to_owned(), false)], "with other arguments it is another call");
}

fn finished_with(call: &str, text: &str) -> Event {
    finished(call, ToolOutcome::Text { text: text.to_owned(), is_error: false })
}

#[test]
fn n2_an_agents_report_is_an_answer_and_a_call_that_was_cut_off_is_none() {
    let mut script = Script::acting(&["spawn_agent", "look"]);
    for event in [spawns("1.0"), stopped_tool("1.1"), ended("1.0", "Dug.", RunEnd::Completed), says("Dug.")] {
        script.on(event);
    }
    let mut going = going(&script, OTHER_PROMPT);
    asks(&mut going);
    answer(&mut going, wants(&["spawn_agent", "look"]));
    asks(&mut going);
    assert_eq!(calls(&mut going), [("spawn_agent".to_owned(), true), ("look".to_owned(), false)]);
    assert!(results(&going)[0].contains("An agent's report") && results(&going)[0].contains("Dug."));
}

#[test]
fn n2_where_a_person_would_be_asked_it_ends() {
    let pay = ToolFacts { approval: Approval::Ask, changes: true, ..ToolFacts::default() };
    let mut script = Script::queued();
    let tools = [("pay".to_owned(), pay)].into();
    script.on(Event::Begun(Box::new(RunStart { tools, ..begun() })));
    script.on(says("Paid."));
    let mut going = going(&script, OTHER_PROMPT);
    asks(&mut going);
    answer(&mut going, wants(&["pay"]));
    let why = over(&mut going);
    assert!(why.starts_with("a person is asked: ") && why.contains("pay"), "{why}");
    assert_eq!(calls(&mut going), []);
}

#[test]
fn n2_a_model_that_does_not_answer_is_dealt_with_as_in_a_run() {
    let mut going = going(&busy(), OTHER_PROMPT);
    let first = asks(&mut going);
    going.failed(&ModelError::new(ErrorClass::Server, "no luck"));
    let again = asks(&mut going);
    assert!((first.delay_ms, first.failures) < (again.delay_ms, again.failures), "{again:?}");
    going.failed(&ModelError::new(ErrorClass::Auth, "no key"));
    assert_eq!(asks(&mut going).label, "b/two");
}

#[test]
fn n2_a_run_that_has_not_begun_has_nothing_to_ask() {
    let (_, going) = asked(&Script::queued(), OTHER_PROMPT);
    assert_eq!(going, None);
}
