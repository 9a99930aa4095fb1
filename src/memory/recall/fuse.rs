//! Which of the ranked candidates are recalled. All of the rule is here:
//!
//! | what | is recalled |
//! |---|---|
//! | pinned | always, before all else, but in at most two places, as long as anything else fits |
//! | fits well | the best first |
//! | fits nearly | only if it matters much, or was said last (in this conversation, and the window does not show it) |
//! | does not fit | never |
//! | says the same as one that is recalled | never |
//!
//! Nothing is a good answer.

use std::collections::HashSet;

use crate::domain::memory::Leg;
use crate::memory::rank::features::{Described, FEATURES, Question};

/// How many places those that are pinned take from what fits.
const PINNED_MAX: usize = 2;

/// How well something fits a question, whatever else there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not.
    Not,
    /// It may.
    Nearly,
    /// It does.
    Well,
}

/// What a memory is apart from the question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Somebody wants it always remembered.
    pub is_pinned: bool,
    /// It matters much.
    pub is_important: bool,
    /// It was among the last in this conversation.
    pub is_recent: bool,
}

/// Something that may be recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The memory.
    pub memory: i64,
    /// Its place among the others of the pool comes from this.
    pub score: f64,
    /// What each feature brought to it, in the order of `rank::mix::WEIGHTS`.
    pub parts: [f64; FEATURES],
    /// How well it fits.
    pub fit: Fit,
    /// What it is apart from the question.
    pub standing: Standing,
    /// Its stems: who says the same has the same.
    pub stems: Vec<u32>,
}

/// What is recalled, and what brought it up.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The memory.
    pub candidate: Candidate,
    /// What brought it up.
    pub leg: Leg,
}

/// Where the words of a question, by what they are worth, are found nearby.
const WELL_BY_WORDS: f64 = 0.5;
/// The cosine from which a turn is about what is asked, and the one from which it may be.
const WELL_BY_MEANING: f64 = 0.45;
const NEARLY_BY_MEANING: f64 = 0.25;

/// How well it fits.
#[must_use]
pub fn fit(described: &Described, question: &Question) -> Fit {
    let worth: f64 = question.terms.iter().map(|term| term.worth).sum();
    let [nearby, _, cosine, ..] = described.features;
    let day = described.features[6];
    let words = if worth > 0.0 { nearby / worth } else { 0.0 };
    let is_of_that_day = !question.days.is_empty() && day >= 1.0;
    let both = words >= WELL_BY_WORDS / 2.0 && cosine >= NEARLY_BY_MEANING;
    if words >= WELL_BY_WORDS || cosine >= WELL_BY_MEANING || both || is_of_that_day {
        Fit::Well
    } else if words > 0.0 || cosine >= NEARLY_BY_MEANING {
        Fit::Nearly
    } else {
        Fit::Not
    }
}

/// What of the ranked `pool` is recalled, at most so many, the best first.
#[must_use]
pub fn fused(pool: &[Candidate], fragments: usize) -> Vec<Chosen> {
    let is_pinned = |one: &&Candidate| one.standing.is_pinned;
    let fits: Vec<&Candidate> = pool.iter().filter(|one| !is_pinned(one) && leg_of(one).is_some()).collect();
    let places = if fits.is_empty() { fragments } else { PINNED_MAX };
    let first = pool.iter().filter(is_pinned).take(places).map(|one| (one, Leg::Salience));
    let then = fits.into_iter().filter_map(|one| Some((one, leg_of(one)?)));
    let mut said: HashSet<&[u32]> = HashSet::new();
    let distinct = first.chain(then).filter(|(one, _)| said.insert(&one.stems));
    distinct.take(fragments).map(|(one, leg)| Chosen { candidate: one.clone(), leg }).collect()
}

