//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own machinery fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_discord::Discord;
use hob_discord::settings::{Settings, Timing};

use crate::adapter;
use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{DM, HALL, THREAD};
use hob_testkit::intake::Memory;
use hob_testkit::outgoing::plain;

/// Fast enough for a test, slow enough for two busy cores.
pub(crate) const PACE: Timing = Timing {
    retry_min: Duration::from_millis(5),
    retry_max: Duration::from_millis(40),
    retry_refused: Duration::from_millis(60),
    ready_deadline: Duration::from_secs(3),
    silence_max: Duration::from_secs(60),
    send_deadline: Duration::from_secs(3),
    nonce_lasts: Duration::from_secs(60),
};

/// An adapter at work.
pub(crate) type RunningAdapter = adapter::RunningAdapter<Discord>;

impl RunningAdapter {
    /// Starts one and waits until it is connected.
    pub(crate) async fn start(fake: &FakeDiscord) -> Self {
        let running = Self::begin(fake, PACE, Arc::default());
        running.until_connected(fake).await;
        running
    }

    /// Starts one with another pace, on what an earlier one left.
    pub(crate) fn begin(fake: &FakeDiscord, pace: Timing, intake: Arc<Memory>) -> Self {
        Self::of(adapter(fake, pace), intake)
    }

    /// Waits until it has caught up.
    pub(crate) async fn until_connected(&self, fake: &FakeDiscord) {
        self.until_health(fake, "connected (@hob_test)").await;
        let ready = fake.look(|world| world.commands.is_empty());
        if ready {
            fake.until_true("slash commands", |world| !world.commands.is_empty()).await;
        }
    }

    /// Waits until the receive loop has come round so many more times.
    pub(crate) async fn until_turned(&self, times: u64) {
        let turns = || self.adapter.health().pulse.map_or(0, |pulse| pulse.turns);
        let enough = turns() + times;
        let turned = async {
            while turns() < enough {
                // It has no bell.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), turned).await.expect("the receive loop stands still");
    }
}

/// An adapter that isn't connected.
pub(crate) fn adapter(fake: &FakeDiscord, pace: Timing) -> Discord {
    adapter_with(fake, pace, Vec::new())
}

/// The same, with commands in these servers alone.
pub(crate) fn adapter_with(fake: &FakeDiscord, pace: Timing, command_guilds: Vec<String>) -> Discord {
    let settings = Settings {
        account: "default".to_owned(),
        token: Secret::new(FakeDiscord::TOKEN.to_owned()),
        api_url: fake.api_url().parse().unwrap(),
        command_guilds,
        pace,
    };
    Discord::new(settings, Arc::new(SystemClock), Arc::new(SystemRng)).unwrap()
}

/// A place as the adapter names it.
pub(crate) fn to(channel: u64) -> Destination {
    let (chat, thread) = match channel {
        DM => (format!("dm:{DM}"), None),
        THREAD => (HALL.to_string(), Some(THREAD.to_string())),
        other => (other.to_string(), None),
    };
    let conversation = Conversation { channel: ChannelKind::Discord, account: "default".to_owned(), chat, thread };
    Destination { conversation, reply_to: None }
}

/// A plain message.
pub(crate) fn message(channel: u64, text: &str) -> Outgoing {
    plain(to(channel), Some(RunId(1)), text)
}
