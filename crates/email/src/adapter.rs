//! A mailbox, as a channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use tokio_rustls::rustls::ClientConfig;
use tokio_util::sync::CancellationToken;

use crate::connect::{ImapSession, MailboxError};
use crate::ignored::IgnoredSenders;
use crate::send::SmtpSender;
use crate::settings::Settings;
use crate::side_sessions::SideSessions;
use crate::verify::Verifier;
use crate::watch::Watcher;
use crate::{connect, send};
use hob_core::domain::channel::{AccountError, Adapter, Channel, FetchError, Intake};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Monitor};
use hob_core::domain::inbound::{Attachment, ChannelKind};
use hob_core::domain::outgoing::{DeliveryError, Outgoing, Receipt};
use hob_core::domain::rng::Rng;

/// The adapter cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
#[error("no mail client: {0}")]
pub struct SetupError(pub(crate) String);

/// One mailbox.
pub struct Email {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) verifier: Option<Verifier>,
    pub(crate) health: Monitor,
    /// Letters that nobody waits for an answer to.
    passed: AtomicU64,
    /// Who was named in the log, as the house does not take their letters.
    pub(crate) ignored: IgnoredSenders,
    pub(crate) sender: SmtpSender,
    /// The connection for what is not the watch's.
    pub(crate) beside: SideSessions,
}

impl Email {
    /// Builds the adapter; nothing is connected yet.
    ///
    /// # Errors
    /// When certificates cannot be read, or the DNS cannot be asked though it is to be.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Self, SetupError> {
        let verifier = settings.authentication.verify.then(Verifier::of_system).transpose();
        let verifier = verifier.map_err(|error| SetupError(error.to_string()))?;
        let tls = connect::tls(settings.ca_file.as_deref())?;
        let sender = SmtpSender::new(&settings)?;
        let (health, passed, beside) = (Monitor::default(), AtomicU64::new(0), SideSessions::default());
        let ignored = IgnoredSenders::default();
        Ok(Self { settings, clock, rng, tls, verifier, health, passed, ignored, sender, beside })
    }

    /// How many letters were passed over since the start, as nobody waits for an answer to them.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// A connection to the mailbox.
    pub(crate) async fn connect(&self) -> Result<ImapSession, MailboxError> {
        let Settings { imap, imap_security, pace, .. } = &self.settings;
        connect::connect(imap, *imap_security, &self.tls, pace.command_deadline).await
    }

    pub(crate) fn note_passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Channel for Email {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Email, &self.settings.account)
    }

    #[tracing::instrument(name = "email.deliver", skip_all, fields(channel = "email", outbox.id = %message.id))]
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        Box::pin(send::deliver(self, message)).await
    }

    #[tracing::instrument(name = "email.fetch", skip_all, fields(channel = "email"))]
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        Box::pin(self.beside.fetch(self, attachment, bytes_max)).await
    }

    fn health(&self) -> ChannelHealth {
        let pace = &self.settings.pace;
        self.health.health(self.clock.now(), self.settings.poll.max(pace.idle_max) + pace.command_deadline * 3)
    }
}

#[async_trait]
impl Adapter for Email {
    /// Hands in what lies in the mailbox, until `stop`; once. Deliveries go on working.
    #[tracing::instrument(name = "email.watch", skip_all, fields(channel = "email"))]
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken) {
        let watcher = Watcher::new(&self, intake.as_ref());
        stop.run_until_cancelled(Box::pin(watcher.run())).await;
    }

    async fn check(&self) -> Result<String, AccountError> {
        let imap = async {
            let mut session = Box::pin(self.connect()).await?;
            let opened = connect::open(&mut session, &self.settings.folder, false);
            connect::with_deadline(self.settings.pace.command_deadline, opened).await?.map(|_mailbox| ())
        };
        imap.await.map_err(|error: MailboxError| AccountError(format!("IMAP: {error}")))?;
        send::check(self).await?;
        Ok(self.settings.address.clone())
    }
}

/// Words on one line, without what could break out of it.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (plain, _) = hob_http::page::characters::strip_invisible(&plain);
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(chars_max).collect()
}
