//! The times of an entry: a single one, or a series with its exceptions (RFC 5545, 3.8.5). Pure.
//!
//! The [rule] itself is worked out on the wall clock of the series' own zone; what is more or less than the rule
//! (RDATE, EXDATE, RECURRENCE-ID) is put upon it here.
//! Start at [`occurrences`].

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use crate::lines::Component;
use crate::rule::{self, Effort, TIMES_MAX};
use crate::when::{When, Zones, length};

/// The most components of one entry that are looked at.
const COMPONENTS_MAX: usize = 500;
/// The most times of one entry that are told of a window.
const OCCURRENCES_MAX: usize = 2_000;

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: Timestamp,
    /// To here, which is not part of it.
    pub to: Timestamp,
}

/// An entry, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub start: When,
    /// Until when.
    pub end: When,
    /// When it would be by the series that it is of; none: it is of none.
    pub original: Option<When>,
    /// Which component of its calendar says the rest, counted among events.
    pub(crate) component: usize,
}

impl Occurrence {
    fn is_within(&self, window: Window, home: &TimeZone) -> bool {
        let (start, end) = (self.start.instant(home), self.end.instant(home));
        start < window.to && (end > window.from || (end == start && start >= window.from))
    }
}

/// Does this component stand for one time of a series?
pub(crate) fn is_exception(event: &Component) -> bool {
    event.line("RECURRENCE-ID").is_some()
}

pub(crate) fn is_series(event: &Component) -> bool {
    event.line("RRULE").is_some() || event.line("RDATE").is_some()
}

/// Was it called off?
pub fn is_off(event: &Component) -> bool {
    event.line("STATUS").is_some_and(|line| line.value.trim().eq_ignore_ascii_case("CANCELLED"))
}

/// From when a component is, and how long.
pub(crate) fn extent(event: &Component, zones: &Zones<'_>) -> Option<(When, Span)> {
    let start = zones.read(event.line("DTSTART")?)?;
    let told = event.line("DURATION").and_then(|line| line.value.trim().parse::<Span>().ok());
    let long = match event.line("DTEND").and_then(|line| zones.read(line)) {
        Some(end) => length(&start, &end),
        None => told.unwrap_or_else(|| if matches!(start, When::Day(_)) { 1.day() } else { 0.seconds() }),
    };
    Some((start, long))
}

/// An exception, and what it takes the place of.
struct Exception<'a> {
    original: When,
    event: &'a Component,
    component: usize,
    /// It holds for all that come after, too.
    onwards: bool,
}

/// The times of a calendar's entry within the window, in no order. A resource has one entry (RFC 4791, 4.1): the first component
/// that is no exception says how it is, and others like it count for nothing.
pub fn occurrences(calendar: &Component, zones: &Zones<'_>, window: Window, effort: &mut Effort) -> Vec<Occurrence> {
    let events: Vec<&Component> = calendar.inner("VEVENT").take(COMPONENTS_MAX).collect();
    let exceptions = events.iter().enumerate().filter_map(|(component, event)| {
        let line = event.line("RECURRENCE-ID")?;
        let onwards = line.param("RANGE") == Some("THISANDFUTURE");
        Some(Exception { original: zones.read(line)?, event, component, onwards })
    });
    let exceptions: Vec<Exception<'_>> = exceptions.collect();
    let own = exceptions.iter().filter(|exception| !is_off(exception.event)).filter_map(|exception| {
        let (start, long) = extent(exception.event, zones)?;
        let end = start.after(long).unwrap_or_else(|| start.clone());
        Some(Occurrence { start, end, original: Some(exception.original.clone()), component: exception.component })
    });
    let mut found: Vec<Occurrence> = own.filter(|occurrence| occurrence.is_within(window, zones.home)).collect();
    let master = events.iter().enumerate().find(|(_, event)| !is_exception(event));
    if let Some((component, event)) = master.filter(|(_, event)| !is_off(event)) {
        found.extend(Series { event, component, zones, exceptions: &exceptions }.times(window, effort));
    }
    found
}

/// An entry that may be a series, with its exceptions.
struct Series<'a> {
    event: &'a Component,
    component: usize,
    zones: &'a Zones<'a>,
    exceptions: &'a [Exception<'a>],
}

