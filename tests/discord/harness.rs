//! An adapter that runs against a fake, and an intake that remembers.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own machinery fails loudly")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hob::channel::discord::Discord;
use hob::channel::discord::settings::{Pace, Settings};
use hob::domain::channel::{Accepted, Adapter, Channel as _, Intake, IntakeError};
use hob::domain::clock::SystemClock;
use hob::domain::ids::{OutboxId, RunId};
use hob::domain::inbound::{ChannelKind, Conversation, Cursor, Happening, Inbound};
use hob::domain::outgoing::{Destination, Outgoing};
use hob::domain::rng::SystemRng;
use hob::domain::secret::Secret;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::fake_discord::FakeDiscord;
use crate::support::fake_discord::world::{DM, HALL, THREAD};

/// Fast enough for a test, slow enough for two busy cores.
pub(crate) const PACE: Pace = Pace {
    retry_min: Duration::from_millis(5),
    retry_max: Duration::from_millis(40),
    retry_refused: Duration::from_millis(60),
    ready_deadline: Duration::from_secs(3),
    silence_max: Duration::from_secs(60),
    send_deadline: Duration::from_secs(3),
    nonce_lasts: Duration::from_secs(60),
};

/// Takes what comes in, or fails as scripted; keeps cursors as the database does.
#[derive(Default)]
pub(crate) struct Memory {
    seen: watch::Sender<Vec<Inbound>>,
    cursors: Mutex<BTreeMap<String, i64>>,
    failures: Mutex<usize>,
    /// How often something came that was there already.
    doubles: Mutex<usize>,
}

impl Memory {
    fn advanced(&self, cursor: Cursor) {
        let mut cursors = self.cursors.lock().unwrap();
        let position = cursors.entry(cursor.list).or_insert(cursor.position);
        *position = cursor.position.max(*position);
    }

    /// The next attempts fail.
    pub(crate) fn fail(&self, times: usize) {
        *self.failures.lock().unwrap() = times;
    }

    pub(crate) fn failures_left(&self) -> usize {
        *self.failures.lock().unwrap()
    }

    pub(crate) fn doubles(&self) -> usize {
        *self.doubles.lock().unwrap()
    }

    /// How far a list has come.
    pub(crate) fn cursor(&self, list: &str) -> Option<i64> {
        self.cursors.lock().unwrap().get(list).copied()
    }

    /// Sets a cursor, as an earlier process would have left it.
    pub(crate) fn left(&self, list: &str, position: u64) {
        self.advanced(Cursor { list: list.to_owned(), position: i64::try_from(position).unwrap() });
    }

    /// Waits until so many were taken.
    pub(crate) async fn until(&self, count: usize) -> Vec<Inbound> {
        let mut seen = self.seen.subscribe();
        let enough = tokio::time::timeout(Duration::from_secs(20), seen.wait_for(|seen| seen.len() >= count)).await;
        enough.unwrap_or_else(|_| panic!("not {count} messages: {:#?}", self.seen.borrow())).unwrap().clone()
    }

    /// Waits until so many were taken; their texts (or tokens).
    pub(crate) async fn texts(&self, count: usize) -> Vec<String> {
        self.until(count).await.iter().map(text_of).collect()
    }
}

#[async_trait]
impl Intake for Memory {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, IntakeError> {
        {
            let mut failures = self.failures.lock().unwrap();
            if *failures > 0 {
                *failures -= 1;
                return Err(IntakeError("the disk is full".to_owned()));
            }
        }
        if let Some(cursor) = inbound.circumstances.cursor.clone() {
            self.advanced(cursor);
        }
        let same = |other: &Inbound| {
            (&other.conversation, &other.external_id) == (&inbound.conversation, &inbound.external_id)
                && other.happening == inbound.happening
        };
        if self.seen.borrow().iter().any(same) {
            *self.doubles.lock().unwrap() += 1;
            return Ok(Accepted::Duplicate);
        }
        self.seen.send_modify(|seen| seen.push(inbound));
        Ok(Accepted::Committed)
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(self.cursors.lock().unwrap().clone())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, cursor: Cursor) -> Result<(), IntakeError> {
        self.advanced(cursor);
        Ok(())
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
    pub(crate) discord: Arc<Discord>,
    pub(crate) intake: Arc<Memory>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts one and waits until it is connected.
    pub(crate) async fn start(fake: &FakeDiscord) -> Self {
        let running = Self::begin(fake, PACE, Arc::default());
        running.until_connected(fake).await;
        running
    }

    /// Starts one with another pace, on what an earlier one left.
    pub(crate) fn begin(fake: &FakeDiscord, pace: Pace, intake: Arc<Memory>) -> Self {
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
        let ended = tokio::time::timeout(Duration::from_secs(5), self.task).await;
        ended.expect("the adapter does not stop").expect("the adapter panicked");
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
        let said = tokio::time::timeout(Duration::from_secs(20), said).await;
        assert!(said.is_ok(), "health says {:?}, not {says:?}: {:#?}", health(), fake.look(|world| world.clone()));
    }
}

/// An adapter that isn't connected.
pub(crate) fn adapter(fake: &FakeDiscord, pace: Pace) -> Discord {
    adapter_with(fake, pace, Vec::new())
}

/// The same, with commands in these servers alone.
pub(crate) fn adapter_with(fake: &FakeDiscord, pace: Pace, command_guilds: Vec<String>) -> Discord {
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
