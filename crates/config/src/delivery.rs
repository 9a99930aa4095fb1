//! `[delivery]`: how answers are delivered and tried again.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;
use hob_core::domain::inbound::ChannelKind;

/// How answers are delivered and tried again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DeliveryConfig>)]
pub struct DeliveryConfig {
    /// Attempts before an answer is given up.
    #[schemars(range(min = 1, max = 1000))]
    pub attempts_max: u32,
    /// Seconds after which an undelivered answer is given up.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub age_max_secs: u64,
    /// Milliseconds before the second attempt; each further wait is about twice as long.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub backoff_base_ms: u64,
    /// Seconds of the longest wait between two attempts.
    #[schemars(range(min = 1, max = 86_400))]
    pub backoff_max_secs: u64,
    /// Whether a reply is shown while it is written, as one message that grows, where a platform can change messages.
    pub stream: bool,
    /// Milliseconds between two changes of such a message.
    #[schemars(range(min = 250, max = 60_000))]
    pub stream_every_ms: u64,
    /// Platforms on which replies come whole all the same.
    #[schemars(example = ["slack"])]
    pub stream_off: Vec<StreamingPlatform>,
    /// Whether a message carries a sign of what becomes of it: seen, worked on, waits for you, done, failed.
    pub reactions: bool,
}

/// A platform on which a message can grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamingPlatform {
    /// Telegram.
    Telegram,
    /// Slack.
    Slack,
    /// Discord.
    Discord,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        Self {
            attempts_max: 400,
            age_max_secs: 86_400,
            backoff_base_ms: 1000,
            backoff_max_secs: 300,
            stream: true,
            stream_every_ms: 1500,
            stream_off: Vec::new(),
            reactions: true,
        }
    }
}

impl DeliveryConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.backoff_base_ms > self.backoff_max_secs.saturating_mul(1000) {
            let why = format!(
                "is {} ms, expected at most backoff_max_secs, which is {} s",
                self.backoff_base_ms, self.backoff_max_secs
            );
            let fix = "lower it or raise backoff_max_secs";
            found.push(Finding::new("backoff_base_ms", why, fix).with("backoff_max_secs"));
        }
        found
    }

    /// The platforms on which replies come whole.
    pub fn whole(&self) -> impl Iterator<Item = ChannelKind> {
        self.stream_off.iter().map(|platform| match platform {
            StreamingPlatform::Telegram => ChannelKind::Telegram,
            StreamingPlatform::Slack => ChannelKind::Slack,
            StreamingPlatform::Discord => ChannelKind::Discord,
        })
    }
}
