//! When something is: a day, or a moment in a zone. Read from content lines, and written as they were.

use std::cell::RefCell;
use std::collections::BTreeMap;

use calcard::common::timezone::Tz;
use calcard::icalendar::ICalendar;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, ToSpan as _, Zoned};

use crate::lines::{Component, Line};

/// A day wherever one is, or a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// A whole day.
    Day(Date),
    /// A moment, with the zone that it was told in.
    At(Zoned),
}

impl When {
    /// The moment at which it begins here.
    pub fn instant(&self, home: &TimeZone) -> Timestamp {
        match self {
            Self::Day(day) => start_of(*day, home),
            Self::At(at) => at.timestamp(),
        }
    }

    pub fn day(&self, home: &TimeZone) -> Date {
        match self {
            Self::Day(day) => *day,
            Self::At(at) => at.with_time_zone(home.clone()).date(),
        }
    }

    /// The same, later: days by the calendar, hours by the clock.
    pub fn after(&self, span: Span) -> Option<Self> {
        Some(match self {
            Self::Day(day) => Self::Day(day.checked_add(span).ok()?),
            Self::At(at) => Self::At(at.checked_add(span).ok()?),
        })
    }

    /// As it is told from another by: in UTC, or the day.
    pub fn key(&self) -> String {
        match self {
            Self::Day(day) => day.strftime("%Y%m%d").to_string(),
            Self::At(at) => at.with_time_zone(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string(),
        }
    }
}

fn known(zone: Tz) -> Option<TimeZone> {
    match zone {
        Tz::Floating => None,
        Tz::Fixed(offset) => Offset::from_seconds(offset.local_minus_utc()).ok().map(TimeZone::fixed),
        Tz::Tz(_) => TimeZone::get(&zone.name()?).ok(),
    }
}

/// The moment at which a day begins in a zone.
pub fn start_of(day: Date, home: &TimeZone) -> Timestamp {
    day.to_zoned(home.clone()).map_or(Timestamp::UNIX_EPOCH, |at| at.timestamp())
}

/// What the zones of a calendar's lines are.
pub struct Zones<'a> {
    /// The household's, where a line names none.
    pub home: &'a TimeZone,
    /// Those that the calendar describes.
    own: BTreeMap<String, TimeZone>,
    /// Those that were looked up: each name is once, however often it is told.
    looked_up: RefCell<BTreeMap<String, TimeZone>>,
}

impl<'a> Zones<'a> {
    /// For the lines of this calendar.
    pub fn of(calendar: &Component, home: &'a TimeZone) -> Self {
        let has_own = calendar.inner("VTIMEZONE").next().is_some();
        let described = has_own.then(|| ICalendar::parse(calendar.text()).ok()).flatten();
        let zones = described.iter().flat_map(ICalendar::timezones).filter_map(|zone| zone.timezone());
        let own = zones.filter_map(|(name, zone)| Some((name.to_owned(), known(zone)?))).collect();
        Self { home, own, looked_up: RefCell::default() }
    }

    /// The zone with this name; a name that nobody knows is the household's own.
    fn zone(&self, name: &str) -> TimeZone {
        if let Some(zone) = self.looked_up.borrow().get(name) {
            return zone.clone();
        }
        let by_library = || name.parse::<Tz>().ok().and_then(known);
        let zone = TimeZone::get(name).ok().or_else(|| self.own.get(name).cloned()).or_else(by_library);
        let zone = zone.unwrap_or_else(|| self.home.clone());
        self.looked_up.borrow_mut().insert(name.to_owned(), zone.clone());
        zone
    }

    /// The zone that a line is told in.
    pub fn of_line(&self, line: &Line) -> TimeZone {
        match line.param("TZID") {
            Some(name) => self.zone(name),
            None if line.value.ends_with(['Z', 'z']) => TimeZone::UTC,
            None => self.home.clone(),
        }
    }

    /// What a line says.
    pub fn read(&self, line: &Line) -> Option<When> {
        self.values(line).next()
    }

    /// All that it says.
    pub fn values<'b>(&'b self, line: &'b Line) -> impl Iterator<Item = When> + 'b {
        let own = self.of_line(line);
        // Of a period its beginning counts.
        let beginnings = line.value.split(',').map(|value| value.split('/').next().unwrap_or_default().trim());
        beginnings.filter_map(move |value| {
            if value.len() == 8 {
                return Date::strptime("%Y%m%d", value).ok().map(When::Day);
            }
            let (bare, zone) = match value.strip_suffix(['Z', 'z']) {
                Some(bare) => (bare, TimeZone::UTC),
                None => (value, own.clone()),
            };
            let at = DateTime::strptime("%Y%m%dT%H%M%S", bare).ok()?;
            Some(When::At(at.to_zoned(zone).ok()?))
        })
    }

