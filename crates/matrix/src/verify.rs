//! Another device of somebody's vouches for Hob's, by a code that both show (SAS). It is done beside no Hob at work: the keys
//! are one process's.
//!
//! Start at [`verify`]. What is said in rooms meanwhile is left to the daemon: its own token does not move.

use std::ops::Deref;
use std::time::Duration;

use matrix_sdk_crypto::{Sas, Verification};
use ruma::api::client::sync::sync_events::v3::{Request, Response};
use ruma::events::AnyMessageLikeEvent;
use ruma::events::key::verification::cancel::CancelCode;
use ruma::serde::Raw;
use ruma::{OwnedUserId, RoomId};
use serde_json::Value;

use crate::call::CONNECT_MAX;
use crate::convert::text;
use crate::machine::{MachineError, Opened, changes, reading};
use crate::session::{Session, SessionError};
use crate::settings::Settings;
use hob_core::domain::rng::Rng;

/// How long the other side may take for all of it.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the homeserver holds an answer back.
const POLL: Duration = Duration::from_secs(5);

/// What both sides show if nobody sits between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Whose device it is, and which.
    pub with: String,
    /// Seven pictures with their names, where the other side shows such.
    pub pictures: Vec<(&'static str, &'static str)>,
    pub numbers: [u16; 3],
}

/// Nobody is verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{0}")]
    Account(String),
    #[error("the codes did not match: nobody is verified")]
    Differs,
    #[error("it was ended, and nobody is verified: {0}")]
    Cancelled(String),
    #[error("no verification was started or finished within ten minutes")]
    Nobody,
}

impl From<SessionError> for VerifyError {
    fn from(error: SessionError) -> Self {
        Self::Account(error.to_string())
    }
}

impl From<MachineError> for VerifyError {
    fn from(error: MachineError) -> Self {
        Self::Account(error.to_string())
    }
}

/// Waits for a verification that somebody begins in their client, and goes through it; `is_same` is asked to compare. Gives with
/// whom it was.
pub async fn verify(
    settings: &Settings,
    rng: &dyn Rng,
    mut is_same: impl FnMut(&Code) -> bool + Send,
) -> Result<String, VerifyError> {
    let http = hob_http::client(CONNECT_MAX).map_err(|error| VerifyError::Account(error.to_string()))?;
    let session = Box::pin(Session::open(settings, http, rng)).await?;
    let verifier = Verifier { session: &session, flow: None, since: None };
    let ended = tokio::time::timeout(PATIENCE, Box::pin(verifier.run(&mut is_same))).await;
    session.close().await;
    ended.unwrap_or(Err(VerifyError::Nobody))
}

/// What two devices go through.
#[derive(Clone)]
struct Flow {
    user: OwnedUserId,
    id: String,
}

struct Verifier<'a> {
    session: &'a Session,
    flow: Option<Flow>,
    since: Option<String>,
}

