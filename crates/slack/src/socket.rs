//! Socket Mode: what Slack pushes is handed in, and acknowledged only then.
//!
//! slack-morphism has a Socket Mode of its own. It is not used: it connects again after a fixed time and for ever with
//! one client, keeps to itself why it could not connect (a refused token looks like a bad network), acknowledges out of
//! sight, and has no place where older messages could go before newer ones. So the socket is driven here, by
//! tokio-tungstenite, which is what slack-morphism is built on.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{self, Message, protocol::WebSocketConfig};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use tracing::{info, warn};

use crate::Slack;
use crate::call::{CallError, WebApi};
use crate::convert::{BotIdentity, text};
use crate::feeder::{Acknowledgement, Feeder};
use crate::joined_chats::JoinedChats;
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{AccountError, Intake, IntakeError};
use hob_core::domain::text::causes;

/// The largest frame that is read.
const FRAME_BYTES_MAX: usize = 8 << 20;
/// How many envelopes of each line may wait; Slack sends messages that are not acknowledged again.
const WAITING_MAX: usize = 1_000;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why the socket has to be built anew.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    #[error("{method}: {error}")]
    Call { method: &'static str, error: CallError },
    #[error("the socket: {0}")]
    Socket(String),
    #[error("nothing came back for {0:?}")]
    Silent(Duration),
    #[error("more arrived than could be taken in")]
    Flooded,
    #[error("Socket Mode is switched off for this app; switch it on at api.slack.com/apps, \"Socket Mode\"")]
    SwitchedOff,
    #[error(transparent)]
    NotStored(#[from] IntakeError),
}

impl SocketError {
    pub(super) fn call(method: &'static str) -> impl Fn(CallError) -> Self {
        move |error| Self::Call { method, error }
    }

    /// Only an operator can mend that.
    fn is_lasting(&self) -> bool {
        let code = match self {
            Self::SwitchedOff => return true,
            Self::Call { error, .. } => error.code(),
            _ => None,
        };
        code.is_some_and(is_lasting)
    }

    /// In words for the operator.
    fn words(&self) -> String {
        let Self::Call { method, error } = self else {
            return self.to_string();
        };
        let token = if *method == "apps.connections.open" { "app_token (xapp-…)" } else { "bot_token (xoxb-…)" };
        match error.code() {
            Some("invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired") => {
                format!("Slack does not know the {token} ({error}); copy it again from api.slack.com/apps")
            }
            Some("not_allowed_token_type") => format!("this is not the {token} ({error}); the two may be exchanged"),
            Some("missing_scope") => format!("the {token} lacks a scope for {method} ({error}); see docs/slack.md"),
            Some("too_many_websockets") => {
                format!("too many programs are connected with the {token} ({error}); Slack allows ten")
            }
            _ => self.to_string(),
        }
    }
}

/// Does this word of Slack's say that nothing is to be had with these tokens, until an operator mends that?
pub(super) fn is_lasting(code: &str) -> bool {
    let lasting = ["invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"];
    lasting.contains(&code) || matches!(code, "missing_scope" | "not_allowed_token_type")
}

/// One thing that Slack pushes.
pub(super) struct Envelope {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) payload: Value,
    /// Whether its acknowledgement can say something to whoever did it.
    pub(super) may_be_told: bool,
}

/// The two lines in which envelopes wait.
struct EnvelopeQueues {
    said: mpsc::Sender<Envelope>,
    /// Presses and commands: Slack sends them once, and wants its answer within 3 s.
    pressing: mpsc::Sender<Envelope>,
}

/// What a frame says. Pure.
enum Frame {
    Hello,
    Envelope(Envelope),
    Disconnect { reason: String },
    Other,
}

fn frame(text: &str) -> Frame {
    let Ok(mut said) = serde_json::from_str::<Value>(text) else { return Frame::Other };
    match (said["type"].as_str(), said["envelope_id"].as_str()) {
        (Some("hello"), _) => Frame::Hello,
        (Some("disconnect"), _) => {
            Frame::Disconnect { reason: said["reason"].as_str().unwrap_or("no reason").to_owned() }
        }
        (Some(kind), Some(id)) => {
            let (kind, id) = (kind.to_owned(), id.to_owned());
            let may_be_told = said["accepts_response_payload"] == true;
            Frame::Envelope(Envelope { id, kind, payload: said["payload"].take(), may_be_told })
        }
        _ => Frame::Other,
    }
}

