//! A bot on Discord, as a channel.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{Api, CallError};
use crate::gateway::{Gateway, check};
use crate::limits::RateLimits;
use crate::presence::Reactions;
use crate::settings::Settings;
use crate::{fetch, presence, send};
use hob_core::domain::channel::{AccountError, Adapter, Channel, FetchError, Intake, PresenceSignal};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Monitor};
use hob_core::domain::ids::OutboxId;
use hob_core::domain::inbound::{Attachment, ChannelKind};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use hob_core::domain::rng::Rng;
use hob_telemetry::tasks;

/// So many attempts of which nobody knows what became of them are remembered.
const ATTEMPTS_MAX: usize = 1_000;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("the client for Discord could not be set up: {0}")]
pub struct SetupError(String);

/// One bot.
pub struct Discord {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) limits: Arc<RateLimits>,
    /// The client of all that goes out; the gateway has others.
    pub(crate) api: Api,
    pub(crate) health: Monitor,
    pub(crate) signs: Reactions,
    /// When the attempts began of which nobody knows what became of them.
    pub(crate) attempts: Mutex<BTreeMap<OutboxId, Instant>>,
    tracker: TaskTracker,
    /// Ends what the adapter spawned.
    life: CancellationToken,
}

impl Discord {
    /// Builds the adapter; nothing is sent yet.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let limits = Arc::new(RateLimits::default());
        let api = Api::new(&settings, Arc::clone(&limits)).map_err(|error| SetupError(error.to_string()))?;
        Ok(Self {
            settings,
            clock,
            rng,
            limits,
            api,
            health: Monitor::default(),
            signs: Reactions::default(),
            attempts: Mutex::default(),
            tracker: TaskTracker::new(),
            life: CancellationToken::new(),
        })
    }

    /// The API by a client of its own.
    pub(crate) fn fresh_api(&self) -> Result<Api, CallError> {
        Api::new(&self.settings, Arc::clone(&self.limits))
    }

    /// Lets something go on beside the receiving, until that ends.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tasks::spawn_among(&self.tracker, "discord", self.life.clone().run_until_cancelled_owned(task));
    }

    /// Remembers since when nobody knows what became of a message.
    pub(crate) fn remember(&self, message: OutboxId) {
        let mut attempts = lock(&self.attempts);
        attempts.entry(message).or_insert_with(Instant::now);
        if attempts.len() > ATTEMPTS_MAX {
            attempts.pop_first();
        }
    }

    /// Whether Discord surely remembers the nonce of a message's first attempt.
    pub(crate) fn is_fresh(&self, message: OutboxId) -> bool {
        lock(&self.attempts).get(&message).is_some_and(|began| began.elapsed() < self.settings.pace.nonce_lasts)
    }
}

#[async_trait]
impl Channel for Discord {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Discord, &self.settings.account)
    }

    #[tracing::instrument(name = "discord.deliver", skip_all, fields(channel = "discord", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        Box::pin(send::deliver(self, message)).await
    }

    #[tracing::instrument(name = "discord.draft", skip_all, fields(channel = "discord"))]
    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        send::draft(&self.api, draft).await
    }

    #[tracing::instrument(name = "discord.retract", skip_all, fields(channel = "discord"))]
    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        send::retract(&self.api, place, external_id).await
    }

    #[tracing::instrument(name = "discord.sign", skip_all, fields(channel = "discord"))]
    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        presence::show(self, place, sign).await
    }

    #[tracing::instrument(name = "discord.fetch", skip_all, fields(channel = "discord"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        fetch::fetch(&self.settings, attachment, bytes_max).await
    }

    fn health(&self) -> ChannelHealth {
        self.health.health(self.clock.now(), self.settings.pace.silence_max)
    }
}

#[async_trait]
impl Adapter for Discord {
    /// Hands in what Discord has, until `stop`; once. What the intake had not confirmed is fetched at the next start.
    #[tracing::instrument(name = "discord.gateway", skip_all, fields(channel = "discord"))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        let gateway = Gateway::new(&self, intake.as_ref());
        stop.run_until_cancelled(Box::pin(gateway.run())).await;
        self.life.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn check(&self) -> Result<String, AccountError> {
        check(self).await
    }
}
