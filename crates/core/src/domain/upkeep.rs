//! What the last round of upkeep did, for whoever asks: `/status`, metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::lock::lock;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpkeepRound {
    /// When it ended; none: there was none in this process.
    pub ended: Option<Timestamp>,
    /// How long it took, most of it waiting for quiet.
    pub took: Duration,
    pub steps: u64,
    /// The longest time for which one of them kept others from writing.
    pub held_max: Duration,
    /// What was deleted, by name.
    pub gone: BTreeMap<&'static str, u64>,
    /// How many pages of the file were given back to the disk.
    pub pages_freed: u64,
    /// How many pages the file has, and how many of them are free.
    pub pages: (u64, u64),
}

/// The last round, shared: whoever has a clone sees the same.
#[derive(Debug, Clone, Default)]
pub struct LastUpkeepRound(Arc<Mutex<UpkeepRound>>);

impl LastUpkeepRound {
    /// What the last round did.
    pub fn get(&self) -> UpkeepRound {
        lock(&self.0).clone()
    }

    pub fn set(&self, round: UpkeepRound) {
        *lock(&self.0) = round;
    }
}
