//! How well words fit: BM25 of a turn's neighbourhood, and of its whole session.

/// How fast a word's repetitions stop counting: FTS5's.
const K1: f64 = 1.2;
/// How much a long text is held against itself: FTS5's.
const B: f64 = 0.75;

/// A word of the question, and how rare it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    /// Its stem, by `gist::hash`.
    pub stem: u32,
    /// What finding it is worth.
    pub worth: f64,
}

impl Term {
    /// A stem that `having` of `all` texts have. A word that nearly all have is worth next to nothing, and never less.
    pub(crate) fn new(stem: u32, having: u64, all: u64) -> Self {
        let (having, all) = (having as f64, all.max(having) as f64);
        let worth = ((all - having + 0.5) / (having + 0.5) + 1.0).ln();
        Self { stem, worth }
    }
}

/// How often each term stands in a text, and how long the text is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    /// For each term.
    pub of: Vec<u32>,
    pub words: u32,
}

impl Counts {
    /// Counts `terms` among the stems of a text.
    pub(crate) fn count(terms: &[Term], stems: &[u32]) -> Self {
        let mut counts = Self { of: vec![0; terms.len()], words: 0 };
        for &stem in stems {
            counts.words += 1;
            for (count, term) in counts.of.iter_mut().zip(terms) {
                *count += u32::from(term.stem == stem);
            }
        }
        counts
    }

    /// The counts of several texts as one.
    pub(crate) fn sum<'a>(texts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for text in texts {
            sum.of.resize(text.of.len(), 0);
            sum.of.iter_mut().zip(&text.of).for_each(|(sum, count)| *sum += count);
            sum.words += text.words;
        }
        sum
    }

    /// What the words are worth that are there at all.
    pub(crate) fn worth(&self, terms: &[Term]) -> f64 {
        self.of.iter().zip(terms).filter(|(count, _)| **count > 0).map(|(_, term)| term.worth).sum()
    }

    /// The score, where texts have `average` words.
    pub(crate) fn bm25(&self, terms: &[Term], average: f64) -> f64 {
        let length = if average > 0.0 { f64::from(self.words) / average } else { 1.0 };
        let of_term = |(&count, term): (&u32, &Term)| {
            let count = f64::from(count);
            term.worth * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
        };
        self.of.iter().zip(terms).map(of_term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::gist::hash;

    fn term(stem: &str, worth: f64) -> Term {
        Term { stem: hash(stem), worth }
    }

    fn count(text: &str) -> Counts {
        let terms = [term("dog", 2.0), term("cat", 1.0)];
        Counts::count(&terms, &text.split_whitespace().map(hash).collect::<Vec<_>>())
    }

    #[test]
    fn e5_the_rarer_a_word_the_more_it_is_worth() {
        let worth = |having, all| Term::new(hash("dog"), having, all).worth;
        assert!(worth(0, 100) > worth(1, 100) && worth(1, 100) > worth(50, 100) && worth(50, 100) > worth(100, 100));
        assert!(worth(100, 100) > 0.0);
        // A count that is older than the other.
        assert!(worth(101, 100) > 0.0);
        assert!((worth(1, 10) - (9.5_f64 / 1.5 + 1.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn e5_words_fit_by_bm25() {
        let terms = [term("dog", 2.0), term("cat", 1.0)];
        let score = |text: &str| count(text).bm25(&terms, 4.0);
        assert_eq!(count("a dog and a dog"), Counts { of: vec![2, 0], words: 5 });
        assert_eq!(score("nothing of it here"), 0.0);
        // Of average length, once: what the word is worth.
        assert!((score("dog is not here") - 2.0).abs() < 1e-12);
        assert!((score("dog dog is here") - 2.0 * 2.0 * 2.2 / 3.2).abs() < 1e-12);
        assert!((score("dog cat is here") - 3.0).abs() < 1e-12);
        assert!(score("dog") > score("dog is not here") && score("dog is not here") > score("dog is not in here"));
        assert!((count("dog").bm25(&terms, 0.0) - 2.0).abs() < 1e-12);
        assert_eq!(
            [count("a dog and a dog").worth(&terms), count("cat dog").worth(&terms), count("a").worth(&terms)],
            [2.0, 3.0, 0.0]
        );
    }

    #[test]
    fn e5_a_neighbourhood_is_one_text() {
        assert_eq!(Counts::sum([&count("a dog"), &count("cat and dog")]), Counts { of: vec![2, 1], words: 5 });
        assert_eq!(Counts::sum([]), Counts::default());
    }
}
