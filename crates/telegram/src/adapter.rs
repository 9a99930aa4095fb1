//! A bot on Telegram, as a channel.

use std::sync::Arc;

use async_trait::async_trait;
use teloxide::Bot;
use teloxide::types::ChatId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::poll::Poller;
use crate::presence::ReactionlessChats;
use crate::receiver_context::{ReceiverContext, fetch_bot_identity};
use crate::settings::Settings;
use crate::webhook::{WebhookMonitor, WebhookReceiver};
use crate::{call, edit, fetch, presence, send};
use hob_core::domain::channel::{
    AccountError, Adapter, Channel, FetchError, Intake, IntakeError, PresenceSignal, UpdateSink,
};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Monitor};
use hob_core::domain::inbound::{Attachment, ChannelKind, Conversation};
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use hob_core::domain::rng::Rng;
use hob_core::domain::secret::Secret;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("the client for Telegram could not be set up: {0}")]
pub struct SetupError(String);

/// One bot.
pub struct Telegram {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    /// The client of all requests but the polls.
    pub(crate) sender: Bot,
    pub(crate) health: Monitor,
    pub(crate) reactionless: ReactionlessChats,
    pub(crate) calls: WebhookReceiver,
    pub(crate) tracker: TaskTracker,
    /// Ends what the adapter spawned.
    pub(crate) life: CancellationToken,
}

impl Telegram {
    /// Builds the adapter; nothing is sent yet.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let sender =
            call::client(&settings, settings.pace.send_deadline).map_err(|error| SetupError(error.to_string()))?;
        Ok(Self {
            settings,
            clock,
            rng,
            sender,
            health: Monitor::default(),
            reactionless: ReactionlessChats::default(),
            calls: WebhookReceiver::default(),
            tracker: TaskTracker::new(),
            life: CancellationToken::new(),
        })
    }

    /// Telegram was heard.
    pub(crate) fn mark_alive(&self) {
        if let Some(trouble) = self.health.heard(self.clock.now()) {
            info!(channel = "telegram", was = %trouble, "Telegram answers again (was: {trouble})");
        }
    }

    /// A chat of this account's.
    pub(crate) fn place(&self, ChatId(chat): ChatId) -> Conversation {
        let account = self.settings.account.clone();
        Conversation { channel: ChannelKind::Telegram, account, chat: chat.to_string(), thread: None }
    }
}

#[async_trait]
impl Channel for Telegram {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Telegram, &self.settings.account)
    }

    #[tracing::instrument(name = "telegram.deliver", skip_all, fields(channel = "telegram", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        send::deliver(&self.sender, message, self.settings.pace.send_deadline).await
    }

    #[tracing::instrument(name = "telegram.draft", skip_all, fields(channel = "telegram"))]
    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        send::draft(&self.sender, draft, self.settings.pace.send_deadline).await
    }

    #[tracing::instrument(name = "telegram.retract", skip_all, fields(channel = "telegram"))]
    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        edit::retract(self, place, external_id).await
    }

    #[tracing::instrument(name = "telegram.sign", skip_all, fields(channel = "telegram"))]
    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        presence::sign(self, place, sign).await
    }

    #[tracing::instrument(name = "telegram.fetch", skip_all, fields(channel = "telegram"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        fetch::fetch(&self.sender, attachment, bytes_max, self.settings.pace).await
    }

    fn health(&self) -> ChannelHealth {
        let Settings { poll_timeout, webhook, pace, .. } = &self.settings;
        let silence_max = match webhook {
            None => *poll_timeout + pace.poll_grace,
            // Nobody may write for hours: the looks themselves are heard.
            Some(_) => pace.webhook_check * 2 + pace.send_deadline,
        };
        self.health.health(self.clock.now(), silence_max)
    }
}

#[async_trait]
impl Adapter for Telegram {
    /// Hands in what Telegram has, until `stop`; once. A pending poll ends then, deliveries go on working: what the intake
    /// had not confirmed, Telegram delivers again at the next start.
    #[tracing::instrument(name = "telegram.receive", skip_all, fields(channel = "telegram", account = self.settings.account))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        let link = ReceiverContext::new(&self, intake);
        match &self.settings.webhook {
            None => stop.run_until_cancelled(Box::pin(Poller::new(link).run())).await,
            Some(webhook) => stop.run_until_cancelled(Box::pin(WebhookMonitor::new(link, webhook).run())).await,
        };
        self.calls.close();
        self.life.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn check(&self) -> Result<String, AccountError> {
        let me = fetch_bot_identity(&self.sender, self).await.map_err(|trouble| AccountError(trouble.words()))?;
        Ok(format!("@{}", me.username))
    }

    fn sink(self: Arc<Self>) -> Option<Arc<dyn UpdateSink>> {
        self.settings.webhook.is_some().then_some(self as Arc<dyn UpdateSink>)
    }
}

#[async_trait]
impl UpdateSink for Telegram {
    fn account(&self) -> &str {
        &self.settings.account
    }

    fn secret(&self) -> Option<&Secret> {
        self.settings.webhook.as_ref().map(|webhook| &webhook.secret)
    }

    #[tracing::instrument(name = "telegram.called", skip_all, fields(channel = "telegram", account = self.settings.account))]
    async fn update(&self, body: &[u8]) -> Result<(), IntakeError> {
        self.calls.update(body).await
    }
}
