//! The sync loop: what the homeserver has, handed in, and only then its token kept.
//!
//! A process that dies in between gets the same again: the intake knows what it had, and the keys that came are kept before.

use std::sync::Arc;
use std::time::Duration;

use ruma::api::client::sync::sync_events::v3::{Filter, InvitedRoom, Request, Response};
use ruma::{OwnedRoomId, RoomId};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::Matrix;
use crate::call::CallError;
use crate::convert::{self, Place, text};
use crate::key_store::{KeyStoreError, Kind};
use crate::login::Login;
use crate::machine::{MachineError, Opened, changes, reading};
use crate::rooms::Room;
use crate::session::{Session, SessionError};
use crate::timeline;
use crate::undecrypted;
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{Intake, IntakeError};
use hob_core::domain::inbound::{ChannelKind, Conversation, SenderProof};
use hob_core::domain::lock::lock;
use hob_core::domain::text::causes;

/// Up to where everything is handed in.
const TOKEN: &str = "sync_token";

/// Why nothing comes in.
#[derive(Debug, thiserror::Error)]
pub(super) enum SyncError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    #[error(transparent)]
    Intake(#[from] IntakeError),
}

impl From<CallError> for SyncError {
    fn from(error: CallError) -> Self {
        Self::Machine(error.into())
    }
}

impl SyncError {
    fn call(&self) -> Option<&CallError> {
        match self {
            Self::Machine(MachineError::Call(error)) => Some(error),
            Self::Session(error) => error.call(),
            Self::Machine(_) | Self::Keys(_) | Self::Intake(_) => None,
        }
    }

    fn is_lasting(&self) -> bool {
        match self {
            Self::Session(error) => error.is_lasting(),
            Self::Machine(_) | Self::Keys(_) | Self::Intake(_) => {
                self.call().is_some_and(|error| error.code() == Some("M_UNKNOWN_TOKEN"))
            }
        }
    }

    /// What is in memory may not be what is in the file.
    fn is_of_keys(&self) -> bool {
        matches!(self, Self::Keys(_) | Self::Machine(MachineError::Store(_) | MachineError::Olm(_)))
    }

    fn words(&self) -> String {
        match self.call() {
            Some(error) if error.code() == Some("M_UNKNOWN_TOKEN") => {
                "somebody signed Hob's device out: stop Hob, run `hob matrix reset`, and start it: it then logs in as a new device".to_owned()
            }
            _ => causes(self),
        }
    }
}

/// Hands in for ever; dropped to end it.
pub(super) async fn listen(matrix: &Matrix, intake: &dyn Intake) {
    let mut waits = Backoff::default();
    loop {
        let Err(trouble) = Listener { matrix, intake }.run(&mut waits).await else { continue };
        if trouble.is_of_keys() {
            *lock(&matrix.session) = None;
        }
        let pace = matrix.settings.pace;
        let again = waits.next(pace.retry_min, pace.retry_max, &*matrix.rng);
        let named = trouble.call().and_then(CallError::retry_after);
        let delay = if trouble.is_lasting() { pace.retry_refused } else { again.max(named.unwrap_or_default()) };
        let words = trouble.words();
        match &trouble {
            SyncError::Intake(_) => matrix.health.stuck(words.clone()),
            SyncError::Session(_) | SyncError::Machine(_) | SyncError::Keys(_) => matrix.health.troubled(words.clone()),
        }
        matrix.health.turned(delay);
        warn!(channel = "matrix", account = %matrix.settings.account, delay_ms = delay.as_millis(), "nothing comes in: {words}");
        tokio::time::sleep(delay).await;
    }
}

struct Listener<'a> {
    matrix: &'a Matrix,
    intake: &'a dyn Intake,
}

