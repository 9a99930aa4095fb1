//! One chunk to Telegram, and what its answer means for the outbox.
//!
//! The Bot API has no idempotency key and bots cannot look back into a chat. So a send whose outcome nobody knows is
//! [`DeliveryError::Unknown`], and what may be a repetition says so to the reader.

use teloxide::Bot;
use teloxide::payloads::SendMessage;
use teloxide::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, MessageId, ReplyMarkup, ReplyParameters, ThreadId,
};
use tracing::{debug, info};

use std::time::Duration;

use serde::Deserialize;

use crate::channel::telegram::call::{CallError, call};
use crate::channel::telegram::convert::button_data;
use crate::domain::inbound::ChannelKind;
use crate::domain::outgoing::{Choice, DeliveryError, Destination, Outgoing, Receipt};
use crate::render::chunk::limit;
use crate::render::clean::clean;

/// Stands before a message that the reader may have already.
const REPEAT_MARK: &str = "↻ (sent again after an interruption; you may have it already)";

/// The part of Telegram's answer that is kept; the message itself is known.
#[derive(Deserialize)]
struct Sent {
    message_id: i64,
}

/// Sends the chunk; one that may be a repetition with the mark in front, or after it where both don't fit.
pub(super) async fn deliver(bot: &Bot, message: &Outgoing, deadline: Duration) -> Result<Receipt, DeliveryError> {
    let text = clean(&message.text);
    let mut payload = payload(&message.destination)?;
    payload.reply_markup = keyboard(message);
    payload.text = text.into_owned();
    if message.may_repeat {
        let marked = format!("{REPEAT_MARK}\n{}", payload.text);
        if limit(ChannelKind::Telegram).fits(&marked) {
            payload.text = marked;
        } else {
            let mut mark = payload.clone();
            mark.text = REPEAT_MARK.to_owned();
            mark.reply_markup = None;
            // The mark alone is not the message: whatever became of it, the chunk has not been sent here.
            send(bot, mark, deadline).await.map_err(|error| match error {
                DeliveryError::Unknown { why } => DeliveryError::Retry { after: None, why },
                known => known,
            })?;
        }
    }
    send(bot, payload, deadline).await
}

/// The address as Telegram's numbers.
pub(super) fn address(destination: &Destination) -> Option<(ChatId, Option<ThreadId>)> {
    let chat = destination.conversation.chat.parse().ok()?;
    let thread = match &destination.conversation.thread {
        Some(thread) => Some(ThreadId(MessageId(thread.parse().ok()?))),
        None => None,
    };
    Some((ChatId(chat), thread))
}

fn payload(destination: &Destination) -> Result<SendMessage, DeliveryError> {
    let Some((chat, thread)) = address(destination) else {
        return Err(DeliveryError::Refused { why: "not the address of a Telegram chat".to_owned() });
    };
    let mut payload = SendMessage::new(chat, "");
    payload.message_thread_id = thread;
    // What isn't a message's number (a press, say) cannot be replied to.
    let reply_to = destination.reply_to.as_ref().and_then(|id| id.parse().ok());
    payload.reply_parameters = reply_to.map(|id| ReplyParameters::new(MessageId(id)).allow_sending_without_reply());
    Ok(payload)
}

/// One button a row, so that long labels stay readable.
fn keyboard(message: &Outgoing) -> Option<ReplyMarkup> {
    if message.choices.is_empty() {
        return None;
    }
    let thread = message.destination.conversation.thread.as_deref();
    let button = |choice: &Choice| {
        vec![InlineKeyboardButton::callback(choice.label.as_str(), button_data(&choice.token, thread))]
    };
    Some(ReplyMarkup::InlineKeyboard(InlineKeyboardMarkup::new(message.choices.iter().map(button))))
}

/// Sends; a topic, reply target or chat that is no more is done without, each at most once.
async fn send(bot: &Bot, mut payload: SendMessage, deadline: Duration) -> Result<Receipt, DeliveryError> {
    loop {
        let error = match call(bot, &payload, deadline).await {
            Ok(answer) => {
                let external_id = match answer.result::<Sent>() {
                    Ok(sent) => Some(sent.message_id.to_string()),
                    Err(error) => {
                        debug!(channel = "telegram", %error, "a sent message has no readable id: {error}");
                        None
                    }
                };
                return Ok(Receipt { external_id });
            }
            Err(error) => error,
        };
        match relented(payload, &error) {
            Some(other) => payload = other,
            None => return Err(outcome(&error)),
        }
        info!(channel = "telegram", %error, "sent otherwise, as Telegram said: {error}");
    }
}

/// The same message in a way that Telegram's refusal leaves open, if it does.
fn relented(mut payload: SendMessage, error: &CallError) -> Option<SendMessage> {
    let CallError::Api { status: 400, description, migrate_to, .. } = error else { return None };
    if let Some(chat) = migrate_to {
        let moved = ChatId(*chat).into();
        let elsewhere = payload.chat_id != moved;
        payload.chat_id = moved;
        return elsewhere.then_some(payload);
    }
    let said = description.to_lowercase();
    if said.contains("message thread not found") {
        return payload.message_thread_id.take().map(|_| payload);
    }
    if said.contains("repl") && said.contains("not found") {
        return payload.reply_parameters.take().map(|_| payload);
    }
    None
}

/// What the outbox has to know. A gateway's 502 or 504 says nothing about what the server behind it did.
fn outcome(error: &CallError) -> DeliveryError {
    let why = error.to_string();
    match error {
        CallError::NotSent(_) => DeliveryError::Retry { after: None, why },
        CallError::Lost(_) => DeliveryError::Unknown { why },
        CallError::Api { retry_after: Some(after), .. } => DeliveryError::Retry { after: Some(*after), why },
        CallError::Api { status, .. } => match status {
            502 | 504 => DeliveryError::Unknown { why },
            // 401, 404: the token; an operator can mend it.
            401 | 404 | 408 | 409 | 420 | 429 | 500.. => DeliveryError::Retry { after: None, why },
            _ => DeliveryError::Refused { why },
        },
        CallError::Foreign { status, .. } => match status {
            0..300 | 502 | 504 => DeliveryError::Unknown { why },
            _ => DeliveryError::Retry { after: None, why },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: u16) -> CallError {
        CallError::Api { status, description: "no".to_owned(), retry_after: None, migrate_to: None }
    }

    #[test]
    fn only_what_may_have_arrived_is_unknown() {
        let foreign = |status| CallError::Foreign { status, excerpt: String::new() };
        let name = |error| match outcome(&error) {
            DeliveryError::Retry { .. } => "retry",
            DeliveryError::Refused { .. } => "refused",
            DeliveryError::Unknown { .. } => "unknown",
        };
        for status in [401, 404, 429, 500, 503] {
            assert_eq!((status, name(api(status))), (status, "retry"));
        }
        for status in [400, 403, 413] {
            assert_eq!((status, name(api(status))), (status, "refused"));
        }
        for error in [api(502), api(504), foreign(200), foreign(502), CallError::Lost(String::new())] {
            assert_eq!(name(error), "unknown");
        }
        for error in [foreign(403), foreign(503), CallError::NotSent(String::new())] {
            assert_eq!(name(error), "retry");
        }
    }
}
