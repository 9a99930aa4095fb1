//! What the socket brought, into the intake: older messages first, and acknowledged only once it is stored.
//!
//! Two lines lead there. What people said goes in one after the other, however long its files take: Slack sends again
//! what is not acknowledged in time, and the intake knows it. Presses and commands Slack sends once, and shows an error
//! after 3 s: they have a line of their own, which waits for no message.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::debug;

use crate::Slack;
use crate::call::WebApi;
use crate::catch_up::{self, CatchUp, HistoryGaps};
use crate::convert::{self, BotIdentity, micros, text};
use crate::joined_chats::{ELSEWHERE, JoinedChats};
use crate::socket::{Envelope, SocketError};
use hob_core::domain::channel::Intake;
use hob_core::domain::inbound::{ChannelKind, Cursor, Inbound, InboundEvent};

/// After how many of the longest delays between tries what could not be fetched is asked for again.
const BEHIND_DELAYS: u32 = 10;

/// What is taken in, and what is said to whoever did it, if anything.
pub(super) struct Acknowledgement {
    pub(super) id: String,
    pub(super) says: Option<&'static str>,
}

/// Hands in what comes, older messages before newer ones.
pub(super) struct Feeder<'a> {
    pub(super) slack: &'a Slack,
    pub(super) intake: &'a dyn Intake,
    pub(super) web: &'a WebApi,
    pub(super) me: &'a BotIdentity,
    pub(super) presence: JoinedChats,
    /// What is taken in, to be acknowledged.
    pub(super) done: mpsc::UnboundedSender<Acknowledgement>,
}

impl Feeder<'_> {
    /// Hands in for ever what people said; ends with what is wrong.
    pub(super) async fn submit_messages(&self, mut envelopes: mpsc::Receiver<Envelope>) -> SocketError {
        match self.feed_until(&mut envelopes).await {
            Err(trouble) => trouble,
            // The socket's side is gone, and says why.
            Ok(()) => std::future::pending().await,
        }
    }

    /// Hands in what does not come again, until the socket's side is gone and nothing is left.
    pub(super) async fn submit_presses(&self, mut envelopes: mpsc::Receiver<Envelope>) -> Result<(), SocketError> {
        while let Some(envelope) = envelopes.recv().await {
            self.hand_in(envelope, &HistoryGaps::Everywhere).await?;
        }
        Ok(())
    }

    async fn feed_until(&self, envelopes: &mut mpsc::Receiver<Envelope>) -> Result<(), SocketError> {
        let mut behind = HistoryGaps::Everywhere;
        loop {
            let (still, held) = self.catch_up(envelopes, &behind).await?;
            behind = still;
            for (_, envelope) in held {
                self.hand_in(envelope, &behind).await?;
            }
            let again = Instant::now() + self.slack.settings.pace.retry_max * BEHIND_DELAYS;
            loop {
                tokio::select! {
                    came = envelopes.recv() => match came {
                        Some(envelope) => self.hand_in(envelope, &behind).await?,
                        None => return Ok(()),
                    },
                    () = tokio::time::sleep_until(again), if !behind.is_nowhere() => break,
                }
            }
        }
    }

    /// Fetches what was missed. What comes meanwhile waits for that as long as Slack lets it; it is returned.
    async fn catch_up(
        &self,
        envelopes: &mut mpsc::Receiver<Envelope>,
        behind: &HistoryGaps,
    ) -> Result<(HistoryGaps, VecDeque<(Instant, Envelope)>), SocketError> {
        let missed = CatchUp { slack: self.slack, intake: self.intake, web: self.web, me: self.me };
        let mut catching = Box::pin(catch_up::catch_up(missed, behind));
        let mut held: VecDeque<(Instant, Envelope)> = VecDeque::new();
        loop {
            let first = held.front().map_or_else(Instant::now, |(until, _)| *until);
            tokio::select! {
                caught = &mut catching => return caught.map(|still| (still, held)),
                Some(envelope) = envelopes.recv() => {
                    held.push_back((Instant::now() + self.slack.settings.pace.hold_max, envelope));
                }
                () = tokio::time::sleep_until(first), if !held.is_empty() => {
                    if let Some((_, envelope)) = held.pop_front() {
                        self.hand_in(envelope, &HistoryGaps::Everywhere).await?;
                    }
                }
            }
        }
    }

    /// Hands one envelope in, and lets it be acknowledged. `behind`: where something older is missing.
    async fn hand_in(&self, envelope: Envelope, behind: &HistoryGaps) -> Result<(), SocketError> {
        let Envelope { id, kind, payload, may_be_told } = envelope;
        let wanted = convert::people(&payload);
        let names = self.slack.people.names(self.web, &wanted);
        let (names, is_elsewhere) = tokio::join!(names, self.is_elsewhere(&kind, &payload));
        if is_elsewhere {
            debug!(channel = "slack", "a command was typed where Hob is not");
            let _gone = self.done.send(Acknowledgement { id, says: Some(ELSEWHERE).filter(|_| may_be_told) });
            return Ok(());
        }
        let now = self.slack.clock.now();
        let inbound = match kind.as_str() {
            "events_api" => convert::event(&payload["event"], self.me, &names),
            "interactive" => convert::inbound_from_press(&payload, self.me, &names, now),
            "slash_commands" => convert::slash_command(&payload, self.me, &names, now),
            _ => None,
        };
        match inbound {
            Some(mut inbound) => {
                inbound.metadata.server = convert::workspace(&payload, self.me);
                self.submit_message(inbound, behind).await?;
            }
            None => debug!(channel = "slack", %kind, "an envelope is not for Hob"),
        }
        // The other end is gone only when the connection is: then Slack sends it again, if it is a message.
        let _gone = self.done.send(Acknowledgement { id, says: None });
        Ok(())
    }

    /// Was it typed where no answer of Hob's can stand? Events come only from where Hob is, and so do its buttons.
    async fn is_elsewhere(&self, kind: &str, payload: &Value) -> bool {
        match text(payload, "channel_id").filter(|_| kind == "slash_commands") {
            Some(chat) => self.presence.is_elsewhere(self.web, chat).await,
            None => false,
        }
    }

    async fn submit_message(&self, mut inbound: Inbound, behind: &HistoryGaps) -> Result<(), SocketError> {
        let is_post = matches!(inbound.happening, InboundEvent::Posted { .. });
        let is_next = is_post && !behind.has_gap(&inbound.conversation.chat);
        let cursor = micros(&inbound.external_id).filter(|_| is_next);
        let cursor = cursor.map(|position| Cursor { list: inbound.conversation.chat.clone(), position });
        inbound.metadata.cursor = cursor;
        let thread = catch_up::thread_of(&inbound);
        let accepted = self.intake.accept(inbound).await?;
        debug!(channel = "slack", ?accepted, "an envelope is handed in");
        self.slack.health.message(self.slack.clock.now());
        if let Some(thread) = thread {
            self.intake.advance(ChannelKind::Slack, &self.slack.settings.account, thread).await?;
        }
        Ok(())
    }
}
