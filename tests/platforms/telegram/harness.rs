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
use hob_telegram::Telegram;
use hob_telegram::settings::{Settings, Timing};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::intake::Memory;

/// Fast enough for a test, slow enough for two busy cores.
pub(crate) const PACE: Timing = Timing {
    retry_min: Duration::from_millis(5),
    retry_max: Duration::from_millis(40),
    retry_refused: Duration::from_millis(60),
    poll_grace: Duration::from_millis(500),
    send_deadline: Duration::from_millis(1500),
    album_window: Duration::from_millis(80),
    webhook_check: Duration::from_millis(50),
};

/// An adapter at work.
pub(crate) struct RunningAdapter {
    pub(crate) telegram: Arc<Telegram>,
    pub(crate) intake: Arc<Memory>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningAdapter {
    /// Starts one with a poll timeout of a second.
    pub(crate) fn start(fake: &FakeTelegram) -> Self {
        Self::start_with(fake, PACE)
    }

    /// Starts one with another pace.
    pub(crate) fn start_with(fake: &FakeTelegram, pace: Timing) -> Self {
        Self::of(adapter(&fake.api_url(), pace))
    }

    /// Starts this one.
    pub(crate) fn of(telegram: Telegram) -> Self {
        let (telegram, intake, stop) = (Arc::new(telegram), Arc::new(Memory::default()), CancellationToken::new());
        let port: Arc<dyn Intake> = intake.clone();
        let task = tokio::spawn(Arc::clone(&telegram).run(port, stop.clone()));
        Self { telegram, intake, stop, task }
    }

    /// Stops it and waits for its end; a panic in it fails the test.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(120), self.task).await;
        ended.expect("the adapter does not stop").expect("the adapter panicked");
    }

    /// Waits, by way of the fake's next change, until `/status` says this.
    pub(crate) async fn until_health(&self, fake: &FakeTelegram, says: &str) {
        let health = || self.telegram.health().to_string();
        fake.until(&format!("health that says {says:?}"), |_| health().contains(says).then_some(())).await;
    }
}

/// An adapter that isn't polling.
pub(crate) fn adapter(api_url: &str, pace: Timing) -> Telegram {
    built(settings(api_url, pace))
}

/// An adapter with these settings.
pub(crate) fn built(settings: Settings) -> Telegram {
    Telegram::new(settings, Arc::new(SystemClock), Arc::new(SystemRng)).unwrap()
}

/// The usual settings, without commands.
pub(crate) fn settings(api_url: &str, pace: Timing) -> Settings {
    Settings {
        account: "default".to_owned(),
        token: Secret::new(FakeTelegram::TOKEN.to_owned()),
        api_url: api_url.parse().unwrap(),
        poll_timeout: Duration::from_secs(1),
        webhook: None,
        commands: Vec::new(),
        pace,
    }
}

/// A private chat.
pub(crate) fn to(chat: i64) -> Destination {
    let account = "default".to_owned();
    let conversation = Conversation { channel: ChannelKind::Telegram, account, chat: chat.to_string(), thread: None };
    Destination { conversation, reply_to: None }
}

/// A plain message into a private chat.
pub(crate) fn message(chat: i64, text: &str) -> Outgoing {
    Outgoing {
        id: OutboxId(1),
        destination: to(chat),
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
