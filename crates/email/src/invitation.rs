//! What a calendar says that came with a letter: an invitation, a change, a cancellation, an answer. Pure.

use calcard::common::PartialDateTime;
use calcard::common::timezone::Tz;
use calcard::icalendar::timezone::TzResolver;
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarMethod, ICalendarParameterName,
    ICalendarParameterValue, ICalendarParticipationStatus, ICalendarProperty, ICalendarStatus, ICalendarValue,
};
use calcard::{Entry, Parser};
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, ToSpan as _};

use crate::invitation::repeated::repeated;
use crate::one_line;

mod repeated;
#[cfg(test)]
mod tests;

/// A longer calendar is somebody's whole one, and no invitation.
const CALENDAR_BYTES_MAX: usize = 256 << 10;
/// What is no calendar may stand before it, in so many lines.
const LINES_BEFORE_MAX: usize = 100;
/// The most events of which is told.
const EVENTS_MAX: usize = 5;
/// The most people of one event who are named.
const PEOPLE_MAX: usize = 20;
/// The most characters of a title, a place or a name.
const LINE_CHARS_MAX: usize = 200;
/// The most characters of a description.
const TEXT_CHARS_MAX: usize = 600;

/// What a calendar is about; `method` is what the letter says that it does.
pub(super) fn told(calendar: &str, method: Option<&str>) -> String {
    let Some(calendar) = parsed(calendar) else {
        return "A calendar came with it that I cannot read.".to_owned();
    };
    let method = method_of(&calendar).or_else(|| method.and_then(method_by_name));
    let zones = calendar.build_tz_resolver();
    let events: Vec<&ICalendarComponent> =
        calendar.components.iter().filter(|part| part.component_type.is_event_or_todo()).collect();
    let told = events.iter().take(EVENTS_MAX).map(|event| Event { event, zones: &zones }.told(method.as_ref()));
    let mut told: Vec<String> = told.collect();
    if told.is_empty() {
        return "A calendar came with it that names no event.".to_owned();
    }
    if events.len() > EVENTS_MAX {
        told.push(format!("The calendar has {} more events.", events.len() - EVENTS_MAX));
    }
    told.join("\n\n")
}

fn parsed(text: &str) -> Option<ICalendar> {
    let mut parser = Parser::new(text.get(..text.floor_char_boundary(CALENDAR_BYTES_MAX))?);
    for _ in 0..LINES_BEFORE_MAX {
        match parser.entry() {
            Entry::ICalendar(calendar) => return Some(calendar),
            Entry::Eof => return None,
            _ => {}
        }
    }
    None
}

fn method_of(calendar: &ICalendar) -> Option<ICalendarMethod> {
    let values = calendar.components.iter().flat_map(|part| part.properties(&ICalendarProperty::Method));
    values.flat_map(|entry| &entry.values).find_map(|value| match value {
        ICalendarValue::Method(method) => Some(method.clone()),
        _ => None,
    })
}

fn method_by_name(method: &str) -> Option<ICalendarMethod> {
    Some(match method.to_ascii_uppercase().as_str() {
        "PUBLISH" => ICalendarMethod::Publish,
        "REQUEST" => ICalendarMethod::Request,
        "REPLY" => ICalendarMethod::Reply,
        "ADD" => ICalendarMethod::Add,
        "CANCEL" => ICalendarMethod::Cancel,
        "REFRESH" => ICalendarMethod::Refresh,
        "COUNTER" => ICalendarMethod::Counter,
        "DECLINECOUNTER" => ICalendarMethod::Declinecounter,
        _ => return None,
    })
}

/// An event, or a task.
struct Event<'a> {
    event: &'a ICalendarComponent,
    zones: &'a TzResolver<&'a str>,
}

/// When something is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EventTime {
    at: DateTime,
    /// None: it has no time of day.
    place: Option<EventZone>,
}

/// Whose time of day it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EventZone {
    Zone(TimeZone),
    /// It is called so, and nobody knows what that is.
    Unknown(String),
    /// Wherever one is.
    Anywhere,
}

