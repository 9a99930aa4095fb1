use super::{Ranked, WEIGHTS, ranked};
use crate::memory::rank::features::{Described, FEATURES};

/// A candidate with one feature.
fn with(id: i64, at: usize, value: f64) -> Described {
    let mut features = [0.0; FEATURES];
    features[at] = value;
    Described { id, features }
}

fn ids(ranked: &[Ranked]) -> Vec<i64> {
    ranked.iter().map(|one| one.id).collect()
}

#[test]
fn e5_each_feature_counts_as_the_table_says() {
    for (at, weight) in WEIGHTS.iter().enumerate() {
        let order = ids(&ranked(&[with(1, at, 0.0), with(2, at, 1.0)]));
        assert_eq!(order, if weight.weight > 0.0 { [2, 1] } else { [1, 2] }, "{}", weight.name);
        let best = &ranked(&[with(1, at, 3.0), with(2, at, 1.0)]);
        let of_one = best.iter().find(|one| one.id == 1).unwrap();
        // A score is one deviation above the mean; what is no score counts as it is.
        let expected = weight.weight * if weight.is_score { 1.0 } else { 3.0 };
        assert!(
            (of_one.score - expected).abs() < 1e-9 && (of_one.parts[at] - expected).abs() < 1e-9,
            "{}",
            weight.name
        );
    }
}

#[test]
fn e5_what_all_have_tells_nothing() {
    let pool = [with(1, 0, 5.0), with(2, 0, 5.0)];
    let ranked = ranked(&pool);
    assert!(ranked.iter().all(|one| one.score == 0.0));
    assert_eq!(ids(&ranked), [2, 1], "of equal ones the newer");
    assert!(super::ranked(&[]).is_empty());
    assert_eq!(super::ranked(&[with(7, 0, 5.0)])[0].score, 0.0);
}
