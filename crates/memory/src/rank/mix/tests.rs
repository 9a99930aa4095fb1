use super::{OF_SESSION, RankedCandidate, WEIGHTS, ranked};
use crate::rank::features::{CandidateFeatures, FEATURES, OF_MEANING};

/// A candidate with one feature, and whether there is an embedding.
fn with(id: i64, at: usize, value: f64, embedded: bool) -> CandidateFeatures {
    let mut features = [0.0; FEATURES];
    features[at] = value;
    CandidateFeatures { id, features, has_meaning: embedded, ..CandidateFeatures::default() }
}

fn ids(ranked: &[RankedCandidate]) -> Vec<i64> {
    ranked.iter().map(|one| one.id).collect()
}

#[test]
fn e5_each_feature_counts_as_the_table_says() {
    for (at, row) in WEIGHTS.iter().enumerate().filter(|(at, _)| *at != OF_SESSION) {
        for (embedded, weight) in [(true, row.weight), (false, row.by_text)] {
            if !embedded && (2..6).contains(&at) {
                continue;
            }
            let ranked = ranked(&[with(1, at, 3.0, embedded), with(2, at, 1.0, embedded)]);
            let order = if weight > 0.0 { [1, 2] } else { [2, 1] };
            assert_eq!(ids(&ranked), order, "{} {embedded}", row.name);
            let of_one = ranked.iter().find(|one| one.id == 1).unwrap();
            // A score is one deviation above the mean; what is no score counts as it is.
            let expected = weight * if row.is_score { 1.0 } else { 3.0 };
            assert!(
                (of_one.score - expected).abs() < 1e-9 && (of_one.parts[at] - expected).abs() < 1e-9,
                "{}",
                row.name
            );
        }
    }
    assert!(WEIGHTS[2..6].iter().all(|row| row.by_text == 0.0));
}

#[test]
fn e5_what_all_have_tells_nothing() {
    let pool = [with(1, 0, 5.0, true), with(2, 0, 5.0, true)];
    let ranked = ranked(&pool);
    assert!(ranked.iter().all(|one| one.score == 0.0));
    assert_eq!(ids(&ranked), [2, 1], "of equal ones the newer");
    assert!(super::ranked(&[]).is_empty());
    assert_eq!(super::ranked(&[with(7, 0, 5.0, true)])[0].score, 0.0);
}

#[test]
fn e5_a_turn_is_known_by_its_sessions_best() {
    // Two that fit equally; beside one of them stands the best of all.
    for (embedded, weight) in [(true, WEIGHTS[OF_SESSION].weight), (false, WEIGHTS[OF_SESSION].by_text)] {
        let mut pool = [with(1, 7, 1.0, embedded), with(2, 7, 1.0, embedded), with(3, 7, 5.0, embedded)];
        (pool[0].session, pool[1].session, pool[2].session) = (0, 1, 0);
        let ranked = ranked(&pool);
        let named = if embedded { WEIGHTS[7].weight } else { WEIGHTS[7].by_text };
        let part = |id: i64| ranked.iter().find(|one| one.id == id).unwrap().parts[OF_SESSION];
        assert!((part(2) + weight * named * 4.0).abs() < 1e-9 && part(1) == 0.0 && part(3) == 0.0, "{ranked:?}");
        assert_eq!(ids(&ranked), if embedded { [3, 1, 2] } else { [3, 2, 1] });
    }
}

#[test]
fn e5_what_waits_for_its_vector_is_neither_better_nor_worse_for_that() {
    for at in OF_MEANING {
        let ranked = ranked(&[with(1, at, 0.9, true), with(2, at, 0.0, false), with(3, at, 0.1, true)]);
        assert_eq!(ids(&ranked), [1, 2, 3], "{}", WEIGHTS[at].name);
        let waiting = ranked.iter().find(|one| one.id == 2).unwrap();
        assert!(waiting.parts[..OF_SESSION].iter().all(|&part| part == 0.0), "{waiting:?}");
        let of_first = ranked[0].parts[at];
        assert!((of_first - WEIGHTS[at].weight).abs() < 1e-9, "the others lie around their own mean: {of_first}");
    }
}
