//! Recorded runs, for the tests of every crate.
#![expect(clippy::unwrap_used, reason = "for tests alone")]

use jiff::Timestamp;

use crate::machine::event::Event;
use crate::machine::event::ToolOutcome;
use crate::machine::fingerprint::fingerprint;
use crate::machine::testkit::{Script, completion, done, fails, finished, says};
use crate::replay::{RecordedRun, TimedEvent};
use hob_core::domain::ids::RunId;
use hob_model::error::ErrorClass;

/// What a script has recorded; a tenth of a second from event to event.
pub fn recorded(script: &Script) -> RecordedRun {
    let at = |index: i64| Timestamp::from_millisecond(1_767_225_600_000 + index * 100).unwrap();
    let timed = |(event, index): (&Event, i64)| TimedEvent { at: at(index), event: event.clone() };
    RecordedRun {
        run: RunId(12),
        session: "7".to_owned(),
        who: "Anna".to_owned(),
        state: script.state.status().as_str().to_owned(),
        state_hash: Some(fingerprint(&script.state).0),
        parent: None,
        agents: Vec::new(),
        events: script.journal.iter().zip(0..).map(timed).collect(),
        broken: None,
        system: Some("You are Hob.".to_owned()),
    }
}

/// A run with a failure, two cycles with tools, and an answer.
pub fn busy() -> Script {
    let mut script = Script::begun();
    for event in [
        fails(ErrorClass::Server),
        Event::ModelAnswered(completion("I'll look.", &["look", "write_file"])),
        done("1.0"),
        finished("1.1", ToolOutcome::Text { text: "disk full".to_owned(), is_error: true }),
        Event::ModelAnswered(completion("", &["look"])),
        done("2.0"),
        says("It is full."),
    ] {
        script.on(event);
    }
    script
}
