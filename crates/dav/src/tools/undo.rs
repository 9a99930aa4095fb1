//! How what these tools did is taken back (row N16): by another call of one of them, which is offered only if it brings back all that
//! people saw.
//!
//! | done | is taken back by |
//! |---|---|
//! | an entry was added | calling it off |
//! | one was changed, or went to another calendar | changing it back |
//! | one was called off that has nothing which cannot be added | adding it |
//!
//! Never: what others take part in, for they got a letter; a series as a whole.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde::Serialize;

use crate::edit::{self, Change, SeriesPart, Signature};
use crate::entry::{self, Entry, EntryId};
use crate::lines::{Component, Line, Part};
use crate::series::extent;
use crate::tools::add::{self, times};
use crate::tools::change::ChangeArguments;
use crate::tools::relocate::NewCalendar;
use crate::tools::target::Target;
use crate::when::{When, Zones};
use hob_core::domain::undo::InverseCall;
use hob_tools::Outcome;

/// The words of an entry, by their lines.
const WORDS: [&str; 3] = ["SUMMARY", "LOCATION", "DESCRIPTION"];
/// The lines of an entry that adding one writes, or that say nothing to people.
const PLAIN: [&str; 12] = [
    "UID",
    "DTSTAMP",
    "CREATED",
    "LAST-MODIFIED",
    "SEQUENCE",
    edit::SIGNED,
    "DTSTART",
    "DTEND",
    "DURATION",
    WORDS[0],
    WORDS[1],
    WORDS[2],
];
/// Those that say what holds without them.
const USUAL: [(&str, &str); 2] = [("STATUS", "CONFIRMED"), ("TRANSP", "OPAQUE")];

/// The outcome, with what takes its effect back, if something does.
pub(super) fn offered(outcome: Outcome, back: Option<InverseCall>) -> Outcome {
    back.into_iter().fold(outcome, Outcome::undone_by)
}

pub(super) fn of_added(id: &EntryId) -> Option<InverseCall> {
    inverse("calendar_cancel", &BTreeMap::from([("entry", id.to_string())]))
}

/// Of one that was changed, and perhaps went to another calendar. `as_of`: nobody's signature, of now.
pub(super) fn of_changed(
    done: &Target,
    wish: &Change,
    to: Option<&NewCalendar>,
    as_of: Signature<'_>,
) -> Option<InverseCall> {
    let (Target { entry: was, before, calendar, what, .. }, home) = (done, as_of.home);
    if *what == SeriesPart::Whole && was.repeats {
        return None;
    }
    let zones = Zones::of(calendar, home);
    let is = edit::component(calendar, &zones, what)?;
    let to = to.filter(|to| !to.is_of(done));
    if to.is_none() && *wish == Change::default() {
        return None;
    }
    let mut id = to.map_or_else(|| was.id.clone(), |to| to.name_of(&was.id));
    id.digest = entry::digest(is);
    let words = words(edit::component(before, &zones, what)?);
    let back = reversal(was, words, wish, &id, home)?;
    let calendar_before = to.map(|_to| format!("{}/{}", was.id.account, was.id.calendar));
    let back = ChangeArguments { calendar: calendar_before, ..back };
    // Some times do not come back: those that a clock shows twice, or never.
    let mut again = calendar.clone();
    let (from, _) = extent(is, &zones)?;
    edit::change(&mut again, what, &back.wish().ok()?, &from, as_of).ok()?;
    let again = edit::component(&again, &zones, what)?;
    let (start, long) = extent(again, &zones)?;
    let is_as_before = start.key() == was.start.key() && start.after(long)?.key() == was.end.key();
    (is_as_before && self::words(again) == self::words(edit::component(before, &zones, what)?))
        .then(|| inverse("calendar_change", &back))?
}

fn words(event: &Component) -> [String; 3] {
    WORDS.map(|name| event.words(name).unwrap_or_default().trim().to_owned())
}

/// The call that changes an entry back.
fn reversal(was: &Entry, words: [String; 3], wish: &Change, id: &EntryId, home: &TimeZone) -> Option<ChangeArguments> {
    let [title, place, notes] = words;
    let moved = wish.start.is_some() || wish.length.is_some();
    let (start, minutes, days) = moment(was, home)?;
    Some(ChangeArguments {
        entry: id.to_string(),
        start: moved.then_some(start),
        minutes: minutes.filter(|_| moved),
        days: days.filter(|_| moved),
        title: wish.title.is_some().then_some(title),
        place: wish.place.is_some().then_some(place),
        notes: wish.notes.is_some().then_some(notes),
        ..ChangeArguments::default()
    })
}

/// When an entry is, as these tools are told it: its beginning, and its length in minutes or in days.
fn moment(entry: &Entry, home: &TimeZone) -> Option<(String, Option<i64>, Option<i64>)> {
    match (&entry.start, &entry.end) {
        (When::Day(start), When::Day(end)) => {
            Some((start.to_string(), None, Some(i64::from(start.until(*end).ok()?.get_days()))))
        }
        (When::At(start), When::At(end)) => {
            let minutes = end.timestamp().duration_since(start.timestamp()).as_mins();
            Some((start.with_time_zone(home.clone()).datetime().to_string(), Some(minutes), None))
        }
        (When::Day(_), When::At(_)) | (When::At(_), When::Day(_)) => None,
    }
}

/// Of one that was called off.
pub(super) fn of_cancelled(done: &Target, home: &TimeZone) -> Option<InverseCall> {
    let Target { entry, calendar, what, .. } = done;
    let event = calendar.inner("VEVENT").next()?;
    if *what != SeriesPart::Whole || entry.repeats || !is_plain(event) {
        return None;
    }
    let [title, place, notes] = words(event);
    let (start, minutes, days) = moment(entry, home)?;
    let some = |words: String| Some(words).filter(|words| !words.is_empty());
    let calendar = Some(format!("{}/{}", entry.id.account, entry.id.calendar));
    let (place, notes) = (some(place), some(notes));
    let back = add::Arguments { title, start, minutes, days, place, notes, calendar, invite: None };
    let (start, end) = times(&back, home).ok()?;
    let is_as_before = start.key() == entry.start.key() && end.key() == entry.end.key();
    is_as_before.then(|| inverse("calendar_add", &back))?
}

/// Has it nothing that is lost where an entry is added like it: no alarm, no colour, no file?
fn is_plain(event: &Component) -> bool {
    let is_usual = |line: &Line| USUAL.contains(&(line.name.as_str(), line.value.trim()));
    let is_plain = |line: &Line| PLAIN.contains(&line.name.as_str()) || is_usual(line);
    event.lines().all(is_plain) && !event.parts.iter().any(|part| matches!(part, Part::Inner(_)))
}

fn inverse(tool: &str, arguments: &impl Serialize) -> Option<InverseCall> {
    Some(InverseCall { tool: tool.to_owned(), arguments: serde_json::to_string(arguments).ok()? })
}
