//! Whether two keys, or two values, say the same in other words. Pure, and rather no than yes: what is wrongly held for the
//! same is lost, what is wrongly held apart is asked about.

use crate::rank::stem::stem;
use crate::rank::words::folded_words;

/// Words that say nothing by themselves; sorted. "her", "not" or "before" do.
const FILLERS: &[&str] = &[
    "a", "an", "are", "das", "dem", "den", "der", "des", "die", "ein", "eine", "einem", "einen", "einer", "eines", "i",
    "ich", "is", "ist", "mein", "meine", "meinem", "meinen", "meiner", "meines", "my", "really", "s", "sehr", "sind",
    "the", "very",
];

/// Words that only join two others in a key: "the birthday of my sister"; sorted.
const JOINTS: &[&str] = &["of", "von", "vom"];

/// A text without what does not matter in it: case, spaces, trailing punctuation.
pub(crate) fn fold(text: &str) -> String {
    one_line(text).to_lowercase()
}

/// The text on one line, without punctuation at its end.
pub(crate) fn one_line(text: &str) -> String {
    let line = hob_core::domain::text::one_line(text);
    line.trim_end_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '!') || c.is_whitespace()).to_owned()
}

/// Do both keys mean the same attribute? The words must be the same in order, or in reverse around an "of".
pub(crate) fn same_key(a: &str, b: &str) -> bool {
    if fold(a) == fold(b) {
        return true;
    }
    let (first, second) = (significant_stems(a), significant_stems(b));
    let joined = |text: &str| folded_words(text).any(|word| JOINTS.contains(&word.as_str()));
    let (first_of, second_of) = (joined(a), joined(b));
    let without = |stems: &[String]| -> Vec<String> {
        stems.iter().filter(|stem| !JOINTS.contains(&stem.as_str())).cloned().collect()
    };
    let (first, second) = (without(&first), without(&second));
    if first.is_empty() || second.is_empty() {
        return false;
    }
    if first_of == second_of { first == second } else { first.iter().eq(second.iter().rev()) }
}

/// Do both values say the same? Numbers, dates, names and negations are words like any other: all must be there, in order.
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    if fold(a) == fold(b) {
        return true;
    }
    let (first, second) = (significant_stems(a), significant_stems(b));
    !first.is_empty() && first == second && significant_symbols(a) == significant_symbols(b)
}

/// The stems of the words that say something, in order.
fn significant_stems(text: &str) -> Vec<String> {
    let said = folded_words(text).filter(|word| FILLERS.binary_search(&word.as_str()).is_err());
    said.map(|word| if word.chars().any(char::is_numeric) { word } else { stem(&word) }).collect()
}

/// What is not a word and yet changes a value: "-5", "+49", "50 %", "3.5" and "10 €".
fn significant_symbols(text: &str) -> Vec<char> {
    let letters: Vec<char> = text.trim_end_matches(['.', ',', ';', ':', '!', ' ']).chars().collect();
    let near_number = |at: usize| {
        let number = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|c| c.is_numeric());
        number(at.checked_sub(1)) || number(Some(at + 1))
    };
    let marks = letters.iter().enumerate().filter(|(at, c)| {
        matches!(c, '%' | '€' | '$' | '£' | '+' | '@' | '/' | '?')
            || (matches!(c, '-' | '.' | ',' | ':') && near_number(*at))
    });
    marks.map(|(_, c)| *c).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_the_lists_are_sorted() {
        let mut sorted = FILLERS.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, FILLERS);
    }

    #[test]
    fn n6_keys_are_the_same_in_other_words() {
        let table = [
            ("Sister's birthday", "sister's  birthday", true),
            ("birthday of my sister", "sister's birthday", true),
            ("Geburtstag von Anna", "Annas Geburtstag", true),
            ("favourite colours", "favourite colour", true),
            ("Anna's mother's friend", "Anna's friend's mother", false),
            ("her sister", "sister", false),
            ("door code 1", "door code 2", false),
            ("likes", "does not like", false),
            ("work phone", "phone work", false),
            ("left before", "left after", false),
            ("the", "a", false),
        ];
        for (a, b, same) in table {
            assert_eq!((same_key(a, b), same_key(b, a)), (same, same), "{a} / {b}");
        }
    }

    #[test]
    fn n6_values_are_the_same_in_other_words() {
        let table = [
            ("Green tea.", "green  tea", true),
            ("likes the green teas", "likes green tea", true),
            ("a very old house", "an old house", true),
            ("likes tea", "does not like tea", false),
            ("Anna", "Anne", false),
            ("3 May", "5 May", false),
            ("Anna is taller than Bob", "Bob is taller than Anna", false),
            ("-5 degrees", "5 degrees", false),
            ("3.5", "35", false),
            ("3.5", "3,5", false),
            ("50 %", "50 €", false),
            ("before lunch", "after lunch", false),
            ("oat milk", "goat milk", false),
            ("mag Tee", "mag keinen Tee", false),
        ];
        for (a, b, same) in table {
            assert_eq!((same_value(a, b), same_value(b, a)), (same, same), "{a} / {b}");
        }
    }
}
