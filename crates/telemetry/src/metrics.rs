//! Counters and histograms that cost a few nanoseconds each, in families whose labels are bounded.
//!
//! Never: a lock that is held while anything else happens, or a label that somebody outside can invent without end.
//! Start at [`Family`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hob_core::domain::lock::lock;

/// So many combinations of labels a family has, at most; whatever comes after them is counted under [`OTHER`].
pub const SERIES_MAX: usize = 128;
/// The label of what comes after the last.
pub const OTHER: &str = "other";

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at nothing.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long things took, in so many seconds at most; those of a person's patience.
pub(crate) const SLOW: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1200.0];
/// The same for what a disk or an index does.
pub(crate) const QUICK: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// How long something took, how often.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// How many were within each bound and beyond the one before; the last: beyond all.
    buckets: Vec<AtomicU64>,
    micros: AtomicU64,
}

/// A histogram at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSnapshot {
    /// How many took so many seconds or less.
    pub within: Vec<(f64, u64)>,
    /// How many there were.
    pub count: u64,
    /// How many seconds they took together.
    pub sum: f64,
}

impl HistogramSnapshot {
    /// Within how many seconds this share of them was, as well as the bounds tell: within a bucket they count as evenly
    /// spread, and what is beyond the last bound as at it. None: there were none.
    #[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
    pub fn within_share(&self, share: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let wanted = share.clamp(0.0, 1.0) * self.count as f64;
        let (mut floor, mut below) = (0.0, 0);
        for (bound, so_far) in &self.within {
            if *so_far as f64 >= wanted && *so_far > below {
                let inside = (wanted - below as f64) / (so_far - below) as f64;
                return Some(floor + (bound - floor) * inside.max(0.0));
            }
            (floor, below) = (*bound, *so_far);
        }
        Some(floor)
    }
}

impl Histogram {
    /// With these bounds, in seconds, rising.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(), micros: AtomicU64::new(0) }
    }

    /// For what people wait for.
    pub fn slow() -> Self {
        Self::new(SLOW)
    }

    /// For what disks and indexes do.
    pub fn quick() -> Self {
        Self::new(QUICK)
    }

    /// Something took so long.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = self.bounds.iter().position(|bound| seconds <= *bound).unwrap_or(self.bounds.len());
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How it stands.
    #[expect(clippy::cast_precision_loss, reason = "a sum of microseconds is exact for 285 years")]
    pub fn spread(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut so_far = |bucket: &AtomicU64| {
            count += bucket.load(Ordering::Relaxed);
            count
        };
        let within = self.bounds.iter().copied().zip(self.buckets.iter().map(&mut so_far)).collect();
        let count = self.buckets.last().map_or(0, so_far);
        HistogramSnapshot { within, count, sum: self.micros.load(Ordering::Relaxed) as f64 / 1e6 }
    }
}

/// The same measure for each combination of labels.
#[derive(Debug)]
pub struct Family<T> {
    labels: &'static [&'static str],
    make: fn() -> T,
    series: Mutex<BTreeMap<Vec<String>, Arc<T>>>,
}

impl<T> Family<T> {
    /// A family with these labels.
    pub fn new(labels: &'static [&'static str], make: fn() -> T) -> Self {
        Self { labels, make, series: Mutex::default() }
    }

    /// The member with these values, in the labels' order.
    pub fn of(&self, values: &[&str]) -> Arc<T> {
        let mut series = lock(&self.series);
        let mut key: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        if series.len() >= SERIES_MAX && !series.contains_key(&key) {
            key = vec![OTHER.to_owned(); self.labels.len()];
        }
        Arc::clone(series.entry(key).or_insert_with(|| Arc::new((self.make)())))
    }

    /// The labels' names.
    pub fn labels(&self) -> &'static [&'static str] {
        self.labels
    }

    /// Everything there is, in order.
    pub fn all(&self) -> Vec<(Vec<String>, Arc<T>)> {
        let series = lock(&self.series);
        series.iter().map(|(values, member)| (values.clone(), Arc::clone(member))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_a_share_of_them_is_told_as_well_as_the_bounds_tell() {
        let histogram = Histogram::new(&[1.0, 2.0, 4.0]);
        assert_eq!(histogram.spread().within_share(0.5), None);
        for seconds in [0.5, 1.5, 1.5, 3.0] {
            histogram.observe(Duration::from_secs_f64(seconds));
        }
        let spread = histogram.spread();
        let shares = [0.25, 0.5, 0.75, 1.0].map(|share| spread.within_share(share));
        assert_eq!(shares, [Some(1.0), Some(1.5), Some(2.0), Some(4.0)]);
        histogram.observe(Duration::from_secs(60));
        assert_eq!(histogram.spread().within_share(0.99), Some(4.0), "beyond the last bound nobody knows");
    }

    #[test]
    fn a_histogram_counts_what_was_within_each_bound() {
        let histogram = Histogram::new(&[0.1, 1.0]);
        for millis in [50, 100, 101, 1_000, 5_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let HistogramSnapshot { within, count, sum } = histogram.spread();
        assert_eq!((within, count), (vec![(0.1, 2), (1.0, 4)], 5));
        assert!((sum - 6.251).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn labels_are_bounded() {
        let family: Family<Counter> = Family::new(&["tool", "outcome"], Counter::default);
        for number in 0..2 * SERIES_MAX {
            family.of(&[&number.to_string(), "done"]).inc();
        }
        family.of(&["0", "done"]).inc();
        let all = family.all();
        assert_eq!(all.len(), SERIES_MAX + 1);
        assert_eq!(all.iter().map(|(_, counter)| counter.get()).sum::<u64>(), 2 * SERIES_MAX as u64 + 1);
        assert_eq!(family.of(&["0", "done"]).get(), 2, "who has a place keeps it");
        assert_eq!(family.of(&[OTHER, OTHER]).get(), SERIES_MAX as u64);
    }
}
