//! What an entry of a calendar says, and by which name it is called again.
//!
//! The name that the model is given ([`EntryId`]) says which account, calendar and resource it is, which time of a series, and a
//! digest of what the model was shown. Whoever changes the entry by that name changes what was seen, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

use crate::client::Resource;
use crate::lines::{Component, Line};
use crate::rule::Effort;
use crate::series::{self, Occurrence, Window};
use crate::when::{When, Zones};
use hob_core::domain::text::{head, hex};

/// What people see of an entry: whoever changes one of these has changed it.
const SEEN: [&str; 10] =
    ["DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "SUMMARY", "LOCATION", "DESCRIPTION", "STATUS", "RECURRENCE-ID"];
/// The digits of a digest: who makes an entry fit what was seen of another has to look for longer than there is time.
const DIGEST_CHARS: usize = 16;
/// The longest name of an entry: paths are no longer.
const ID_CHARS_MAX: usize = 1_200;
/// The most characters of a title or a place, and of notes, that are kept of an entry.
const LINE_CHARS_MAX: usize = 1_000;
const NOTES_CHARS_MAX: usize = 4_000;

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Their address, in lower case.
    pub address: String,
    pub name: Option<String>,
    pub answer: &'static str,
    /// Whether they have called the others together.
    pub organizer: bool,
}

/// An entry, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// By which it is called again.
    pub id: EntryId,
    /// What it says, in common with the other times of its series.
    pub said: Arc<EntryText>,
    pub start: When,
    /// Until when.
    pub end: When,
    /// Whether it is one of a series.
    pub repeats: bool,
}

/// What a component says, whichever time of it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryText {
    /// What it is called.
    pub title: String,
    pub place: Option<String>,
    pub notes: Option<String>,
    /// Whether the time is taken.
    pub busy: bool,
    /// Who takes part besides the account's own people.
    pub others: Vec<Participant>,
    /// The account's own people among those who take part.
    pub own: Option<Participant>,
    /// Of what people see of it.
    digest: String,
}

impl EntryText {
    fn of(event: &Component, addresses: &[String]) -> Self {
        let is_own = |one: &Participant| addresses.contains(&one.address);
        let (own, others): (Vec<Participant>, Vec<Participant>) = participants(event).into_iter().partition(is_own);
        let own = own.into_iter().next();
        let text = |name: &str, most: usize| {
            let words = event.words(name).filter(|text| !text.trim().is_empty());
            words.map(|words| words.chars().take(most).collect::<String>())
        };
        let is_free = event.line("TRANSP").is_some_and(|line| line.value.trim().eq_ignore_ascii_case("TRANSPARENT"));
        let refused = own.as_ref().is_some_and(|own| own.answer == ANSWERS[1].2);
        Self {
            title: text("SUMMARY", LINE_CHARS_MAX).unwrap_or_else(|| "(no title)".to_owned()),
            place: text("LOCATION", LINE_CHARS_MAX),
            notes: text("DESCRIPTION", NOTES_CHARS_MAX),
            busy: !is_free && !refused,
            others,
            own,
            digest: digest(event),
        }
    }

    /// What the account's people have answered.
    pub(crate) fn own_answer(&self) -> Option<&'static str> {
        self.own.as_ref().filter(|own| !own.organizer).map(|own| own.answer)
    }
}

/// By which an entry is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryId {
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
#[derive(Debug, Clone)]
pub struct Owner {
    pub account: String,
    /// The calendar, by the last part of its path.
    pub calendar: String,
    /// The addresses of the account's people.
    pub addresses: Vec<String>,
    /// The household's zone.
    pub home: TimeZone,
}

/// The entries of a resource within the window; what cannot be read has none.
pub fn entries(resource: &Resource, owner: &Owner, window: Window, effort: &mut Effort) -> Vec<Entry> {
    let calendar = Component::parse(&resource.text, "VCALENDAR");
    calendar.map(|calendar| entries_of(&calendar, &resource.href, owner, window, effort)).unwrap_or_default()
}

/// The same of its calendar, which lies there.
pub(crate) fn entries_of(
    calendar: &Component,
    href: &str,
    owner: &Owner,
    window: Window,
    effort: &mut Effort,
) -> Vec<Entry> {
    let zones = Zones::of(calendar, &owner.home);
    let events: Vec<&Component> = calendar.inner("VEVENT").collect();
    let found = series::occurrences(calendar, &zones, window, effort);
    let mut said: BTreeMap<usize, Arc<EntryText>> = BTreeMap::new();
    let entry = |time: Occurrence| {
        let event = events.get(time.component)?;
        let said = said.entry(time.component).or_insert_with(|| Arc::new(EntryText::of(event, &owner.addresses)));
        Some(entry(href, owner, Arc::clone(said), time))
    };
    found.into_iter().filter_map(entry).collect()
}

fn entry(href: &str, owner: &Owner, said: Arc<EntryText>, time: Occurrence) -> Entry {
    Entry {
        id: EntryId {
            account: owner.account.clone(),
            calendar: owner.calendar.clone(),
            resource: href.rsplit('/').next().unwrap_or_default().to_owned(),
            original: time.original.as_ref().map(When::key),
            digest: said.digest.clone(),
        },
        repeats: time.original.is_some(),
        start: time.start,
        end: time.end,
        said,
    }
}