impl Listener<'_> {
    async fn run(&self, waits: &mut Backoff) -> Result<(), SyncError> {
        let Matrix { settings, health, .. } = self.matrix;
        health.turned(settings.pace.poll + settings.pace.request_max * 4);
        let session = self.session().await?;
        health.identified(session.me.as_str());
        // The first answer comes at once: what was missed is not waited for.
        let mut wait = Duration::ZERO;
        loop {
            match Box::pin(self.turn(&session, wait)).await {
                Err(error) if error.call().is_some_and(CallError::is_soft_logout) => {
                    let renewed = session.login.lock().await.renew(settings, &session.api).await;
                    renewed.map_err(SessionError::from)?;
                }
                ended => ended?,
            }
            if let Some(trouble) = health.heard(self.matrix.clock.now()) {
                info!(channel = "matrix", "messages come in again; before: {trouble}");
            }
            waits.reset();
            wait = settings.pace.poll;
            health.turned(settings.pace.poll + settings.pace.request_max * 4);
        }
    }

    /// The login at work, or a new one.
    async fn session(&self) -> Result<Arc<Session>, SyncError> {
        if let Some(session) = lock(&self.matrix.session).clone() {
            return Ok(session);
        }
        let Matrix { settings, http, rng, .. } = self.matrix;
        let session = match Box::pin(Session::open(settings, http.clone(), &**rng)).await {
            // Its token ran out while Hob was away; the device is still there.
            Err(error) if error.call().is_some_and(CallError::is_soft_logout) => {
                Login::forget_token(settings).await.map_err(SessionError::from)?;
                Box::pin(Session::open(settings, http.clone(), &**rng)).await?
            }
            opened => opened?,
        };
        let session = Arc::new(session);
        *lock(&self.matrix.session) = Some(Arc::clone(&session));
        Ok(session)
    }

    /// One answer of the homeserver's, taken in whole.
    async fn turn(&self, session: &Session, wait: Duration) -> Result<(), SyncError> {
        let since = session.keys.get::<String>(Kind::Own.named(TOKEN)).await?;
        let answer = poll(session, since.clone(), wait).await?;
        let has_keys = !answer.to_device.events.is_empty();
        take_keys(session, &answer).await?;
        session.exchange_keys().await?;
        for (room, invited) in &answer.rooms.invite {
            self.consider(session, room, invited).await?;
        }
        for room in answer.rooms.leave.keys() {
            session.rooms.forget(room).await;
        }
        if has_keys {
            self.try_again(session).await?;
        }
        // What was said before Hob first connected is nobody's question.
        if let Some(since) = &since {
            for (room, joined) in &answer.rooms.join {
                for event in timeline::events(session, room, &joined.timeline, since).await? {
                    self.hand_in(session, room, event).await?;
                }
            }
        }
        undecrypted::tell(session, self.intake, self.matrix.clock.now()).await?;
        Ok(session.keys.set(Kind::Own.named(TOKEN), &answer.next_batch).await?)
    }

    /// One event of a room's.
    async fn hand_in(&self, session: &Session, room: &RoomId, event: Value) -> Result<(), SyncError> {
        match text(&event, "type") {
            Some("m.room.member" | "m.room.encryption") => session.rooms.forget(room).await,
            Some("m.room.encrypted") if known(session, room).await?.is_none() => {}
            Some("m.room.encrypted") => match session.unseal(room, &event).await? {
                Opened::Read { event, proof } => return self.submit_opened(session, room, &event, proof).await,
                Opened::Unreadable { why } => {
                    return Ok(undecrypted::keep(session, room, event, &why, self.matrix.clock.now()).await?);
                }
            },
            Some("m.room.message") => {
                let is_bare = known(session, room).await?.is_some_and(|room| room.is_encrypted);
                let why = "it came in clear, in a room that is encrypted".to_owned();
                let proof = if is_bare { SenderProof::Nobody { why } } else { SenderProof::Platform };
                return self.submit(session, room, &event, proof).await;
            }
            Some("m.room.redaction") => return self.submit(session, room, &event, SenderProof::Platform).await,
            _ => {}
        }
        Ok(())
    }

    /// What was sealed, as far as it may have been.
    async fn submit_opened(
        &self,
        session: &Session,
        id: &RoomId,
        event: &Value,
        proof: SenderProof,
    ) -> Result<(), SyncError> {
        if convert::may_be_sealed(event) { self.submit(session, id, event, proof).await } else { Ok(()) }
    }

    /// What can be read, to the intake.
    async fn submit(&self, session: &Session, id: &RoomId, event: &Value, proof: SenderProof) -> Result<(), SyncError> {
        let Some(room) = known(session, id).await? else { return Ok(()) };
        let place = Place { id: id.as_str(), room: &room };
        let Some(mut inbound) = convert::inbound(event, place, session.me(), proof) else { return Ok(()) };
        if let Some(answered) = convert::answered(event) {
            inbound.metadata.quoted = timeline::event(session, id, answered)
                .await?
                .and_then(|answered| convert::quoted(&answered, &room, session.me()));
        }
        self.intake.accept(inbound).await?;
        self.matrix.health.message(self.matrix.clock.now());
        Ok(())
    }

    /// What could not be read may be by now.
    async fn try_again(&self, session: &Session) -> Result<(), SyncError> {
        for waiting in undecrypted::all(session).await? {
            if let Opened::Read { event, proof } = session.unseal(&waiting.room, &waiting.event).await? {
                self.submit_opened(session, &waiting.room, &event, proof).await?;
                undecrypted::forget(session, &waiting).await?;
            }
        }
        Ok(())
    }

    /// Goes where somebody who is let in wants Hob to be; and where somebody wants to talk with it alone, as everywhere: what they
    /// are told then, the intake decides.
    async fn consider(&self, session: &Session, room: &RoomId, invited: &InvitedRoom) -> Result<(), SyncError> {
        let events = invited.invite_state.events.iter();
        let events = events.filter_map(|event| serde_json::from_str::<Value>(event.json().get()).ok());
        let own = |event: &Value| event["type"] == "m.room.member" && event["state_key"] == session.me.as_str();
        let Some(invitation) = events.into_iter().find(own) else { return Ok(()) };
        let (inviter, is_direct) =
            (text(&invitation, "sender").unwrap_or_default(), invitation["content"]["is_direct"] == true);
        let (channel, account) = (ChannelKind::Matrix, session.account.clone());
        let place = Conversation { channel, account, chat: room.to_string(), thread: None };
        if !is_direct && !self.intake.admits(&place, inviter).await? {
            info!(channel = "matrix", "an invitation from somebody who is not let in was ignored");
            return Ok(());
        }
        match session.api.post(&["client", "v3", "join", room.as_str()], &json!({})).await {
            Ok(_) => info!(channel = "matrix", "joined a room"),
            Err(error @ (CallError::NotSent(_) | CallError::Lost(_))) => return Err(error.into()),
            Err(error @ CallError::Refused { retry_after: Some(_), .. }) => return Err(error.into()),
            Err(error) => {
                warn!(channel = "matrix", %error, "a room that Hob was invited to could not be joined: {error}")
            }
        }
        Ok(())
    }
}

