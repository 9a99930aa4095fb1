//! One score of many features: each as its distance from the pool's mean, a weight each, and the sum. Where the best of a
//! session lies far below the best of all, the others of it count less.

use std::collections::HashMap;

use crate::rank::features::{CandidateFeatures, FEATURES, OF_MEANING};

#[cfg(test)]
mod tests;

/// A feature and what it weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weight {
    /// What people are shown.
    pub(crate) name: &'static str,
    /// How much it counts.
    pub(crate) weight: f64,
    /// How much it counts where there is no embedding.
    pub(crate) by_text: f64,
    /// Whether it is a score, which only counts against the others of the pool; else it counts as it is.
    pub(crate) is_score: bool,
}

/// The weights, in the order of [`CandidateFeatures::features`].
///
/// Fitted once on conversations that are not Hob's (`docs/decisions/0005-ranking.md`), and rounded.
pub(crate) const WEIGHTS: [Weight; FEATURES] = [
    score("words nearby", 0.33, 0.84),
    score("words in the session", 0.17, 0.48),
    score("meaning", 0.28, 0.0),
    score("words' meaning", 0.44, 0.0),
    score("words' meaning, with the turn before", 0.26, 0.0),
    score("words' meaning nearby", 0.40, 0.0),
    plain("day", 4.7, 5.5),
    plain("speaker is named", 0.83, 1.1),
    plain("answers a question", 0.96, 1.0),
    plain("is a question", -0.72, -0.78),
    plain("tells a time", 1.9, 2.2),
    plain("tells a number", 0.90, 1.0),
    score("words", 0.0, 0.23),
    plain("best of its session", 0.26, 0.0),
];

/// The last of them: how far the best of a session is below the best of all.
const OF_SESSION: usize = FEATURES - 1;

const fn score(name: &'static str, weight: f64, by_text: f64) -> Weight {
    Weight { name, weight, by_text, is_score: true }
}

const fn plain(name: &'static str, weight: f64, by_text: f64) -> Weight {
    Weight { name, weight, by_text, is_score: false }
}

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankedCandidate {
    /// Its memory.
    pub id: i64,
    /// The sum.
    pub score: f64,
    /// What each feature brought, in the order of `WEIGHTS`: for `/why`.
    pub parts: [f64; FEATURES],
}

/// All candidates, the best first; of equal ones the newer.
pub(crate) fn ranked(pool: &[CandidateFeatures]) -> Vec<RankedCandidate> {
    let is_known = |one: &CandidateFeatures, at: usize| one.has_meaning || !OF_MEANING.contains(&at);
    let spreads: [FeatureSpread; FEATURES] = std::array::from_fn(|at| {
        FeatureSpread::of(pool.iter().filter(|one| is_known(one, at)).map(|one| one.features[at]))
    });
    let by_text = pool.iter().all(|one| !one.has_meaning);
    let weights = WEIGHTS.map(|row| if by_text { row.by_text } else { row.weight });
    // What waits for its vector lies at the mean of those that have one.
    let part = |one: &CandidateFeatures, at: usize| match (is_known(one, at), WEIGHTS[at].is_score) {
        (false, _) => 0.0,
        (true, true) => weights[at] * spreads[at].distance(one.features[at]),
        (true, false) => weights[at] * one.features[at],
    };
    let parts: Vec<[f64; FEATURES]> = pool.iter().map(|one| std::array::from_fn(|at| part(one, at))).collect();
    let mut best_of: HashMap<usize, f64> = HashMap::new();
    for (one, parts) in pool.iter().zip(&parts) {
        let best = best_of.entry(one.session).or_insert(f64::NEG_INFINITY);
        *best = best.max(parts.iter().sum());
    }
    let best = best_of.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut ranked: Vec<RankedCandidate> = pool
        .iter()
        .zip(parts)
        .map(|(one, mut parts)| {
            parts[OF_SESSION] = weights[OF_SESSION] * (best_of[&one.session] - best);
            RankedCandidate { id: one.id, score: parts.iter().sum(), parts }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.id.cmp(&a.id)));
    ranked
}

/// How a feature lies over the pool.
struct FeatureSpread {
    mean: f64,
    deviation: f64,
}

impl FeatureSpread {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Self { mean, deviation: variance.sqrt() }
    }

    /// In deviations; none where all are the same.
    fn distance(&self, value: f64) -> f64 {
        if self.deviation > 1e-9 { (value - self.mean) / self.deviation } else { 0.0 }
    }
}
