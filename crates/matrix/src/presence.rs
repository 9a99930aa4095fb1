//! What shows that Hob is at work: typing, and a reaction under the message.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ruma::{RoomId, TransactionId};
use serde_json::{Value, json};

use crate::call::CallError;
use crate::convert::text;
use crate::machine::MachineError;
use crate::send::{outcome, redact, room};
use crate::session::Session;
use hob_core::domain::channel::MessageReaction;
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination};

/// Of how many messages it is kept which reaction they have.
const KEPT_MAX: usize = 1_000;
/// How long typing is shown; it is said again every 4 s.
const TYPING_MS: u32 = 6_000;

/// The reaction that each message has: which, and its own event. None: nothing is known of it.
#[derive(Default)]
pub(super) struct Reactions(Mutex<BTreeMap<String, (MessageReaction, Option<String>)>>);

fn emoji(mood: MessageReaction) -> Option<&'static str> {
    match mood {
        MessageReaction::Seen => Some("👀"),
        MessageReaction::Working => Some("⏳"),
        MessageReaction::Waiting => Some("❓"),
        MessageReaction::Done => Some("✅"),
        MessageReaction::Failed => Some("❌"),
        MessageReaction::Gone => None,
    }
}

/// What it was that could not be shown: all of it can be done again.
fn repeatable(error: impl Into<MachineError>) -> DeliveryError {
    match outcome(&error.into()) {
        DeliveryError::Unknown { why } => DeliveryError::Retry { after: None, why },
        known => known,
    }
}

/// Shows for a while that Hob works.
pub(super) async fn typing(session: &Session, place: &Destination) -> Result<(), DeliveryError> {
    let path = ["client", "v3", "rooms", room(place)?.as_str(), "typing", session.me.as_str()];
    let shown = session.api.put(&path, &json!({"typing": true, "timeout": TYPING_MS})).await;
    shown.map(drop).map_err(repeatable)
}

impl Reactions {
    /// Puts a reaction in the place of the one before.
    pub(super) async fn mood(
        &self,
        session: &Session,
        place: &Destination,
        mood: MessageReaction,
    ) -> Result<(), DeliveryError> {
        let Some(message) = place.reply_to.as_deref().filter(|id| id.starts_with('$')) else { return Ok(()) };
        let room = room(place)?;
        let before = lock(&self.0).get(message).cloned();
        if before.as_ref().is_some_and(|(shown, _)| *shown == mood) {
            return Ok(());
        }
        let others = match (before, mood) {
            (Some((_, event)), _) => event.into_iter().collect(),
            // A message that just came has none.
            (None, MessageReaction::Seen) => Vec::new(),
            // A process before this one may have left some.
            (None, _) => own_reactions(session, room, message).await.map_err(repeatable)?,
        };
        let shown = match emoji(mood) {
            Some(sign) => Some(react(session, room, message, sign).await.map_err(repeatable)?),
            None => None,
        };
        for other in others.iter().filter(|other| Some(*other) != shown.as_ref()) {
            redact(session, room, other).await.map_err(repeatable)?;
        }
        let mut kept = lock(&self.0);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(message.to_owned(), (mood, shown));
        Ok(())
    }
}

async fn react(session: &Session, room: &RoomId, message: &str, sign: &str) -> Result<String, MachineError> {
    let content = json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": message, "key": sign}});
    let transaction = format!("hob-sign-{message}-{sign}");
    let sent = session.send_in_room(room, "m.reaction", <&TransactionId>::from(transaction.as_str()), &content).await;
    match sent {
        // It stands there already, from before the transaction was forgotten.
        Err(MachineError::Call(error)) if error.code() == Some("M_DUPLICATE_ANNOTATION") => Ok(String::new()),
        sent => sent,
    }
}

/// Hob's own reactions to a message.
async fn own_reactions(session: &Session, room: &RoomId, message: &str) -> Result<Vec<String>, CallError> {
    let path = ["client", "v1", "rooms", room.as_str(), "relations", message, "m.annotation"];
    let found = match session.api.get(&path).await {
        Err(error) if error.code() == Some("M_NOT_FOUND") => return Ok(Vec::new()),
        found => found?,
    };
    let own = |event: &&Value| event["sender"] == session.me.as_str() && !event["content"]["m.relates_to"].is_null();
    let all = found["chunk"].as_array().into_iter().flatten().filter(own);
    Ok(all.filter_map(|event| text(event, "event_id").map(str::to_owned)).collect())
}
