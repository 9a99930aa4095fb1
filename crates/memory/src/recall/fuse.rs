//! Which of the ranked candidates are recalled. All of the rule is here:
//!
//! | what | is recalled |
//! |---|---|
//! | fits well | the best first |
//! | fits nearly | only if it was said last (in this conversation, and the window does not show it) |
//! | does not fit | never |
//!
//! Beside that, in room of its own, is raised whether it fits or not what is pinned and what the speaker said that matters, but for
//! what the conversation's last runs were shown (`store::recall::standing`): what fits nearly first, then the pinned, then what
//! matters most.
//!
//! Nothing is a good answer. What says the same as another, and what there is no room for, `tell` leaves out.

use crate::rank::features::{CandidateFeatures, FEATURES, RankQuestion};
use crate::rank::gist::{hash, is_of_time};
use crate::rank::relevance::{relevance, relevance_threshold};
use crate::rank::stem::stem;
use crate::rank::words::folded_words;
use hob_core::domain::memory::RecallCause;
use hob_store::recall::SalientMemory;

/// So many times as much as may be told is looked at, as what says the same, or has no room, leaves its place to the next.
const SPARE: usize = 4;
/// Where the closeness to the days that are asked about stands among the features.
const DAY: usize = 6;

/// How well something fits a question, whatever else there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitGrade {
    Not,
    Nearly,
    Well,
}

/// Why a memory is raised whether it fits or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Salience {
    /// Its place among all that is salient, from 0.
    pub place: usize,
    /// Somebody wants it always remembered. If not, the speaker said it, and it matters much.
    pub pinned: bool,
    /// From 0 to 1.
    pub importance: f64,
}

impl Salience {
    /// Of what is stored.
    pub(super) fn of(place: usize, one: &SalientMemory) -> Self {
        Self { place, pinned: one.pinned, importance: one.importance }
    }
}

/// What a memory is apart from the question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CandidateContext {
    /// Why it is raised in any case; none: it is not.
    pub salience: Option<Salience>,
    /// It was among the last in this conversation.
    pub(crate) is_recent: bool,
}

/// Something that may be recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub memory: i64,
    /// Its place among the others of the pool comes from this.
    pub score: f64,
    /// What each feature brought to it, in the order of `rank::mix::WEIGHTS`.
    pub parts: [f64; FEATURES],
    /// How well it fits.
    pub fit: FitGrade,
    /// What it is apart from the question.
    pub standing: CandidateContext,
    /// Its stems: who says the same has the same.
    pub stems: Vec<u32>,
}

/// What is recalled, and what brought it up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecalledCandidate {
    /// The memory.
    pub(crate) candidate: Candidate,
    /// What brought it up.
    pub(crate) leg: RecallCause,
}

/// What part of the cut is enough for what was said last: above it every tenth of the best ten bears on the
/// question, below it every fortieth (`docs/decisions/0005-ranking.md`).
const NEARLY: f64 = 0.4;

/// How well it fits.
pub(crate) fn fit(described: &CandidateFeatures, question: &RankQuestion) -> FitGrade {
    let (relevance, cut) = (relevance(described, question), relevance_threshold(described));
    if relevance >= cut || is_of_the_day(described, question) {
        FitGrade::Well
    } else if relevance >= NEARLY * cut {
        FitGrade::Nearly
    } else {
        FitGrade::Not
    }
}

/// Whether nothing is asked but what was on a day, and it was said on that day.
fn is_of_the_day(described: &CandidateFeatures, question: &RankQuestion) -> bool {
    let of_time: Vec<u32> =
        folded_words(&question.text).filter(|word| is_of_time(word)).map(|word| hash(&stem(&word))).collect();
    let closeness = described.features[DAY];
    !question.days.is_empty() && closeness >= 1.0 && question.terms.iter().all(|term| of_time.contains(&term.stem))
}

/// What of the ranked `pool` fits, where there is room for so many, the best first.
pub(crate) fn fused(pool: &[Candidate], fragments: usize) -> Vec<RecalledCandidate> {
    let fits = pool.iter().filter_map(|one| Some(RecalledCandidate { candidate: one.clone(), leg: leg_of(one)? }));
    fits.take(fragments * SPARE).collect()
}

/// What of the `pool` is raised whether it fits or not, what comes first first.
pub(crate) fn salient_candidates(pool: &[Candidate]) -> Vec<RecalledCandidate> {
    let mut salient: Vec<(bool, usize, &Candidate)> =
        pool.iter().filter_map(|one| Some((one.fit < FitGrade::Nearly, one.standing.salience?.place, one))).collect();
    salient.sort_unstable_by_key(|(is_far, place, _)| (*is_far, *place));
    salient
        .into_iter()
        .map(|(_, _, one)| RecalledCandidate { candidate: one.clone(), leg: RecallCause::Salience })
        .collect()
}

