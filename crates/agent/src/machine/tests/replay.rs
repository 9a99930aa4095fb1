//! Row B11: a journal that does not replay to the same effects is noticed, told once, and then what is recorded counts.

use super::{Script, answers, begun, crash, done, fails, says, system, wants};
use crate::machine::digest::Digest;
use crate::machine::event::{Event, JournalMismatch, RunEnd, RunReply};
use crate::machine::state::{Phase, State};
use crate::machine::{Replay, step};
use hob_model::error::ErrorClass;

/// A run with a tool of each kind, and an answer.
fn whole() -> Vec<Event> {
    let mut run = Script::acting(&["look", "send"]);
    run.on(done("1.0"));
    run.on(done("1.1"));
    run.on(says("hi"));
    run.journal
}

fn folded(journal: &[Event]) -> Replay {
    let mut replay = Replay::default();
    journal.iter().for_each(|event| replay.feed(event));
    replay
}

fn kinds(journal: &[Event]) -> Vec<&str> {
    journal.iter().map(Event::kind).collect()
}

#[test]
fn b11_a_whole_journal_replays() {
    let journal = whole();
    assert_eq!(
        kinds(&journal),
        [
            "input.accepted",
            "run.begun",
            "model.asked",
            "model.answered",
            "tool.started",
            "tool.started",
            "tool.finished",
            "tool.finished",
            "model.asked",
            "model.answered",
            "reply.made",
            "run.ended"
        ]
    );
    assert_eq!(folded(&journal).mismatch(), None);
}

#[test]
fn b11_a_dropped_start_record_is_noticed_where_it_was() {
    let journal = whole();
    for (index, event) in journal.iter().enumerate().filter(|(_, event)| event.is_start_record()) {
        let mut dropped = journal.clone();
        dropped.remove(index);
        let found = folded(&dropped).mismatch().unwrap();
        assert_eq!(found.seq, index as i64 + 1);
        assert!(found.expected.starts_with(event.kind()), "{found}");
    }
}

#[test]
fn b11_swapped_and_added_records_are_noticed() {
    let journal = whole();
    let mut swapped = journal.clone();
    swapped.swap(4, 5);
    let found = folded(&swapped).mismatch().unwrap();
    insta::assert_snapshot!(found, @"event 5 of the journal should be tool.started 1.0 look attempt 1 but is tool.started 1.1 send attempt 1");

    let mut doubled = journal.clone();
    doubled.insert(5, journal[5].clone());
    let found = folded(&doubled).mismatch().unwrap();
    insta::assert_snapshot!(found, @"event 7 of the journal should be no start of an effect but is tool.started 1.1 send attempt 1");

    let mut early = journal;
    early.swap(3, 10);
    assert_eq!(folded(&early).mismatch().unwrap().seq, 4);
}

#[test]
fn b11_a_changed_start_record_is_noticed() {
    let journal = whole();
    let changed: Vec<(usize, Event)> = vec![
        (
            2,
            Event::ModelAsked { digest: Digest::of("request1", &[b"x"]), model: "a/one".to_owned(), input_estimate: 0 },
        ),
        (
            2,
            Event::ModelAsked { digest: Digest::of("request0", &[b"x"]), model: "b/two".to_owned(), input_estimate: 0 },
        ),
        (10, Event::Replied(RunReply::Answer { text: "ho".to_owned() })),
        (10, Event::Replied(RunReply::Silence)),
        (11, Event::Ended(RunEnd::Cancelled)),
    ];
    for (index, event) in changed {
        let mut journal = journal.clone();
        journal[index] = event;
        assert_eq!(folded(&journal).mismatch().unwrap().seq, index as i64 + 1);
    }
}

#[test]
fn digests_of_another_recipe_and_reworded_notices_are_no_mismatch() {
    let mut journal = whole();
    journal[2] =
        Event::ModelAsked { digest: Digest::of("request0", &[b"x"]), model: "a/one".to_owned(), input_estimate: 0 };
    assert_eq!(folded(&journal).mismatch(), None);

    let mut told = Script::begun();
    told.on(fails(ErrorClass::Refused));
    let mut journal = told.journal;
    let at = journal.len() - 2;
    journal[at] = Event::Replied(RunReply::Notice { text: "in other words".to_owned() });
    let replay = folded(&journal);
    assert_eq!(replay.mismatch(), None);
    assert_eq!(replay.state.active().unwrap().transcript.messages().len(), 2);
}

