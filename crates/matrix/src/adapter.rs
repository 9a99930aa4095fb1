//! An account on Matrix, as a channel.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::presence::Reactions;
use crate::session::Session;
use crate::settings::Settings;
use crate::{call, files, presence, send, session, sync};
use hob_core::domain::channel::{AccountError, Adapter, Channel, FetchError, Intake, PresenceSignal};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Monitor};
use hob_core::domain::inbound::{Attachment, ChannelKind};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use hob_core::domain::rng::Rng;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("no client for Matrix: {0}")]
pub struct SetupError(#[from] hob_http::HttpError);

/// One account on a homeserver.
pub struct Matrix {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) http: reqwest::Client,
    pub(crate) health: Monitor,
    reactions: Reactions,
    /// The login at work; none: there has been none since the start.
    pub(crate) session: Mutex<Option<Arc<Session>>>,
}

impl Matrix {
    /// Builds the adapter; nothing is sent, and no file made yet.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let http = hob_http::client(call::CONNECT_MAX)?;
        let (health, reactions, session) = (Monitor::default(), Reactions::default(), Mutex::default());
        Ok(Self { settings, clock, rng, http, health, reactions, session })
    }

    /// The login at work, for what goes out.
    pub(crate) fn session(&self) -> Result<Arc<Session>, DeliveryError> {
        let why = || DeliveryError::Retry { after: None, why: "not logged in yet".to_owned() };
        lock(&self.session).clone().ok_or_else(why)
    }
}

#[async_trait]
impl Channel for Matrix {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Matrix, &self.settings.account)
    }

    #[tracing::instrument(name = "matrix.deliver", skip_all, fields(channel = "matrix", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        Box::pin(send::deliver(&*self.session()?, message)).await
    }

    #[tracing::instrument(name = "matrix.draft", skip_all, fields(channel = "matrix"))]
    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        Box::pin(send::draft(&*self.session()?, &*self.rng, draft)).await
    }

    #[tracing::instrument(name = "matrix.retract", skip_all, fields(channel = "matrix"))]
    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        send::retract(&*self.session()?, place, external_id).await
    }

    #[tracing::instrument(name = "matrix.sign", skip_all, fields(channel = "matrix"))]
    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        match sign {
            PresenceSignal::Typing => presence::typing(&*self.session()?, place).await,
            PresenceSignal::Mood(mood) => self.reactions.mood(&*self.session()?, place, mood).await,
        }
    }

    #[tracing::instrument(name = "matrix.fetch", skip_all, fields(channel = "matrix"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let session = self.session().map_err(|error| FetchError(error.to_string()))?;
        files::fetch(&session, attachment, bytes_max).await
    }

    fn health(&self) -> ChannelHealth {
        self.health.health(self.clock.now(), self.settings.pace.silence_max)
    }
}

#[async_trait]
impl Adapter for Matrix {
    /// Hands in what the homeserver has, until `stop`. What the intake had not confirmed comes again with the same token.
    #[tracing::instrument(name = "matrix.listen", skip_all, fields(channel = "matrix", account = %self.settings.account))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        stop.run_until_cancelled(Box::pin(sync::listen(&self, &*intake))).await;
    }

    async fn check(&self) -> Result<String, AccountError> {
        session::check(self).await
    }
}
