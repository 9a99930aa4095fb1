//! `[context]`: how a conversation is kept within the model's window.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;
use hob_core::domain::choices::ContextStrategy;

/// How a conversation is kept within the model's window.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ContextConfig>)]
pub struct ContextConfig {
    /// What is done when the window fills.
    pub strategy: ContextStrategy,
    /// Tokens of the window that are used at most. Without it: all that the model has; where that is not known,
    /// 128,000 of a hosted model and 32,000 of one on a machine of your own.
    #[schemars(range(min = 1000, max = 100_000_000), example = &64_000)]
    pub window_tokens: Option<u64>,
    /// Percent of the window at which `compact` begins.
    #[schemars(range(min = 10, max = 95))]
    pub compact_at_percent: u64,
    /// Percent of the window at which `rolling-window` and `periodic-summary` begin.
    #[schemars(range(min = 10, max = 95))]
    pub roll_at_percent: u64,
    /// Messages at the end that a compaction leaves as they are.
    #[schemars(range(min = 1, max = 1000))]
    pub keep_messages: u32,
    /// The same, when the window fills again soon after.
    #[schemars(range(min = 1, max = 1000))]
    pub prune_keep_messages: u32,
    /// Times that one task may recover from a full window.
    #[schemars(range(min = 0, max = 100))]
    pub recoveries_max: u32,
    /// Steps within which a window that fills again is a reason for stronger means.
    #[schemars(range(min = 1, max = 1000))]
    pub recovery_span: u32,
    /// Summaries of `periodic-summary` in one task.
    #[schemars(range(min = 0, max = 100))]
    pub summaries_max: u32,
    /// Seconds that a summary may take.
    #[schemars(range(min = 1, max = 600))]
    pub summary_timeout_secs: u64,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            strategy: ContextStrategy::default(),
            window_tokens: None,
            compact_at_percent: 70,
            roll_at_percent: 80,
            keep_messages: 10,
            prune_keep_messages: 4,
            recoveries_max: 4,
            recovery_span: 20,
            summaries_max: 3,
            summary_timeout_secs: 60,
        }
    }
}

impl ContextConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        if self.prune_keep_messages <= self.keep_messages {
            return Vec::new();
        }
        let why =
            format!("is {}, expected at most keep_messages, which is {}", self.prune_keep_messages, self.keep_messages);
        vec![Finding::new("prune_keep_messages", why, "lower it or raise keep_messages").with("keep_messages")]
    }
}
