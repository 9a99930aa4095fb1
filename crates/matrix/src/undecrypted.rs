//! Messages that cannot be read: kept until their key comes, and told of, once a room.

use jiff::{SignedDuration, Timestamp};
use ruma::{OwnedRoomId, RoomId, TransactionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::warn;

use crate::call::CallError;
use crate::content;
use crate::convert::{Place, chat, text};
use crate::key_store::{KeyStoreError, Kind};
use crate::machine::MachineError;
use crate::session::Session;
use crate::sync::SyncError;
use hob_core::domain::channel::Intake;
use hob_core::domain::inbound::{ChannelKind, Conversation};

/// How long a key may take before its room is told.
const PATIENCE: SignedDuration = SignedDuration::from_secs(20);
/// How long a message waits for its key.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// What a room is told.
const UNREADABLE: &str = "A message here was encrypted without a key for me, so I cannot read it. Please say it again; if that \
                          does not help, whoever runs me finds more with `hob status`.";

/// A message that waits for its key.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) room: OwnedRoomId,
    pub(super) event: Value,
    since: Timestamp,
}

impl Waiting {
    fn id(&self) -> &str {
        text(&self.event, "event_id").unwrap_or_default()
    }
}

pub(super) async fn keep(
    session: &Session,
    room: &RoomId,
    event: Value,
    why: &str,
    now: Timestamp,
) -> Result<(), KeyStoreError> {
    let waiting = Waiting { room: room.to_owned(), event, since: now };
    warn!(channel = "matrix", event.id = waiting.id(), "a message cannot be read yet: {why}");
    // Handed in twice, it has waited since the first time.
    if session.keys.get::<Waiting>(Kind::Undecrypted.at(room.as_str(), waiting.id())).await?.is_some() {
        return Ok(());
    }
    session.keys.set(Kind::Undecrypted.at(room.as_str(), waiting.id()), &waiting).await
}

/// All that wait.
pub(super) async fn all(session: &Session) -> Result<Vec<Waiting>, KeyStoreError> {
    session.keys.all(Kind::Undecrypted, None).await
}

/// It is read, or waits no longer.
pub(super) async fn forget(session: &Session, waiting: &Waiting) -> Result<(), KeyStoreError> {
    session.keys.remove(Kind::Undecrypted.at(waiting.room.as_str(), waiting.id())).await
}

/// Tells rooms where somebody who is let in has waited long enough.
pub(super) async fn tell(session: &Session, intake: &dyn Intake, now: Timestamp) -> Result<(), SyncError> {
    for waiting in all(session).await? {
        let waited = now.duration_since(waiting.since);
        if waited > KEPT {
            forget(session, &waiting).await?;
            continue;
        }
        let room = &*waiting.room;
        if waited < PATIENCE || session.keys.get::<bool>(Kind::Told.named(room.as_str())).await?.is_some() {
            continue;
        }
        let people = match session.rooms.get(session, room).await {
            // Hob is not there any more.
            Err(MachineError::Call(CallError::Refused { retry_after: None, .. })) => {
                forget(session, &waiting).await?;
                continue;
            }
            people => people?,
        };
        let (channel, account) = (ChannelKind::Matrix, session.account.clone());
        let chat = chat(Place { id: room.as_str(), room: &people });
        let place = Conversation { channel, account, chat, thread: None };
        if !intake.admits(&place, text(&waiting.event, "sender").unwrap_or_default()).await? {
            forget(session, &waiting).await?;
            continue;
        }
        let transaction = format!("hob-unread-{}", waiting.id());
        let words = content::words(UNREADABLE, None);
        match session.send_in_room(room, "m.room.message", <&TransactionId>::from(transaction.as_str()), &words).await {
            Err(MachineError::Call(error @ CallError::Refused { retry_after: None, .. })) => {
                warn!(channel = "matrix", %error, "a room cannot be told that a message cannot be read: {error}");
            }
            sent => drop(sent?),
        }
        session.keys.set(Kind::Told.named(room.as_str()), &true).await?;
    }
    Ok(())
}