/// The state of listening; it lives as long as the adapter runs.
pub(super) struct Listener<'a> {
    slack: &'a Slack,
    intake: &'a dyn Intake,
    waits: Backoff,
}

impl<'a> Listener<'a> {
    pub(super) fn new(slack: &'a Slack, intake: &'a dyn Intake) -> Self {
        Self { slack, intake, waits: Backoff::default() }
    }

    /// Listens for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        loop {
            let started = Instant::now();
            let ended = self.session().await;
            if started.elapsed() > self.slack.settings.pace.silence_max {
                self.waits.reset();
            }
            match ended {
                Ok(reason) => {
                    info!(channel = "slack", %reason, "Slack asks to connect anew: {reason}");
                    // A Slack that says so again and again is not asked without a pause.
                    if self.waits.has_begun() {
                        let delay = self.delay();
                        self.slack.health.turned(delay);
                        tokio::time::sleep(delay).await;
                    } else {
                        let pace = self.slack.settings.pace;
                        self.waits.begin(pace.retry_min, pace.retry_max, self.slack.rng.as_ref());
                    }
                }
                Err(trouble) => self.wait_out(&trouble).await,
            }
        }
    }

    /// One connection, from its begin to its end, with clients of its own; the reason if Slack ends it.
    async fn session(&mut self) -> Result<String, SocketError> {
        let Slack { settings, tls, .. } = self.slack;
        self.slack.health.turned(settings.pace.send_deadline * 3 + settings.pace.silence_max);
        let (bot, app) =
            (WebApi::new(settings, tls, &settings.bot_token), WebApi::new(settings, tls, &settings.app_token));
        let me = fetch_bot_identity(self.slack, &bot).await?;
        let mut socket = connect(self.slack, &app).await?;
        greeting(self.slack, &mut socket).await?;
        if let Some(was) = self.slack.health.heard(self.slack.clock.now()) {
            info!(channel = "slack", %was, "Slack answers again (was: {was})");
        }
        self.slack.health.identified(&me.name);
        info!(channel = "slack", bot.name = %me.name, "connected to Slack as {}", me.name);
        let ((said, envelopes), (pressing, urgent)) = (mpsc::channel(WAITING_MAX), mpsc::channel(WAITING_MAX));
        let (done, acknowledged) = mpsc::unbounded_channel();
        let presence = JoinedChats::default();
        let feeder = Feeder { slack: self.slack, intake: self.intake, web: &bot, me: &me, presence, done };
        let mut hurrying = pin!(feeder.submit_presses(urgent));
        let ended = tokio::select! {
            ended = listen(self.slack, socket, EnvelopeQueues { said, pressing }, acknowledged) => ended,
            trouble = feeder.submit_messages(envelopes) => Err(trouble),
            // It ends otherwise only when the socket's side is gone.
            Err(trouble) = &mut hurrying => return Err(trouble),
        };
        // What does not come again is still handed in; a message does, or its channel's history has it.
        match tokio::time::timeout(settings.pace.send_deadline, hurrying).await {
            Ok(Err(trouble)) if ended.is_ok() => Err(trouble),
            Ok(Ok(()) | Err(_)) | Err(_) => ended,
        }
    }

    /// Makes the trouble visible, then waits as long as it deserves.
    async fn wait_out(&mut self, trouble: &SocketError) {
        let pace = self.slack.settings.pace;
        let asked = match trouble {
            SocketError::Call { error, .. } => error.retry_after(),
            _ => None,
        };
        let delay = match asked {
            Some(after) => after.max(pace.retry_min),
            None if trouble.is_lasting() => pace.retry_refused,
            None => self.delay(),
        };
        let words = trouble.words();
        warn!(channel = "slack", trouble = %words, delay_ms = delay.as_millis(), "Slack: {words}; again in {delay:?}");
        match trouble {
            SocketError::NotStored(error) => self.slack.health.stuck(error.to_string()),
            _ => self.slack.health.troubled(words),
        }
        self.slack.health.turned(delay);
        tokio::time::sleep(delay).await;
    }

    fn delay(&mut self) -> Duration {
        let pace = self.slack.settings.pace;
        self.waits.next(pace.retry_min, pace.retry_max, self.slack.rng.as_ref())
    }
}