/// What the driver does with a journal that does not add up.
fn park(journal: &mut Vec<Event>) -> (State, JournalMismatch) {
    let replay = folded(journal);
    let found = replay.mismatch().unwrap();
    let mut state = replay.state;
    journal.extend(step(&mut state, Event::Mismatched(found.clone())).events);
    (state, found)
}

#[test]
fn a_mismatch_is_told_once_even_where_several_things_are_wrong() {
    let whole = whole();
    let tampered: Vec<fn(&mut Vec<Event>)> = vec![
        |journal| drop(journal.remove(2)),
        |journal| journal.swap(4, 5),
        |journal| journal.truncate(5),
        |journal| {
            journal.swap(4, 5);
            journal.truncate(8);
        },
        |journal| {
            journal.remove(2);
            journal.remove(4);
            journal.truncate(9);
        },
        |journal| {
            journal.remove(8);
            journal.remove(3);
            journal.truncate(6);
        },
    ];
    for tamper in tampered {
        let mut journal = whole.clone();
        tamper(&mut journal);
        journal.retain(|event| !matches!(event, Event::Ended(_) | Event::Replied(_)));
        let (mut state, _) = park(&mut journal);
        assert!(matches!(state.active().unwrap().phase, Phase::Waiting { .. }));
        assert_eq!(folded(&journal).mismatch(), None, "{:?}", kinds(&journal));
        journal.extend(step(&mut state, answers("carry on")).events);
        let replay = folded(&journal);
        assert_eq!(replay.mismatch(), None, "{:?}", kinds(&journal));
        assert_eq!(replay.state, state);
    }
}

#[test]
fn n3_what_was_answered_is_not_answered_again() {
    let mut journal = whole();
    journal.pop();
    let (mut state, found) = park(&mut journal);
    assert_eq!((found.expected.as_str(), found.actual.as_str()), ("run.ended", "missing"));
    let events = step(&mut state, answers("carry on")).events;
    assert_eq!(events[1..], [Event::Ended(RunEnd::Completed)]);
}

#[test]
fn a_journal_without_its_beginning_does_not_begin_again() {
    let mut journal = whole();
    journal.truncate(7);
    journal.remove(1);
    let (state, found) = park(&mut journal);
    assert_eq!(found.seq, 2);
    assert!(state.status().is_final());
    assert_eq!(kinds(&journal)[journal.len() - 3..], ["run.mismatch", "reply.made", "run.ended"]);
}

#[test]
fn a_mismatch_never_runs_a_call_with_side_effects_again() {
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(begun())));
    run.on(wants(&["send"]));
    let mut journal = run.journal;
    journal.pop();
    let (mut state, _) = park(&mut journal);
    let effects = step(&mut state, answers("carry on")).effects;
    assert_eq!(effects.iter().map(super::shown).collect::<Vec<_>>(), ["human unsafe 1.0 send"]);
    step(&mut state, crash());
    step(&mut state, Event::Resumed { system: system(1) });
    assert!(matches!(state.active().unwrap().phase, Phase::Waiting { .. }));
}

/// What Hob adds below an answer may be reworded; the answer may not.
#[test]
fn b11_only_what_hob_adds_below_an_answer_may_read_otherwise() {
    let replied = |text: &str| {
        let mut run = Script::acting(&["look"]);
        run.on(done("1.0"));
        run.on(says("hi"));
        let at = run.journal.iter().position(|event| matches!(event, Event::Replied(_))).unwrap();
        run.journal[at] = Event::Replied(RunReply::Answer { text: text.to_owned() });
        folded(&run.journal).mismatch().map(|mismatch| mismatch.seq - at as i64)
    };
    for (text, mismatch) in [
        ("hi", None),
        ("hi\n\n(As I said before.)", None),
        ("hi\n\n(One.)\n\n(Two.)", None),
        ("hi\n\nAnd more.", Some(1)),
        ("hi\n\n(And more", Some(1)),
        ("hi (there)", Some(1)),
        ("ho\n\n(As I said before.)", Some(1)),
    ] {
        assert_eq!(replied(text), mismatch, "{text}");
    }
}
