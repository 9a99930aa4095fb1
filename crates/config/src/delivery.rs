//! `[delivery]`: how answers are delivered and tried again.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::shape;
use hob_core::domain::inbound::ChannelKind;

/// How answers are delivered and tried again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DeliveryConfig>)]
pub struct DeliveryConfig {
    /// Milliseconds before the second attempt; each further wait is about twice as long.
    #[schemars(range(min = 1, max = 300_000))]
    pub backoff_base_ms: u64,
    /// Whether a reply is shown while it is written, as one message that grows, where a platform can change messages.
    pub stream: bool,
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
    /// Matrix.
    Matrix,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        Self { backoff_base_ms: 1000, stream: true, stream_off: Vec::new(), reactions: true }
    }
}

impl DeliveryConfig {
    /// The platforms on which replies come whole.
    pub fn whole(&self) -> impl Iterator<Item = ChannelKind> {
        self.stream_off.iter().map(|platform| match platform {
            StreamingPlatform::Telegram => ChannelKind::Telegram,
            StreamingPlatform::Slack => ChannelKind::Slack,
            StreamingPlatform::Discord => ChannelKind::Discord,
            StreamingPlatform::Matrix => ChannelKind::Matrix,
        })
    }
}
