//! An app on Slack, as a channel.

use std::sync::Arc;

use async_trait::async_trait;
use rustls::ClientConfig;
use tokio_util::sync::CancellationToken;

use crate::call::WebApi;
use crate::name_cache::NameCache;
use crate::presence::ActivityIndicators;
use crate::settings::Settings;
use crate::socket::{Listener, check};
use crate::{call, files, send};
use hob_core::domain::channel::{AccountError, Adapter, Channel, FetchError, Intake, PresenceSignal};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Monitor};
use hob_core::domain::inbound::{Attachment, ChannelKind};
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use hob_core::domain::rng::Rng;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("no client for Slack: {0}")]
pub struct SetupError(pub(crate) String);

/// One app in one workspace.
pub struct Slack {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) tls: Arc<ClientConfig>,
    /// The client of all requests but those that receive.
    pub(crate) web: WebApi,
    /// The client of files, which are not part of the Web API.
    pub(crate) files: reqwest::Client,
    pub(crate) health: Monitor,
    pub(crate) people: NameCache,
    pub(crate) signs: ActivityIndicators,
}

impl Slack {
    /// Builds the adapter; nothing is sent yet.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let tls = call::tls(&settings)?;
        let web = WebApi::new(&settings, &tls, &settings.bot_token);
        let files = files::client(&tls)?;
        let (health, people, signs) = (Monitor::default(), NameCache::default(), ActivityIndicators::default());
        Ok(Self { settings, clock, rng, tls, web, files, health, people, signs })
    }
}

#[async_trait]
impl Channel for Slack {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Slack, &self.settings.account)
    }

    #[tracing::instrument(name = "slack.deliver", skip_all, fields(channel = "slack", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        send::deliver(self, message).await
    }

    #[tracing::instrument(name = "slack.draft", skip_all, fields(channel = "slack"))]
    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        send::draft(self, draft).await
    }

    #[tracing::instrument(name = "slack.retract", skip_all, fields(channel = "slack"))]
    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        send::retract(self, place, external_id).await
    }

    #[tracing::instrument(name = "slack.sign", skip_all, fields(channel = "slack"))]
    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        match sign {
            PresenceSignal::Typing => self.signs.typing(&self.web, place).await,
            PresenceSignal::Mood(mood) => self.signs.mood(&self.web, place, mood).await,
        }
    }

    #[tracing::instrument(name = "slack.fetch", skip_all, fields(channel = "slack"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        files::fetch(self, attachment, bytes_max).await
    }

    fn health(&self) -> ChannelHealth {
        self.health.health(self.clock.now(), self.settings.pace.silence_max)
    }
}

#[async_trait]
impl Adapter for Slack {
    /// Hands in what Slack has, until `stop`. What the intake had not confirmed, Slack delivers again, or the next start
    /// finds it in the channels' history.
    #[tracing::instrument(name = "slack.listen", skip_all, fields(channel = "slack", account = %self.settings.account))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        let listener = Listener::new(&self, intake.as_ref());
        stop.run_until_cancelled(Box::pin(listener.run())).await;
    }

    async fn check(&self) -> Result<String, AccountError> {
        check(self).await
    }
}
