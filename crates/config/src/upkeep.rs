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
    /// Days for which it is remembered that a command was carried out already, should its platform deliver it again; 0 for ever.
    /// The longest redelivery known is a mailbox that is read anew.
    #[schemars(range(max = 36_500))]
    pub claims_days: u32,
    /// Days for which single calls of models are kept; 0 keeps them for ever. Their sums stay.
    #[schemars(range(max = 36_500))]
    pub calls_days: u32,
    /// With fewer megabytes free the disk is low: that is told, and only messages are still accepted and answered.
    #[schemars(range(min = 16, max = 1_000_000))]
    pub disk_low_mb: u32,
}

impl Default for UpkeepConfig {
    fn default() -> Self {
        Self {
            every_minutes: 360,
            journals_days: 0,
            outbox_days: 90,
            claims_days: 365,
            calls_days: 400,
            disk_low_mb: 512,
        }
    }
}

/// Platforms deliver what they are not sure of again for days.
const CLAIMS_DAYS_MIN: u32 = 14;
/// Quotas and budgets count a month's calls.
const CALLS_DAYS_MIN: u32 = 62;
/// A message that could not be delivered is tried for days.
const OUTBOX_DAYS_MIN: u32 = 7;

impl UpkeepConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let at_least = [
            ("outbox_days", self.outbox_days, OUTBOX_DAYS_MIN, "so long a message may be tried"),
            ("claims_days", self.claims_days, CLAIMS_DAYS_MIN, "so long a platform may deliver it again"),
            ("calls_days", self.calls_days, CALLS_DAYS_MIN, "budgets and quotas count a month's"),
        ];
        let short = at_least.into_iter().filter(|(_, days, least, _)| *days != 0 && days < least);
        short
            .map(|(key, days, least, why)| {
                Finding::new(
                    key,
                    format!("is {days}, expected 0 (for ever) or at least {least}"),
                    format!("take more: {why}"),
                )
            })
            .collect()
    }
}
