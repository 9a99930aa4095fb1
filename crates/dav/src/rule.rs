//! The rule of a series (RFC 5545, 3.3.10): its times up to a moment. Pure.
//!
//! Never: a rule given to the library that works it out which could keep that busy for long or fill the memory. Whoever invites
//! somebody writes it.
//! Start at `starts`.

use std::collections::BTreeMap;

use calcard::common::timezone::Tz;
use calcard::icalendar::ICalendar;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::lines::{Component, Line};
use crate::when::{When, Zones};

/// The most times of one series that are worked out.
pub(crate) const TIMES_MAX: usize = 20_000;
/// The longest rule, in bytes: a year's days by their numbers are more than anybody needs.
const RULE_BYTES_MAX: usize = 1_000;
/// The most times of a day that a rule names: each day of a year has as many, and a year is worked out at once.
const CLOCK_TIMES_MAX: usize = 100;
/// The most years, months, … seconds that a rule is followed through: each day for a hundred years is less.
const INTERVALS_MAX: i64 = 50_000;
/// How much of that all entries of one answer may take together.
const EFFORT_MAX: u64 = 2_000_000;
/// The parts of a rule that name times of a day.
const CLOCK: [&str; 3] = ["BYHOUR", "BYMINUTE", "BYSECOND"];

/// How much may still be worked out of what a server has answered: one for each interval of a rule, and for each date.
#[derive(Debug)]
pub struct Effort(u64);

impl Default for Effort {
    fn default() -> Self {
        Self(EFFORT_MAX)
    }
}

impl Effort {
    /// Takes so much of it, if there is as much.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Is there none left? Then there may be more than was worked out.
    pub fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// When it is by the rule, up to the end of the window: the wall clock of its zone counts, whatever clocks are changed. Of a rule
/// that cannot be followed only the first time is sure.
pub(crate) fn starts(rule: &str, first: &When, zone: &TimeZone, to: Timestamp, effort: &mut Effort) -> Vec<When> {
    let local = match first {
        When::Day(day) => day.at(0, 0, 0, 0),
        When::At(at) => at.with_time_zone(zone.clone()).datetime(),
    };
    let last = to.to_zoned(zone.clone()).datetime();
    let rule = bounded(rule, zone, local, last).filter(|rule| effort.spend(rule.intervals));
    let Some(rule) = rule else { return vec![first.clone()] };
    let stamp = local.strftime("%Y%m%dT%H%M%S");
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:{stamp}\r\nRRULE:{}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        rule.text
    );
    let Ok(calendar) = ICalendar::parse(&text) else { return vec![first.clone()] };
    let found = calendar.expand_dates(Tz::Floating, TIMES_MAX).events;
    if !effort.spend(found.len() as u64) {
        return vec![first.clone()];
    }
    let starts = found.iter().filter_map(|event| {
        let seconds = event.start.naive_local().and_utc().timestamp();
        Some(Timestamp::from_second(seconds).ok()?.to_zoned(TimeZone::UTC).datetime())
    });
    let when = |at: DateTime| match first {
        When::Day(_) => Some(When::Day(at.date())),
        // A time that the clocks leave out is that much later, one that comes twice is the first.
        When::At(_) => at.to_zoned(zone.clone()).ok().map(When::At),
    };
    let mut starts: Vec<When> = starts.filter_map(when).collect();
    if starts.is_empty() {
        starts.push(first.clone());
    }
    starts
}

/// A rule that ends.
struct Bounded {
    text: String,
    /// How many years, months, … seconds it is followed through.
    intervals: u64,
}

/// The rule, with an end on the zone's own clock: the window's, where it has none or a later one. None: nobody needs such a rule.
fn bounded(rule: &str, zone: &TimeZone, first: DateTime, last: DateTime) -> Option<Bounded> {
    if rule.len() > RULE_BYTES_MAX {
        return None;
    }
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for part in rule.split(';') {
        let bare: String = part.chars().filter(|c| !c.is_whitespace()).collect();
        if bare.is_empty() {
            continue;
        }
        let (name, value) = bare.split_once('=')?;
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'+' | b'-'));
        // Of one that says something twice, nobody knows which counts.
        if !is_plain || parts.insert(name.to_ascii_uppercase(), value.to_ascii_uppercase()).is_some() {
            return None;
        }
    }
    let until = match parts.get("UNTIL") {
        Some(value) => end(value, zone).map_or(last, |own| own.min(last)),
        None => last,
    };
    parts.insert("UNTIL".to_owned(), until.strftime("%Y%m%dT%H%M%S").to_string());
    let seconds = match parts.get("FREQ")?.as_str() {
        "YEARLY" => 365 * 86_400,
        "MONTHLY" => 28 * 86_400,
        "WEEKLY" => 7 * 86_400,
        "DAILY" => 86_400,
        "HOURLY" => 3_600,
        // It would be looked for among all seconds of a day.
        "MINUTELY" | "SECONDLY" if CLOCK.iter().any(|name| parts.contains_key(*name)) => return None,
        "MINUTELY" => 60,
        "SECONDLY" => 1,
        _ => return None,
    };
    // The library takes none for one, and cuts off what is larger.
    let interval = parts.get("INTERVAL").map_or(Some(1), |value| value.parse::<u16>().ok())?.max(1);
    let times = CLOCK.iter().filter_map(|name| parts.get(*name)).map(|value| value.split(',').count());
    let times = times.fold(1_usize, usize::saturating_mul);
    let intervals = until.duration_since(first).as_secs().max(0) / (seconds * i64::from(interval)) + 1;
    let is_small = times <= CLOCK_TIMES_MAX && intervals <= INTERVALS_MAX;
    let text = parts.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(";");
    is_small.then_some(Bounded { text, intervals: intervals.unsigned_abs() })
}

