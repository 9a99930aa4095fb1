//! Who is meant: by name, by what else somebody is known, or by who they are to the one who asks.

use crate::people::{Identity, Person};
use hob_core::domain::text::one_line;

/// How alike a name must be to be named as near (Jaro–Winkler, 0 to 1).
const NEAR_MIN: f64 = 0.82;
/// The most near names that are named.
const NEAR_MAX: usize = 3;
/// Shorter names are found in a text only if they stand there just so: "An" is a word of German.
const SHORT_CHARS: usize = 3;

/// Said before a relation: "my sister".
const POSSESSIVES: [&str; 10] =
    ["my", "our", "mein", "meine", "meinem", "meiner", "meinen", "unser", "unsere", "unserer"];

/// Who a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameMatch<'a> {
    One(&'a Person),
    /// Several: it has to be said which.
    Several(Vec<&'a Person>),
    /// Nobody; these have names like it.
    Nobody(Vec<&'a str>),
}

/// Who of `people` is meant by `text`: a name goes before what else somebody is known by, and that before "my sister".
pub(crate) fn find<'a>(people: &'a [Person], text: &str) -> NameMatch<'a> {
    let wanted = fold(text);
    let identity = Identity::parse(text).ok().map(|identity| fold(&identity.value));
    let by_name = |person: &Person| fold(&person.name) == wanted;
    let by_identity = |person: &Person| {
        person.identities.iter().any(|known| {
            let known = fold(&known.value);
            known == wanted || identity.as_ref() == Some(&known)
        })
    };
    let relation = relation_of(&wanted).unwrap_or(&wanted);
    let by_relation = |person: &Person| person.relation.as_deref().is_some_and(|known| fold(known) == relation);
    let ways: [&dyn Fn(&Person) -> bool; 3] = [&by_name, &by_identity, &by_relation];
    for way in ways {
        let found: Vec<&Person> = people.iter().filter(|person| way(person)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return NameMatch::One(one),
            _ => return NameMatch::Several(found),
        }
    }
    NameMatch::Nobody(similar_names(people, &wanted))
}

/// Those of `people` whom `text` speaks of, in their order.
pub(crate) fn mentioned<'a>(people: &'a [Person], text: &str) -> Vec<&'a Person> {
    let (words, exact) = (name_words(&fold(text)), name_words(text));
    let named = |name: &str| {
        let (name, short) = (fold(name), name.chars().count() < SHORT_CHARS);
        !name.is_empty()
            && if short {
                exact.iter().any(|word| fold(word) == name && word.starts_with(char::is_uppercase))
            } else {
                stands_in(&name, &words)
            }
    };
    let spoken_of = |person: &&Person| {
        let first = person.name.split_whitespace().next().unwrap_or_default();
        let known = person.identities.iter().map(|identity| identity.value.as_str());
        [person.name.as_str(), first].into_iter().chain(person.relation.as_deref()).chain(known).any(named)
    };
    people.iter().filter(spoken_of).collect()
}

/// Whether the words of `name` stand in a text next to each other; a genitive's s may follow.
fn stands_in(name: &str, text: &[String]) -> bool {
    let name = name_words(name);
    let same = |word: &String, wanted: &String| {
        let rest = word.strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| matches!(rest, "" | "s" | "'s" | "’s" | "'" | "’"))
    };
    !name.is_empty()
        && text.windows(name.len()).any(|part| part.iter().zip(&name).all(|(word, wanted)| same(word, wanted)))
}

fn name_words(text: &str) -> Vec<String> {
    let part = |c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '@' | '.' | '-' | '+' | '_');
    let words = text.split(part).map(|word| word.trim_matches(['.', '-', '\'', '’'])).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Names like this one: alike as a whole or in their first word, or with a word in common.
