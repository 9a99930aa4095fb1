//! One connection to the gateway: what comes is put in line at once, and each heartbeat must come back.

use std::time::Duration;

use serde::Serialize;
use serenity::builder::{CreateInteractionResponse, CreateInteractionResponseMessage};
use serenity::model::gateway::GatewayIntents;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::Discord;
use crate::call::{Api, CallError, Request};
use crate::convert::{can_answer, is_command, is_supported};
use crate::gateway::SessionHandle;
use crate::session::{ConnectionEnd, ConnectionStage, closed};
use crate::socket::{GatewayInput, Socket};
use crate::wire::{Frame, Hello, Interaction, Ready};

/// What Hob hears of: servers with their channels and threads, what is said there and in private, and its words.
const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::DIRECT_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);

/// The answer to a command where Hob may not write.
const UNSEEN: &str = "Hob has heard this, but it may not write here, so its answer will not show. Give its role *View \
                      Channel* and *Send Messages* here (in a thread: *Send Messages in Threads*).";

/// So long a press may take to be stored before Discord is told that it was heard. After three seconds it says that nobody did.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(2);

/// The codes of the gateway's frames.
mod op {
    pub(super) const DISPATCH: u8 = 0;
    pub(super) const HEARTBEAT: u8 = 1;
    pub(super) const IDENTIFY: u8 = 2;
    pub(super) const RESUME: u8 = 6;
    pub(super) const RECONNECT: u8 = 7;
    pub(super) const INVALID_SESSION: u8 = 9;
    pub(super) const HELLO: u8 = 10;
    pub(super) const ACK: u8 = 11;
}

#[derive(Serialize)]
struct Identify<'a> {
    token: &'a str,
    intents: u64,
    properties: Properties,
}

#[derive(Serialize)]
struct Properties {
    os: &'static str,
    browser: &'static str,
    device: &'static str,
}

#[derive(Serialize)]
struct Resume<'a> {
    token: &'a str,
    session_id: &'a str,
    seq: u64,
}

/// An event that waits to be handed in.
pub(super) struct Dispatch {
    pub(super) seq: u64,
    pub(super) event: String,
    pub(super) frame: Frame,
    /// Tells when a command's deferred answer stands.
    pub(super) deferred: Option<oneshot::Receiver<()>>,
    /// Told when it was taken in: whoever pressed something waits for that.
    pub(super) accepted: Option<oneshot::Sender<()>>,
}

/// A connection that is listened to.
pub(super) struct GatewayConnection<'a> {
    discord: &'a Discord,
    session: &'a SessionHandle,
    socket: Socket,
    line: mpsc::Sender<Dispatch>,
    /// The heartbeat; none before Discord said how often.
    every: Option<Duration>,
    next_beat: Instant,
    acknowledged: bool,
    ready_by: Instant,
    ready: bool,
}

impl<'a> GatewayConnection<'a> {
    pub(super) fn new(
        discord: &'a Discord,
        session: &'a SessionHandle,
        socket: Socket,
        line: mpsc::Sender<Dispatch>,
    ) -> Self {
        let ready_by = Instant::now() + discord.settings.pace.ready_deadline;
        Self {
            discord,
            session,
            socket,
            line,
            every: None,
            next_beat: ready_by,
            acknowledged: true,
            ready_by,
            ready: false,
        }
    }

    /// How far it came: whether Discord greeted, and whether it said that it tells all from now on.
    pub(super) fn connection_stage(&self) -> ConnectionStage {
        match (self.ready, self.every) {
            (true, _) => ConnectionStage::Ready,
            (false, Some(_)) => ConnectionStage::Greeted,
            (false, None) => ConnectionStage::Nowhere,
        }
    }

