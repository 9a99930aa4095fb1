//! Telegram's Bot API: long polling in, plain messages out.
//!
//! Never: an update acknowledged before the intake has it, a decision who may speak, or the token in a text.
//! Start at [`Telegram::run`]; `poll` brings in, `convert` translates, `send` takes out.

mod call;
mod convert;
mod fetch;
mod poll;
mod salvage;
mod send;
pub mod settings;
mod typing;
mod upload;

use std::sync::Arc;

use async_trait::async_trait;
use teloxide::Bot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channel::telegram::poll::Poller;
use crate::channel::telegram::settings::Settings;
use crate::channel::telegram::typing::{Typing, Ways};
use crate::domain::channel::{Adapter, Channel, FetchError, Intake, Progress};
use crate::domain::clock::Clock;
use crate::domain::health::{ChannelHealth, Monitor};
use crate::domain::ids::RunId;
use crate::domain::inbound::{Attachment, ChannelKind, DEFAULT_ACCOUNT};
use crate::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};
use crate::domain::rng::Rng;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("no client for Telegram: {0}")]
pub struct SetupError(String);

/// One bot.
pub struct Telegram {
    settings: Settings,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
    /// The client of all requests but the polls.
    sender: Bot,
    health: Monitor,
    typing: Typing,
    tracker: TaskTracker,
    /// Ends what the adapter spawned.
    life: CancellationToken,
}

impl Telegram {
    /// Builds the adapter; nothing is sent yet.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let sender =
            call::client(&settings, settings.pace.send_deadline).map_err(|error| SetupError(error.to_string()))?;
        Ok(Self {
            settings,
            clock,
            rng,
            sender,
            health: Monitor::default(),
            typing: Typing::default(),
            tracker: TaskTracker::new(),
            life: CancellationToken::new(),
        })
    }
}

#[async_trait]
impl Channel for Telegram {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Telegram, DEFAULT_ACCOUNT)
    }

    #[tracing::instrument(name = "telegram.deliver", skip_all, fields(channel = "telegram", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        send::deliver(&self.sender, message, self.settings.pace.send_deadline).await
    }

    #[tracing::instrument(name = "telegram.fetch", skip_all, fields(channel = "telegram"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        fetch::fetch(&self.sender, attachment, (bytes_max, self.settings.pace)).await
    }

    fn progress(&self, destination: &Destination, run: RunId, progress: &Progress) {
        let pace = self.settings.pace;
        match progress {
            Progress::Working | Progress::Delta(_) | Progress::Restart => {
                let ways = Ways { bot: &self.sender, tracker: &self.tracker, life: &self.life, pace };
                self.typing.start(destination, run, &ways);
            }
            Progress::Waiting | Progress::Idle(_) => self.typing.stop(destination, run, pace),
        }
    }

    fn health(&self) -> ChannelHealth {
        let silence_max = self.settings.poll_timeout + self.settings.pace.poll_grace;
        self.health.health(self.clock.now(), silence_max)
    }
}

#[async_trait]
impl Adapter for Telegram {
    /// Hands in what Telegram has, until `stop`; once. A pending poll and typing end then, deliveries go on working:
    /// what the intake had not confirmed, Telegram delivers again at the next start.
    #[tracing::instrument(name = "telegram.poll", skip_all, fields(channel = "telegram"))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        let poller = Poller::new(&self, intake.as_ref());
        stop.run_until_cancelled(Box::pin(poller.run())).await;
        self.life.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