impl Series<'_> {
    /// Its times that no exception takes the place of.
    fn times(&self, window: Window, effort: &mut Effort) -> Vec<Occurrence> {
        let Self { event, component, zones, .. } = *self;
        let Some((first, long)) = extent(event, zones) else { return Vec::new() };
        let is_seen = |occurrence: &Occurrence| occurrence.is_within(window, zones.home);
        if !is_series(event) {
            let end = first.after(long).unwrap_or_else(|| first.clone());
            let once = Occurrence { start: first, end, original: None, component };
            return Some(once).filter(is_seen).into_iter().collect();
        }
        let mut starts = match (event.line("RRULE"), event.line("DTSTART")) {
            (Some(rule), Some(start)) => rule::starts(&rule.value, &first, &zones.of_line(start), window.to, effort),
            _ => vec![first],
        };
        starts.extend(self.dates("RDATE", effort));
        let mut known: BTreeSet<String> = self.dates("EXDATE", effort).iter().map(When::key).collect();
        known.extend(self.exceptions.iter().map(|exception| exception.original.key()));
        let mut shifts = self.shifts();
        shifts.sort_by_key(|shift| shift.from);
        // What is not within the window costs no more than this look at it.
        let times = starts.into_iter().filter_map(|original| {
            let before = shifts.partition_point(|shift| shift.from < original.instant(zones.home));
            let (start, long, component) = match before.checked_sub(1).and_then(|last| shifts.get(last)) {
                Some(Shift { by, long, component, .. }) => (original.after(*by)?, *long, *component),
                None => (original.clone(), long, component),
            };
            Some(Occurrence { end: start.after(long)?, start, original: Some(original), component }).filter(is_seen)
        });
        let is_new = |time: &Occurrence| time.original.as_ref().is_some_and(|original| known.insert(original.key()));
        times.filter(is_new).take(OCCURRENCES_MAX).collect()
    }

    /// The dates of its lines that are called so.
    fn dates(&self, name: &str, effort: &mut Effort) -> Vec<When> {
        let values = self.event.all(name).flat_map(|line| self.zones.values(line));
        values.take(TIMES_MAX).take_while(|_| effort.spend(1)).collect()
    }

    /// What its exceptions say of all that come after them.
    fn shifts(&self) -> Vec<Shift> {
        let onwards = self.exceptions.iter().filter(|exception| exception.onwards);
        let shift = |exception: &Exception<'_>| {
            let (start, long) = extent(exception.event, self.zones)?;
            let by = length_between(&exception.original, &start)?;
            Some(Shift { from: exception.original.instant(self.zones.home), by, long, component: exception.component })
        };
        onwards.filter_map(shift).collect()
    }
}

/// From here on, a series is so much later, and so long.
struct Shift {
    from: Timestamp,
    by: Span,
    long: Span,
    component: usize,
}