/// What is known of a room; none: Hob is not in it any more.
async fn known(session: &Session, room: &RoomId) -> Result<Option<Arc<Room>>, SyncError> {
    match session.rooms.get(session, room).await {
        Err(MachineError::Call(error)) if matches!(error.code(), Some("M_FORBIDDEN" | "M_NOT_FOUND")) => Ok(None),
        known => Ok(Some(known?)),
    }
}

async fn poll(session: &Session, since: Option<String>, wait: Duration) -> Result<Response, CallError> {
    let filter = json!({
        "presence": {"types": []},
        "account_data": {"types": []},
        "room": {
            "account_data": {"types": []},
            "ephemeral": {"types": []},
            "state": {"lazy_load_members": true, "types": ["m.room.member", "m.room.encryption"]},
            "timeline": {"limit": timeline::EVENTS},
        },
    });
    let mut request = Request::new();
    request.filter = Some(Filter::FilterId(filter.to_string()));
    request.since = since;
    request.timeout = Some(wait);
    session.api.ask(request, wait).await
}

/// The keys that came, kept before anything else is done.
async fn take_keys(session: &Session, answer: &Response) -> Result<(), SyncError> {
    session.machine.receive_sync_changes(changes(answer), &reading()).await.map_err(MachineError::from)?;
    let changed: Vec<&OwnedRoomId> =
        answer.rooms.join.iter().filter(|(_, room)| !room.state.is_empty()).map(|(id, _)| id).collect();
    for room in changed {
        session.rooms.forget(room).await;
    }
    Ok(())
}
