//! Takes a fact out of a sentence.
//!
//! Never: understanding it; the words stay the user's own.
//! Start at [`read`].

use serde::{Deserialize, Serialize};

use hob_core::domain::text::one_line;

/// The arguments of `remember_fact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fact {
    pub(super) category: String,
    pub(super) key: String,
    pub(super) value: String,
}

const KEY_WORDS_MAX: usize = 8;
const SLUG_WORDS_MAX: usize = 5;

/// Between a subject and what is said of it.
const COPULAS: &[&str] = &[": ", " = ", " is ", " are ", " was ", " ist ", " sind ", " heißt ", " lautet "];

/// A word in the sentence that tells the category; the first that fits.
const CATEGORIES: &[(&str, &[&str])] = &[
    ("birthday", &["birthday", "birthdays", "born", "anniversary", "geburtstag", "geboren"]),
    ("contact", &["phone", "email", "e-mail", "address", "telephone", "telefon", "telefonnummer", "adresse"]),
    (
        "preference",
        &[
            "like",
            "likes",
            "love",
            "loves",
            "prefer",
            "prefers",
            "hate",
            "hates",
            "favourite",
            "favorite",
            "allergic",
            "mag",
            "liebt",
            "lieber",
            "hasst",
            "lieblingsessen",
            "allergisch",
        ],
    ),
    (
        "person",
        &[
            "mother",
            "father",
            "mum",
            "mom",
            "dad",
            "sister",
            "brother",
            "wife",
            "husband",
            "son",
            "daughter",
            "friend",
            "mutter",
            "vater",
            "schwester",
            "bruder",
            "frau",
            "mann",
            "sohn",
            "tochter",
            "freund",
            "freundin",
        ],
    ),
    ("household", &["wifi", "wi-fi", "wlan", "password", "passwort", "heating", "heizung", "rubbish", "müll", "house"]),
];

impl Fact {
    /// Whether the key only names the sentence: such a key is not for people.
    pub(super) fn is_whole_sentence(&self) -> bool {
        self.key == slug(&self.value)
    }
}

/// The fact in a sentence, unless it says nothing.
pub(super) fn read(sentence: &str) -> Option<Fact> {
    let sentence = one_line(sentence);
    if !sentence.contains(char::is_alphanumeric) {
        return None;
    }
    let split = COPULAS.iter().filter_map(|copula| Some((sentence.find(copula)?, copula.len()))).min();
    let halves = split.map(|(at, len)| (sentence[..at].trim(), sentence[at + len..].trim()));
    let clear =
        halves.filter(|(key, value)| !value.is_empty() && (1..=KEY_WORDS_MAX).contains(&key.split(' ').count()));
    let (key, value) = match clear.filter(|(key, _)| key.contains(char::is_alphanumeric)) {
        Some((key, value)) => (key.to_owned(), value.to_owned()),
        None => (slug(&sentence), sentence.clone()),
    };
    Some(Fact { category: category(&sentence).to_owned(), key, value })
}

fn category(sentence: &str) -> &'static str {
    let sentence = sentence.to_lowercase().replace("'s", "");
    let words: Vec<_> = sentence.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let found = CATEGORIES.iter().find(|(_, marks)| marks.iter().any(|mark| words.contains(mark)));
    found.map_or("general", |(category, _)| category)
}

/// The sentence's first words as a name.
fn slug(sentence: &str) -> String {
    let lower = sentence.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(SLUG_WORDS_MAX).collect::<Vec<_>>().join(" ")
}
