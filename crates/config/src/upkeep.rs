//! `[upkeep]`: what is let go with time, and when the disk counts as low.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;

/// What is let go with time, and when the disk counts as low.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<UpkeepConfig>)]
pub struct UpkeepConfig {
    /// Minutes between two rounds, whose steps wait until it is quiet; 0 makes none.
    #[schemars(range(max = 525_600))]
    pub every_minutes: u32,
    /// Days for which the journals of runs that are over are kept; 0 keeps them for ever. Without its journal a run cannot be
    /// replayed. What was said and what it cost stays.
    #[schemars(range(max = 36_500))]
    pub journals_days: u32,
    /// Days for which messages that were delivered are kept in the outbox; 0 keeps them for ever. The conversation itself stays.
    #[schemars(range(max = 36_500))]
    pub outbox_days: u32,
    /// With fewer megabytes free the disk is low: that is told, and only messages are still accepted and answered.
    #[schemars(range(min = 16, max = 1_000_000))]
    pub disk_low_mb: u32,
}

impl Default for UpkeepConfig {
    fn default() -> Self {
        Self { every_minutes: 360, journals_days: 0, outbox_days: 90, disk_low_mb: 512 }
    }
}

/// A message that could not be delivered is tried for days.
const OUTBOX_DAYS_MIN: u32 = 7;

impl UpkeepConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let is_short = (1..OUTBOX_DAYS_MIN).contains(&self.outbox_days);
        let why = || format!("is {}, expected 0 (for ever) or at least {OUTBOX_DAYS_MIN}", self.outbox_days);
        is_short
            .then(|| Finding::new("outbox_days", why(), "take more: so long a message may be tried"))
            .into_iter()
            .collect()
    }
}
