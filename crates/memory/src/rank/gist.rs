//! What is kept of a text for ranking, so that no text is read again: the stems of its words, and how it is said.

use crate::rank::words::{folded_words, stems};
use hob_core::domain::lexicon;

/// A text in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextDigest {
    /// Its stems in order, as [`hash`] tells them apart.
    pub stems: Vec<u32>,
    /// How it is said.
    pub manner: SpeechTraits,
}

/// How something is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpeechTraits {
    pub asks: bool,
    pub(crate) tells_time: bool,
    pub(crate) tells_number: bool,
}

impl TextDigest {
    pub(crate) fn of(text: &str) -> Self {
        Self { stems: stems(text).map(|stem| hash(&stem)).collect(), manner: SpeechTraits::of(text) }
    }

    /// The stems as they are stored.
    pub(crate) fn stem_bytes(&self) -> Vec<u8> {
        self.stems.iter().flat_map(|stem| stem.to_le_bytes()).collect()
    }
}

/// What [`TextDigest::stem_bytes`] wrote.
pub(crate) fn read_stems(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|stem| u32::from_le_bytes(*stem)).collect()
}

/// A stem as a number (FNV-1a): two that share one are a matter of billions.
pub(crate) fn hash(stem: &str) -> u32 {
    stem.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl SpeechTraits {
    pub(crate) fn of(text: &str) -> Self {
        let words: Vec<String> = folded_words(text).collect();
        let has = |what: fn(&str) -> bool| words.iter().any(|word| what(word));
        Self {
            asks: text.contains('?'),
            tells_time: has(is_time),
            tells_number: has(|word| is_number(word) || is_count(word)),
        }
    }

    /// As it is stored.
    pub(crate) fn to_bits(self) -> i64 {
        i64::from(self.asks) | i64::from(self.tells_time) << 1 | i64::from(self.tells_number) << 2
    }

    /// What [`Self::to_bits`] gave.
    pub(crate) fn from_bits(bits: i64) -> Self {
        Self { asks: bits & 1 != 0, tells_time: bits & 2 != 0, tells_number: bits & 4 != 0 }
    }
}

/// Whether a word of a question that speaks of days says no more than when: one of nothing else asks for all of a day.
pub(crate) fn is_of_time(word: &str) -> bool {
    let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    is_number(ordinal) || is_time(word) || is_count(word) || AT_LARGE.contains(&word)
}

fn is_time(word: &str) -> bool {
    TIMES.contains(&word) || lexicon::weekday(word).is_some() || lexicon::is_only_month(word)
}

fn is_count(word: &str) -> bool {
    NUMBERS.contains(&word) || lexicon::number(word).is_some()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words of time, in English and German, but for days and months.
const TIMES: &[&str] = &[
    "ago",
    "day",
    "days",
    "gestern",
    "heute",
    "jahr",
    "jahre",
    "last",
    "letzte",
    "letzten",
    "march",
    "monat",
    "monate",
    "month",
    "months",
    "morgen",
    "next",
    "recently",
    "since",
    "today",
    "tomorrow",
    "tonight",
    "week",
    "weekend",
    "weeks",
    "woche",
    "wochen",
    "year",
    "years",
    "yesterday",
    "yet",
];

/// Beside a day: the month that is a verb elsewhere, and what asks for all that there was.
const AT_LARGE: &[&str] = &["evening", "gemacht", "happen", "happened", "los", "may", "night", "passiert"];

/// What is as good as a small number.
const NUMBERS: &[&str] = &["couple", "many", "once", "twice"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn n8_a_gist_is_stored_as_it_is() {
        for text in ["", "Where are the 3 dogs?", "gestern, zwei"] {
            let gist = TextDigest::of(text);
            assert_eq!(read_stems(&gist.stem_bytes()), gist.stems, "{text}");
            assert_eq!(SpeechTraits::from_bits(gist.manner.to_bits()), gist.manner, "{text}");
        }
        assert_eq!(TextDigest::of("Running dogs").stems, [hash("run"), hash("dog")]);
    }

    #[test]
    fn e5_manner_is_a_table() {
        let table = [
            ("", (false, false, false)),
            ("Where is it?", (true, false, false)),
            ("we met last Tuesday", (false, true, false)),
            ("drei Hunde", (false, false, true)),
            ("in May 2024?", (true, false, true)),
        ];
        for (text, (asks, tells_time, tells_number)) in table {
            assert_eq!(SpeechTraits::of(text), SpeechTraits { asks, tells_time, tells_number }, "{text}");
        }
    }

    #[test]
    fn e5_what_only_says_when_is_a_table() {
        let of_time = ["8th", "2024", "may", "gestern", "two", "weeks", "happened", "passiert"];
        assert!(of_time.iter().all(|word| is_of_time(word)));
        assert!(!["dog", "th", "", "maybe"].iter().any(|word| is_of_time(word)));
        assert!(!SpeechTraits::of("you may happen to see her").tells_time);
    }

    proptest! {
        #[test]
        fn e5_any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(read_stems(&bytes).len(), bytes.len() / 4);
        }
    }
}