/// A digest of what people see of a component. What others have answered is not part of it, nor is what nobody sees.
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
pub fn participants(event: &Component) -> Vec<Participant> {
    let organizer = event.line("ORGANIZER").and_then(address);
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    for line in event.all("ATTENDEE").chain(event.line("ORGANIZER")) {
        let Some(address) = address(line).filter(|address| known.insert(address.clone())) else {
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

/// Whom a line means, in lower case: an address of mail, or what the server calls somebody of its own. Whatever else the line says
/// of them (`EMAIL`) was put there by whoever wrote it.
pub fn address(line: &Line) -> Option<String> {
    Some(plain_address(&line.value)).filter(|address| !address.is_empty())
}

/// An address as it is compared.
pub(crate) fn plain_address(address: &str) -> String {
    let address = address.trim().to_lowercase();
    address.strip_prefix("mailto:").unwrap_or(&address).trim_end_matches('/').to_owned()
}

/// Can mail be sent there?
pub(crate) fn is_mail(address: &str) -> bool {
    address.contains('@') && !address.contains(['/', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_a_name_leads_to_one_thing_of_one_account() {
        let id = EntryId::parse("[ada/personal/x%20y.ics!20261203T130000Z~3fa9c2d03fa9c2d0]").unwrap();
        assert_eq!((id.calendar.as_str(), id.resource.as_str()), ("personal", "x%20y.ics"));
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        let no = [
            "dentist",
            "ada/personal/x",
            "ada/../x~3fa9c2d03fa9c2d0",
            "ada/a/b/x~3fa9c2d03fa9c2d0",
            "ada/personal/?x~3fa9c2d03fa9c2d0",
            "ada/personal/~3fa9c2d03fa9c2d0",
            "ada/p/x~zzzzzzzzzzzzzzzz",
            "ada/p/x~3fa9c2",
        ];
        assert!(no.iter().all(|text| EntryId::parse(text).is_none()));
    }

    #[test]
    fn f3_a_hostile_entry_costs_little_and_the_others_are_told() {
        let window = |from: &str, to: &str| Window { from: from.parse().unwrap(), to: to.parse().unwrap() };
        let of = |text: &str, window: Window| {
            let text = format!("BEGIN:VCALENDAR\n{text}\nEND:VCALENDAR\n");
            let resource = Resource { href: "/c/x.ics".to_owned(), etag: String::new(), text };
            let owner = Owner {
                account: "ada".to_owned(),
                calendar: "c".to_owned(),
                addresses: Vec::new(),
                home: TimeZone::UTC,
            };
            entries(&resource, &owner, window, &mut Effort::default())
        };
        let year = window("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        // Long words, and many dates: the words are there once.
        let first = "20260101T000000Z".to_owned();
        let dates: Vec<String> = (0..20_000)
            .map(|at| format!("2026{:02}{:02}T{:02}{:02}00Z", at % 12 + 1, at / 12 % 28 + 1, at / 336 % 24, at / 8_064))
            .collect();
        let notes = "n".repeat(500_000);
        let many = format!(
            "BEGIN:VEVENT\nUID:1\nDTSTART:{first}\nSUMMARY:a\nDESCRIPTION:{notes}\nRDATE:{}\nEND:VEVENT",
            dates.join(",")
        );
        let found = of(&many, year);
        assert_eq!(found.len(), 2_000);
        assert!(found.iter().all(|entry| Arc::ptr_eq(&entry.said, &found[0].said)));
        // Many who stand beside the first.
        let daily =
            |uid: usize| format!("BEGIN:VEVENT\nUID:{uid}\nDTSTART:20200101T000000Z\nRRULE:FREQ=DAILY\nEND:VEVENT\n");
        let found =
            of(&(0..500).map(daily).collect::<String>(), window("2026-01-01T00:00:00Z", "2026-01-08T00:00:00Z"));
        assert_eq!(found.len(), 7, "a resource has one entry");
        // Many who take part.
        let guests: String = (0..30_000).map(|one| format!("ATTENDEE:mailto:{one}@x.example\n")).collect();
        let found = of(&format!("BEGIN:VEVENT\nUID:1\nDTSTART:{first}\n{guests}END:VEVENT"), year);
        assert_eq!(found[0].said.others.len(), 30_000);
        // Many exceptions, and more dates than are looked at.
        let moved: String = (0..499)
            .map(|at| {
                format!(
                    "BEGIN:VEVENT\nUID:1\nRECURRENCE-ID;RANGE=THISANDFUTURE:{}\nDTSTART:{}\nEND:VEVENT\n",
                    dates[at], dates[at]
                )
            })
            .collect();
        let zoned = "EXDATE;TZID=Nowhere/At all:20250101T000000\n".repeat(20_000);
        let found = of(
            &format!(
                "{moved}BEGIN:VEVENT\nUID:1\nDTSTART:{first}\n{zoned}RDATE:{}\nEND:VEVENT",
                [dates.join(","), dates.join(",")].join(",")
            ),
            year,
        );
        assert!(found.len() <= 2_000 + 499);
    }

    #[test]
    fn f3_nobody_passes_for_another_by_what_stands_beside_their_name() {
        let event = "BEGIN:VEVENT\nUID:1\nDTSTART:20261203T130000Z\nORGANIZER;EMAIL=ada@home.example:/principals/mallory/\n\
                     ATTENDEE;PARTSTAT=ACCEPTED;EMAIL=else@x.example:MAILTO:Ada@Home.example\nATTENDEE;PARTSTAT=DECLINED:https://x.example/principals/ada/\nEND:VEVENT\n";
        let event = Component::parse(event, "VEVENT").unwrap();
        let own = ["ada@home.example".to_owned(), "https://x.example/principals/ada".to_owned()];
        let said = EntryText::of(&event, &own);
        let others: Vec<&str> = said.others.iter().map(|one| one.address.as_str()).collect();
        assert_eq!((others.as_slice(), said.own_answer()), (["/principals/mallory"].as_slice(), Some("comes")));
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