/// What brings it up where it is not pinned, if anything does.
fn leg_of(candidate: &Candidate) -> Option<Leg> {
    match (candidate.fit, candidate.standing) {
        (Fit::Well, _) => Some(Leg::Relevance),
        (Fit::Nearly, Standing { is_important: true, .. }) => Some(Leg::Salience),
        (Fit::Nearly, Standing { is_recent: true, .. }) => Some(Leg::Recency),
        (Fit::Nearly | Fit::Not, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::rank::lexical::Term;

    /// One for each letter: `P`inned, `w`ell, `n`early, `i`mportant and nearly, `r`ecent and nearly, `-` not; the best first.
    fn pool(letters: &str) -> Vec<Candidate> {
        let one = |(at, letter): (u32, char)| Candidate {
            memory: i64::from(at),
            score: -f64::from(at),
            parts: [0.0; FEATURES],
            fit: match letter {
                'w' => Fit::Well,
                'n' | 'i' | 'r' => Fit::Nearly,
                _ => Fit::Not,
            },
            standing: Standing { is_pinned: letter == 'P', is_important: letter == 'i', is_recent: letter == 'r' },
            stems: vec![at],
        };
        (0..).zip(letters.chars()).map(one).collect()
    }

    #[test]
    fn a4_what_is_recalled_is_a_table() {
        let table: [(&str, &[i64]); 8] = [
            ("", &[]),
            ("nn-", &[]),
            ("wwwwww", &[0, 1, 2, 3, 4]),
            ("wnir-w", &[0, 2, 3, 5]),
            ("w-PPP", &[2, 3, 0]),
            ("-PPPPPP", &[1, 2, 3, 4, 5]),
            ("PwPwwww", &[0, 2, 1, 3, 4]),
            ("Pn", &[0]),
        ];
        for (letters, expected) in table {
            let found: Vec<i64> = fused(&pool(letters), 5).iter().map(|one| one.candidate.memory).collect();
            assert_eq!(found, expected, "{letters}");
        }
        let legs: Vec<Leg> = fused(&pool("wirP"), 5).iter().map(|one| one.leg).collect();
        assert_eq!(legs, [Leg::Salience, Leg::Relevance, Leg::Salience, Leg::Recency]);
    }

    #[test]
    fn a4_what_says_the_same_is_recalled_once() {
        let mut twice = pool("www");
        twice[2].stems = twice[0].stems.clone();
        let found: Vec<i64> = fused(&twice, 5).iter().map(|one| one.candidate.memory).collect();
        assert_eq!(found, [0, 1]);
    }

    #[test]
    fn e5_fit_goes_by_words_by_meaning_or_by_the_day() {
        let day = crate::memory::rank::dates::spoken("on 8 May 2024", jiff::civil::date(2024, 6, 1));
        let asked = |days| Question { terms: vec![Term { stem: 1, worth: 4.0 }], days, ..Question::default() };
        let table = [
            ((0.0, 0.0, 0.0), Fit::Not),
            ((0.0, 0.2, 0.9), Fit::Not),
            ((1.0, 0.0, 0.0), Fit::Nearly),
            ((0.0, 0.3, 0.0), Fit::Nearly),
            ((1.0, 0.3, 0.0), Fit::Well),
            ((2.0, 0.0, 0.0), Fit::Well),
            ((0.0, 0.5, 0.0), Fit::Well),
            ((0.0, 0.0, 1.0), Fit::Well),
        ];
        for ((nearby, cosine, closeness), expected) in table {
            let mut features = [0.0; FEATURES];
            (features[0], features[2], features[6]) = (nearby, cosine, closeness);
            assert_eq!(
                fit(&Described { id: 1, features, ..Described::default() }, &asked(day.clone())),
                expected,
                "{nearby} {cosine} {closeness}"
            );
        }
        let mut features = [0.0; FEATURES];
        features[6] = 1.0;
        assert_eq!(fit(&Described { id: 1, features, ..Described::default() }, &asked(Vec::new())), Fit::Not);
    }
}
