//! Porter's stemmer, as FTS5's `porter` tokenizer has it: so a stem here is a term of the full-text index.

#[cfg(test)]
mod tests;

/// The longest word that is stemmed: FTS5's limit.
const WORD_BYTES_MAX: usize = 63;

/// The stem of a word in lower case. Other letters than a to z count as consonants.
pub fn stem(word: &str) -> String {
    if word.len() < 3 || word.len() > WORD_BYTES_MAX {
        return word.to_owned();
    }
    let mut stem = Stem(word.to_owned());
    stem.plurals();
    stem.pasts();
    if stem.0.len() > 2 && stem.0.ends_with('y') && has_vowel(&stem.0[..stem.0.len() - 1]) {
        stem.replace(1, "i");
    }
    stem.first_rule(DOUBLE_SUFFIXES, 1);
    stem.first_rule(SINGLE_SUFFIXES, 1);
    stem.endings();
    stem.last_letters();
    stem.0
}

/// A suffix, and what stands in its place.
type SuffixRule = (&'static str, &'static str);

const DOUBLE_SUFFIXES: &[SuffixRule] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("logi", "log"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

const SINGLE_SUFFIXES: &[SuffixRule] =
    &[("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

const ENDINGS: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

struct Stem(String);

impl Stem {
    fn replace(&mut self, cut: usize, with: &str) {
        self.0.truncate(self.0.len() - cut);
        self.0.push_str(with);
    }

    /// caresses → caress, ponies → poni, cats → cat.
    fn plurals(&mut self) {
        if self.0.ends_with("sses") || self.0.ends_with("ies") {
            self.replace(2, "");
        } else if self.0.ends_with('s') && !self.0.ends_with("ss") {
            self.replace(1, "");
        }
    }

    /// agreed → agree, plastered → plaster, hopping → hop, filing → file.
    fn pasts(&mut self) {
        if let Some(before) = self.0.strip_suffix("eed") {
            if measure(before) > 0 {
                self.replace(1, "");
            }
            return;
        }
        let cut = ["ed", "ing"].into_iter().find(|ending| self.0.strip_suffix(ending).is_some_and(has_vowel));
        let Some(cut) = cut else { return };
        self.replace(cut.len(), "");
        if ["at", "bl", "iz"].iter().any(|ending| self.0.ends_with(ending)) {
            self.0.push('e');
        } else if ends_double(&self.0) && !self.0.ends_with(['l', 's', 'z']) {
            self.replace(1, "");
        } else if measure(&self.0) == 1 && ends_short(&self.0) {
            self.0.push('e');
        }
    }

    /// The first rule whose suffix is there; it holds only where enough stands before it.
    fn first_rule(&mut self, rules: &[SuffixRule], least: usize) {
        let found = rules.iter().filter(|(suffix, _)| self.0.ends_with(suffix)).max_by_key(|(suffix, _)| suffix.len());
        let Some((suffix, with)) = found else { return };
        if measure(&self.0[..self.0.len() - suffix.len()]) >= least {
            self.replace(suffix.len(), with);
        }
    }

    fn endings(&mut self) {
        let found = ENDINGS.iter().filter(|ending| self.0.ends_with(*ending)).max_by_key(|ending| ending.len());
        let Some(ending) = found else { return };
        let before = &self.0[..self.0.len() - ending.len()];
        if measure(before) > 1 && (*ending != "ion" || before.ends_with(['s', 't'])) {
            self.replace(ending.len(), "");
        }
    }

    /// probate → probat, controll → control.
    fn last_letters(&mut self) {
        if let Some(before) = self.0.strip_suffix('e') {
            let syllables = measure(before);
            if syllables > 1 || syllables == 1 && !ends_short(before) {
                self.replace(1, "");
            }
        }
        if self.0.ends_with("ll") && measure(&self.0[..self.0.len() - 1]) > 1 {
            self.replace(1, "");
        }
    }
}

fn is_vowel(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => at > 0 && !is_vowel(word, at - 1),
        _ => false,
    }
}

fn has_vowel(word: &str) -> bool {
    (0..word.len()).any(|at| is_vowel(word.as_bytes(), at))
}

/// How often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    let word = word.as_bytes();
    (1..word.len()).filter(|&at| is_vowel(word, at - 1) && !is_vowel(word, at)).count()
}

fn ends_double(word: &str) -> bool {
    let word = word.as_bytes();
    let last = word.last().filter(|last| last.is_ascii());
    last.is_some_and(|last| word.len() > 1 && *last == word[word.len() - 2] && !is_vowel(word, word.len() - 1))
}

/// Consonant, vowel, consonant; the last is not w, x or y.
fn ends_short(word: &str) -> bool {
    let bytes = word.as_bytes();
    let count = bytes.len();
    count > 2
        && !is_vowel(bytes, count - 3)
        && is_vowel(bytes, count - 2)
        && !is_vowel(bytes, count - 1)
        && !word.ends_with(['w', 'x', 'y'])
}
