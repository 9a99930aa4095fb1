//! What the socket brought, into the intake: older messages first, and acknowledged only once it is stored.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::debug;

use crate::channel::slack::Slack;
use crate::channel::slack::call::Web;
use crate::channel::slack::catchup::{self, Missed};
use crate::channel::slack::convert::{self, Me, micros};
use crate::channel::slack::socket::{Envelope, Trouble};
use crate::domain::channel::Intake;
use crate::domain::inbound::{ChannelKind, Cursor, Happening, Inbound};

impl Envelope {
    /// What people said waits for what they said before; a button does not.
    fn can_wait(&self) -> bool {
        self.kind == "events_api"
    }
}

/// Hands in what comes, older messages before newer ones.
pub(super) struct Feeder<'a> {
    pub(super) slack: &'a Slack,
    pub(super) intake: &'a dyn Intake,
    pub(super) web: &'a Web,
    pub(super) me: &'a Me,
    /// What is taken in, to be acknowledged.
    pub(super) done: mpsc::UnboundedSender<String>,
}

impl Feeder<'_> {
    /// Hands in for ever; ends with what is wrong.
    pub(super) async fn feed(self, mut envelopes: mpsc::Receiver<Envelope>) -> Trouble {
        match self.feed_until(&mut envelopes).await {
            Err(trouble) => trouble,
            // The socket's side is gone, and says why.
            Ok(()) => std::future::pending().await,
        }
    }

    async fn feed_until(&self, envelopes: &mut mpsc::Receiver<Envelope>) -> Result<(), Trouble> {
        for (_, envelope) in self.catch_up(envelopes).await? {
            self.hand_in(envelope, true).await?;
        }
        while let Some(envelope) = envelopes.recv().await {
            self.hand_in(envelope, true).await?;
        }
        Ok(())
    }

    /// Fetches what was missed. What comes meanwhile waits for that as long as Slack lets it; it is returned.
    async fn catch_up(
        &self,
        envelopes: &mut mpsc::Receiver<Envelope>,
    ) -> Result<VecDeque<(Instant, Envelope)>, Trouble> {
        let missed = Missed { slack: self.slack, intake: self.intake, web: self.web, me: self.me };
        let mut catching = Box::pin(catchup::catch_up(missed));
        let mut held: VecDeque<(Instant, Envelope)> = VecDeque::new();
        loop {
            let first = held.front().map_or_else(Instant::now, |(until, _)| *until);
            tokio::select! {
                caught = &mut catching => return caught.map(|()| held),
                Some(envelope) = envelopes.recv() => {
                    if envelope.can_wait() {
                        held.push_back((Instant::now() + self.slack.settings.pace.hold_max, envelope));
                    } else {
                        self.hand_in(envelope, false).await?;
                    }
                }
                () = tokio::time::sleep_until(first), if !held.is_empty() => {
                    if let Some((_, envelope)) = held.pop_front() {
                        self.hand_in(envelope, false).await?;
                    }
                }
            }
        }
    }

    /// Hands one envelope in, and lets it be acknowledged. `caught_up`: nothing older is missing.
    async fn hand_in(&self, envelope: Envelope, caught_up: bool) -> Result<(), Trouble> {
        let Envelope { id, kind, payload } = envelope;
        let now = self.slack.clock.now();
        let names = self.slack.people.names(self.web, &convert::people(&payload)).await;
        let inbound = match kind.as_str() {
            "events_api" => convert::event(&payload["event"], self.me, &names),
            "interactive" => convert::pressed(&payload, self.me, &names, now),
            "slash_commands" => convert::commanded_by_slash(&payload, self.me, &names, now),
            _ => None,
        };
        match inbound {
            Some(inbound) => self.accept(inbound, caught_up).await?,
            None => debug!(channel = "slack", %kind, "an envelope is not for Hob"),
        }
        // The other end is gone only when the connection is: then Slack sends it again.
        let _gone = self.done.send(id);
        Ok(())
    }

    async fn accept(&self, mut inbound: Inbound, caught_up: bool) -> Result<(), Trouble> {
        let is_post = matches!(inbound.happening, Happening::Posted { .. });
        let cursor = micros(&inbound.external_id).filter(|_| is_post && caught_up);
        let cursor = cursor.map(|position| Cursor { list: inbound.conversation.chat.clone(), position });
        inbound.circumstances.cursor = cursor;
        let thread = catchup::thread_of(&inbound);
        let accepted = self.intake.accept(inbound).await?;
        debug!(channel = "slack", ?accepted, "an envelope is handed in");
        self.slack.health.message(self.slack.clock.now());
        if let Some(thread) = thread {
            self.intake.advance(ChannelKind::Slack, &self.slack.settings.account, thread).await?;
        }
        Ok(())
    }
}
