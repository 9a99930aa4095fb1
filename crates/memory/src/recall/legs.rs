//! How each way of looking ranks what was found, for those who want to see why. Pure.

use std::collections::HashMap;

use crate::rank::features::FEATURES;
use crate::recall::fuse::Candidate;

/// A way of looking: what it is called, and which features it is made of.
struct SearchLeg {
    name: &'static str,
    features: &'static [usize],
}

/// Every feature belongs to one of them.
const WAYS: [SearchLeg; 4] = [
    SearchLeg { name: "words", features: &[0, 1, 12] },
    SearchLeg { name: "meaning", features: &[2, 3, 4, 5] },
    SearchLeg { name: "time", features: &[6, 10] },
    SearchLeg { name: "manner", features: &[7, 8, 9, 11, 13] },
];

/// What one way of looking says of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LegScore {
    /// `words`, `meaning`, `time` or `manner`.
    pub way: &'static str,
    /// What it brings to the score.
    pub score: f64,
    /// Its place among all that may bear on the question, from 1; of equal ones the same. None: this way says nothing of it.
    pub rank: Option<usize>,
}

/// Of each memory by its row: its place by each way, and by all together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LegRanking {
    places: HashMap<i64, (usize, [LegScore; WAYS.len()])>,
}

impl LegRanking {
    /// The place of a memory by all ways together, from 1, and by each.
    pub fn of(&self, memory: i64) -> Option<(usize, &[LegScore])> {
        self.places.get(&memory).map(|(rank, places)| (*rank, places.as_slice()))
    }
}

/// The places of all candidates, which come the best first.
pub fn of(pool: &[Candidate]) -> LegRanking {
    let sum = |parts: &[f64; FEATURES], way: &SearchLeg| way.features.iter().map(|at| parts[*at]).sum::<f64>();
    let ranked = WAYS.map(|way| {
        let mut scores: Vec<f64> = pool.iter().map(|one| sum(&one.parts, &way)).collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        (way, scores)
    });
    let place = |one: &Candidate, (way, scores): &(SearchLeg, Vec<f64>)| {
        let score = sum(&one.parts, way);
        let rank = (score != 0.0).then(|| 1 + scores.partition_point(|other| *other > score));
        LegScore { way: way.name, score, rank }
    };
    let places = (1..).zip(pool).map(|(rank, one)| (one.memory, (rank, ranked.each_ref().map(|way| place(one, way)))));
    LegRanking { places: places.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::fuse::{CandidateContext, FitGrade};

    fn candidate(memory: i64, parts: &[(usize, f64)]) -> Candidate {
        let mut all = [0.0; FEATURES];
        for (at, part) in parts {
            all[*at] = *part;
        }
        let score = all.iter().sum();
        Candidate {
            memory,
            score,
            parts: all,
            fit: FitGrade::Well,
            standing: CandidateContext::default(),
            stems: Vec::new(),
        }
    }

    #[test]
    fn n8_each_feature_is_of_one_way_of_looking() {
        let mut features: Vec<usize> = WAYS.iter().flat_map(|way| way.features).copied().collect();
        features.sort_unstable();
        assert_eq!(features, (0..FEATURES).collect::<Vec<_>>());
    }

    #[test]
    fn n8_each_way_ranks_what_is_found() {
        let pool = [
            candidate(7, &[(0, 1.0), (12, 0.5), (2, 0.2)]),
            candidate(8, &[(2, 0.9), (9, -0.7)]),
            candidate(9, &[(1, 1.5), (6, 0.0), (3, -0.1)]),
        ];
        let legs = of(&pool);
        let shown = |memory| {
            let (rank, places) = legs.of(memory).unwrap();
            (rank, places.iter().map(|place| (place.way, place.rank)).collect::<Vec<_>>())
        };
        let ways = |ranks: [Option<usize>; 4]| ["words", "meaning", "time", "manner"].into_iter().zip(ranks).collect();
        assert_eq!(shown(7), (1, ways([Some(1), Some(2), None, None])));
        assert_eq!(shown(8), (2, ways([None, Some(1), None, Some(3)])));
        assert_eq!(shown(9), (3, ways([Some(1), Some(3), None, None])), "as good as the first by words");
        assert_eq!(legs.of(10), None);
    }
}
