//! How an entry is made, moved, renamed, called off and answered. Pure: each takes a calendar's components and changes them;
//! lines that have nothing to do with it stay as they are.
//!
//! Each change is signed with the call that made it ([`Signature`]): whoever does not know whether a change has arrived looks
//! for its signature.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use crate::entry::{ANSWERS, address, participants};
use crate::lines::{Component, Line, Part};
use crate::series::{extent, is_exception, is_series};
use crate::when::{When, Zones, describe_zones};

/// The line that names the call which changed a component last.
pub(crate) const SIGNED: &str = "X-HOB-CALL";

/// Why it cannot be changed so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not there.
    #[error("this entry, or this time of it, is not there any more")]
    Gone,
    /// Its rule is not moved by moving its beginning.
    #[error(
        "the rule of this series names days of its own, so the whole of it is not moved to another day from here: move single \
         times, or call it off and add it anew"
    )]
    Rule,
    /// The account's people do not take part.
    #[error("none of the account's addresses is invited to it, so there is nothing to answer")]
    NotInvited,
}

/// What of an entry is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesPart {
    Whole,
    /// One time of a series: when it would be by its rule.
    Once(When),
}

/// Whose change it is, and when.
#[derive(Debug, Clone, Copy)]
pub struct Signature<'a> {
    /// The call's mark.
    pub call: &'a str,
    pub now: Timestamp,
    /// The household's zone.
    pub home: &'a TimeZone,
}

/// An answer to an invitation: `yes`, `no` or `maybe`, of whoever has one of these addresses.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The addresses.
    pub own: &'a [String],
    pub answer: &'a str,
}

/// A new beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewStart {
    /// Another day; at the same time, where there is one.
    Day(Date),
    /// A time on the household's clock.
    At(DateTime),
}

/// What is to become of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// When it begins.
    pub start: Option<NewStart>,
    /// How long it is.
    pub length: Option<Length>,
    /// What it is called.
    pub title: Option<String>,
    pub place: Option<String>,
    pub notes: Option<String>,
}

/// How long: in minutes, or in days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Minutes(i64),
    Days(i64),
}

/// An entry that there is not yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// By which it is known everywhere.
    pub uid: String,
    /// What it is called.
    pub title: String,
    pub place: Option<String>,
    pub notes: Option<String>,
    pub start: When,
    /// Until when.
    pub end: When,
    /// Who calls others together; none: nobody is.
    pub organizer: Option<String>,
    pub invited: Vec<String>,
}

/// A calendar with a new entry.
pub fn created(new: &NewEntry, signature: Signature<'_>) -> Component {
    let mut event = Component::new("VEVENT");
    let mut calendar = Component::new("VCALENDAR");
    let zones = Zones::of(&calendar, signature.home);
    event.set(Line::new("UID", Vec::new(), &new.uid));
    event.set(zones.line("DTSTART", &new.start, None));
    event.set(zones.line("DTEND", &new.end, None));
    event.set(Line::of_words("SUMMARY", &new.title));
    for (name, words) in [("LOCATION", &new.place), ("DESCRIPTION", &new.notes)] {
        set_words(&mut event, name, words.as_deref());
    }
    if let Some(organizer) = new.organizer.as_ref().filter(|_| !new.invited.is_empty()) {
        event.add(Line::new("ORGANIZER", Vec::new(), &format!("mailto:{organizer}")));
        let accepted = vec![("PARTSTAT".to_owned(), "ACCEPTED".to_owned())];
        event.add(Line::new("ATTENDEE", accepted, &format!("mailto:{organizer}")));
        for invited in &new.invited {
            let params = [("PARTSTAT", "NEEDS-ACTION"), ("RSVP", "TRUE")];
            let params = params.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            event.add(Line::new("ATTENDEE", params, &format!("mailto:{invited}")));
        }
    }
    sign(&mut event, signature);
    for (name, value) in [("VERSION", "2.0"), ("PRODID", "-//Hob//Hob//EN")] {
        calendar.set(Line::new(name, Vec::new(), value));
    }
    calendar.parts.push(Part::Inner(event));
    describe_zones(&mut calendar);
    calendar
}

/// Was it this call that changed the calendar last?
pub(crate) fn is_signed(calendar: &Component, call: &str) -> bool {
    calendar.inner("VEVENT").any(|event| event.line(SIGNED).is_some_and(|line| line.value == call))
}

/// The component that says how an entry, or one time of it, is.
pub(crate) fn component<'a>(calendar: &'a Component, zones: &Zones<'_>, what: &SeriesPart) -> Option<&'a Component> {
    let index = exception(calendar, zones, what).or_else(|| master(calendar))?;
    calendar.inner("VEVENT").nth(index)
}

