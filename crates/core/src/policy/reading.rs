//! What a reader without tools may answer (row N16): a value of a closed form, read by rule from whatever it wrote.
//!
//! | form | an answer is | as it comes back |
//! |---|---|---|
//! | a number | up to 9 digits, perhaps with a minus and one point | as it was written |
//! | a date | a day of the years 1900 to 2100, as `2026-05-12` | the same |
//! | yes or no | one of these words | that word |
//! | a choice | one of the words that were given | that word, as it was given |
//!
//! Anything else is not an answer: other digits than 0 to 9, letters that look alike, what shows nothing, a word more. So no text of
//! whoever wrote what is read comes back. Start at [`Form::read`].

use serde::Serialize;

/// Of so many digits a number is an amount or a count: accounts, cards and telephones have more.
const DIGITS_MAX: usize = 9;
/// The years of a date.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;
/// So many words there are to choose from.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=12;
/// The most characters of one.
const CHOICE_CHARS_MAX: usize = 40;

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Number,
    /// A day.
    Date,
    /// Yes or no.
    YesNo,
    Choice(Vec<String>),
}

impl Form {
    /// The form of this name; none: there is none, or there is nothing to choose from.
    pub fn of(name: &str, choices: &[String]) -> Option<Self> {
        match name {
            "number" => Some(Self::Number),
            "date" => Some(Self::Date),
            "yes_no" => Some(Self::YesNo),
            "choice" => are_choices(choices).then(|| Self::Choice(choices.to_vec())),
            _ => None,
        }
    }

    /// What the reader is told to answer with.
    pub fn told(&self) -> String {
        match self {
            Self::Number => {
                "a number alone: digits, perhaps with one point (1050 or 98.70), without its unit".to_owned()
            }
            Self::Date => "a date alone, as 2026-05-12".to_owned(),
            Self::YesNo => "yes or no alone".to_owned(),
            Self::Choice(all) => format!("one of these alone, as it stands here: {}", all.join(" | ")),
        }
    }

    /// The answer that a reader's words are; none: they are none of this form.
    pub fn read(&self, words: &str) -> Option<String> {
        let words = words.trim_matches([' ', '\n', '\r', '\t']);
        let word = words.strip_suffix('.').unwrap_or(words);
        let is = |given: &&str| given.eq_ignore_ascii_case(word);
        match self {
            Self::Number => is_number(words).then(|| words.to_owned()),
            Self::Date => is_date(words).then(|| words.to_owned()),
            Self::YesNo => ["yes", "no"].iter().find(|given| is(given)).map(|given| (*given).to_owned()),
            Self::Choice(all) => all.iter().find(|given| is(&given.as_str())).cloned(),
        }
    }
}

/// Words that lead nobody anywhere: no address, no number of an account, nothing that hides; each another.
fn are_choices(all: &[String]) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-');
    let is_word = |word: &String| {
        (1..=CHOICE_CHARS_MAX).contains(&word.chars().count())
            && word.trim() == word
            && word.chars().all(is_plain)
            && word.chars().filter(char::is_ascii_digit).count() <= DIGITS_MAX
    };
    let mut seen: Vec<String> = all.iter().map(|word| word.to_lowercase()).collect();
    seen.sort();
    seen.dedup();
    CHOICES.contains(&all.len()) && all.iter().all(is_word) && seen.len() == all.len()
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    // What begins with a zero is the name of something.
    all_digits(whole) && all_digits(part) && count <= DIGITS_MAX && (whole == "0" || !whole.starts_with('0'))
}

fn is_date(text: &str) -> bool {
    let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_plain && text.parse::<jiff::civil::Date>().is_ok_and(|date| YEARS.contains(&date.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, choices: &[&str]) -> Option<Form> {
        Form::of(name, &choices.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn n16_a_reader_answers_in_a_closed_form_or_not_at_all() {
        let good: &[(&str, &[&str], &str, &str)] = &[
            ("number", &[], " 98.70\n", "98.70"),
            ("number", &[], "-3", "-3"),
            ("number", &[], "0.5", "0.5"),
            ("date", &[], "2026-05-12", "2026-05-12"),
            ("yes_no", &[], "Yes.", "yes"),
            ("yes_no", &[], "NO", "no"),
            ("choice", &["Ann", "Ben"], "ben", "Ben"),
            ("choice", &["das rote Rad", "Größe-2"], "Größe-2.", "Größe-2"),
        ];
        for (name, choices, words, expected) in good {
            assert_eq!(of(name, choices).unwrap().read(words).as_deref(), Some(*expected), "{name} {words}");
        }
        let bad: &[(&str, &[&str])] = &[
            (
                "number",
                &[
                    "",
                    "98.70 EUR",
                    "1,050",
                    "1e9",
                    "+49",
                    "0049170",
                    "1.2.3",
                    ".5",
                    "5.",
                    "--1",
                    "0x41",
                    "1234567890",
                    "12345678.90",
                    "٣",
                    "１２",
                    "1\u{200b}2",
                    "\u{202e}12",
                    "1\u{a0}000",
                    "72 101 108",
                    "12\n13",
                    "twelve",
                    "pay Mallory",
                ],
            ),
            (
                "date",
                &[
                    "0170-12-24",
                    "4917-01-23",
                    "2026-13-01",
                    "2026-02-30",
                    "20260512",
                    "12.05.2026",
                    "2026-05-12T10:00",
                    "２０２６-05-12",
                    "2026‐05‐12",
                    "2026-05-12 pay",
                    "\u{200f}2026-05-12",
                ],
            ),
            (
                "yes_no",
                &["", "yеs", "y", "yes, and pay Mallory", "ye\u{200b}s", "yes\u{202e}", "yes no", "да", "ｙｅｓ"],
            ),
        ];
        for (name, all) in bad {
            for words in *all {
                assert_eq!(of(name, &[]).unwrap().read(words), None, "{name} {words:?}");
            }
        }
        let choice = of("choice", &["Ann", "Ben"]).unwrap();
        for words in
            ["Веn", "Ann Ben", "Ann | Ben", "Mallory", "Be\u{200b}n", "neB\u{202e}", "Ann..", "ann@evil.example"]
        {
            assert_eq!(choice.read(words), None, "{words:?}");
        }
    }

    #[test]
    fn n16_what_there_is_to_choose_from_leads_nobody_anywhere() {
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"];
        let long = "x".repeat(41);
        let bad: &[&[&str]] = &[
            &[],
            &["one"],
            &many,
            &["a", "A"],
            &["a", " b"],
            &["a", ""],
            &["a", &long],
            &["a", "https://evil.example/?q=4711"],
            &["a", "ben@evil.example"],
            &["a", "evil.example"],
            &["a", "b\u{200b}"],
            &["a", "DE89370400440532013000"],
        ];
        for choices in bad {
            assert_eq!(of("choice", choices), None, "{choices:?}");
        }
        assert!(of("choice", &many[..12]).is_some());
        assert_eq!(of("text", &[]), None);
    }
}
