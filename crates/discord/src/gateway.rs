//! The connection to Discord's gateway, kept up for ever: resumed while that works, else begun anew.
//!
//! serenity's own shard runner dispatches each event in a task of its own, so that two messages of one channel may be
//! taken in in either order, and it confirms an event to Discord (by the sequence number it resumes from) before it is
//! stored. Its `Shard` cannot be read from outside. So the protocol is spoken here, and a session resumes from the last
//! event that the intake has.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serenity::model::application::ApplicationFlags;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::Discord;
use crate::call::{Api, CallError, Request};
use crate::connection::GatewayConnection;
use crate::session::{
    ConnectionEnd, ConnectionStage, ResumeAttempts, Session, SessionFate, bad_token, missing_content,
};
use crate::socket::open;
use crate::submitter::Submitter;
use crate::wire::{Application, GatewayBot, User};
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{AccountError, Intake};
use hob_core::domain::lock::lock;

/// So many events may wait to be handed in; with more the connection is given up, and resumed from where it stands.
const BACKLOG_MAX: usize = 5_000;

/// The session, seen by who hears and by who hands in.
#[derive(Debug, Default)]
pub(super) struct SessionHandle(Mutex<Option<Session>>);

impl SessionHandle {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        lock(&self.0)
    }
}

/// Keeps the connection up; it lives as long as the adapter runs.
pub(super) struct Gateway<'a> {
    discord: &'a Discord,
    session: SessionHandle,
    submitter: Submitter<'a>,
    attempts: ResumeAttempts,
    waits: Backoff,
}

impl<'a> Gateway<'a> {
    pub(super) fn new(discord: &'a Discord, intake: &'a dyn Intake) -> Self {
        let (submitter, session) = (Submitter::new(discord, intake), SessionHandle::default());
        Self { discord, session, submitter, attempts: ResumeAttempts::default(), waits: Backoff::default() }
    }

    /// Connects for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        loop {
            let (ended, came) = match self.prepare().await {
                Ok(address) => self.connection(&address).await,
                Err(ended) => (ended, ConnectionStage::Nowhere),
            };
            self.back_off(&ended, came).await;
        }
    }

    /// Where to connect to: where the session goes on, or where another may begin.
    async fn prepare(&mut self) -> Result<String, ConnectionEnd> {
        self.discord.health.turned(self.discord.settings.pace.send_deadline * 2);
        // A new client each time: the old one may be what is broken.
        let api = self.discord.fresh_api().map_err(|error| ConnectionEnd::Resume(error.to_string()))?;
        self.submitter.api = api.clone();
        let session = self.session.lock().clone();
        if let Some(address) = session.as_ref().and_then(|session| session.address.clone()) {
            return Ok(address);
        }
        if session.is_none() {
            self.submitter.application = Some(application(&api).await?.id);
        }
        let gateway: GatewayBot = ask(&api, ["gateway", "bot"]).await?;
        if let Some(limit) = gateway.session_start_limit.filter(|limit| session.is_none() && limit.remaining == 0) {
            let wait = Duration::from_millis(limit.reset_after).min(Duration::from_secs(86_400));
            let why = format!("Discord allows no more logins today; the next in {} min", wait.as_secs() / 60);
            self.discord.health.troubled(why.clone());
            warn!(channel = "discord", "{why}");
            self.discord.health.turned(wait);
            tokio::time::sleep(wait).await;
        }
        Ok(gateway.url)
    }

    /// One connection, from its beginning to its end; how far it came.
    async fn connection(&mut self, address: &str) -> (ConnectionEnd, ConnectionStage) {
        let pace = self.discord.settings.pace;
        self.discord.health.turned(pace.ready_deadline * 2);
        let socket = match open(address, pace.ready_deadline).await {
            Ok(socket) => socket,
            Err(why) => return (ConnectionEnd::Resume(why), ConnectionStage::Nowhere),
        };
        let (sender, receiver) = mpsc::channel(BACKLOG_MAX);
        let mut hearing = GatewayConnection::new(self.discord, &self.session, socket, sender);
        // What was heard and not handed in by the end, Discord tells again: the session resumes from what was.
        let ended = tokio::select! {
            ended = hearing.run() => ended,
            never = self.submitter.submit_all(receiver, &self.session) => match never {},
        };
        (ended, hearing.connection_stage())
    }

    /// Keeps the session as long as it can be gone on with.
    fn keep(&mut self, ended: &ConnectionEnd, came: ConnectionStage) {
        let mut session = self.session.lock();
        let fate = match ended {
            ConnectionEnd::Fresh(_) | ConnectionEnd::Refused(_) => SessionFate::Ends,
            ConnectionEnd::Resume(_) | ConnectionEnd::Deaf(_) => self.attempts.connection_ended(came, Instant::now()),
        };
        match (fate, session.as_mut()) {
            (SessionFate::Moves, Some(session)) => session.address = None,
            (SessionFate::Ends, Some(known)) => {
                info!(channel = "discord", session.id = %known.id, "the session is over: another begins");
                *session = None;
            }
            (SessionFate::Stays | SessionFate::Moves | SessionFate::Ends, _) => {}
        }
        if session.is_none() {
            self.attempts = ResumeAttempts::default();
        }
    }

    /// Makes the trouble visible, decides how it goes on, then waits as long as it deserves.
    async fn back_off(&mut self, ended: &ConnectionEnd, came: ConnectionStage) {
        if came == ConnectionStage::Ready {
            self.waits.reset();
        }
        self.keep(ended, came);
        let pace = &self.discord.settings.pace;
        let delay = match ended {
            ConnectionEnd::Refused(_) => pace.retry_refused,
            _ => self.waits.next(pace.retry_min, pace.retry_max, self.discord.rng.as_ref()),
        };
        let why = ended.why();
        warn!(channel = "discord", why, delay_ms = delay.as_millis(), "Discord: {why}; again in {delay:?}");
        self.discord.health.troubled(why.to_owned());
        self.discord.health.turned(delay);
        tokio::time::sleep(delay).await;
    }
}

/// Hob's application, if it may read what is said.
async fn application(api: &Api) -> Result<Application, ConnectionEnd> {
    let application: Application = ask(api, ["applications", "@me"]).await?;
    let flags = ApplicationFlags::from_bits_truncate(application.flags);
    let may_read = ApplicationFlags::GATEWAY_MESSAGE_CONTENT | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
    if flags.intersects(may_read) { Ok(application) } else { Err(ConnectionEnd::Refused(missing_content())) }
}

/// Whether the token is known, and may read; who Hob is there.
pub(super) async fn check(discord: &Discord) -> Result<String, AccountError> {
    let unusable = |ended: ConnectionEnd| AccountError(ended.why().to_owned());
    application(&discord.api).await.map_err(unusable)?;
    let me: User = ask(&discord.api, ["users", "@me"]).await.map_err(unusable)?;
    Ok(format!("@{}", me.username))
}

/// Asks for something before there is a connection.
async fn ask<T: serde::de::DeserializeOwned>(api: &Api, path: [&str; 2]) -> Result<T, ConnectionEnd> {
    let answer = api.call(Request::get(path)).await.map_err(|error| match error {
        CallError::Api { status: 401, .. } => ConnectionEnd::Refused(bad_token()),
        other => ConnectionEnd::Resume(other.to_string()),
    })?;
    answer
        .parse()
        .map_err(|error| ConnectionEnd::Resume(format!("an answer to {} that cannot be read: {error}", path.join("/"))))
}