    /// A line that says this, in the zone and the manner of `like`; of its own where there is none.
    pub fn line(&self, name: &str, when: &When, like: Option<&Line>) -> Line {
        let param = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let at = match when {
            When::Day(day) => {
                return Line::new(name, param("VALUE", "DATE"), &day.strftime("%Y%m%d").to_string());
            }
            When::At(at) => at,
        };
        let local = |zone: TimeZone| at.with_time_zone(zone).strftime("%Y%m%dT%H%M%S").to_string();
        let utc = || Line::new(name, Vec::new(), &format!("{}Z", local(TimeZone::UTC)));
        match like.filter(|like| like.param("VALUE") != Some("DATE")) {
            Some(like) => match like.param("TZID") {
                Some(zone) => Line::new(name, param("TZID", zone), &local(self.zone(zone))),
                None if like.value.ends_with('Z') => utc(),
                None => Line::new(name, Vec::new(), &local(self.home.clone())),
            },
            None => match at.time_zone().iana_name().filter(|zone| *zone != "UTC") {
                Some(zone) => Line::new(name, param("TZID", zone), &local(at.time_zone().clone())),
                None => utc(),
            },
        }
    }
}

/// How long something is that lasts from here to there: days of what is told in days, else time.
pub fn length(start: &When, end: &When) -> Span {
    match (start, end) {
        (When::Day(start), When::Day(end)) => start.until(*end).unwrap_or_else(|_| 1.day()),
        (When::At(start), When::At(end)) => {
            let seconds = end.timestamp().duration_since(start.timestamp()).as_secs();
            seconds.max(0).seconds()
        }
        (When::Day(_), When::At(_)) | (When::At(_), When::Day(_)) => 0.seconds(),
    }
}

/// Adds to a calendar the zones that its lines name and it does not describe.
pub(crate) fn describe_zones(calendar: &mut Component) {
    let Ok(mut typed) = ICalendar::parse(calendar.text()) else { return };
    if typed.add_missing_timezones() == 0 {
        return;
    }
    let mut text = String::new();
    if typed.write_to(&mut text).is_err() {
        return;
    }
    let Some(whole) = Component::parse(&text, "VCALENDAR") else { return };
    let name = |zone: &Component| zone.words("TZID");
    let known: Vec<Option<String>> = calendar.inner("VTIMEZONE").map(name).collect();
    let new = whole.inner("VTIMEZONE").filter(|zone| !known.contains(&name(zone))).cloned();
    let at = calendar.parts.iter().position(|part| matches!(part, crate::lines::Part::Inner(_))).unwrap_or(0);
    let new: Vec<_> = new.map(crate::lines::Part::Inner).collect();
    calendar.parts.splice(at..at, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_what_a_line_says_is_written_again_in_its_own_manner() {
        let home = TimeZone::get("Europe/Berlin").unwrap();
        let zones = Zones::of(&Component::new("VCALENDAR"), &home);
        for text in [
            "DTSTART;VALUE=DATE:20261203",
            "DTSTART:20261203T130000Z",
            "DTSTART:20261203T140000",
            "DTSTART;TZID=America/New_York:20261203T080000",
            "DTSTART;TZID=W. Europe Standard Time:20261203T140000",
            "DTSTART;TZID=Nowhere:20261203T140000",
        ] {
            let whole = format!("BEGIN:VEVENT\r\n{text}\r\nEND:VEVENT\r\n");
            let event = Component::parse(&whole, "VEVENT").unwrap();
            let line = event.line("DTSTART").unwrap();
            let when = zones.read(line).unwrap();
            let (again, mut written) = (zones.line("DTSTART", &when, Some(line)), Component::new("VEVENT"));
            written.set(again);
            assert_eq!(written.text(), whole);
            if let When::At(at) = when {
                assert_eq!(at.timestamp().to_string(), "2026-12-03T13:00:00Z", "{text}");
            }
        }
    }

    #[test]
    fn f3_a_zone_is_described_once_with_the_days_on_which_its_clocks_change() {
        let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/Berlin:20261203T140000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let mut calendar = Component::parse(text, "VCALENDAR").unwrap();
        for _ in 0..2 {
            describe_zones(&mut calendar);
            let zones: Vec<&Component> = calendar.inner("VTIMEZONE").collect();
            assert_eq!(zones.len(), 1);
            assert!(zones[0].inner("STANDARD").next().is_some(), "{}", calendar.text());
        }
    }
}
