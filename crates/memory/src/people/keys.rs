//! The keys of facts about a person. Within the person it is `job`; in the scope, where all facts are looked up, listed and
//! told, it is `Anna's job`, which says the same without the person.

use crate::people::Person;
use crate::people::names::fold;

/// Keys under which a birthday is told.
const BIRTHDAYS: [&str; 4] = ["birthday", "geburtstag", "date of birth", "geburtsdatum"];

/// Keys may begin like shorter names by chance.
const OWNER_CHARS_MIN: usize = 3;

/// The key in the scope, of a key within the person; their name or relation before it is not said twice.
pub fn in_scope(person: &Person, key: &str) -> String {
    format!("{}'s {}", person.name, key_without_owner(person, key))
}

/// The key within the person, of one that may name them.
pub fn key_without_owner<'a>(person: &Person, key: &'a str) -> &'a str {
    let relation =
        person.relation.as_deref().into_iter().flat_map(|relation| [format!("my {relation}"), relation.to_owned()]);
    let owners = [person.name.clone()].into_iter().chain(relation);
    owners.into_iter().find_map(|owner| strip_genitive(key, &owner)).unwrap_or(key)
}

/// Whose a key is that names its person by their own name.
pub fn owner<'a>(people: &'a [Person], key: &str) -> Option<&'a Person> {
    let named = |person: &&Person| {
        person.name.chars().count() >= OWNER_CHARS_MIN && strip_genitive(key, &person.name).is_some()
    };
    people.iter().find(named)
}

/// What stands behind "Anna's " or "Annas ".
fn strip_genitive<'a>(key: &'a str, owner: &str) -> Option<&'a str> {
    let mut rest = key.chars();
    let same = owner.chars().all(|c| rest.next().is_some_and(|other| other.to_lowercase().eq(c.to_lowercase())));
    let rest = rest.as_str();
    let ending = ["'s ", "’s ", "s ", "' ", "’ ", ": "].iter().find_map(|ending| rest.strip_prefix(ending));
    ending.map(str::trim).filter(|key| same && !key.is_empty())
}

/// Whether a birthday is told under this key.
pub(crate) fn is_birthday(key: &str) -> bool {
    BIRTHDAYS.contains(&fold(key).as_str())
}

/// Whether a birthday is told under this key, in the scope or within the person.
pub(crate) fn tells_birthday(key: &str) -> bool {
    let key = fold(key);
    BIRTHDAYS
        .iter()
        .any(|birthday| key.strip_suffix(birthday).is_some_and(|rest| rest.is_empty() || rest.ends_with(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::{PersonId, UserId};
    use hob_core::domain::memory::Scope;

    fn anna() -> Person {
        Person {
            id: PersonId(1),
            scope: Scope::Person(UserId(7)),
            name: "Anna".to_owned(),
            relation: Some("sister".to_owned()),
            birthday: None,
            user: None,
            identities: Vec::new(),
        }
    }

    #[test]
    fn k4_a_key_names_its_person_once() {
        let table = [
            ("job", "job", "Anna's job"),
            ("Anna's job", "job", "Anna's job"),
            ("anna’s job", "job", "Anna's job"),
            ("Annas Beruf", "Beruf", "Anna's Beruf"),
            ("my sister's job", "job", "Anna's job"),
            ("sister's job", "job", "Anna's job"),
            ("Anna", "Anna", "Anna's Anna"),
            ("Annabel's job", "Annabel's job", "Anna's Annabel's job"),
            ("mother's job", "mother's job", "Anna's mother's job"),
        ];
        for (key, own, full) in table {
            assert_eq!((key_without_owner(&anna(), key), in_scope(&anna(), key).as_str()), (own, full), "{key}");
        }
    }

    #[test]
    fn k4_a_key_that_names_somebody_is_theirs() {
        let people = [anna()];
        let table = [("Anna's job", true), ("annas job", true), ("sister's job", false), ("Annabel's job", false)];
        for (key, owned) in table {
            assert_eq!(owner(&people, key).is_some(), owned, "{key}");
        }
    }
}
