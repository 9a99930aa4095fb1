//! What comes when it can mean nothing is recorded as such, and changes nothing.

use super::{
    BEN, Script, accepted, answers, begun, crash, done, fails, hard_limit, panic, says, steers, stop, system, wants,
};
use crate::machine::event::{Event, JournalMismatch, RunEnd, RunReply};
use crate::machine::question::Question;
use crate::machine::state::State;
use crate::machine::status::Status;
use crate::machine::stop::CancelReason;
use hob_core::domain::ids::RunId;
use hob_model::error::ErrorClass;

fn every_event() -> Vec<Event> {
    let mismatch = JournalMismatch { seq: 1, expected: "a".to_owned(), actual: "b".to_owned() };
    vec![
        Event::Accepted(accepted()),
        Event::Edited { text: "other".to_owned() },
        Event::Withdrawn,
        Event::Joined { run: RunId(3) },
        Event::Begun(Box::new(begun())),
        steers(BEN, "and this"),
        Event::ModelAsked { digest: system(1), model: "a/one".to_owned(), input_estimate: 1 },
        says("late"),
        wants(&["look"]),
        fails(ErrorClass::Timeout),
        done("1.0"),
        Event::HumanAsked(Question::CrashLoop),
        answers("yes"),
        stop(),
        hard_limit(),
        Event::SoftLimit,
        Event::Suspended,
        crash(),
        Event::Mismatched(mismatch),
        panic(),
        Event::Replied(RunReply::Silence),
        Event::Ended(RunEnd::Completed),
    ]
}

#[test]
fn after_the_end_nothing_changes() {
    let ends: Vec<fn(&mut Script)> = vec![
        |run| drop(run.on(says("hi"))),
        |run| drop(run.on(stop())),
        |run| drop(run.on(hard_limit())),
        |run| drop(run.on(panic())),
        |run| drop(run.on(fails(ErrorClass::Refused))),
        |run| drop((run.on(wants(&["send"])), run.on(crash()), run.on(answers("give up")))),
    ];
    for end in ends {
        let mut run = Script::begun();
        end(&mut run);
        assert!(run.state.status().is_final());
        let over = run.state.clone();
        for event in every_event().into_iter().filter(|event| !event.is_start_record()) {
            run.check(event, &["ignored: the run is over"]);
            assert_eq!(run.state, over);
        }
        for event in every_event() {
            crate::machine::apply(&mut run.state, &event);
            assert_eq!(run.state, over);
        }
    }
}

#[test]
fn a_run_that_never_began_stays_over() {
    let table = [(Event::Withdrawn, RunEnd::Withdrawn), (Event::Joined { run: RunId(3) }, RunEnd::Joined)];
    for (event, end) in table {
        let mut run = Script::queued();
        run.check(event, &[&format!("end {end:?}")]);
        assert_eq!(run.state, State::Closed(end));
        let over = run.state.clone();
        for event in every_event() {
            crate::machine::apply(&mut run.state, &event);
            assert_eq!(run.state, over);
        }
    }
}

#[test]
fn an_edit_counts_until_the_run_begins() {
    let mut run = Script::queued();
    run.check(Event::Edited { text: "good day".to_owned() }, &[]);
    assert_eq!(run.state.status(), Status::Queued);
    run.check(Event::Begun(Box::new(begun())), &["ask a/one Work"]);
    run.check(Event::Edited { text: "too late".to_owned() }, &["ignored: the run has begun already"]);
    for event in [
        Event::Accepted(accepted()),
        Event::Withdrawn,
        Event::Joined { run: RunId(3) },
        Event::Begun(Box::new(begun())),
    ] {
        run.check(event, &["ignored: the run has begun already"]);
    }
    assert_eq!(run.said(), ["user: good day"]);
}

#[test]
fn before_the_beginning_only_the_queue_matters() {
    let mut run = Script::queued();
    let before = run.state.clone();
    for event in [
        Event::Accepted(accepted()),
        says("hi"),
        fails(ErrorClass::Refused),
        done("1.0"),
        answers("yes"),
        Event::SoftLimit,
        Event::Suspended,
        crash(),
        Event::CancelRequested(CancelReason::HardLimit),
        steers(BEN, "and this"),
    ] {
        run.check(event, &["ignored: the run has not begun"]);
        assert_eq!(run.state, before);
    }
    let mut empty = State::Empty;
    for event in every_event().into_iter().skip(1) {
        crate::machine::apply(&mut empty, &event);
        assert_eq!(empty, State::Empty);
    }
}
