//! A run looked at afterwards (rows N2, D8): its cycle tree, whether it replays, what another policy would have decided.
//!
//! Never: a write, or a call of anything. All but [`load`] is a function of the recorded events.
//! Start at [`tree::RunTree`].

pub mod load;
pub mod run_at;
pub mod story;
pub mod tree;
pub mod verify;
pub mod what_if;

#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::machine::event::Event;
use hob_core::domain::ids::RunId;

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    pub run: RunId,
    /// Its session's published name.
    pub session: String,
    /// Its sender's name.
    pub who: String,
    /// Its state, as the `runs` table has it.
    pub state: String,
    /// The hash of its state, as written down with its last event; none: nobody has.
    pub state_hash: Option<String>,
    /// The run that it works for, if it is an agent.
    pub parent: Option<RunId>,
    /// The runs that worked for it.
    pub agents: Vec<RunId>,
    /// Its journal, as far as it can be read.
    pub events: Vec<TimedEvent>,
    /// The first row of the journal that cannot be read; nothing after it was.
    pub broken: Option<UnreadableRow>,
    /// The system prompt that it began with, if it has begun and the text is still there.
    pub system: Option<String>,
}

/// An event with the time at which it was committed.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    pub at: Timestamp,
    pub event: Event,
}

/// A row of a journal that holds no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRow {
    /// Its number.
    pub seq: i64,
    /// What is wrong with it.
    pub what: String,
}

/// What an event carries, in a line.
pub fn line(event: &Event) -> String {
    tree::build::fields_of(event)
}

impl RecordedRun {
    /// The events with their numbers, from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (i64, &TimedEvent)> {
        (1..).zip(&self.events)
    }
}
