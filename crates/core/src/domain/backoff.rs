//! How long to wait before the next try: longer each time, up to a limit, and not all at once.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use crate::domain::rng::Rng;

/// The waits of one trouble after another.
#[derive(Debug, Default)]
pub struct Backoff(Option<ExponentialBackoff>);

impl Backoff {
    /// All is well: the next wait is short again.
    pub fn reset(&mut self) {
        self.0 = None;
    }

    /// Whether anything was waited for since all was well.
    pub fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// The first wait is still to come, and counts as begun.
    pub fn begin(&mut self, least: Duration, most: Duration, rng: &dyn Rng) -> &mut ExponentialBackoff {
        self.0.get_or_insert_with(|| {
            ExponentialBuilder::new()
                .with_min_delay(least)
                .with_max_delay(most)
                .without_max_times()
                .with_jitter()
                .with_jitter_seed(rng.next_u64())
                .build()
        })
    }

    /// The next wait: from `least` on about twice as long each time, `most` at the most, plus jitter of up to as much again.
    pub fn next(&mut self, least: Duration, most: Duration, rng: &dyn Rng) -> Duration {
        self.begin(least, most, rng).next().unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rng::SystemRng;

    #[test]
    fn n11_waits_grow_to_their_limit_and_begin_anew() {
        let next = |waits: &mut Backoff| waits.next(Duration::from_secs(1), Duration::from_secs(60), &SystemRng);
        let mut waits = Backoff::default();
        assert!(!waits.has_begun());
        for least in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            let wait = next(&mut waits).as_secs_f64();
            assert!((f64::from(least)..=f64::from(2 * least)).contains(&wait), "{wait} after {least}");
        }
        assert!(waits.has_begun());
        waits.reset();
        assert!(!waits.has_begun() && next(&mut waits) <= Duration::from_secs(2));
    }
}
