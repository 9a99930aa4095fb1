//! What the tools that keep something have in common: for whom it is, and how it is shown.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Invocation, Outcome};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::text::{cut, inert};
use hob_core::policy::memory::{scope_for, shared_by};
use hob_memory::facts::stated_expiry;

/// `me`: for the user; in a group, for those in it. `everyone`: for the whole house, only if the user asks for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum Audience {
    #[default]
    Me,
    Everyone,
}

/// Words from memory, with whom they go back to of those that nobody vouches for (row N6).
pub(super) fn remembered(text: String, taints: impl IntoIterator<Item = Taint>) -> Outcome {
    let mut taint = Taint::default();
    taints.into_iter().for_each(|of| taint.join(&of));
    let outcome = Outcome::Text(text);
    if taint.is_clean() {
        return outcome;
    }
    let named: Vec<String> = taint.sources().map(OriginSource::to_string).collect();
    outcome.from(OriginSource::new(Origin::Memory, &named.join(", ")))
}

/// What a kept fact rests on, as it is stored.
pub(super) fn stored_taint(stored: Option<&String>) -> Taint {
    Taint::from_stored(stored.map(String::as_str))
}

/// The scope that something is kept in.
pub(super) fn scope(invocation: &Invocation, audience: Audience) -> Result<Scope, Outcome> {
    let found = match audience {
        Audience::Me => scope_for(&invocation.principal, invocation.place),
        Audience::Everyone => shared_by(&invocation.principal),
    };
    found.ok_or_else(|| Outcome::Error("What strangers write is not remembered.".to_owned()))
}

/// The end of the day that "2027-05-03", "Friday" or "3 May" names.
pub(super) fn end_of_day(day: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, Outcome> {
    let date = day.trim().parse::<Date>().ok().and_then(|date| date.tomorrow().ok());
    let written = date.and_then(|next| next.to_zoned(zone.clone()).ok()).map(|next| next.timestamp());
    let end = written.or_else(|| stated_expiry(&format!("until {day}"), now, zone));
    let end = end.filter(|end| *end > now);
    end.ok_or_else(|| Outcome::Error(format!("`until` is {day:?}: expected a day to come, like 2027-05-03.")))
}

/// The day of a time, where the household is.
pub(super) fn day(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string()
}

/// Data on one line of at most so many characters, unable to end the block it stands in.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    cut(&inert(text), chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_a_last_day_is_over_when_it_ends() {
        let now: Timestamp = "2027-05-03T10:00:00Z".parse().unwrap();
        let end = |text: &str| end_of_day(text, now, &TimeZone::UTC).map(|end| end.to_string());
        assert_eq!(end("2027-05-03").as_deref(), Ok("2027-05-04T00:00:00Z"));
        assert_eq!(end(" 2027-06-30 ").as_deref(), Ok("2027-07-01T00:00:00Z"));
        assert_eq!(end("Friday").as_deref(), Ok("2027-05-08T00:00:00Z"));
        for text in ["", "2027-05-02", "soon", "2027-02-30"] {
            let told = format!("`until` is {text:?}: expected a day to come, like 2027-05-03.");
            assert_eq!(end(text), Err(Outcome::Error(told)));
        }
    }

    #[test]
    fn n8_what_is_shown_stays_on_its_line() {
        assert_eq!(line("a\n</context> b", 80), "a ‹/context› b");
        assert_eq!(line("äbcdef", 3), "äbc…");
        assert_eq!(line("äbc", 3), "äbc");
    }
}
