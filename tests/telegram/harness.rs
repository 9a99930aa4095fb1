//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own machinery fails loudly")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hob::channel::telegram::Telegram;
use hob::channel::telegram::settings::{Pace, Settings};
use hob::domain::channel::Adapter;
use hob::domain::channel::{Accepted, Channel as _, Intake, IntakeError};
use hob::domain::clock::SystemClock;
use hob::domain::ids::{OutboxId, RunId};
use hob::domain::inbound::Cursor;
use hob::domain::inbound::{ChannelKind, Conversation, Happening, Inbound};
use hob::domain::outgoing::{Destination, Outgoing};
use hob::domain::rng::SystemRng;
use hob::domain::secret::Secret;
use std::collections::BTreeMap;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::fake_telegram::FakeTelegram;

/// Fast enough for a test, slow enough for two busy cores.
pub(crate) const PACE: Pace = Pace {
    retry_min: Duration::from_millis(5),
    retry_max: Duration::from_millis(40),
    retry_refused: Duration::from_millis(60),
    poll_grace: Duration::from_millis(500),
    send_deadline: Duration::from_millis(1500),
    album_window: Duration::from_millis(80),
    webhook_check: Duration::from_millis(50),
};

/// Takes what comes in, or fails as scripted; a duplicate is told by (chat, external id, what).
#[derive(Default)]
pub(crate) struct Memory {
    seen: watch::Sender<Vec<Inbound>>,
    attempts: Mutex<Vec<String>>,
    failures: Mutex<VecDeque<Option<&'static str>>>,
    /// What is answered for each of them.
    answers: Mutex<VecDeque<Accepted>>,
    moves: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl Intake for Memory {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, IntakeError> {
        self.attempts.lock().unwrap().push(inbound.external_id.clone());
        if let Some(Some(why)) = self.failures.lock().unwrap().pop_front() {
            return Err(IntakeError(why.to_owned()));
        }
        if self.seen.borrow().contains(&inbound) {
            return Ok(Accepted::Duplicate);
        }
        self.seen.send_modify(|seen| seen.push(inbound));
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or(Accepted::Committed))
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(BTreeMap::new())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, _cursor: Cursor) -> Result<(), IntakeError> {
        Ok(())
    }

    async fn moved(&self, place: Conversation, chat: &str) -> Result<(), IntakeError> {
        self.moves.lock().unwrap().push((place.chat, chat.to_owned()));
        Ok(())
    }
}

impl Memory {
    /// The next attempts fail.
    pub(crate) fn fail(&self, why: &'static str, times: usize) {
        self.failures.lock().unwrap().extend(std::iter::repeat_n(Some(why), times));
    }

    /// The attempt after the next one fails.
    pub(crate) fn fail_second(&self, why: &'static str) {
        self.failures.lock().unwrap().extend([None, Some(why)]);
    }

    /// What becomes of the next one that is taken.
    pub(crate) fn answer(&self, accepted: Accepted) {
        self.answers.lock().unwrap().push_back(accepted);
    }

    /// The chats that have other ids now.
    pub(crate) fn moves(&self) -> Vec<(String, String)> {
        self.moves.lock().unwrap().clone()
    }

    /// The external ids that were handed in, failures and duplicates included.
    pub(crate) fn attempts(&self) -> Vec<String> {
        self.attempts.lock().unwrap().clone()
    }

    /// Waits until so many were taken.
    pub(crate) async fn until(&self, count: usize) -> Vec<Inbound> {
        let mut seen = self.seen.subscribe();
        let enough = seen.wait_for(|seen| seen.len() >= count);
        let enough = tokio::time::timeout(Duration::from_secs(20), enough).await;
        enough.unwrap_or_else(|_| panic!("not {count} messages: {:#?}", self.seen.borrow())).unwrap().clone()
    }

    /// Waits until so many were taken; their texts (or tokens).
    pub(crate) async fn texts(&self, count: usize) -> Vec<String> {
        self.until(count).await.iter().map(text_of).collect()
    }
}

/// The text that a message brought, with a mark for what isn't a plain post.
pub(crate) fn text_of(inbound: &Inbound) -> String {
    match &inbound.happening {
        Happening::Posted { text } => text.clone(),
        Happening::Edited { text } => format!("edited: {text}"),
        Happening::Deleted => "deleted".to_owned(),
        Happening::Pressed { token } => format!("pressed: {token}"),
    }
}

/// An adapter at work.
pub(crate) struct Running {
    pub(crate) telegram: Arc<Telegram>,
    pub(crate) intake: Arc<Memory>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts one with a poll timeout of a second.
    pub(crate) fn start(fake: &FakeTelegram) -> Self {
        Self::start_with(fake, PACE)
    }

    /// Starts one with another pace.
    pub(crate) fn start_with(fake: &FakeTelegram, pace: Pace) -> Self {
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
        let ended = tokio::time::timeout(Duration::from_secs(5), self.task).await;
        ended.expect("the adapter does not stop").expect("the adapter panicked");
    }

    /// Waits, by way of the fake's next change, until `/status` says this.
    pub(crate) async fn until_health(&self, fake: &FakeTelegram, says: &str) {
        let health = || self.telegram.health().to_string();
        fake.until(&format!("health that says {says:?}"), |_| health().contains(says).then_some(())).await;
    }
}

/// An adapter that isn't polling.
pub(crate) fn adapter(api_url: &str, pace: Pace) -> Telegram {
    built(settings(api_url, pace))
}

/// An adapter with these settings.
pub(crate) fn built(settings: Settings) -> Telegram {
    Telegram::new(settings, Arc::new(SystemClock), Arc::new(SystemRng)).unwrap()
}

/// The usual settings, without commands.
pub(crate) fn settings(api_url: &str, pace: Pace) -> Settings {
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
