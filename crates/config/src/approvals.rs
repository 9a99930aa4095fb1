//! `[approvals]`: how questions for approval are put.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;

/// How questions for approval are put.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ApprovalsConfig>)]
pub struct ApprovalsConfig {
    /// Seconds for which a call can be approved, by e-mail at least 1800; then it is not made, and the chat is told.
    #[schemars(range(min = 1, max = 604_800))]
    pub expire_secs: u64,
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self { expire_secs: 300 }
    }
}

impl ApprovalsConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        Vec::new()
    }
}
