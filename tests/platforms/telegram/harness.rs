//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_telegram::Telegram;
use hob_telegram::settings::{Settings, Timing};

use crate::adapter;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::outgoing::plain;

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
pub(crate) type RunningAdapter = adapter::RunningAdapter<Telegram>;

impl RunningAdapter {
    /// Starts one with a poll timeout of a second.
    pub(crate) fn start(fake: &FakeTelegram) -> Self {
        Self::start_with(fake, PACE)
    }

    /// Starts one with another pace.
    pub(crate) fn start_with(fake: &FakeTelegram, pace: Timing) -> Self {
        Self::of(adapter(&fake.api_url(), pace), Arc::default())
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
    plain(to(chat), Some(RunId(1)), text)
}
