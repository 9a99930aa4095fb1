//! An adapter that runs against a fake, and an intake that remembers.

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_slack::Slack;
use hob_slack::settings::{Settings, Timing};

use crate::adapter;
use hob_testkit::fake_slack::FakeSlack;
use hob_testkit::intake::Memory;
use hob_testkit::outgoing::plain;

/// Ada, and her private chat with the app.
pub(crate) const ADA: &str = "U0ADA";
pub(crate) const ADAS: &str = "D0ADA";
pub(crate) const BOB: &str = "U0BOB";
/// A channel that both and the app are in.
pub(crate) const HALL: &str = "C0HALL";

/// Fast enough for a test, slow enough for two busy cores.
pub(crate) const PACE: Timing = Timing {
    retry_min: Duration::from_millis(10),
    retry_max: Duration::from_millis(60),
    retry_refused: Duration::from_millis(80),
    ping_every: Duration::from_millis(150),
    silence_max: Duration::from_millis(900),
    send_deadline: Duration::from_millis(1_500),
    hold_max: Duration::from_millis(1_000),
};

/// A workspace with two people, their private chats, and a hall.
pub(crate) async fn workspace() -> FakeSlack {
    let fake = FakeSlack::start().await;
    fake.person(ADA, "Ada");
    fake.person(BOB, "Bob");
    fake.channel(ADAS);
    fake.channel(HALL);
    fake
}

/// An adapter at work.
pub(crate) type RunningAdapter = adapter::RunningAdapter<Slack>;

impl RunningAdapter {
    /// Starts one, and waits until it has caught up.
    pub(crate) async fn start(fake: &FakeSlack) -> Self {
        let running = Self::start_with(fake, Arc::new(Memory::default()));
        running.caught_up(fake).await;
        running
    }

    /// Starts one that knows what an earlier one knew.
    pub(crate) fn start_with(fake: &FakeSlack, intake: Arc<Memory>) -> Self {
        Self::of(adapter(&fake.api_url()), intake)
    }

    /// Waits until it hears, and has begun to count.
    pub(crate) async fn caught_up(&self, fake: &FakeSlack) {
        fake.connected().await;
        self.until_health(fake, "connected (@hob in Home)").await;
        let known = || self.intake.cursor("account").is_some();
        fake.until_true("cursor of the account", |_| known()).await;
    }

    /// Waits until it has noticed that Slack is away.
    pub(crate) async fn until_down(&self) {
        let noticed = async {
            while !self.adapter.health().to_string().contains("not connected") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), noticed).await.expect("it has not noticed");
    }
}

/// An adapter that isn't connected.
pub(crate) fn adapter(api_url: &str) -> Slack {
    let settings = Settings {
        account: "default".to_owned(),
        bot_token: Secret::new(FakeSlack::BOT_TOKEN.to_owned()),
        app_token: Secret::new(FakeSlack::APP_TOKEN.to_owned()),
        api_url: api_url.parse().unwrap(),
        is_command: |words| matches!(words, "/stop" | "/help"),
        pace: PACE,
    };
    Slack::new(settings, Arc::new(SystemClock), Arc::new(SystemRng)).unwrap()
}

/// A place.
pub(crate) fn to(chat: &str, thread: Option<&str>) -> Destination {
    let (account, thread) = ("default".to_owned(), thread.map(str::to_owned));
    let conversation = Conversation { channel: ChannelKind::Slack, account, chat: chat.to_owned(), thread };
    Destination { conversation, reply_to: None }
}

/// A plain message.
pub(crate) fn message(chat: &str, text: &str) -> Outgoing {
    plain(to(chat, None), Some(RunId(1)), text)
}
