//! What the config says of delivery, and the channels that it delivers through.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::mail::EmailPolicy;
use crate::streaming::StreamSettings;
use hob_core::domain::channel::Channel;
use hob_core::domain::inbound::Conversation;

/// After so many attempts a chunk is given up.
const ATTEMPTS_MAX: i64 = 400;
/// After so long a chunk is given up.
const AGE_MAX: Duration = Duration::from_hours(24);
/// The longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_mins(5);

/// The outbox's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryLimits {
    /// After so many attempts a chunk is given up.
    pub attempts_max: i64,
    /// After so long a chunk is given up.
    pub age_max: Duration,
    /// The wait after the first failure; it doubles, with jitter.
    pub backoff_base: Duration,
    /// The longest such wait.
    pub backoff_max: Duration,
}

impl DeliveryLimits {
    /// The usual ones, but for the first wait.
    pub fn with_backoff(backoff_base: Duration) -> Self {
        Self { attempts_max: ATTEMPTS_MAX, age_max: AGE_MAX, backoff_base, backoff_max: BACKOFF_MAX }
    }
}

/// What the config says of delivery, exchanged as a whole.
pub struct DeliveryConfig {
    /// The connected platforms.
    pub channels: Vec<Arc<dyn Channel>>,
    /// The numbers.
    pub limits: DeliveryLimits,
    /// How replies are streamed.
    pub stream: StreamSettings,
    /// Whether somebody can say answers aloud.
    pub speaks: bool,
    /// Whether messages carry signs of what becomes of them.
    pub reactions: bool,
    /// Whom letters go to unasked, and how often.
    pub letters: Arc<EmailPolicy>,
}

/// The connected channels, and the tasks that speak with them.
pub(crate) struct ChannelRegistry {
    config: ArcSwap<DeliveryConfig>,
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl ChannelRegistry {
    pub(crate) fn new(config: DeliveryConfig, tracker: TaskTracker, stop: CancellationToken) -> Self {
        Self { config: ArcSwap::from_pointee(config), tracker, stop }
    }

    /// Delivers by this config from now on.
    pub(super) fn exchange(&self, config: DeliveryConfig) {
        self.config.store(Arc::new(config));
    }

    /// The config in use.
    pub(crate) fn config(&self) -> Arc<DeliveryConfig> {
        self.config.load_full()
    }

    /// The channel of an account; none: it is not connected.
    pub(crate) fn channel(&self, place: &Conversation) -> Option<Arc<dyn Channel>> {
        let config = self.config.load();
        config.channels.iter().find(|channel| channel.address() == (place.channel, place.account.as_str())).cloned()
    }
}
