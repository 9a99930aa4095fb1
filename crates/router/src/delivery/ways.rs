//! How delivery reaches people, by the config: exchanged as a whole while it works.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::mail::LetterRules;
use crate::streaming::StreamSettings;
use hob_core::domain::channel::Channel;
use hob_core::domain::inbound::Conversation;

/// The outbox's numbers, as configured.
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

/// What delivery goes by: all of it that is of one config, exchanged as a whole.
pub struct Ways {
    /// The connected platforms.
    pub channels: Vec<Arc<dyn Channel>>,
    /// The numbers.
    pub limits: DeliveryLimits,
    /// How replies are streamed.
    pub stream: StreamSettings,
    /// Whether messages carry signs of what becomes of them.
    pub reactions: bool,
    /// Whom letters go to unasked, and how often.
    pub letters: Arc<LetterRules>,
}

/// The platforms, and the tasks that speak to them.
pub(crate) struct Reach {
    ways: ArcSwap<Ways>,
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Reach {
    pub(crate) fn new(ways: Ways, tracker: TaskTracker, stop: CancellationToken) -> Self {
        Self { ways: ArcSwap::from_pointee(ways), tracker, stop }
    }

    /// From now on it is gone by these.
    pub(super) fn exchange(&self, ways: Ways) {
        self.ways.store(Arc::new(ways));
    }

    /// What is gone by now.
    pub(crate) fn ways(&self) -> Arc<Ways> {
        self.ways.load_full()
    }

    /// The account that is there; none: it is not connected.
    pub(crate) fn channel(&self, place: &Conversation) -> Option<Arc<dyn Channel>> {
        let ways = self.ways.load();
        ways.channels.iter().find(|channel| channel.address() == (place.channel, place.account.as_str())).cloned()
    }
}
