//! What an entry of a calendar says, and by which name it is called again.
//!
//! The name that the model is given ([`EntryId`]) says which account, calendar and resource it is, which time of a series, and a
//! digest of what the model was shown. Whoever changes the entry by that name changes what was seen, or nothing.

use std::fmt;

use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

use crate::client::Resource;
use crate::lines::{Component, Line};
use crate::series::{self, Occurrence, Window};
use crate::when::{When, Zones};
use hob_core::domain::text::{head, hex};

/// What people see of an entry: whoever changes one of these has changed it.
const SEEN: [&str; 10] =
    ["DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "SUMMARY", "LOCATION", "DESCRIPTION", "STATUS", "RECURRENCE-ID"];
/// The digits of a digest.
const DIGEST_CHARS: usize = 6;
/// The longest name of an entry.
const ID_CHARS_MAX: usize = 400;

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Their address, in lower case.
    pub address: String,
    /// How they are called.
    pub name: Option<String>,
    /// What they have answered.
    pub answer: &'static str,
    /// Whether they have called the others together.
    pub organizer: bool,
}

/// An entry, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// By which it is called again.
    pub id: EntryId,
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub place: Option<String>,
    /// What is noted.
    pub notes: Option<String>,
    /// From when.
    pub start: When,
    /// Until when.
    pub end: When,
    /// Whether it is one of a series.
    pub repeats: bool,
    /// Whether the time is taken.
    pub busy: bool,
    /// Who takes part besides the account's own people.
    pub others: Vec<Participant>,
    /// The account's own people among those who take part.
    pub own: Option<Participant>,
}

impl Entry {
    /// What the account's people have answered.
    #[must_use]
    pub fn own_answer(&self) -> Option<&'static str> {
        self.own.as_ref().filter(|own| !own.organizer).map(|own| own.answer)
    }
}

/// By which an entry is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryId {
    /// The account.
    pub account: String,
    /// The calendar, by the last part of its path.
    pub calendar: String,
    /// The resource, by the last part of its path.
    pub resource: String,
    /// Which time of a series.
    pub original: Option<String>,
    /// What was seen of it.
    pub digest: String,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { account, calendar, resource, original, digest } = self;
        write!(f, "{account}/{calendar}/{resource}")?;
        if let Some(original) = original {
            write!(f, "!{original}")?;
        }
        write!(f, "~{digest}")
    }
}

impl EntryId {
    /// The entry that is called so; none: this is the name of none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['[', ']']);
        let (path, digest) = text.rsplit_once('~').filter(|_| text.len() <= ID_CHARS_MAX)?;
        let (path, original) = match path.rsplit_once('!') {
            Some((path, original)) => (path, Some(original.to_owned())),
            None => (path, None),
        };
        let [account, calendar, resource] = path.split('/').collect::<Vec<_>>()[..] else { return None };
        let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '?', '#']);
        let fits = [account, calendar, resource].into_iter().all(is_part)
            && digest.len() == DIGEST_CHARS
            && digest.chars().all(|c| c.is_ascii_hexdigit());
        let own = |part: &str| part.to_owned();
        fits.then(|| Self {
            account: own(account),
            calendar: own(calendar),
            resource: own(resource),
            original,
            digest: own(digest),
        })
    }
}

/// Whose entries they are, and who reads them.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// The account.
    pub account: &'a str,
    /// The calendar, by the last part of its path.
    pub calendar: &'a str,
    /// The addresses of the account's people.
    pub addresses: &'a [String],
    /// The household's zone.
    pub home: &'a TimeZone,
}

/// The entries of a resource within the window; what cannot be read has none.
#[must_use]
pub fn entries(resource: &Resource, owner: Owner<'_>, window: Window) -> Vec<Entry> {
    let Some(calendar) = Component::parse(&resource.text, "VCALENDAR") else { return Vec::new() };
    let zones = Zones::of(&calendar, owner.home);
    let events: Vec<&Component> = calendar.inner("VEVENT").collect();
    let found = series::occurrences(&calendar, &zones, window);
    found.into_iter().filter_map(|time| Some(entry(resource, owner, events.get(time.component)?, time))).collect()
}

