//! One chunk to a room, and what the answer means for the outbox.
//!
//! Each goes under a transaction made from its row: sent again, the homeserver gives the first one's event. So nothing is looked
//! up, and nothing is marked as a possible repetition.

use ruma::{RoomId, TransactionId};
use serde_json::{Value, json};
use tracing::info;

use crate::call::CallError;
use crate::machine::MachineError;
use crate::session::Session;
use crate::{content, files, timeline};
use hob_core::domain::inbound::MATRIX_PRIVATE;
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use hob_core::domain::rng::Rng;

/// The room that a destination names.
pub(super) fn room(place: &Destination) -> Result<&RoomId, DeliveryError> {
    let chat = &place.conversation.chat;
    let id = chat.strip_prefix(MATRIX_PRIVATE).unwrap_or(chat);
    let Ok(room) = <&RoomId>::try_from(id) else {
        return Err(DeliveryError::Refused { why: "not the id of a room on Matrix".to_owned() });
    };
    Ok(room)
}

/// What the outbox has to know.
pub(super) fn outcome(error: &MachineError) -> DeliveryError {
    let why = error.to_string();
    let MachineError::Call(error) = error else {
        return DeliveryError::Retry { after: None, why };
    };
    match error {
        CallError::NotSent(_) => DeliveryError::Retry { after: None, why },
        CallError::Lost(_) => DeliveryError::Unknown { why },
        CallError::Foreign { status, .. } if status.is_success() || matches!(status.as_u16(), 502 | 504) => {
            DeliveryError::Unknown { why }
        }
        CallError::Foreign { .. } => DeliveryError::Retry { after: None, why },
        CallError::Refused { retry_after: Some(after), .. } => DeliveryError::Retry { after: Some(*after), why },
        CallError::Refused { status, code, .. } => match code.as_str() {
            // An operator can mend these.
            "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_LIMIT_EXCEEDED" | "M_RESOURCE_LIMIT_EXCEEDED" => {
                DeliveryError::Retry { after: None, why }
            }
            _ if status.is_server_error() => DeliveryError::Unknown { why },
            // M_FORBIDDEN, M_NOT_FOUND, M_TOO_LARGE, and what is new.
            _ => DeliveryError::Refused { why },
        },
    }
}

/// Sends the chunk, or changes the message that it replaces.
pub(super) async fn deliver(session: &Session, message: &Outgoing) -> Result<Receipt, DeliveryError> {
    let room = room(&message.destination)?;
    let said = match &message.file {
        Some(file) => files::upload(session, room, message, file).await?,
        None => content::words(&message.text, message.markup.as_deref()),
    };
    let transaction = content::transaction(message);
    if let Some(replaces) = &message.replaces {
        let old = timeline::event(session, room, &replaces.external_id).await.map_err(|error| outcome(&error))?;
        if old.is_some_and(|old| !old["content"]["body"].is_null()) {
            let changed = content::replacing(said, &replaces.external_id);
            post(session, room, &transaction, changed).await?;
            return Ok(Receipt { external_id: Some(replaces.external_id.clone()) });
        }
        if !replaces.or_send {
            return Ok(Receipt { external_id: Some(replaces.external_id.clone()) });
        }
        info!(channel = "matrix", "the message that was to be changed is gone: sent anew");
    }
    post(session, room, &transaction, content::placed(said, &message.destination)).await
}

/// What is refused for its size goes out as text alone.
async fn post(session: &Session, room: &RoomId, transaction: &str, content: Value) -> Result<Receipt, DeliveryError> {
    let id = <&TransactionId>::from(transaction);
    let sent = match session.send_in_room(room, "m.room.message", id, &content).await {
        Err(MachineError::Call(error))
            if error.code() == Some("M_TOO_LARGE") && !content["formatted_body"].is_null() =>
        {
            info!(channel = "matrix", %error, "sent as plain text: {error}");
            let mut plain = content;
            plain["formatted_body"] = Value::Null;
            plain.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
            session.send_in_room(room, "m.room.message", id, &plain).await
        }
        sent => sent,
    };
    sent.map(|id| Receipt { external_id: Some(id) }).map_err(|error| outcome(&error))
}

/// Posts a message that still grows, or changes it.
pub(super) async fn draft(session: &Session, rng: &dyn Rng, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
    let room = room(&draft.destination)?;
    let said = content::words(&draft.text, draft.markup.as_deref());
    let transaction = format!("hob-draft-{}", rng.id());
    match &draft.external_id {
        Some(id) => {
            post(session, room, &transaction, content::replacing(said, id)).await?;
            Ok(Receipt { external_id: Some(id.clone()) })
        }
        None => post(session, room, &transaction, content::placed(said, &draft.destination)).await,
    }
}

/// Takes one of Hob's messages back.
pub(super) async fn retract(session: &Session, place: &Destination, event: &str) -> Result<(), DeliveryError> {
    redact(session, room(place)?, event).await.map_err(|error| outcome(&error.into()))
}

/// What is gone already is not an error.
pub(super) async fn redact(session: &Session, room: &RoomId, event: &str) -> Result<(), CallError> {
    let transaction = format!("hob-gone-{event}");
    let path = ["client", "v3", "rooms", room.as_str(), "redact", event, &transaction];
    match session.api.put(&path, &json!({})).await {
        Err(error) if error.code() == Some("M_NOT_FOUND") => Ok(()),
        redacted => redacted.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::StatusCode;

    use super::*;

    fn refused(status: u16, code: &str, retry_after: Option<Duration>) -> CallError {
        let (code, message, body) = (code.to_owned(), String::new(), Box::new(Value::Null));
        CallError::Refused { status: StatusCode::from_u16(status).unwrap(), code, message, retry_after, body }
    }

    #[test]
    fn f11_only_what_may_have_arrived_is_unknown() {
        let foreign = |status| CallError::Foreign { status: StatusCode::from_u16(status).unwrap(), why: String::new() };
        let table = [
            (CallError::NotSent(String::new()), "retry"),
            (CallError::Lost(String::new()), "unknown"),
            (refused(429, "M_LIMIT_EXCEEDED", Some(Duration::from_secs(3))), "retry"),
            (refused(401, "M_UNKNOWN_TOKEN", None), "retry"),
            (refused(403, "M_FORBIDDEN", None), "refused"),
            (refused(404, "M_NOT_FOUND", None), "refused"),
            (refused(500, "M_UNKNOWN", None), "unknown"),
            (foreign(200), "unknown"),
            (foreign(504), "unknown"),
            (foreign(503), "retry"),
        ];
        for (error, expected) in table {
            let name = match outcome(&error.clone().into()) {
                DeliveryError::Retry { .. } => "retry",
                DeliveryError::Refused { .. } => "refused",
                DeliveryError::Unknown { .. } => "unknown",
            };
            assert_eq!(name, expected, "{error:?}");
        }
        let limited = outcome(&refused(429, "M_LIMIT_EXCEEDED", Some(Duration::from_secs(3))).into());
        assert!(matches!(limited, DeliveryError::Retry { after: Some(after), .. } if after.as_secs() == 3));
    }
}
