//! How each model's provider counts tokens, kept for the life of the process: the store is asked once for each model.
//!
//! Never: I/O, or more than the latest calls.
//! Start at [`TokenCountHistory::calibration`].

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use hob_core::domain::lock::lock;
use hob_model::tokens::{Calibration, Sample};

/// The latest calls of each model that a run began with, the newest first.
#[derive(Debug, Default)]
pub struct TokenCountHistory(Mutex<HashMap<String, VecDeque<Sample>>>);

impl TokenCountHistory {
    /// How the model's provider counts; none: the store was not asked yet.
    pub fn calibration(&self, model: &str) -> Option<Calibration> {
        let mut latest = lock(&self.0);
        latest.get_mut(model).map(|samples| Calibration::from_samples(samples.make_contiguous()))
    }

    /// Takes what the store has of a model, the newest first; answers with how its provider counts.
    pub fn load(&self, model: &str, samples: Vec<Sample>) -> Calibration {
        let calibration = Calibration::from_samples(&samples);
        lock(&self.0).insert(model.to_owned(), samples.into());
        calibration
    }

    /// Adds a call that was answered. What no run asked for yet is the store's to tell.
    pub fn add(&self, model: &str, sample: Sample) {
        if sample.estimated == 0 || sample.reported == 0 {
            return;
        }
        if let Some(samples) = lock(&self.0).get_mut(model) {
            samples.push_front(sample);
            samples.truncate(Calibration::SAMPLES_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(reported: u64) -> Sample {
        Sample { estimated: 100, reported }
    }

    #[test]
    fn the_store_is_asked_once_and_later_calls_count() {
        let counts = TokenCountHistory::default();
        counts.add("a/b", sample(300));
        assert_eq!(counts.calibration("a/b"), None, "the store has that call too");
        assert_eq!(counts.load("a/b", vec![sample(200)]).apply(100), 200);
        for _ in 0..2 * Calibration::SAMPLES_MAX {
            counts.add("a/b", sample(0));
            counts.add("a/b", sample(300));
        }
        assert_eq!(counts.calibration("a/b").unwrap().apply(100), 300);
        assert_eq!(lock(&counts.0)["a/b"].len(), Calibration::SAMPLES_MAX);
        assert_eq!(counts.calibration("c/d"), None);
    }
}