    /// Listens until the connection is over.
    pub(super) async fn run(&mut self) -> ConnectionEnd {
        let pace = self.discord.settings.pace;
        loop {
            // A heartbeat comes round sooner than that, and nothing is sent for longer than the deadline.
            let beat = self.every.unwrap_or(pace.ready_deadline);
            self.discord.health.turned(beat + pace.send_deadline * 2);
            let went = tokio::select! {
                heard = self.socket.next() => self.handle_input(heard).await,
                () = tokio::time::sleep_until(self.next_beat), if self.every.is_some() => self.send_heartbeat().await,
                () = tokio::time::sleep_until(self.ready_by), if !self.ready => {
                    Err(ConnectionEnd::Deaf("connected, but Discord did not say that it is ready".to_owned()))
                }
            };
            if let Err(ended) = went {
                return ended;
            }
        }
    }

    async fn handle_input(&mut self, heard: GatewayInput) -> Result<(), ConnectionEnd> {
        let frame = match heard {
            GatewayInput::Frame(frame) => frame,
            GatewayInput::Unreadable(why) => {
                warn!(channel = "discord", %why, "a frame cannot be read; passed over");
                return Ok(());
            }
            GatewayInput::Closed(code, reason) => return Err(closed(code, &reason)),
        };
        match frame.op {
            op::DISPATCH => self.dispatch(frame)?,
            op::HEARTBEAT => self.heartbeat().await?,
            op::RECONNECT => return Err(ConnectionEnd::Resume("Discord asked for another connection".to_owned())),
            op::INVALID_SESSION if frame.data() == Some(true) => {
                return Err(ConnectionEnd::Resume("the session is not valid at the moment".to_owned()));
            }
            op::INVALID_SESSION => return Err(ConnectionEnd::Fresh("the session is not valid any more".to_owned())),
            op::HELLO => self.identify_or_resume(&frame).await?,
            op::ACK => self.acknowledged = true,
            other => debug!(channel = "discord", op = other, "a frame of an unknown kind"),
        }
        if self.ready
            && let Some(trouble) = self.discord.health.heard(self.discord.clock.now())
        {
            info!(channel = "discord", was = %trouble, "Discord is heard again (was: {trouble})");
        }
        Ok(())
    }

    /// Goes on with the session, or begins one.
    async fn identify_or_resume(&mut self, frame: &Frame) -> Result<(), ConnectionEnd> {
        let Some(Hello { heartbeat_interval }) = frame.data() else {
            return Err(ConnectionEnd::Resume("the gateway's greeting cannot be read".to_owned()));
        };
        let every = Duration::from_millis(heartbeat_interval.max(1));
        self.every = Some(every);
        // The first one at any time, lest all bots beat at once after an outage.
        self.next_beat = Instant::now() + every.mul_f64(self.discord.rng.fraction());
        let token = self.discord.settings.token.expose();
        let within = self.discord.settings.pace.send_deadline;
        let session = self.session.lock().clone();
        let sent = match &session {
            Some(session) => {
                let resume = Resume { token, session_id: &session.id, seq: session.seq };
                self.socket.send(op::RESUME, &resume, within).await
            }
            None => {
                let properties = Properties { os: std::env::consts::OS, browser: "hob", device: "hob" };
                let identify = Identify { token, intents: INTENTS.bits(), properties };
                self.socket.send(op::IDENTIFY, &identify, within).await
            }
        };
        sent.map_err(ConnectionEnd::Resume)
    }

    /// It is time for a heartbeat; the last one must have come back.
    async fn send_heartbeat(&mut self) -> Result<(), ConnectionEnd> {
        if !self.acknowledged {
            return Err(ConnectionEnd::Deaf("the connection is deaf: a heartbeat did not come back".to_owned()));
        }
        self.acknowledged = false;
        self.next_beat = Instant::now() + self.every.unwrap_or(self.discord.settings.pace.ready_deadline);
        self.heartbeat().await
    }

    async fn heartbeat(&mut self) -> Result<(), ConnectionEnd> {
        let seq = self.session.lock().as_ref().map(|session| session.seq);
        let within = self.discord.settings.pace.send_deadline;
        self.socket.send(op::HEARTBEAT, &seq, within).await.map_err(ConnectionEnd::Resume)
    }