impl Event<'_> {
    fn told(&self, method: Option<&ICalendarMethod>) -> String {
        let title = self.text(&ICalendarProperty::Summary, LINE_CHARS_MAX).unwrap_or_else(|| "no title".to_owned());
        let mut lines = vec![format!("{}: {title}", self.heading(method))];
        let mut line = |name: &str, value: Option<String>| lines.extend(value.map(|value| format!("{name}: {value}")));
        line("When", self.when());
        line("Only this date of a series", self.date(&ICalendarProperty::RecurrenceId));
        line("Repeats", self.repeats());
        line("But not on", self.dates(&ICalendarProperty::Exdate));
        line("Also on", self.dates(&ICalendarProperty::Rdate));
        line("Due", self.date(&ICalendarProperty::Due));
        line("Where", self.text(&ICalendarProperty::Location, LINE_CHARS_MAX));
        line("Organiser", self.event.property(&ICalendarProperty::Organizer).map(person));
        let people = if method == Some(&ICalendarMethod::Reply) { "Answer" } else { "Invited" };
        line(people, self.people());
        line("Comment", self.text(&ICalendarProperty::Comment, TEXT_CHARS_MAX));
        line("About", self.text(&ICalendarProperty::Description, TEXT_CHARS_MAX));
        lines.join("\n")
    }

    /// What the calendar does with it.
    fn heading(&self, method: Option<&ICalendarMethod>) -> String {
        let thing = match self.event.component_type {
            ICalendarComponentType::VTodo => "task",
            _ => "event",
        };
        let is_off = self.event.status() == Some(&ICalendarStatus::Cancelled);
        match method {
            Some(ICalendarMethod::Cancel) => format!("A cancellation came with it. This {thing} is called off"),
            _ if is_off => format!("The {thing} that came with it is called off"),
            Some(ICalendarMethod::Request) if self.sequence() > 0 => {
                "A changed invitation came with it. It takes the place of earlier ones".to_owned()
            }
            Some(ICalendarMethod::Request) => "An invitation came with it".to_owned(),
            Some(ICalendarMethod::Reply) => "An answer to an invitation came with it".to_owned(),
            Some(ICalendarMethod::Counter) => {
                "A counter-proposal came with it. Somebody who was invited wants this instead".to_owned()
            }
            Some(ICalendarMethod::Declinecounter) => {
                "A refusal came with it. The organiser does not take up this counter-proposal".to_owned()
            }
            Some(ICalendarMethod::Add) => format!("More dates of this {thing} came with it"),
            Some(ICalendarMethod::Refresh) => format!("Somebody asks how this {thing} stands"),
            Some(ICalendarMethod::Publish) | None => format!("This {thing} came with it"),
        }
    }

    fn sequence(&self) -> i64 {
        let entry = self.event.property(&ICalendarProperty::Sequence);
        entry.and_then(|entry| entry.values.first()).and_then(ICalendarValue::as_integer).unwrap_or(0)
    }

    fn text(&self, name: &ICalendarProperty, chars_max: usize) -> Option<String> {
        let text = self.event.property(name)?.values.first()?.as_text()?;
        Some(one_line(text, chars_max)).filter(|text| !text.is_empty())
    }

    fn when(&self) -> Option<String> {
        let start = self.event_time(self.event.property(&ICalendarProperty::Dtstart)?)?;
        let end = self.event.property(&ICalendarProperty::Dtend).and_then(|entry| self.event_time(entry));
        Some(match end.or_else(|| self.end_after(&start)) {
            Some(end) => span(&start, &end),
            None => start.told(),
        })
    }

    /// The end of what says only how long it is.
    fn end_after(&self, start: &EventTime) -> Option<EventTime> {
        let value = self.event.property(&ICalendarProperty::Duration)?.values.first()?;
        let ICalendarValue::Duration(length) = value else { return None };
        let length = SignedDuration::from_secs(length.as_seconds());
        let at = match &start.place {
            // The clocks may be changed in between.
            Some(EventZone::Zone(zone)) => {
                start.at.to_zoned(zone.clone()).ok()?.checked_add(length).ok()?.with_time_zone(zone.clone()).datetime()
            }
            _ => start.at.checked_add(length).ok()?,
        };
        Some(EventTime { at, place: start.place.clone() })
    }

    fn date(&self, name: &ICalendarProperty) -> Option<String> {
        self.event_time(self.event.property(name)?).map(|when| when.told())
    }

    fn dates(&self, name: &ICalendarProperty) -> Option<String> {
        let entries = self.event.properties(name);
        let dates = entries.flat_map(|entry| entry.values.iter().filter_map(|value| self.value(entry, value)));
        let dates: Vec<String> = dates.take(PEOPLE_MAX).map(|when| when.told()).collect();
        (!dates.is_empty()).then(|| dates.join("; "))
    }

    fn repeats(&self) -> Option<String> {
        let value = self.event.property(&ICalendarProperty::Rrule)?.values.first()?;
        let ICalendarValue::RecurrenceRule(rule) = value else { return None };
        Some(one_line(&repeated(rule), LINE_CHARS_MAX))
    }

    fn event_time(&self, entry: &ICalendarEntry) -> Option<EventTime> {
        self.value(entry, entry.values.first()?)
    }

    fn value(&self, entry: &ICalendarEntry, value: &ICalendarValue) -> Option<EventTime> {
        let ICalendarValue::PartialDateTime(time) = value else { return None };
        let at = local_datetime(time)?;
        let place = match (time.tz_hour, entry.tz_id()) {
            _ if time.hour.is_none() => None,
            (Some(_), _) => Some(EventZone::Zone(TimeZone::fixed(offset(time)?))),
            (None, None) => Some(EventZone::Anywhere),
            (None, Some(id)) => Some(match self.zones.resolve(id).and_then(known_zone) {
                Some(zone) => EventZone::Zone(zone),
                None => EventZone::Unknown(one_line(id, LINE_CHARS_MAX)),
            }),
        };
        Some(EventTime { at, place })
    }

    /// Who is invited, and what each has answered.
    fn people(&self) -> Option<String> {
        let all: Vec<&ICalendarEntry> = self.event.properties(&ICalendarProperty::Attendee).collect();
        let mut told: Vec<String> =
            all.iter().take(PEOPLE_MAX).map(|entry| format!("{} ({})", person(entry), answer(entry))).collect();
        if all.len() > PEOPLE_MAX {
            told.push(format!("{} more", all.len() - PEOPLE_MAX));
        }
        (!told.is_empty()).then(|| told.join(", "))
    }
}

