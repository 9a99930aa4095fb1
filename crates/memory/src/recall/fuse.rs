//! Which of the ranked candidates are recalled. All of the rule is here:
//!
//! | what | is recalled |
//! |---|---|
//! | pinned | always, before all else, but in at most two places, as long as anything else fits |
//! | fits well | the best first |
//! | fits nearly | only if it matters much, or was said last (in this conversation, and the window does not show it) |
//! | does not fit | never |
//!
//! Nothing is a good answer. What says the same as another, and what there is no room for, `tell` leaves out.

use crate::rank::features::{Described, FEATURES, Question};
use crate::rank::gist::{hash, is_of_time};
use crate::rank::relevance::{cut, relevance};
use crate::rank::stem::stem;
use crate::rank::words::words;
use hob_core::domain::memory::Leg;

/// How many places those that are pinned take from what fits.
const PINNED_MAX: usize = 2;
/// So many times as much as may be told is looked at, as what says the same, or has no room, leaves its place to the next.
const SPARE: usize = 4;
/// Where the closeness to the days that are asked about stands among the features.
const DAY: usize = 6;

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

/// What part of the cut is enough for what matters much or was said last: above it every tenth of the best ten bears on the
/// question, below it every fortieth (`docs/decisions/0005-ranking.md`).
const NEARLY: f64 = 0.4;

/// How well it fits.
#[must_use]
pub fn fit(described: &Described, question: &Question) -> Fit {
    let (relevance, cut) = (relevance(described, question), cut(described));
    if relevance >= cut || is_of_the_day(described, question) {
        Fit::Well
    } else if relevance >= NEARLY * cut {
        Fit::Nearly
    } else {
        Fit::Not
    }
}

/// Whether nothing is asked but what was on a day, and it was said on that day.
fn is_of_the_day(described: &Described, question: &Question) -> bool {
    let of_time: Vec<u32> =
        words(&question.text).filter(|word| is_of_time(word)).map(|word| hash(&stem(&word))).collect();
    let closeness = described.features[DAY];
    !question.days.is_empty() && closeness >= 1.0 && question.terms.iter().all(|term| of_time.contains(&term.stem))
}

/// What of the ranked `pool` may be recalled where there is room for so many, the best first.
#[must_use]
pub fn fused(pool: &[Candidate], fragments: usize) -> Vec<Chosen> {
    let is_pinned = |one: &&Candidate| one.standing.is_pinned;
    let fits: Vec<&Candidate> = pool.iter().filter(|one| !is_pinned(one) && leg_of(one).is_some()).collect();
    let places = if fits.is_empty() { fragments } else { PINNED_MAX };
    let first = pool.iter().filter(is_pinned).take(places).map(|one| (one, Leg::Salience));
    let then = fits.into_iter().filter_map(|one| Some((one, leg_of(one)?)));
    let all = first.chain(then).take(fragments * SPARE);
    all.map(|(one, leg)| Chosen { candidate: one.clone(), leg }).collect()
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
    use crate::rank::lexical::Term;

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
            ("wwwwww", &[0, 1, 2, 3, 4, 5]),
            ("wnir-w", &[0, 2, 3, 5]),
            ("w-PPP", &[2, 3, 0]),
            ("-PPPPPP", &[1, 2, 3, 4, 5]),
            ("PwPwwww", &[0, 2, 1, 3, 4, 5, 6]),
            ("Pn", &[0]),
        ];
        for (letters, expected) in table {
            let found: Vec<i64> = fused(&pool(letters), 5).iter().map(|one| one.candidate.memory).collect();
            assert_eq!(found, expected, "{letters}");
        }
        assert_eq!(fused(&pool(&"w".repeat(30)), 5).len(), 5 * SPARE);
        let legs: Vec<Leg> = fused(&pool("wirP"), 5).iter().map(|one| one.leg).collect();
        assert_eq!(legs, [Leg::Salience, Leg::Relevance, Leg::Salience, Leg::Recency]);
    }

    #[test]
    fn e5_fit_goes_by_relevance_or_by_the_day_alone() {
        let day = crate::rank::dates::spoken("on 8 May 2024", jiff::civil::date(2024, 6, 1));
        let asked = |text: &str, looked_for: &[&str]| Question {
            text: text.to_owned(),
            terms: looked_for.iter().map(|word| Term { stem: hash(word), worth: 4.0 }).collect(),
            days: if text.contains("May") { day.clone() } else { Vec::new() },
            ..Question::default()
        };
        let dog = asked("where is the dog", &["dog"]);
        let dog_then = asked("where was the dog on 8 May", &["dog", "8", "mai"]);
        let then = asked("what did we do on 8 May", &["8", "mai"]);
        // By its cosine, max-sim with its neighbours, closeness, and the worth of its words.
        let table = [
            (&dog, (0.6, 0.6, 0.0, 4.0), Fit::Well),
            (&dog, (0.3, 0.45, 0.0, 0.0), Fit::Nearly),
            (&dog, (0.1, 0.2, 0.0, 0.0), Fit::Not),
            (&dog, (0.0, 0.0, 0.0, 4.0), Fit::Well),
            (&dog, (0.0, 0.0, 0.0, 0.0), Fit::Not),
            (&dog_then, (0.1, 0.1, 1.0, 0.0), Fit::Not),
            (&then, (0.1, 0.1, 1.0, 0.0), Fit::Well),
            (&then, (0.1, 0.1, 0.9, 0.0), Fit::Not),
            (&asked("ok, thanks", &["ok", "thank"]), (0.9, 0.9, 0.0, 8.0), Fit::Not),
        ];
        for (question, (cosine, alike, closeness, worth), expected) in table {
            let mut features = [0.0; FEATURES];
            (features[2], features[5], features[DAY]) = (cosine, alike, closeness);
            let one = Described { id: 1, features, has_meaning: cosine != 0.0, worth, ..Described::default() };
            assert_eq!(fit(&one, question), expected, "{}: {cosine} {alike} {closeness} {worth}", question.text);
        }
    }
}
