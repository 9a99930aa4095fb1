//! Texts as stems, cut and folded as the full-text index does it (`porter unicode61`).

use crate::memory::rank::stem::stem;

/// The stems of a text, in order.
pub fn stems(text: &str) -> impl Iterator<Item = String> {
    words(text).map(|word| stem(&word))
}

/// The words of a text in lower case, without accents.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let cut = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    cut.map(|word| word.chars().flat_map(char::to_lowercase).map(fold).collect())
}

/// Whether a word says nothing about what is meant; in lower case, in English or German.
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The letter without its accent, where Western languages put one.
fn fold(letter: char) -> char {
    match letter {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        letter => letter,
    }
}

/// Sorted, folded.
const STOP_WORDS: &[&str] = &[
    "a", "aber", "about", "after", "again", "all", "als", "also", "am", "an", "and", "any", "are", "aren", "as", "at",
    "auf", "aus", "be", "because", "been", "before", "bei", "being", "bin", "bist", "both", "but", "by", "can",
    "could", "couldn", "d", "da", "das", "dass", "dein", "deine", "dem", "den", "denn", "der", "des", "dich", "did",
    "didn", "die", "dir", "do", "does", "doesn", "doing", "don", "down", "du", "durch", "during", "each", "ein",
    "eine", "einem", "einen", "einer", "eines", "er", "es", "euch", "ever", "few", "for", "from", "fur", "further",
    "get", "got", "habe", "haben", "had", "hadn", "has", "hasn", "hast", "hat", "hatte", "have", "haven", "having",
    "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "ich", "if", "ihm", "ihn", "ihr",
    "ihre", "im", "in", "into", "is", "isn", "ist", "it", "its", "itself", "ja", "just", "kann", "kannst", "know",
    "like", "ll", "m", "mal", "man", "me", "mein", "meine", "meinem", "meinen", "meiner", "mich", "might", "mine",
    "mir", "mit", "more", "most", "must", "my", "myself", "nach", "nicht", "no", "noch", "nor", "not", "now", "nur",
    "ob", "oder", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own",
    "re", "s", "said", "same", "say", "schon", "sein", "seine", "shall", "she", "should", "shouldn", "sich", "sie",
    "sind", "so", "some", "such", "t", "tell", "than", "that", "the", "their", "theirs", "them", "themselves", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "uber", "und", "under", "uns", "unser",
    "unsere", "unter", "until", "up", "us", "ve", "very", "vom", "von", "vor", "wann", "war", "waren", "warum", "was",
    "wasn", "we", "weil", "welche", "welcher", "wem", "wen", "wenn", "wer", "werden", "were", "weren", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "wie", "wieder", "will", "wir", "wird", "with", "wo",
    "would", "wouldn", "wurde", "wurden", "you", "your", "yours", "yourself", "zu", "zum", "zur",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_texts_are_cut_as_the_index_does() {
        let found = |text: &str| stems(text).collect::<Vec<_>>().join(" ");
        assert_eq!(found("Running, the DOGS' agreed: 3.5 km"), "run the dog agre 3 5 km");
        assert_eq!(found("Größere Cafés — naïve"), "großer cafe naiv");
        assert_eq!(found(""), "");
    }

    #[test]
    fn e5_stop_words_are_sorted_and_folded() {
        assert!(STOP_WORDS.is_sorted_by(|one, next| one < next));
        assert!(STOP_WORDS.iter().all(|word| words(word).eq([word.to_string()])));
        for (word, expected) in [("the", true), ("wann", true), ("fur", true), ("horse", false), ("", false)] {
            assert_eq!(is_stop_word(word), expected, "{word}");
        }
    }
}
