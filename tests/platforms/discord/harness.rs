//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own machinery fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::{Adapter, Channel as _, Intake};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::{OutboxId, RunId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_discord::Discord;
use hob_discord::settings::{Settings, Timing};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{DM, HALL, THREAD};
use hob_testkit::intake::Memory;

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
pub(crate) struct RunningAdapter {
    pub(crate) discord: Arc<Discord>,
    pub(crate) intake: Arc<Memory>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningAdapter {
    /// Starts one and waits until it is connected.
    pub(crate) async fn start(fake: &FakeDiscord) -> Self {
        let running = Self::begin(fake, PACE, Arc::default());
        running.until_connected(fake).await;
        running
    }

    /// Starts one with another pace, on what an earlier one left.
    pub(crate) fn begin(fake: &FakeDiscord, pace: Timing, intake: Arc<Memory>) -> Self {
        let discord = Arc::new(adapter(fake, pace));
        let stop = CancellationToken::new();
        let port: Arc<dyn Intake> = intake.clone();
        let task = tokio::spawn(Arc::clone(&discord).run(port, stop.clone()));
        Self { discord, intake, stop, task }
    }

    /// Waits until it has caught up.
    pub(crate) async fn until_connected(&self, fake: &FakeDiscord) {
        self.until_health(fake, "connected (@hob_test)").await;
        let ready = fake.look(|world| world.commands.is_empty());
        if ready {
            fake.until_true("slash commands", |world| !world.commands.is_empty()).await;
        }
    }

    /// Stops it and waits for its end; a panic in it fails the test.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(120), self.task).await;
        ended.expect("the adapter does not stop").expect("the adapter panicked");
    }

    /// Waits until the receive loop has come round so many more times.
    pub(crate) async fn until_turned(&self, times: u64) {
        let turns = || self.discord.health().pulse.map_or(0, |pulse| pulse.turns);
        let enough = turns() + times;
        let turned = async {
            while turns() < enough {
                // As below.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), turned).await.expect("the receive loop stands still");
    }

    /// Waits until `/status` says this.
    pub(crate) async fn until_health(&self, fake: &FakeDiscord, says: &str) {
        let health = || self.discord.health().to_string();
        let said = async {
            while !health().contains(says) {
                // Health has no bell: whoever notes it yields to others.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let said = tokio::time::timeout(Duration::from_secs(120), said).await;
        assert!(said.is_ok(), "health says {:?}, not {says:?}: {:#?}", health(), fake.look(|world| world.clone()));
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
    Outgoing {
        id: OutboxId(1),
        destination: to(channel),
        run: Some(RunId(1)),
        text: text.to_owned(),
        markup: None,
        replaces: None,
        envelope: None,
        choices: Vec::new(),
        file: None,
        may_repeat: false,
    }
}