/// Who Hob is there.
async fn fetch_bot_identity(slack: &Slack, web: &WebApi) -> Result<BotIdentity, SocketError> {
    let said = web.post("auth.test", &json!({})).await.map_err(SocketError::call("auth.test"))?;
    let named = |key: &str| text(&said, key).unwrap_or_default().to_owned();
    let name = format!("@{} in {}", named("user"), text(&said, "team").unwrap_or("a workspace"));
    let (account, is_command) = (slack.settings.account.clone(), slack.settings.is_command);
    // An app of a whole organisation is in many workspaces: each envelope tells its own.
    let workspace = text(&said, "team_id").filter(|_| said["is_enterprise_install"] != true).map(str::to_owned);
    Ok(BotIdentity { user: named("user_id"), bot: named("bot_id"), name, workspace, account, is_command })
}

/// Whether both tokens are known; who Hob is there.
pub(super) async fn check(slack: &Slack) -> Result<String, AccountError> {
    const METHOD: &str = "apps.connections.open";
    let unusable = |trouble: SocketError| AccountError(trouble.words());
    let me = fetch_bot_identity(slack, &slack.web).await.map_err(unusable)?;
    let app = WebApi::new(&slack.settings, &slack.tls, &slack.settings.app_token);
    app.post(METHOD, &json!({})).await.map_err(|error| unusable(SocketError::Call { method: METHOD, error }))?;
    Ok(me.name)
}

async fn connect(slack: &Slack, web: &WebApi) -> Result<Socket, SocketError> {
    const METHOD: &str = "apps.connections.open";
    let said = web.post(METHOD, &json!({})).await.map_err(SocketError::call(METHOD))?;
    let address = text(&said, "url").unwrap_or_default();
    // What is encrypted on the way there is not continued in the open.
    if slack.settings.api_url.scheme() == "https" && !address.starts_with("wss://") {
        return Err(SocketError::Socket("Slack named an address that is not encrypted".to_owned()));
    }
    let limits = WebSocketConfig::default().max_message_size(Some(FRAME_BYTES_MAX));
    let tls = Connector::Rustls(Arc::clone(&slack.tls));
    let connecting = connect_async_tls_with_config(address, Some(limits), true, Some(tls));
    match tokio::time::timeout(slack.settings.pace.send_deadline, connecting).await {
        Ok(connected) => connected.map(|(socket, _)| socket).map_err(|error| lost(&error)),
        Err(_) => Err(SocketError::Silent(slack.settings.pace.send_deadline)),
    }
}

fn lost(error: &tungstenite::Error) -> SocketError {
    SocketError::Socket(causes(error))
}

/// Slack's `hello`: until then the connection is not one.
async fn greeting(slack: &Slack, socket: &mut Socket) -> Result<(), SocketError> {
    let deadline = slack.settings.pace.silence_max;
    let hello = async {
        while let Some(said) = socket.next().await {
            let said = said.map_err(|error| lost(&error))?;
            match said.to_text().map_or(Frame::Other, frame) {
                Frame::Hello => return Ok(()),
                Frame::Disconnect { reason } if reason == "link_disabled" => return Err(SocketError::SwitchedOff),
                Frame::Disconnect { reason } => return Err(SocketError::Socket(reason)),
                // What comes before is not acknowledged, and comes again.
                Frame::Envelope(_) | Frame::Other => {}
            }
        }
        Err(SocketError::Socket("closed before Slack said hello".to_owned()))
    };
    tokio::time::timeout(deadline, hello).await.unwrap_or(Err(SocketError::Silent(deadline)))
}