fn length_between(from: &When, to: &When) -> Option<Span> {
    match (from, to) {
        (When::Day(from), When::Day(to)) => from.until(*to).ok(),
        (When::At(from), When::At(to)) => Some(to.timestamp().duration_since(from.timestamp()).as_secs().seconds()),
        (When::Day(_), When::At(_)) | (When::At(_), When::Day(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(event: &str, from: &str, to: &str) -> Vec<String> {
        let home = TimeZone::get("Europe/Berlin").unwrap();
        let text = format!("BEGIN:VCALENDAR\n{}\nEND:VCALENDAR\n", event.trim());
        let calendar = Component::parse(&text, "VCALENDAR").unwrap();
        let at = |text: &str| crate::when::start_of(text.parse().unwrap(), &home);
        let zones = Zones::of(&calendar, &home);
        let window = Window { from: at(from), to: at(to) };
        let mut found = occurrences(&calendar, &zones, window, &mut Effort::default());
        found.sort_by_key(|occurrence| occurrence.start.instant(&home));
        let line = |occurrence: Occurrence| {
            let end = occurrence.end.instant(&home).to_zoned(home.clone());
            let start = occurrence.start.instant(&home).to_zoned(home.clone());
            format!("{} to {} #{}", start.strftime("%a %F %H:%M"), end.strftime("%a %H:%M"), occurrence.component)
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn f3_a_series_has_its_exceptions() {
        let yoga = "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=Europe/Berlin:20261006T180000\nDURATION:PT90M\nRRULE:FREQ=WEEKLY;BYDAY=TU;UNTIL=20261110T170000Z\n\
                    EXDATE;TZID=Europe/Berlin:20261013T180000\nRDATE;TZID=Europe/Berlin:20261015T070000\nEND:VEVENT\n\
                    BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:20261020T160000Z\nDTSTART;TZID=Europe/Berlin:20261022T190000\nDTEND;TZID=Europe/Berlin:20261022T200000\nEND:VEVENT\n\
                    BEGIN:VEVENT\nUID:1\nRECURRENCE-ID;TZID=Europe/Berlin:20261103T180000\nDTSTART;TZID=Europe/Berlin:20261103T180000\nSTATUS:CANCELLED\nEND:VEVENT";
        insta::assert_snapshot!(told(yoga, "2026-10-01", "2027-01-01").join("\n"), @r"
        Tue 2026-10-06 18:00 to Tue 19:30 #0
        Thu 2026-10-15 07:00 to Thu 08:30 #0
        Thu 2026-10-22 19:00 to Thu 20:00 #1
        Tue 2026-10-27 18:00 to Tue 19:30 #0
        Tue 2026-11-10 18:00 to Tue 19:30 #0
        ");
        // What was moved into the window is in it, though its own date is not.
        assert_eq!(told(yoga, "2026-10-22", "2026-10-23").len(), 1);
        assert_eq!(told(yoga, "2026-10-20", "2026-10-21"), [""; 0]);
    }

    #[test]
    fn f3_the_wall_clock_counts_where_clocks_are_changed() {
        let daily = "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=Europe/Berlin:20261023T023000\nDTEND;TZID=Europe/Berlin:20261023T033000\nRRULE:FREQ=DAILY\nEND:VEVENT";
        insta::assert_snapshot!(told(daily, "2026-10-24", "2026-10-27").join("\n"), @r"
        Sat 2026-10-24 02:30 to Sat 03:30 #0
        Sun 2026-10-25 02:30 to Sun 02:30 #0
        Mon 2026-10-26 02:30 to Mon 03:30 #0
        ");
        insta::assert_snapshot!(told(daily, "2027-03-28", "2027-03-29").join("\n"), @"Sun 2027-03-28 03:30 to Sun 04:30 #0");
        let abroad = "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=America/New_York:20261020T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT";
        insta::assert_snapshot!(told(abroad, "2026-10-01", "2027-10-01").join("\n"), @r"
        Tue 2026-10-20 15:00 to Tue 16:00 #0
        Tue 2026-10-27 14:00 to Tue 15:00 #0
        Tue 2026-11-03 15:00 to Tue 16:00 #0
        ");
    }

    #[test]
    fn f3_days_are_days_and_what_never_ends_does_in_the_window() {
        let birthday = "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:19801203\nRRULE:FREQ=YEARLY\nEND:VEVENT";
        assert_eq!(told(birthday, "2026-01-01", "2028-01-01").len(), 2);
        let trip = "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261203\nDTEND;VALUE=DATE:20261206\nEND:VEVENT";
        insta::assert_snapshot!(told(trip, "2026-12-05", "2026-12-06").join("\n"), @"Thu 2026-12-03 00:00 to Sun 00:00 #0");
        assert_eq!(told(trip, "2026-12-06", "2026-12-07"), [""; 0]);
        let hostile = "BEGIN:VEVENT\nUID:1\nDTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY\nEND:VEVENT";
        assert_eq!(told(hostile, "2026-12-05", "2026-12-06"), [""; 0], "it is cut short, and costs little");
        let broken = "BEGIN:VEVENT\nUID:1\nDTSTART:20261205T000000Z\nRRULE:FREQ=NEVER\nEND:VEVENT";
        assert_eq!(told(broken, "2026-12-05", "2026-12-06").len(), 1, "its first time is sure");
        let last = "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=Europe/Berlin:20261201T140000\nRRULE:FREQ=DAILY;UNTIL=20261203T130000Z\nEND:VEVENT";
        assert_eq!(told(last, "2026-12-01", "2027-01-01").len(), 3, "the end is in UTC, and is one of its times");
    }

    #[test]
    fn f3_an_exception_may_hold_for_all_that_come_after() {
        let moved = "BEGIN:VEVENT\nUID:1\nDTSTART:20261201T080000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\nEND:VEVENT\n\
                     BEGIN:VEVENT\nUID:1\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261215T080000Z\nDTSTART:20261216T090000Z\nDURATION:PT2H\nEND:VEVENT";
        insta::assert_snapshot!(told(moved, "2026-12-01", "2027-02-01").join("\n"), @r"
        Tue 2026-12-01 09:00 to Tue 10:00 #0
        Tue 2026-12-08 09:00 to Tue 10:00 #0
        Wed 2026-12-16 10:00 to Wed 12:00 #1
        Wed 2026-12-23 10:00 to Wed 12:00 #1
        ");
    }
}