/// Whoever gets a letter if this of an entry is changed or called off: all that take part besides the account's own. What is done to
/// one time of a series may be written into the series.
pub fn told(calendar: &Component, zones: &Zones<'_>, what: &SeriesPart, own: &[String]) -> Vec<String> {
    let (first, other) = (master(calendar), exception(calendar, zones, what));
    let is_meant = |index: usize| *what == SeriesPart::Whole || first == Some(index) || other == Some(index);
    let events = calendar.inner("VEVENT").enumerate().filter(|(index, _)| is_meant(*index)).map(|(_, event)| event);
    let told = events.flat_map(participants).map(|one| one.address).filter(|address| !own.contains(address));
    told.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Changes an entry, or the time of it that begins at `from`.
pub fn change(
    calendar: &mut Component,
    what: &SeriesPart,
    change: &Change,
    from: &When,
    signature: Signature<'_>,
) -> Result<(), EditError> {
    let home = signature.home;
    let zones = Zones::of(calendar, home);
    let first = master(calendar);
    let is_repeated = first.and_then(|at| calendar.inner("VEVENT").nth(at)).is_some_and(is_series);
    let at = match what {
        SeriesPart::Once(original) => own_component(calendar, &zones, original)?,
        SeriesPart::Whole => first.ok_or(EditError::Gone)?,
    };
    if *what == SeriesPart::Whole && is_repeated {
        move_series(calendar, &zones, change, from)?;
    } else {
        let event = calendar.inner_mut("VEVENT").nth(at).ok_or(EditError::Gone)?;
        let (start, long) = extent(event, &zones).ok_or(EditError::Gone)?;
        let new = moved(&start, change, home);
        let long = lasting(&new, &start, long, change);
        if new != start || change.length.is_some() {
            place(event, &zones, &new, long);
        }
    }
    let words = [("SUMMARY", &change.title), ("LOCATION", &change.place), ("DESCRIPTION", &change.notes)];
    for (name, new) in words.into_iter().filter_map(|(name, new)| Some((name, new.as_deref()?))) {
        let old = calendar.inner("VEVENT").nth(at).and_then(|event| event.words(name));
        let all = *what == SeriesPart::Whole;
        for (index, event) in calendar.inner_mut("VEVENT").enumerate() {
            // A time of the series that has words of its own keeps them.
            if index == at || (all && event.words(name) == old) {
                set_words(event, name, Some(new));
            }
        }
    }
    if let Some(event) = calendar.inner_mut("VEVENT").nth(at) {
        sign(event, signature);
    }
    describe_zones(calendar);
    Ok(())
}

/// Calls off one time of a series.
pub(crate) fn call_off(calendar: &mut Component, original: &When, signature: Signature<'_>) -> Result<(), EditError> {
    let zones = Zones::of(calendar, signature.home);
    let at = master(calendar).ok_or(EditError::Gone)?;
    let replaced = exception(calendar, &zones, &SeriesPart::Once(original.clone()));
    let event = calendar.inner_mut("VEVENT").nth(at).ok_or(EditError::Gone)?;
    let line = zones.line("EXDATE", original, event.line("DTSTART"));
    event.add(line);
    sign(event, signature);
    if let Some(replaced) = replaced {
        let mut index = 0;
        calendar.parts.retain(|part| {
            let is_event = matches!(part, Part::Inner(inner) if inner.name == "VEVENT");
            index += usize::from(is_event);
            !(is_event && index - 1 == replaced)
        });
    }
    Ok(())
}

/// Answers an invitation in the name of one of these addresses.
///
/// # Errors
/// When none of them is invited.
pub fn answer(
    calendar: &mut Component,
    what: &SeriesPart,
    reply: Reply<'_>,
    signature: Signature<'_>,
) -> Result<(), EditError> {
    let Reply { own, answer } = reply;
    let zones = Zones::of(calendar, signature.home);
    let status = ANSWERS.iter().find(|(said, _, _)| *said == answer).map_or("TENTATIVE", |(_, status, _)| *status);
    let one = match what {
        SeriesPart::Once(original) => Some(own_component(calendar, &zones, original)?),
        SeriesPart::Whole => None,
    };
    let mut is_invited = false;
    for (_, event) in calendar.inner_mut("VEVENT").enumerate().filter(|(index, _)| one.is_none_or(|one| one == *index))
    {
        let mut here = false;
        event.change("ATTENDEE", |line| {
            address(line).filter(|address| own.contains(address))?;
            here = true;
            Some(line.with_param("PARTSTAT", Some(status)).with_param("RSVP", None))
        });
        if here {
            is_invited = true;
            event.set(Line::new(SIGNED, Vec::new(), signature.call));
        }
    }
    if is_invited { Ok(()) } else { Err(EditError::NotInvited) }
}

/// Which event says how the whole is.
fn master(calendar: &Component) -> Option<usize> {
    calendar.inner("VEVENT").position(|event| !is_exception(event))
}

/// Which event says how that one time is.
fn exception(calendar: &Component, zones: &Zones<'_>, what: &SeriesPart) -> Option<usize> {
    let SeriesPart::Once(original) = what else { return None };
    let is_of = |event: &Component| event.line("RECURRENCE-ID").and_then(|line| zones.read(line));
    calendar.inner("VEVENT").position(|event| is_of(event).is_some_and(|known| known.key() == original.key()))
}

/// The same; one that has no words of its own gets the series'.
fn own_component(calendar: &mut Component, zones: &Zones<'_>, original: &When) -> Result<usize, EditError> {
    if let Some(at) = exception(calendar, zones, &SeriesPart::Once(original.clone())) {
        return Ok(at);
    }
    let series = master(calendar).and_then(|at| calendar.inner("VEVENT").nth(at)).filter(|event| is_series(event));
    let mut event = series.ok_or(EditError::Gone)?.clone();
    let (_, long) = extent(&event, zones).ok_or(EditError::Gone)?;
    let id = zones.line("RECURRENCE-ID", original, event.line("DTSTART"));
    ["RRULE", "RDATE", "EXDATE", "EXRULE"].iter().for_each(|name| event.remove(name));
    event.set(id);
    place(&mut event, zones, original, long);
    calendar.parts.push(Part::Inner(event));
    Ok(calendar.inner("VEVENT").count() - 1)
}

fn place(event: &mut Component, zones: &Zones<'_>, start: &When, long: Span) {
    let line = zones.line("DTSTART", start, event.line("DTSTART"));
    let end = start.after(long).unwrap_or_else(|| start.clone());
    let like = event.line("DTEND").or(event.line("DTSTART"));
    let last =
        zones.line("DTEND", &end, like.filter(|like| like.param("TZID").is_some() || line.param("TZID").is_none()));
    event.remove("DURATION");
    event.set(line);
    event.set(last);
}

/// When something begins then.
fn moved(old: &When, change: &Change, home: &TimeZone) -> When {
    let zoned = |at: DateTime| at.to_zoned(home.clone()).map(When::At);
    match (change.start, old) {
        (None, _) => old.clone(),
        (Some(NewStart::Day(day)), When::Day(_)) => When::Day(day),
        (Some(NewStart::Day(day)), When::At(at)) => {
            zoned(day.to_datetime(at.with_time_zone(home.clone()).time())).unwrap_or_else(|_| old.clone())
        }
        (Some(NewStart::At(at)), _) => zoned(at).unwrap_or_else(|_| old.clone()),
    }
}

fn lasting(new: &When, old: &When, long: Span, change: &Change) -> Span {
    match (change.length, new, old) {
        (Some(Length::Days(days)), ..) => days.days(),
        (Some(Length::Minutes(minutes)), When::At(_), _) => minutes.minutes(),
        (None, When::At(_), When::Day(_)) => 1.hour(),
        (_, When::Day(_), When::At(_)) => 1.day(),
        _ => long,
    }
}

/// Moves a series with all its exceptions as its time that begins at `from` is moved.
fn move_series(calendar: &mut Component, zones: &Zones<'_>, change: &Change, from: &When) -> Result<(), EditError> {
    let at = master(calendar).ok_or(EditError::Gone)?;
    let series = calendar.inner_mut("VEVENT").nth(at).ok_or(EditError::Gone)?;
    let (first, long) = extent(series, zones).ok_or(EditError::Gone)?;
    let to = moved(from, change, zones.home);
    let long = lasting(&to, from, long, change);
    let zone = series.line("DTSTART").map_or_else(|| zones.home.clone(), |line| zones.of_line(line));
    let Some(shift) = Shift::between(from, &to, zone) else { return Err(EditError::Rule) };
    if shift.is_none() && change.length.is_none() {
        return Ok(());
    }
    if let Some(rule) = series.line("RRULE").map(|line| line.value.clone()) {
        let rule = shift.rule(&rule, zones).ok_or(EditError::Rule)?;
        series.set(Line::new("RRULE", Vec::new(), &rule));
    }
    let start = shift.of(&first).ok_or(EditError::Rule)?;
    place(series, zones, &start, long);
    for name in ["EXDATE", "RDATE"] {
        series.change(name, |line| shift.line(line, zones));
    }
    for (_, event) in calendar.inner_mut("VEVENT").enumerate().filter(|(index, _)| *index != at) {
        let original = event.line("RECURRENCE-ID").and_then(|line| zones.read(line));
        let own = extent(event, zones);
        event.change("RECURRENCE-ID", |line| shift.line(line, zones));
        // One that was where the series was goes with it; one that was moved by itself stays.
        if let (Some(original), Some((start, own_long))) = (original, own)
            && original.key() == start.key()
            && let Some(start) = shift.of(&start)
        {
            place(event, zones, &start, own_long);
        }
    }
    Ok(())
}

/// From one time to another on a series' own clock.
struct Shift {
    by: Span,
    days: i32,
    zone: TimeZone,
}

impl Shift {
    fn between(from: &When, to: &When, zone: TimeZone) -> Option<Self> {
        let local = |when: &When| match when {
            When::Day(day) => day.at(0, 0, 0, 0),
            When::At(at) => at.with_time_zone(zone.clone()).datetime(),
        };
        let same = matches!((from, to), (When::Day(_), When::Day(_)) | (When::At(_), When::At(_)));
        let (from, to) = (local(from), local(to));
        let days = from.date().until(to.date()).ok()?.get_days();
        same.then_some(Self { by: from.until(to).ok()?, days, zone })
    }

    fn is_none(&self) -> bool {
        self.by.is_zero()
    }

    fn of(&self, when: &When) -> Option<When> {
        Some(match when {
            When::Day(day) => When::Day(day.checked_add(self.by).ok()?),
            When::At(at) => {
                let local = at.with_time_zone(self.zone.clone()).datetime();
                When::At(local.checked_add(self.by).ok()?.to_zoned(self.zone.clone()).ok()?)
            }
        })
    }

    fn line(&self, line: &Line, zones: &Zones<'_>) -> Option<Line> {
        let values: Option<Vec<String>> =
            zones.values(line).map(|when| Some(zones.line(&line.name, &self.of(&when)?, Some(line)).value)).collect();
        Some(Line::new(&line.name, line.params.clone(), &values?.join(",")))
    }

    /// The rule of what was shifted; none: it names days that are not shifted so.
    fn rule(&self, rule: &str, zones: &Zones<'_>) -> Option<String> {
        const DAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
        let is_weekly = rule.to_ascii_uppercase().contains("FREQ=WEEKLY");
        let part = |part: &str| -> Option<String> {
            let (name, value) = part.split_once('=')?;
            match name.to_ascii_uppercase().as_str() {
                "UNTIL" => {
                    let end = Line::new("UNTIL", Vec::new(), value);
                    Some(format!("UNTIL={}", self.line(&end, zones)?.value))
                }
                "BYDAY" if self.days != 0 => {
                    let day = DAYS.iter().position(|day| value.eq_ignore_ascii_case(day)).filter(|_| is_weekly)?;
                    let day = (i32::try_from(day).ok()? + self.days).rem_euclid(7);
                    Some(format!("BYDAY={}", DAYS.get(usize::try_from(day).ok()?)?))
                }
                "BYHOUR" | "BYMINUTE" | "BYSECOND" => None,
                other if self.days != 0 && other.starts_with("BY") => None,
                _ => Some(part.to_owned()),
            }
        };
        rule.split(';').filter(|one| !one.is_empty()).map(part).collect::<Option<Vec<_>>>().map(|all| all.join(";"))
    }
}

fn set_words(event: &mut Component, name: &str, words: Option<&str>) {
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => event.set(Line::of_words(name, words)),
        None => event.remove(name),
    }
}

fn sign(event: &mut Component, signature: Signature<'_>) {
    let now = signature.now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let sequence = event.line("SEQUENCE").and_then(|line| line.value.trim().parse::<u32>().ok());
    let is_new = event.line("DTSTAMP").is_none();
    let sequence = if is_new { 0 } else { sequence.unwrap_or(0).saturating_add(1) };
    for (name, value) in [
        ("DTSTAMP", now.as_str()),
        ("LAST-MODIFIED", now.as_str()),
        ("SEQUENCE", &sequence.to_string()),
        (SIGNED, signature.call),
    ] {
        event.set(Line::new(name, Vec::new(), value));
    }
}

#[cfg(test)]
mod tests;