/// What brings it up, if it fits.
fn leg_of(candidate: &Candidate) -> Option<RecallCause> {
    match (candidate.fit, candidate.standing.is_recent) {
        (FitGrade::Well, _) => Some(RecallCause::Relevance),
        (FitGrade::Nearly, true) => Some(RecallCause::Recency),
        (FitGrade::Nearly, false) | (FitGrade::Not, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::lexical::Term;

    /// One for each letter: `w`ell, `n`early, `r`ecent and nearly, `-` not; a digit does not fit and has this place among what is
    /// salient, `N` fits nearly and is the last of it; the best first.
    fn pool(letters: &str) -> Vec<Candidate> {
        let salience = |place: u32| Salience { place: place as usize, pinned: true, importance: 0.3 };
        let one = |(at, letter): (u32, char)| Candidate {
            memory: i64::from(at),
            score: -f64::from(at),
            parts: [0.0; FEATURES],
            fit: match letter {
                'w' => FitGrade::Well,
                'n' | 'r' | 'N' => FitGrade::Nearly,
                _ => FitGrade::Not,
            },
            standing: CandidateContext {
                salience: letter.to_digit(10).or((letter == 'N').then_some(9)).map(salience),
                is_recent: letter == 'r',
            },
            stems: vec![at],
        };
        (0..).zip(letters.chars()).map(one).collect()
    }

    #[test]
    fn a4_what_is_recalled_is_a_table() {
        let table: [(&str, &[i64], &[i64]); 7] = [
            ("", &[], &[]),
            ("nn-", &[], &[]),
            ("wwwwww", &[0, 1, 2, 3, 4, 5], &[]),
            ("wn-r-w", &[0, 3, 5], &[]),
            ("w-201", &[0], &[3, 4, 2]),
            ("-10", &[], &[2, 1]),
            ("0Nw1", &[2], &[1, 0, 3]),
        ];
        for (letters, fits, salient) in table {
            let ids =
                |chosen: Vec<RecalledCandidate>| chosen.iter().map(|one| one.candidate.memory).collect::<Vec<_>>();
            assert_eq!(ids(fused(&pool(letters), 5)), fits, "{letters}");
            assert_eq!(ids(salient_candidates(&pool(letters))), salient, "{letters}");
        }
        assert_eq!(fused(&pool(&"w".repeat(30)), 5).len(), 5 * SPARE);
        let legs: Vec<RecallCause> =
            fused(&pool("wr0"), 5).iter().chain(&salient_candidates(&pool("wr0"))).map(|one| one.leg).collect();
        assert_eq!(legs, [RecallCause::Relevance, RecallCause::Recency, RecallCause::Salience]);
    }

    #[test]
    fn e5_fit_goes_by_relevance_or_by_the_day_alone() {
        let day = crate::rank::dates::mentioned_dates("on 8 May 2024", jiff::civil::date(2024, 6, 1));
        let asked = |text: &str, looked_for: &[&str]| RankQuestion {
            text: text.to_owned(),
            terms: looked_for.iter().map(|word| Term { stem: hash(word), worth: 4.0 }).collect(),
            days: if text.contains("May") { day.clone() } else { Vec::new() },
            ..RankQuestion::default()
        };
        let dog = asked("where is the dog", &["dog"]);
        let dog_then = asked("where was the dog on 8 May", &["dog", "8", "mai"]);
        let then = asked("what did we do on 8 May", &["8", "mai"]);
        // By its cosine, max-sim with its neighbours, closeness, and the worth of its words.
        let table = [
            (&dog, (0.6, 0.6, 0.0, 4.0), FitGrade::Well),
            (&dog, (0.3, 0.45, 0.0, 0.0), FitGrade::Nearly),
            (&dog, (0.1, 0.2, 0.0, 0.0), FitGrade::Not),
            (&dog, (0.0, 0.0, 0.0, 4.0), FitGrade::Well),
            (&dog, (0.0, 0.0, 0.0, 0.0), FitGrade::Not),
            (&dog_then, (0.1, 0.1, 1.0, 0.0), FitGrade::Not),
            (&then, (0.1, 0.1, 1.0, 0.0), FitGrade::Well),
            (&then, (0.1, 0.1, 0.9, 0.0), FitGrade::Not),
            (&asked("ok, thanks", &["ok", "thank"]), (0.9, 0.9, 0.0, 8.0), FitGrade::Not),
        ];
        for (question, (cosine, alike, closeness, worth), expected) in table {
            let mut features = [0.0; FEATURES];
            (features[2], features[5], features[DAY]) = (cosine, alike, closeness);
            let one = CandidateFeatures {
                id: 1,
                features,
                has_meaning: cosine != 0.0,
                worth,
                ..CandidateFeatures::default()
            };
            assert_eq!(fit(&one, question), expected, "{}: {cosine} {alike} {closeness} {worth}", question.text);
        }
    }
}