impl EventTime {
    fn told(&self) -> String {
        match &self.place {
            None => format!("{}, all day", self.day()),
            Some(place) => format!("{}, {}{}", self.day(), self.time(), self.zone_text(place)),
        }
    }

    fn day(&self) -> String {
        self.at.strftime("%A %Y-%m-%d").to_string()
    }

    fn time(&self) -> String {
        self.at.strftime("%H:%M").to_string()
    }

    /// Whose time of day it is, in words.
    fn zone_text(&self, place: &EventZone) -> String {
        match place {
            EventZone::Zone(zone) => match self.at.to_zoned(zone.clone()) {
                Ok(zoned) if zoned.offset() == Offset::UTC => " UTC".to_owned(),
                Ok(zoned) => {
                    let name = zone.iana_name().map(|name| format!("{name}, ")).unwrap_or_default();
                    format!(" ({name}UTC{})", zoned.strftime("%:z"))
                }
                Err(_) => String::new(),
            },
            EventZone::Unknown(name) => format!(" in the time zone \"{name}\", which I do not know"),
            EventZone::Anywhere => " (no time zone is named)".to_owned(),
        }
    }
}

/// From one moment to another.
fn span(start: &EventTime, end: &EventTime) -> String {
    let Some(place) = &start.place else {
        // The day on which it is over is none of its own.
        let last = end.at.checked_sub(1.day()).unwrap_or(end.at);
        if last <= start.at {
            return start.told();
        }
        return format!("{} to {}, all day", start.day(), EventTime { at: last, place: None }.day());
    };
    if end.place.as_ref() != Some(place) {
        return format!("{} to {}", start.told(), end.told());
    }
    let whose = start.zone_text(place);
    if start.at.date() == end.at.date() {
        return format!("{}, {} to {}{whose}", start.day(), start.time(), end.time());
    }
    format!("{}, {} to {}, {}{whose}", start.day(), start.time(), end.day(), end.time())
}

fn local_datetime(time: &PartialDateTime) -> Option<DateTime> {
    let part = |part: Option<u8>| i8::try_from(part.unwrap_or(0)).ok();
    let date = Date::new(i16::try_from(time.year?).ok()?, part(time.month)?, part(time.day)?).ok()?;
    // A leap second is the one before.
    Some(date.at(part(time.hour)?, part(time.minute)?, part(time.second)?.min(59), 0))
        .filter(|_| time.hour.is_none_or(|hour| hour < 24) && time.minute.is_none_or(|minute| minute < 60))
}

fn offset(time: &PartialDateTime) -> Option<Offset> {
    let seconds = i32::from(time.tz_hour?) * 3_600 + i32::from(time.tz_minute.unwrap_or(0)) * 60;
    Offset::from_seconds(if time.tz_minus { -seconds } else { seconds }).ok()
}

fn known_zone(zone: Tz) -> Option<TimeZone> {
    match zone {
        Tz::Floating => None,
        Tz::Fixed(offset) => Offset::from_seconds(offset.local_minus_utc()).ok().map(TimeZone::fixed),
        Tz::Tz(_) => TimeZone::get(&zone.name()?).ok(),
    }
}

fn person(entry: &ICalendarEntry) -> String {
    let address = entry.calendar_address().map(|address| one_line(address, LINE_CHARS_MAX));
    let name = entry.parameter(&ICalendarParameterName::Cn).and_then(ICalendarParameterValue::as_text);
    let name = name.map(|name| one_line(name, LINE_CHARS_MAX)).filter(|name| !name.is_empty());
    match (name, address) {
        (Some(name), Some(address)) if name != address => format!("{name} <{address}>"),
        (Some(name), _) => name,
        (None, Some(address)) => address,
        (None, None) => "somebody".to_owned(),
    }
}

fn answer(entry: &ICalendarEntry) -> &'static str {
    match entry.parameter(&ICalendarParameterName::Partstat) {
        Some(ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Accepted)) => "has accepted",
        Some(ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Declined)) => "has declined",
        Some(ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Tentative)) => "may come",
        Some(ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Delegated)) => "sends somebody else",
        Some(ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Completed)) => "has done it",
        _ => "has not answered",
    }
}
