//! One score of many features: each as its distance from the pool's mean, a weight each, and the sum.

use crate::memory::rank::features::{Described, FEATURES, OF_MEANING};

#[cfg(test)]
mod tests;

/// A feature and what it weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// What people are shown.
    pub name: &'static str,
    /// How much it counts.
    pub weight: f64,
    /// How much it counts where there is no embedding.
    pub by_text: f64,
    /// Whether it is a score, which only counts against the others of the pool; else it counts as it is.
    pub is_score: bool,
}

/// The weights, in the order of [`Described::features`].
///
/// Fitted once on conversations that are not Hob's (`docs/decisions/0005-ranking.md`), and rounded.
pub const WEIGHTS: [Weight; FEATURES] = [
    score("words nearby", 0.30, 0.84),
    score("words in the session", 0.37, 0.48),
    score("meaning", 0.32, 0.0),
    score("words' meaning", 0.45, 0.0),
    score("words' meaning, with the turn before", 0.26, 0.0),
    score("words' meaning nearby", 0.55, 0.0),
    plain("day", 5.1, 5.5),
    plain("speaker is named", 0.86, 1.1),
    plain("answers a question", 1.0, 1.0),
    plain("is a question", -0.74, -0.78),
    plain("tells a time", 2.0, 2.2),
    plain("tells a number", 0.87, 1.0),
    score("words", 0.0, 0.23),
];

const fn score(name: &'static str, weight: f64, by_text: f64) -> Weight {
    Weight { name, weight, by_text, is_score: true }
}

const fn plain(name: &'static str, weight: f64, by_text: f64) -> Weight {
    Weight { name, weight, by_text, is_score: false }
}

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Its memory.
    pub id: i64,
    /// The sum.
    pub score: f64,
    /// What each feature brought, in the order of [`WEIGHTS`]: for `/why`.
    pub parts: [f64; FEATURES],
}

/// All candidates, the best first; of equal ones the newer.
#[must_use]
pub fn ranked(pool: &[Described]) -> Vec<Ranked> {
    let spreads: [Spread; FEATURES] = std::array::from_fn(|at| Spread::of(pool.iter().map(|one| one.features[at])));
    let by_text = pool.iter().all(|one| one.features[OF_MEANING].iter().all(|&feature| feature == 0.0));
    let mut ranked: Vec<Ranked> = pool
        .iter()
        .map(|one| {
            let parts: [f64; FEATURES] = std::array::from_fn(|at| {
                let value = one.features[at];
                let Weight { weight, by_text: weight_by_text, is_score, .. } = WEIGHTS[at];
                let weight = if by_text { weight_by_text } else { weight };
                weight * if is_score { spreads[at].distance(value) } else { value }
            });
            Ranked { id: one.id, score: parts.iter().sum(), parts }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.id.cmp(&a.id)));
    ranked
}

/// How a feature lies over the pool.
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
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