/// Reads the socket, keeps it alive, and acknowledges what is taken in; the reason if Slack ends it.
async fn listen(
    slack: &Slack,
    mut socket: Socket,
    waiting: EnvelopeQueues,
    mut acknowledged: mpsc::UnboundedReceiver<Acknowledgement>,
) -> Result<String, SocketError> {
    let pace = slack.settings.pace;
    let mut ping = tokio::time::interval(pace.ping_every);
    ping.tick().await;
    let mut heard = Instant::now();
    loop {
        slack.health.turned(pace.silence_max + pace.send_deadline);
        tokio::select! {
            said = socket.next() => {
                let said = match said {
                    Some(said) => said.map_err(|error| lost(&error))?,
                    None => return Err(SocketError::Socket("closed".to_owned())),
                };
                heard = Instant::now();
                slack.health.heard(slack.clock.now());
                match said {
                    Message::Text(said) => match frame(&said) {
                        Frame::Envelope(envelope) => waiting.enqueue(envelope)?,
                        Frame::Disconnect { reason } if reason == "link_disabled" => return Err(SocketError::SwitchedOff),
                        Frame::Disconnect { reason } => return Ok(reason),
                        Frame::Hello | Frame::Other => {}
                    },
                    Message::Close(_) => return Ok("closed".to_owned()),
                    _ => {}
                }
            }
            Some(taken) = acknowledged.recv() => {
                socket.send(Message::text(acknowledgement(&taken))).await.map_err(|error| lost(&error))?;
            }
            _ = ping.tick() => {
                socket.send(Message::Ping("hob".into())).await.map_err(|error| lost(&error))?;
            }
            () = tokio::time::sleep_until(heard + pace.silence_max) => return Err(SocketError::Silent(pace.silence_max)),
        }
    }
}

impl EnvelopeQueues {
    /// Puts an envelope in line. What people said waits for what they said before; what does not come again does not.
    fn enqueue(&self, envelope: Envelope) -> Result<(), SocketError> {
        let line = if envelope.kind == "events_api" { &self.said } else { &self.pressing };
        if line.try_send(envelope).is_err() { Err(SocketError::Flooded) } else { Ok(()) }
    }
}

/// What tells Slack that an envelope is taken in.
fn acknowledgement(taken: &Acknowledgement) -> String {
    let mut said = json!({ "envelope_id": taken.id });
    if let Some(words) = taken.says {
        said["payload"] = json!({ "text": words });
    }
    said.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_frames_are_told_apart() {
        let said = |text: &str| match frame(text) {
            Frame::Hello => "hello".to_owned(),
            Frame::Envelope(Envelope { id, kind, payload, may_be_told }) => {
                format!("{kind} {id} {payload}{}", if may_be_told { " ?" } else { "" })
            }
            Frame::Disconnect { reason } => format!("disconnect {reason}"),
            Frame::Other => "other".to_owned(),
        };
        let table = [
            (r#"{"type":"hello","num_connections":1}"#, "hello"),
            (r#"{"type":"disconnect","reason":"warning"}"#, "disconnect warning"),
            (r#"{"type":"events_api","envelope_id":"e1","payload":{"a":1}}"#, r#"events_api e1 {"a":1}"#),
            (
                r#"{"type":"slash_commands","envelope_id":"e2","payload":{},"accepts_response_payload":true}"#,
                "slash_commands e2 {} ?",
            ),
            (r#"{"type":"events_api"}"#, "other"),
            ("[]", "other"),
            ("ping", "other"),
        ];
        for (text, expected) in table {
            assert_eq!(said(text), expected);
        }
    }

    #[test]
    fn what_an_operator_can_mend_is_said_so() {
        let trouble = |method, code: &str| {
            SocketError::call(method)(CallError::Api { code: code.to_owned(), details: None, retry_after: None })
        };
        let refused = trouble("apps.connections.open", "invalid_auth");
        assert!(refused.is_lasting() && SocketError::SwitchedOff.is_lasting());
        insta::assert_snapshot!(refused.words(), @"Slack does not know the app_token (xapp-…) (invalid_auth); copy it again from api.slack.com/apps");
        let many = trouble("apps.connections.open", "too_many_websockets");
        assert!(!many.is_lasting());
        insta::assert_snapshot!(many.words(), @"too many programs are connected with the app_token (xapp-…) (too_many_websockets); Slack allows ten");
        insta::assert_snapshot!(trouble("auth.test", "missing_scope").words(), @"the bot_token (xoxb-…) lacks a scope for auth.test (missing_scope); see docs/slack.md");
    }
}
