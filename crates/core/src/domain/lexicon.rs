//! Words that stand for something in English and German, in lower case, with and without accents: months, days of the week,
//! numbers, courtesies.
//!
//! In [`earlier_answers`] is how people speak of what they were told. Whoever reads people's words looks here.
//!
//! Never: what a sentence means. Start at [`month`].

use jiff::civil::Weekday;

pub mod earlier_answers;

/// The months: in English, short, and in German.
pub const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "jänner", "janner"],
    &["february", "feb", "februar"],
    &["march", "mar", "märz", "marz", "maerz"],
    &["april", "apr"],
    &["may", "mai"],
    &["june", "jun", "juni"],
    &["july", "jul", "juli"],
    &["august", "aug"],
    &["september", "sept", "sep"],
    &["october", "oct", "oktober", "okt"],
    &["november", "nov"],
    &["december", "dec", "dezember", "dez"],
];

/// The days of the week, from Sunday: in English and in German. Short they would be other words as well ("sun", "die").
pub(crate) const WEEKDAYS: [&[&str]; 7] = [
    &["sunday", "sonntag"],
    &["monday", "montag"],
    &["tuesday", "dienstag"],
    &["wednesday", "mittwoch"],
    &["thursday", "donnerstag"],
    &["friday", "freitag"],
    &["saturday", "samstag", "sonnabend"],
];

/// One to ten.
const NUMBERS: [&[&str]; 10] = [
    &["one", "eins"],
    &["two", "zwei"],
    &["three", "drei"],
    &["four", "vier"],
    &["five", "fünf", "funf"],
    &["six", "sechs"],
    &["seven", "sieben"],
    &["eight", "acht"],
    &["nine", "neun"],
    &["ten", "zehn"],
];

/// What people say out of courtesy, or to go on. Sorted.
const COURTESIES: &[&str] = &[
    "alles",
    "alright",
    "anything",
    "bitte",
    "bye",
    "cool",
    "danke",
    "doch",
    "else",
    "etwas",
    "evening",
    "everything",
    "fine",
    "genau",
    "gern",
    "good",
    "goodbye",
    "great",
    "gut",
    "gute",
    "guten",
    "haha",
    "hallo",
    "hello",
    "help",
    "hey",
    "hi",
    "hm",
    "hmm",
    "irgendwas",
    "ja",
    "klar",
    "lol",
    "moin",
    "morning",
    "nein",
    "nice",
    "nichts",
    "night",
    "no",
    "nochmal",
    "nope",
    "nothing",
    "oh",
    "ok",
    "okay",
    "okey",
    "passt",
    "perfect",
    "please",
    "prima",
    "right",
    "servus",
    "something",
    "sonst",
    "stimmt",
    "stop",
    "super",
    "sure",
    "thank",
    "thanks",
    "thx",
    "toll",
    "tschuss",
    "tschüss",
    "weiter",
    "welcome",
    "well",
    "wow",
    "yeah",
    "yep",
    "yes",
];

/// The month that a word names, from 1.
pub fn month(word: &str) -> Option<i8> {
    (1..).zip(MONTHS).find(|(_, names)| names.contains(&word)).map(|(month, _)| month)
}

/// Does a word name a month and nothing else? "may", "march" and "mar" are verbs, too.
pub fn is_only_month(word: &str) -> bool {
    month(word).is_some() && !matches!(word, "may" | "march" | "mar")
}

/// The day of the week that a word names.
pub fn weekday(word: &str) -> Option<Weekday> {
    let day = (0..).zip(WEEKDAYS).find(|(_, names)| names.contains(&word)).map(|(day, _)| day)?;
    Weekday::from_sunday_zero_offset(day).ok()
}

/// The number from one to ten that a word names.
pub fn number(word: &str) -> Option<i64> {
    (1..).zip(NUMBERS).find(|(_, names)| names.contains(&word)).map(|(number, _)| number)
}

/// Whether a word is what people say out of courtesy, or to go on: where nothing else is said, nothing is asked.
pub fn is_courtesy(word: &str) -> bool {
    COURTESIES.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_one_thing() {
        for tables in [&MONTHS[..], &WEEKDAYS, &NUMBERS] {
            let words: Vec<&str> = tables.iter().flat_map(|names| names.iter().copied()).collect();
            let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
            assert_eq!(words.len(), distinct.len(), "{words:?}");
            assert!(words.iter().all(|word| *word == word.to_lowercase()));
        }
        assert!(COURTESIES.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn words_are_known_in_both_languages_with_and_without_accents() {
        for (word, expected) in
            [("march", Some(3)), ("märz", Some(3)), ("marz", Some(3)), ("dez", Some(12)), ("mars", None)]
        {
            assert_eq!(month(word), expected, "{word}");
        }
        assert!(is_only_month("mai") && !is_only_month("may") && !is_only_month("maybe"));
        assert_eq!((weekday("sonntag"), weekday("sun")), (Some(Weekday::Sunday), None));
        assert_eq!((number("fünf"), number("ten"), number("many")), (Some(5), Some(10), None));
        assert!(is_courtesy("danke") && !is_courtesy("dog"));
    }
}
