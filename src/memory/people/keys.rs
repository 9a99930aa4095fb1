//! The keys of facts about a person. Within the person it is `job`; in the scope, where all facts are looked up, listed and
//! told, it is `Anna's job`, which says the same without the person.

use crate::memory::people::Person;
use crate::memory::people::names::fold;

/// Keys under which a birthday is told.
const BIRTHDAYS: [&str; 4] = ["birthday", "geburtstag", "date of birth", "geburtsdatum"];

/// The key in the scope, of a key within the person; their name or relation before it is not said twice.
#[must_use]
pub fn in_scope(person: &Person, key: &str) -> String {
    format!("{}'s {}", person.name, within(person, key))
}

/// The key within the person, of one that may name them.
#[must_use]
pub fn within<'a>(person: &Person, key: &'a str) -> &'a str {
    let relation =
        person.relation.as_deref().into_iter().flat_map(|relation| [format!("my {relation}"), relation.to_owned()]);
    let owners = [person.name.clone()].into_iter().chain(relation);
    owners.into_iter().find_map(|owner| behind(key, &owner)).unwrap_or(key)
}

/// What stands behind "Anna's " or "Annas ".
fn behind<'a>(key: &'a str, owner: &str) -> Option<&'a str> {
    let mut rest = key.chars();
    let same = owner.chars().all(|c| rest.next().is_some_and(|other| other.to_lowercase().eq(c.to_lowercase())));
    let rest = rest.as_str();
    let ending = ["'s ", "’s ", "s ", "' ", "’ ", ": "].iter().find_map(|ending| rest.strip_prefix(ending));
    ending.map(str::trim).filter(|key| same && !key.is_empty())
}

/// Whether a birthday is told under this key.
#[must_use]
pub fn is_birthday(key: &str) -> bool {
    BIRTHDAYS.contains(&fold(key).as_str())
}