fn entry(resource: &Resource, owner: Owner<'_>, event: &Component, time: Occurrence) -> Entry {
    let is_own = |one: &Participant| owner.addresses.contains(&one.address);
    let all = participants(event);
    let own = all.iter().find(|one| is_own(one)).cloned();
    let others: Vec<Participant> = all.into_iter().filter(|one| !is_own(one)).collect();
    let text = |name: &str| event.words(name).filter(|text| !text.trim().is_empty());
    let is_free = event.line("TRANSP").is_some_and(|line| line.value.trim().eq_ignore_ascii_case("TRANSPARENT"));
    let refused = own.as_ref().is_some_and(|own| own.answer == ANSWERS[1].2);
    Entry {
        id: EntryId {
            account: owner.account.to_owned(),
            calendar: owner.calendar.to_owned(),
            resource: resource.href.rsplit('/').next().unwrap_or_default().to_owned(),
            original: time.original.as_ref().map(When::key),
            digest: digest(event),
        },
        title: text("SUMMARY").unwrap_or_else(|| "(no title)".to_owned()),
        place: text("LOCATION"),
        notes: text("DESCRIPTION"),
        repeats: time.original.is_some(),
        start: time.start,
        end: time.end,
        busy: !is_free && !refused,
        others,
        own,
    }
}

/// A digest of what people see of a component. What others have answered is no part of it, nor is what nobody sees.
#[must_use]
pub fn digest(event: &Component) -> String {
    let mut hash = Sha256::new();
    let seen = event.lines().filter(|line| SEEN.contains(&line.name.as_str()) || line.name == "ATTENDEE");
    let mut told: Vec<String> =
        seen.map(|line| format!("{};{:?}:{}\n", line.name, line.param("TZID"), line.value)).collect();
    told.sort();
    told.iter().for_each(|line| hash.update(line));
    head(&hex(&hash.finalize()), DIGEST_CHARS).to_owned()
}

/// Answers: as they are given to a tool, written, and told.
pub(crate) const ANSWERS: [(&str, &str, &str); 3] =
    [("yes", "ACCEPTED", "comes"), ("no", "DECLINED", "does not come"), ("maybe", "TENTATIVE", "may come")];

/// Who takes part, and who has called them together.
#[must_use]
pub fn participants(event: &Component) -> Vec<Participant> {
    let organizer = event.line("ORGANIZER").and_then(address);
    let mut all: Vec<Participant> = Vec::new();
    for line in event.all("ATTENDEE").chain(event.line("ORGANIZER")) {
        let Some(address) = address(line).filter(|address| all.iter().all(|known| known.address != *address)) else {
            continue;
        };
        let told = line
            .param("PARTSTAT")
            .and_then(|stat| ANSWERS.iter().find(|(_, known, _)| stat.eq_ignore_ascii_case(known)));
        let organizer = organizer.as_ref() == Some(&address);
        let name = line.param("CN").map(str::to_owned).filter(|name| !name.trim().is_empty());
        all.push(Participant {
            answer: told.map_or("has not answered", |(_, _, told)| told),
            name,
            organizer,
            address,
        });
    }
    all
}

/// The address in a line, in lower case: one of mail where it says one, else whatever else it names somebody by.
#[must_use]
pub fn address(line: &Line) -> Option<String> {
    let value = line.value.trim().to_lowercase();
    let mail = value.strip_prefix("mailto:").map(str::to_owned).or_else(|| Some(line.param("EMAIL")?.to_lowercase()));
    mail.filter(|mail| mail.contains('@')).or(Some(value)).filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_a_name_leads_to_one_thing_of_one_account() {
        let id = EntryId::parse("[ada/personal/x%20y.ics!20261203T130000Z~3fa9c2]").unwrap();
        assert_eq!((id.calendar.as_str(), id.resource.as_str()), ("personal", "x%20y.ics"));
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        let no = [
            "dentist",
            "ada/personal/x",
            "ada/../x~3fa9c2",
            "ada/a/b/x~3fa9c2",
            "ada/personal/?x~3fa9c2",
            "ada/personal/~3fa9c2",
            "ada/p/x~zzzzzz",
        ];
        assert!(no.iter().all(|text| EntryId::parse(text).is_none()));
    }

    #[test]
    fn f3_what_nobody_sees_changes_no_digest() {
        let of =
            |lines: &str| digest(&Component::parse(&format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n"), "VEVENT").unwrap());
        let plain = of("SUMMARY:a\nDTSTART:20261203T130000Z\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:b@x.example");
        assert_eq!(
            plain,
            of(
                "DTSTART:20261203T130000Z\nX-A:1\nSUMMARY:a\nDTSTAMP:20260101T000000Z\nATTENDEE;PARTSTAT=ACCEPTED:mailto:b@x.example"
            )
        );
        assert_ne!(plain, of("SUMMARY:a\nDTSTART:20261203T140000Z\nATTENDEE:mailto:b@x.example"));
    }
}