impl Verifier<'_> {
    async fn run(mut self, is_same: &mut (impl FnMut(&Code) -> bool + Send)) -> Result<String, VerifyError> {
        loop {
            self.listen().await?;
            let Some(flow) = &self.flow else { continue };
            let machine = &self.session.machine;
            let request = machine.get_verification_request(&flow.user, &flow.id);
            let sas = machine.get_verification(&flow.user, &flow.id).and_then(Verification::sas_v1);
            let ended = sas.as_ref().and_then(|sas| sas.cancel_info()).or_else(|| request.as_ref()?.cancel_info());
            if let Some(ended) = ended {
                // Whoever begins once more in the middle has both ended by this side, as the protocol has it. They may again.
                // Whatever else ends it here is a code or a key that does not fit.
                if ended.cancelled_by_us() && *ended.cancel_code() == CancelCode::User {
                    self.flow = None;
                    continue;
                }
                return Err(VerifyError::Cancelled(ended.reason().to_owned()));
            }
            if let Some(accepting) = request.and_then(|request| request.accept()) {
                self.session.say_in_verification(accepting).await?;
            }
            if let Some(sas) = sas
                && let Some(with) = self.step(&sas, is_same).await?
            {
                return Ok(with);
            }
        }
    }

    /// Goes on as far as it can; at its end gives with whom it was.
    async fn step(
        &self,
        sas: &Sas,
        is_same: &mut (impl FnMut(&Code) -> bool + Send),
    ) -> Result<Option<String>, VerifyError> {
        let with = format!("{} ({})", sas.other_user_id(), sas.other_device_id());
        if sas.is_done() {
            return Ok(Some(with));
        }
        if let Some(accepting) = sas.accept() {
            self.session.say_in_verification(accepting).await?;
        }
        let Some((a, b, c)) = sas.decimals().filter(|_| sas.can_be_presented() && !sas.have_we_confirmed()) else {
            return Ok(None);
        };
        let pictures = sas.emoji().into_iter().flatten().map(|emoji| (emoji.symbol, emoji.description)).collect();
        if !is_same(&Code { with: with.clone(), pictures, numbers: [a, b, c] }) {
            if let Some(cancelling) = sas.cancel() {
                self.session.say_in_verification(cancelling).await?;
            }
            return Err(VerifyError::Differs);
        }
        let (said, signatures) = sas.confirm().await.map_err(MachineError::from)?;
        for request in said {
            self.session.say_in_verification(request).await?;
        }
        if let Some(signatures) = signatures {
            self.session.upload_signatures(signatures).await?;
        }
        Ok(sas.is_done().then_some(with))
    }

    /// One answer of the homeserver's.
    async fn listen(&mut self) -> Result<(), VerifyError> {
        let mut request = Request::new();
        // The first answer comes at once, and says from where on to listen.
        request.timeout = self.since.as_ref().map(|_| POLL);
        request.since.clone_from(&self.since);
        let answer = self.session.api.ask(request, POLL).await.map_err(MachineError::from)?;
        self.devices(&answer).await?;
        if self.since.is_some() {
            for (room, joined) in &answer.rooms.join {
                for event in &joined.timeline.events {
                    let event = serde_json::from_str(event.json().get()).unwrap_or_default();
                    self.said(room, event).await?;
                }
            }
        }
        self.since = Some(answer.next_batch);
        Ok(self.session.exchange_keys().await?)
    }

    /// What other devices said to this one.
    async fn devices(&mut self, answer: &Response) -> Result<(), VerifyError> {
        // Who it is must be known before what they say is understood.
        let senders =
            answer.to_device.events.iter().filter_map(|event| event.get_field::<OwnedUserId>("sender").ok().flatten());
        let senders: Vec<OwnedUserId> = senders.collect();
        let machine = &self.session.machine;
        machine.update_tracked_users(senders.iter().map(Deref::deref)).await.map_err(MachineError::from)?;
        self.session.exchange_keys().await?;
        let (events, _) =
            machine.receive_sync_changes(changes(answer), &reading()).await.map_err(MachineError::from)?;
        for event in events {
            let event = serde_json::from_str::<Value>(event.to_raw().json().get()).unwrap_or_default();
            let begins =
                matches!(text(&event, "type"), Some("m.key.verification.request" | "m.key.verification.start"));
            if begins {
                self.begin(&event, text(&event["content"], "transaction_id"));
            }
        }
        Ok(())
    }

    /// What was said in a room of a verification.
    async fn said(&mut self, room: &RoomId, event: Value) -> Result<(), VerifyError> {
        let event = match text(&event, "type") {
            Some("m.room.encrypted") => match self.session.unseal(room, &event).await? {
                Opened::Read { event, .. } => event,
                Opened::Unreadable { .. } => return Ok(()),
            },
            _ => event,
        };
        let asks = event["content"]["msgtype"] == "m.key.verification.request";
        if !asks && !text(&event, "type").is_some_and(|kind| kind.starts_with("m.key.verification.")) {
            return Ok(());
        }
        let (mut event, room) = (event, room.as_str());
        event["room_id"] = room.into();
        let Ok(typed) =
            Raw::<AnyMessageLikeEvent>::from_json_string(event.to_string()).and_then(|raw| raw.deserialize())
        else {
            return Ok(());
        };
        self.session.machine.receive_verification_event(&typed).await.map_err(MachineError::from)?;
        if asks {
            self.begin(&event, text(&event, "event_id"));
        }
        Ok(())
    }

    /// Whoever came first is heard; nobody takes their place.
    fn begin(&mut self, event: &Value, id: Option<&str>) {
        let user = text(event, "sender").and_then(|sender| OwnedUserId::try_from(sender).ok());
        if let Some((user, id)) = user.zip(id) {
            self.flow.get_or_insert(Flow { user, id: id.to_owned() });
        }
    }
}