    /// Puts an event in line.
    fn dispatch(&mut self, frame: Frame) -> Result<(), ConnectionEnd> {
        let (Some(seq), Some(event)) = (frame.s, frame.t.clone()) else {
            warn!(channel = "discord", "an event without a name or number; passed over");
            return Ok(());
        };
        match event.as_str() {
            "READY" if frame.data::<Ready>().is_none() => {
                return Err(ConnectionEnd::Fresh("the session's beginning cannot be read".to_owned()));
            }
            "READY" | "RESUMED" => {
                info!(channel = "discord", %event, "connected to Discord");
                self.ready = true;
            }
            _ => {}
        }
        let (accepted, is_accepted) = oneshot::channel();
        let deferred = if event == "INTERACTION_CREATE" { self.defer(&frame, is_accepted) } else { None };
        let dispatch = Dispatch { seq, event, frame, deferred, accepted: Some(accepted) };
        self.line.try_send(dispatch).map_err(|_full| {
            ConnectionEnd::Resume("more came than can be stored; it is fetched again from where it stands".to_owned())
        })
    }

    /// Tells Discord within its three seconds that the answer takes longer, however many events are in line. A press looks done to whoever
    /// pressed once that is told: so where there is time it is stored first.
    fn defer(&self, frame: &Frame, is_accepted: oneshot::Receiver<()>) -> Option<oneshot::Receiver<()>> {
        let interaction: Interaction = frame.data().filter(is_supported)?;
        let own = CreateInteractionResponseMessage::new().ephemeral(true);
        let may_answer = can_answer(&interaction);
        let response = match is_command(&interaction) {
            true if may_answer => CreateInteractionResponse::Defer(own),
            // No message will come: this is all that can be said.
            true => CreateInteractionResponse::Message(own.content(UNSEEN)),
            false => CreateInteractionResponse::Acknowledge,
        };
        let (done, deferred) = oneshot::channel();
        let api = self.discord.api.clone();
        let is_press = !is_command(&interaction);
        self.discord.spawn(async move {
            if is_press && !until_accepted(is_accepted).await {
                return;
            }
            let id = interaction.id.to_string();
            let path = ["interactions", &id, &interaction.token, "callback"];
            let request = || Request::new(reqwest::Method::POST, path).open().json(&response);
            let mut answered = answer(&api, request()).await;
            if answered.as_ref().is_err_and(CallError::is_transient) {
                answered = answer(&api, request()).await;
            }
            if let Err(error) = answered {
                debug!(channel = "discord", %error, "an interaction was not deferred: {error}");
            }
            if done.send(()).is_err() {
                debug!(channel = "discord", "nobody waits for a deferred answer");
            }
        });
        // What says that there is no answer isn't taken back for one.
        may_answer.then_some(deferred)
    }
}

/// Waits until it was taken in or passed over, as long as Discord may be kept waiting. False: it will not be, as Hob ends, or it comes again.
async fn until_accepted(is_accepted: oneshot::Receiver<()>) -> bool {
    match tokio::time::timeout(ACCEPTED_WITHIN, is_accepted).await {
        Ok(accepted) => accepted.is_ok(),
        Err(_elapsed) => {
            debug!(channel = "discord", "a press is acknowledged before it is stored");
            true
        }
    }
}

async fn answer(api: &Api, request: Result<Request<'_>, CallError>) -> Result<(), CallError> {
    api.call(request?).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_press_is_acknowledged_when_it_is_stored_and_not_later_than_discord_waits() {
        let begun = Instant::now();
        let (accepted, is_accepted) = oneshot::channel();
        let (is_told, ()) = tokio::join!(until_accepted(is_accepted), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            accepted.send(()).unwrap();
        });
        assert_eq!((is_told, begun.elapsed()), (true, Duration::from_millis(500)));
        let (lost, is_accepted) = oneshot::channel();
        drop(lost);
        assert!(!until_accepted(is_accepted).await);
        let (_never, is_accepted) = oneshot::channel();
        assert!(until_accepted(is_accepted).await);
        assert_eq!(begun.elapsed(), Duration::from_millis(500) + ACCEPTED_WITHIN);
    }
}
