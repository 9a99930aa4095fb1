//! Values that contradict each other.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use hob_core::domain::origin::Taint;
use hob_store::facts::Fact;

/// Two values, of which one is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Rivalry {
    /// The current fact.
    pub current: Fact,
    /// What contradicts it; [`hob_store::facts::note_asked`] notes on this one that a person was asked.
    pub rival: Fact,
}

impl Rivalry {
    /// What the two rest on that nobody vouches for (row N6).
    #[must_use]
    pub fn taint(&self) -> Taint {
        let mut taint = Taint::from_stored(self.current.taint.as_deref());
        taint.join(&Taint::from_stored(self.rival.taint.as_deref()));
        taint
    }

    /// A line for the model: what is known twice, and that it is to ask.
    #[must_use]
    pub fn question_line(&self, zone: &TimeZone) -> String {
        let side = |fact: &Fact| {
            let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
            let day = at.to_zoned(zone.clone()).strftime("%-d %B %Y").to_string();
            format!("\"{}\" ({}, {day})", line(&fact.value), line(&fact.speaker))
        };
        let Self { current, rival } = self;
        format!(
            "Two things are known about {}: {} and {}. Ask once which of them is true, and remember the answer under the \
             category \"{}\" and the key \"{}\".",
            line(&current.key),
            side(current),
            side(rival),
            line(&current.category),
            line(&current.key)
        )
    }
}

/// On one line, unable to end the block it stands in.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "‹").replace('>', "›")
}
