//! Values that contradict each other.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use hob_core::domain::origin::Taint;
use hob_core::domain::text::inert;
use hob_store::facts::Fact;

/// Two values, of which one is true.
#[derive(Debug, Clone, PartialEq)]
pub struct FactConflict {
    pub current: Fact,
    /// What contradicts it; [`hob_store::facts::note_asked`] notes on this one that a person was asked.
    pub rival: Fact,
}

impl FactConflict {
    /// What the two rest on that nobody vouches for (row N6).
    pub fn taint(&self) -> Taint {
        let mut taint = Taint::from_stored(self.current.taint.as_deref());
        taint.join(&Taint::from_stored(self.rival.taint.as_deref()));
        taint
    }

    /// A line for the model: what is known twice, and that it is to ask.
    pub fn question_line(&self, zone: &TimeZone) -> String {
        let side = |fact: &Fact| {
            let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
            let day = at.to_zoned(zone.clone()).strftime("%-d %B %Y").to_string();
            format!("\"{}\" ({}, {day})", inert(&fact.value), inert(&fact.speaker))
        };
        let Self { current, rival } = self;
        format!(
            "Two things are known about {}: {} and {}. Ask once which of them is true, and remember the answer under the \
             category \"{}\" and the key \"{}\".",
            inert(&current.key),
            side(current),
            side(rival),
            inert(&current.category),
            inert(&current.key)
        )
    }
}
