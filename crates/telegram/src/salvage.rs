//! A message that teloxide's types cannot hold (a new kind of media, a missing field), cut down to what they can.
//!
//! Somebody wrote it and waits for an answer, so it is handed in with its text, or with a word instead of it. Pure.

use serde_json::{Map, Value, json};
use teloxide::types::{MessageKind, Update, UpdateKind};

/// Said instead of a message that has no text.
const UNREADABLE: &str = "[a message of a kind that Hob cannot read]";

/// What is kept of a message; all else may be what cannot be read.
const KEPT: [&str; 8] =
    ["message_id", "message_thread_id", "is_topic_message", "from", "sender_chat", "chat", "date", "edit_date"];

/// teloxide's reading of an update. Some shapes make its parser panic, and no update may end the poll.
pub(super) fn read(raw: &Value) -> Option<Update> {
    // From text, not from the value: the parser is written for, and tested with, text.
    let text = raw.to_string();
    std::panic::catch_unwind(|| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Whether teloxide could make something of the update. A message of unknown content is one without any to it.
pub(super) fn is_understood(update: &Update) -> bool {
    match &update.kind {
        UpdateKind::Error(_) => false,
        UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => {
            !matches!(message.kind, MessageKind::Empty {})
        }
        _ => true,
    }
}

/// The update with its message reduced; `None` if it has none, or if not even that can be read.
pub(super) fn salvage(raw: &Value) -> Option<Update> {
    let mut reduced = raw.as_object()?.clone();
    for kind in ["message", "edited_message"] {
        if let Some(message) = reduced.get_mut(kind) {
            *message = Value::Object(reduce(message.as_object()?));
        }
    }
    if let Some(asked) = reduced.get_mut("callback_query").and_then(|query| query.get_mut("message")) {
        *asked = Value::Object(reduce(asked.as_object()?));
    }
    read(&Value::Object(reduced)).filter(is_understood)
}

fn reduce(message: &Map<String, Value>) -> Map<String, Value> {
    let mut kept: Map<String, Value> =
        KEPT.iter().filter_map(|key| Some(((*key).to_owned(), message.get(*key)?.clone()))).collect();
    let original = message.get("reply_to_message").and_then(Value::as_object);
    // What "replies" to the notice that opened a forum's topic replies to nobody.
    if let Some(original) = original.filter(|original| !original.contains_key("forum_topic_created")) {
        kept.insert("reply_to_message".to_owned(), Value::Object(reduce(original)));
    }
    let text = message.get("text").or(message.get("caption")).cloned();
    kept.insert("text".to_owned(), text.unwrap_or_else(|| UNREADABLE.into()));
    if let Some(origin) = message.get("forward_origin") {
        kept.insert("forward_origin".to_owned(), hidden_origin(origin));
    }
    if let Some(entities) = message.get("entities").or(message.get("caption_entities")) {
        kept.insert("entities".to_owned(), entities.clone());
    }
    kept
}

/// Where a message was forwarded from, of which only a name is kept: that it was forwarded must not be lost.
fn hidden_origin(origin: &Value) -> Value {
    let name = ["/sender_user_name", "/sender_user/first_name", "/sender_chat/title", "/chat/title"];
    let name = name.iter().find_map(|path| origin.pointer(path)?.as_str());
    json!({"type": "hidden_user", "date": 0, "sender_user_name": name.unwrap_or("somebody")})
}
