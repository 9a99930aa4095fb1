//! `[quotas]`: how much each person may use (rows C2, E15).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;

/// How much each person may use.
///
/// What memory reads of their words and what is heard of their voice counts as well. Who runs into a limit is told which, and
/// when it begins anew; what it costs is limited under `[budget]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<QuotaConfig>)]
pub struct QuotaConfig {
    /// Tokens that models read and write for a guest in a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64))]
    pub guest_month_tokens: u64,
    /// The same for a user. Without it: no limit. Admins and owners have none.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &2_000_000)]
    pub user_month_tokens: Option<u64>,
    /// Tokens for one person, whoever it is, in any sixty minutes. Without it: no limit.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &500_000)]
    pub hour_tokens: Option<u64>,
    /// Calls of tools for one person in any minute.
    #[schemars(range(min = 1, max = 10_000))]
    pub tool_calls_per_minute: u32,
}

impl Default for QuotaConfig {
    fn default() -> Self {
        Self { guest_month_tokens: 5_000, user_month_tokens: None, hour_tokens: None, tool_calls_per_minute: 60 }
    }
}

impl QuotaConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let Some(user) = self.user_month_tokens.filter(|user| *user < self.guest_month_tokens) else {
            return Vec::new();
        };
        let guest = self.guest_month_tokens;
        let why = format!("is {user}, expected at least guest_month_tokens, which is {guest}");
        vec![Finding::new("user_month_tokens", why, "raise it or lower guest_month_tokens").with("guest_month_tokens")]
    }
}