fn similar_names<'a>(people: &'a [Person], wanted: &str) -> Vec<&'a str> {
    let alike = |name: &str| {
        let name = fold(name);
        let first = name.split(' ').next().unwrap_or_default().to_owned();
        let shared = wanted.split(' ').any(|word| name.split(' ').any(|other| other == word));
        let alike =
            |name: &str| if name.chars().count() < SHORT_CHARS { 0.0 } else { strsim::jaro_winkler(name, wanted) };
        let alike = alike(&name).max(alike(&first));
        if shared { 1.0 } else { alike }
    };
    let score = |person: &Person| {
        let other_names = person.identities.iter().filter(|identity| identity.kind == Identity::NAME);
        let names = other_names.map(|identity| identity.value.as_str()).chain([person.name.as_str()]);
        names.map(alike).fold(0.0, f64::max)
    };
    let mut scored: Vec<(f64, &str)> = people.iter().map(|person| (score(person), person.name.as_str())).collect();
    scored.retain(|(score, _)| *score >= NEAR_MIN);
    scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().map(|(_, name)| name).take(NEAR_MAX).collect()
}

/// Who "my sister" is to the speaker.
pub(crate) fn relation_of(name: &str) -> Option<&str> {
    let (first, relation) = name.split_once(' ')?;
    POSSESSIVES.contains(&fold(first).as_str()).then_some(relation)
}

/// In lower case, with single spaces: names that differ in nothing else are one.
pub(crate) fn fold(name: &str) -> String {
    one_line(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::{PersonId, UserId};
    use hob_core::domain::memory::Scope;

    fn person(id: i64, name: &str, relation: Option<&str>, identities: &[&str]) -> Person {
        Person {
            id: PersonId(id),
            scope: Scope::Person(UserId(7)),
            name: name.to_owned(),
            relation: relation.map(str::to_owned),
            birthday: None,
            user: None,
            identities: identities.iter().map(|text| Identity::parse(text).unwrap()).collect(),
        }
    }

    fn household() -> Vec<Person> {
        vec![
            person(1, "Ännchen Weber", Some("sister"), &["Anni", "anna@example.org", "phone: +49 170 1234"]),
            person(2, "Annika Roth", Some("plumber"), &["telegram: @roth"]),
            person(3, "Joe", Some("brother"), &[]),
            person(4, "Jim", Some("brother"), &["Anni"]),
            person(5, "An", None, &[]),
        ]
    }

    #[test]
    fn k4_somebody_is_found_by_all_they_are_known_by() {
        let people = household();
        let table: [(&str, &[i64]); 12] = [
            ("ännchen  weber", &[1]),
            ("ÄNNCHEN WEBER", &[1]),
            ("ANNA@example.org", &[1]),
            ("email: anna@example.org", &[1]),
            ("+49 170 1234", &[1]),
            ("@Roth", &[2]),
            ("my sister", &[1]),
            ("meine Sister", &[1]),
            ("plumber", &[2]),
            ("Anni", &[1, 4]),
            ("my brother", &[3, 4]),
            ("Weber", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<i64> = match find(&people, text) {
                NameMatch::One(person) => vec![person.id.0],
                NameMatch::Several(who) => who.iter().map(|person| person.id.0).collect(),
                NameMatch::Nobody(_) => Vec::new(),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn k4_who_is_not_found_has_names_like_theirs() {
        let people = household();
        let table: [(&str, &[&str]); 6] = [
            ("Weber", &["Ännchen Weber"]),
            ("Anika", &["Annika Roth", "Jim", "Ännchen Weber"]),
            ("Ännchen", &["Ännchen Weber"]),
            ("Jo", &["Joe"]),
            ("Bartholomew", &[]),
            ("", &[]),
        ];
        for (text, near) in table {
            assert_eq!(find(&people, text), NameMatch::Nobody(near.to_vec()), "{text}");
        }
    }

    #[test]
    fn k4_a_question_speaks_of_those_whom_it_names() {
        let people = household();
        let table: [(&str, &[i64]); 9] = [
            ("When is Ännchen's birthday?", &[1]),
            ("Wann hat Ännchens Mutter Zeit?", &[1]),
            ("is my sister coming, and Joe?", &[1, 3]),
            ("write to anna@example.org.", &[1]),
            ("call the plumber", &[2]),
            ("Was liegt an?", &[]),
            ("Was macht An?", &[5]),
            ("joey and the brotherhood", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<i64> = mentioned(&people, text).iter().map(|person| person.id.0).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
