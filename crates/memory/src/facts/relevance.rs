//! Which facts go along with a question: by relevance first, then by how lately they were learnt or used (row N8). Pure.

use hob_store::facts::Fact;

const DAY_MS: f64 = 86_400_000.0;
/// After so many days without a use a fact counts half for its freshness.
const HALF_LIFE_DAYS: f64 = 90.0;

/// What a fact weighs, by the share of each signal.
///
/// | signal | weight |
/// |---|---|
/// | it is pinned | 1.0 |
/// | it matches the question, 1 for the best match | 0.6 |
/// | it was learnt or used lately, half of it after 90 days | 0.25 |
/// | it matters (its importance) | 0.1 |
/// | it was used often, all of it from seven times on | 0.05 |
pub fn fact_score(fact: &Fact, place: Option<usize>, now: i64) -> f64 {
    let fresh = fact.used_at.unwrap_or(0).max(fact.since);
    let age_days = (now - fresh).max(0) as f64 / DAY_MS;
    let matches = place.map_or(0.0, |place| 1.0 / (1.0 + place as f64 / 10.0));
    let used = (fact.uses.max(0) as f64 + 1.0).log2() / 3.0;
    f64::from(u8::from(fact.pinned))
        + 0.6 * matches
        + 0.25 * 0.5_f64.powf(age_days / HALF_LIFE_DAYS)
        + 0.1 * fact.importance
        + 0.05 * used.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decide::tests::fact;

    #[test]
    fn n8_what_fits_goes_before_what_is_new() {
        let day = 86_400_000;
        let now = 1_000 * day;
        let old = Fact { since: 0, ..fact(1, "x") };
        let new = Fact { since: now, ..fact(2, "x") };
        let used = Fact { used_at: Some(now), uses: 7, ..old.clone() };
        let pinned = Fact { pinned: true, ..old.clone() };
        let of = |fact: &Fact, place| fact_score(fact, place, now);
        assert!(of(&old, Some(0)) > of(&new, None), "the best match");
        assert!(of(&old, Some(0)) > of(&old, Some(5)));
        assert!(of(&used, None) > of(&old, None), "what is used stays fresh");
        assert!(of(&pinned, None) > of(&new, Some(0)), "what is pinned stays");
        assert!((of(&new, None) - of(&Fact { since: now - 90 * day, ..new.clone() }, None) - 0.125).abs() < 1e-9);
    }
}
