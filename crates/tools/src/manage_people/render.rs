//! How people are shown to a model.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::memory_tools::{day, line};
use hob_core::domain::memory::Scope;
use hob_memory::people::birthday::Birthday;
use hob_memory::people::{Identity, Person, PersonCard, keys};

/// The most characters of a value.
const SHOWN_MAX: usize = 400;
/// The most people in a list.
const LISTED_MAX: usize = 100;

/// Everybody, a line each.
pub(super) fn list(people: &[Person], today: Date) -> String {
    if people.is_empty() {
        return "Nobody is known yet.".to_owned();
    }
    let mut lines: Vec<String> = people.iter().take(LISTED_MAX).map(|person| person_line(person, today)).collect();
    if let Some(more) = people.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        lines.push(format!("… and {more} more: look them up by name."));
    }
    lines.join("\n")
}

/// One person with all that is known, a line each.
pub fn card(card: &PersonCard, today: Date, zone: &TimeZone) -> String {
    let facts = card.facts.iter().map(|fact| {
        let key = line(keys::key_without_owner(&card.person, &fact.key), SHOWN_MAX);
        let at = Timestamp::from_millisecond(fact.created_at).unwrap_or(Timestamp::UNIX_EPOCH);
        let disputed = if fact.disputed { "; disputed" } else { "" };
        let name = line(&card.person.name, SHOWN_MAX);
        format!("- {name}, {key}: {} ({}{disputed})", line(&fact.value, SHOWN_MAX), day(at, zone))
    });
    std::iter::once(person_line(&card.person, today)).chain(facts).collect::<Vec<_>>().join("\n")
}

/// Who somebody is, on one line.
pub(super) fn person_line(person: &Person, today: Date) -> String {
    let mut known: Vec<String> = person.relation.iter().map(|relation| line(relation, SHOWN_MAX)).collect();
    known.extend(person.birthday.map(|birthday| format!("born {}{}", birthday.in_words(), age(birthday, today))));
    let identities = person.identities.iter().map(|Identity { kind, value }| match kind.as_str() {
        Identity::NAME => format!("also {}", line(value, SHOWN_MAX)),
        kind => format!("{} {}", line(kind, SHOWN_MAX), line(value, SHOWN_MAX)),
    });
    known.extend(identities);
    known.extend(person.user.iter().map(|(_, name)| format!("uses me as {}", line(name, SHOWN_MAX))));
    known.extend((person.scope == Scope::House).then(|| "known to everyone".to_owned()));
    let name = line(&person.name, SHOWN_MAX);
    if known.is_empty() { format!("- {name}") } else { format!("- {name}: {}", known.join("; ")) }
}

fn age(birthday: Birthday, today: Date) -> String {
    let next = birthday.next(today);
    birthday.age_on(next).map_or(String::new(), |age| {
        if next == today { format!(", turns {age} today") } else { format!(", turns {age} on {next}") }
    })
}

/// The birthdays of the next days, the nearest first.
pub(super) fn birthdays(people: &[Person], today: Date, days: i32) -> String {
    let mut coming: Vec<(i32, String)> = people
        .iter()
        .filter_map(|person| {
            let birthday = person.birthday?;
            let next = birthday.next(today);
            let away = today.until(next).ok()?.get_days();
            let age = birthday.age_on(next).map_or(String::new(), |age| format!(", turns {age}"));
            let when = match away {
                0 => "today".to_owned(),
                1 => "tomorrow".to_owned(),
                away => format!("in {away} days"),
            };
            let relation =
                person.relation.as_deref().map_or(String::new(), |known| format!(" ({})", line(known, SHOWN_MAX)));
            let name = line(&person.name, SHOWN_MAX);
            Some((away, format!("- {}: {name}{relation}{age} ({when})", next.strftime("%A, %-d %B %Y"))))
        })
        .filter(|(away, _)| *away <= days)
        .collect();
    coming.sort();
    coming.dedup();
    if coming.is_empty() {
        return format!("No birthday that is known comes within {days} days.");
    }
    coming.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}