/// The last moment of a rule, on the zone's own clock; a day is meant with all its hours.
fn end(value: &str, zone: &TimeZone) -> Option<DateTime> {
    let line = Line::new("UNTIL", Vec::new(), value);
    Some(match Zones::of(&Component::new("VCALENDAR"), zone).read(&line)? {
        When::Day(day) => day.at(23, 59, 59, 0),
        When::At(at) => at.with_time_zone(zone.clone()).datetime(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(rule: &str, first: &str, to: &str) -> Vec<When> {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = When::At(at(first).to_zoned(TimeZone::UTC));
        starts(rule, &first, &TimeZone::UTC, at(to), &mut Effort::default())
    }

    #[test]
    fn a_rule_that_would_fill_the_memory_or_the_day_is_not_followed() {
        let list = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let all = format!("BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={};BYMINUTE={};BYSECOND={}", list(24), list(60), list(60));
        for rule in [
            format!("FREQ=YEARLY;{all};COUNT=4000000000"),
            "FREQ=SECONDLY".to_owned(),
            "FREQ=SECONDLY;INTERVAL=65536".to_owned(),
            "FREQ=SECONDLY;INTERVAL=9999;INTERVAL=1".to_owned(),
            "FREQ=SECONDLY;BYHOUR=3;BYMINUTE=3;BYSECOND=3;COUNT=9".to_owned(),
            format!("FREQ=YEARLY;BYYEARDAY={}", "1,".repeat(2_000)),
            "FREQ=NEVER".to_owned(),
        ] {
            assert_eq!(of(&rule, "2020-01-01T08:00:00Z", "2027-01-01T00:00:00Z").len(), 1, "{rule}");
        }
        // A number of times ends with the window, too.
        assert_eq!(of("FREQ=DAILY;COUNT=4000000000", "2026-01-01T08:00:00Z", "2026-02-01T00:00:00Z").len(), 31);
        assert_eq!(of("FREQ=DAILY;COUNT=3", "2026-01-01T08:00:00Z", "2026-02-01T00:00:00Z").len(), 3);
        assert_eq!(of("freq=hourly; interval=8", "2026-01-01T08:00:00Z", "2026-01-03T08:00:00Z").len(), 7);
        assert_eq!(of("FREQ=DAILY;BYHOUR=8,20", "2026-01-01T08:00:00Z", "2026-01-03T00:00:00Z").len(), 4);
    }

    #[test]
    fn all_rules_of_an_answer_share_what_may_be_worked_out() {
        let (mut effort, at) = (Effort::default(), "2026-01-01T08:00:00Z".parse::<Timestamp>().unwrap());
        let first = When::At(at.to_zoned(TimeZone::UTC));
        let to = "2076-01-01T00:00:00Z".parse().unwrap();
        let rules = (0..1_000).take_while(|_| starts("FREQ=DAILY", &first, &TimeZone::UTC, to, &mut effort).len() > 1);
        assert!(rules.count() < 100 && effort.is_spent());
    }

    proptest! {
        #[test]
        fn any_rule_is_followed_within_bounds(
            freq in "(YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY|MINUTELY|SECONDLY)",
            parts in proptest::collection::vec(
                "(BYDAY=-?[0-9]{0,2}(MO|SU)|BYMONTH=[0-9]{1,2}|BYMONTHDAY=-?[0-9]{1,2}|BYWEEKNO=-?[0-9]{1,2}|BYYEARDAY=-?[0-9]{1,3}|\
                 BYSETPOS=-?[0-9]{1,3}|BYHOUR=[0-9]{1,2}|BYMINUTE=[0-9]{1,2}|INTERVAL=[0-9]{1,5}|COUNT=[0-9]{1,9}|WKST=(SU|MO))",
                0..5,
            ),
        ) {
            let rule = format!("FREQ={freq};{}", parts.join(";"));
            let found = of(&rule, "2024-02-29T08:00:00Z", "2027-01-01T00:00:00Z");
            prop_assert!((1..=TIMES_MAX).contains(&found.len()), "{}", rule);
        }
    }
}
