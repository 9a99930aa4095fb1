//! Whether a candidate bears on the question at all. The mix only tells which does so best: of any pool, something is first.
//!
//! A logistic sum of what can be compared from one pool to the next, from 0 to 1. Fitted, as the weights are, on
//! conversations that are not Hob's and on a household's of short messages; the same questions asked of others' memories, and
//! small talk, are what should bring nothing (`docs/decisions/0005-ranking.md`).

use crate::rank::dates::DateRange;
use crate::rank::features::{CandidateFeatures, RankQuestion};
use crate::rank::words::{folded_words, is_stop_word};
use hob_core::domain::lexicon::is_courtesy;

/// From where on a candidate is relevant, where there is an embedding.
const CUT: f64 = 0.35;
/// The same by words alone.
const CUT_BY_TEXT: f64 = 0.2;

/// What an embedding tells: the cosine, max-sim with the neighbours, the day, and what the words nearby are worth.
struct SemanticWeights;

impl SemanticWeights {
    const MEANING: f64 = 6.3;
    const WORDS_MEANING: f64 = 9.0;
    const DAY: f64 = 3.3;
    const WORTH: f64 = 0.09;
    const NOTHING: f64 = -7.4;
}

/// What words alone tell: the share of them that is nearby, what they are worth, and the day.
struct LexicalWeights;

impl LexicalWeights {
    const COVERED: f64 = 3.8;
    const DAY: f64 = 2.6;
    const WORTH: f64 = 0.16;
    const NOTHING: f64 = -3.0;
}

/// How surely the candidate bears on the question, from 0 to 1; 0 if nothing is asked.
pub fn relevance(described: &CandidateFeatures, question: &RankQuestion) -> f64 {
    if !asks_for_something(&question.text, &question.days) {
        return 0.0;
    }
    let features = &described.features;
    let (cosine, words_meaning, day) = (features[2], features[5], features[6]);
    let sum = if described.has_meaning {
        SemanticWeights::MEANING * cosine
            + SemanticWeights::WORDS_MEANING * words_meaning
            + SemanticWeights::DAY * day
            + SemanticWeights::WORTH * described.worth
            + SemanticWeights::NOTHING
    } else {
        let all: f64 = question.terms.iter().map(|term| term.worth).sum();
        let covered = if all > 0.0 { described.worth / all } else { 0.0 };
        LexicalWeights::COVERED * covered
            + LexicalWeights::DAY * day
            + LexicalWeights::WORTH * described.worth
            + LexicalWeights::NOTHING
    };
    1.0 / (1.0 + (-sum).exp())
}

/// From which [`relevance`] on this candidate is worth telling.
pub(crate) fn relevance_threshold(described: &CandidateFeatures) -> f64 {
    if described.has_meaning { CUT } else { CUT_BY_TEXT }
}

/// Whether a word tells something, or a day is spoken of: "ok thanks" asks for nothing.
pub(crate) fn asks_for_something(text: &str, days: &[DateRange]) -> bool {
    !days.is_empty() || folded_words(text).any(|word| !is_stop_word(&word) && !is_courtesy(&word))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::rank::dates;
    use crate::rank::features::FEATURES;
    use crate::rank::lexical::Term;

    fn question(text: &str) -> RankQuestion {
        let mut term = Term::new(Default::default(), 1, 100);
        term.worth = 5.0;
        let days = dates::mentioned_dates(text, date(2024, 5, 15));
        RankQuestion { text: text.to_owned(), terms: vec![term.clone(), term], days, ..RankQuestion::default() }
    }

    /// By its cosine, max-sim with its neighbours, day, and what its words are worth.
    fn described(cosine: f64, words_meaning: f64, day: f64, worth: f64) -> CandidateFeatures {
        let mut features = [0.0; FEATURES];
        (features[2], features[5], features[6]) = (cosine, words_meaning, day);
        CandidateFeatures { features, has_meaning: cosine != 0.0, worth, ..CandidateFeatures::default() }
    }

    #[test]
    fn e5_relevance_is_a_table() {
        let table = [
            ("where is the dog", described(0.6, 0.7, 0.0, 10.0), true),
            ("where is the dog", described(0.35, 0.45, 0.0, 5.0), false),
            ("where is the dog", described(0.1, 0.2, 0.0, 0.0), false),
            ("what was yesterday", described(0.2, 0.3, 1.0, 0.0), true),
            ("where is the dog", described(0.0, 0.0, 0.0, 10.0), true),
            ("where is the dog", described(0.0, 0.0, 0.0, 2.0), false),
            ("what was yesterday", described(0.0, 0.0, 1.0, 0.0), true),
            ("ok, thank you!", described(0.9, 0.9, 0.0, 10.0), false),
            ("na danke, bis morgen", described(0.0, 0.0, 0.0, 0.0), false),
            ("Anything?", described(0.9, 0.9, 0.0, 10.0), false),
            ("und sonst etwas?", described(0.0, 0.0, 0.0, 10.0), false),
            ("what is it", described(0.9, 0.9, 0.0, 10.0), false),
            ("", described(0.9, 0.9, 1.0, 10.0), false),
        ];
        for (text, one, expected) in table {
            let found = relevance(&one, &question(text));
            assert_eq!(found >= relevance_threshold(&one), expected, "{text}: {found}");
        }
    }

    #[test]
    fn e5_each_sign_of_relevance_adds_to_it() {
        let asked = question("where is the dog");
        for [less, more] in [
            [described(0.3, 0.3, 0.0, 1.0), described(0.4, 0.3, 0.0, 1.0)],
            [described(0.3, 0.3, 0.0, 1.0), described(0.3, 0.4, 0.0, 1.0)],
            [described(0.3, 0.3, 0.0, 1.0), described(0.3, 0.3, 0.5, 1.0)],
            [described(0.3, 0.3, 0.0, 1.0), described(0.3, 0.3, 0.0, 2.0)],
            [described(0.0, 0.0, 0.0, 1.0), described(0.0, 0.0, 0.0, 2.0)],
            [described(0.0, 0.0, 0.0, 1.0), described(0.0, 0.0, 0.5, 1.0)],
        ] {
            assert!(relevance(&less, &asked) < relevance(&more, &asked), "{less:?} {more:?}");
        }
        let none = RankQuestion { terms: Vec::new(), ..asked };
        assert!(relevance(&described(0.0, 0.0, 0.0, 0.0), &none) < CUT_BY_TEXT);
    }
}
