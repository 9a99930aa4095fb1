//! One chunk to Telegram, and what its answer means for the outbox.
//!
//! The Bot API has no idempotency key and bots cannot look back into a chat. So a send whose outcome nobody knows is
//! [`DeliveryError::Unknown`], and what may be a repetition says so to the reader.

use teloxide::Bot;
use teloxide::payloads::SendMessage;
use teloxide::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ReplyMarkup, ReplyParameters,
    ThreadId,
};
use tracing::{debug, info};

use std::time::Duration;

use serde::Deserialize;

use crate::channel::telegram::call::{Answer, CallError, call, upload};
use crate::channel::telegram::convert::button_data;
use crate::channel::telegram::upload::{As, form};
use crate::domain::capabilities::Capabilities;
use crate::domain::inbound::ChannelKind;
use crate::domain::outgoing::{Choice, DeliveryError, Destination, Enclosed, Outgoing, Receipt};
use crate::render::clean::clean;

/// Stands before a message that the reader may have already.
const REPEAT_MARK: &str = "↻ (sent again after an interruption; you may have it already)";

/// How long a file may take to go out; less than the outbox waits.
const UPLOAD_MAX: Duration = Duration::from_secs(80);

/// No look at the addresses in a message.
const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

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
    let file = Upload::of(message).await?;
    if message.may_repeat {
        let marked = format!("{REPEAT_MARK}\n{}", payload.text);
        let telegram = Capabilities::of(ChannelKind::Telegram);
        let most = if file.is_some() { telegram.caption_limit() } else { telegram.text_limit() };
        if most.fits(&marked) {
            payload.text = marked;
        } else {
            let mut mark = payload.clone();
            mark.text = REPEAT_MARK.to_owned();
            mark.reply_markup = None;
            // The mark alone is not the message: whatever became of it, the chunk has not been sent here.
            send(bot, mark, None, deadline).await.map_err(|error| match error {
                DeliveryError::Unknown { why } => DeliveryError::Retry { after: None, why },
                known => known,
            })?;
        }
    }
    send(bot, payload, file, deadline).await
}

/// A file on its way out.
struct Upload<'a> {
    file: &'a Enclosed,
    content: Vec<u8>,
    how: As,
}

impl<'a> Upload<'a> {
    /// The file of a message, if it has one.
    async fn of(message: &'a Outgoing) -> Result<Option<Self>, DeliveryError> {
        let Some(file) = &message.file else {
            return Ok(None);
        };
        let content = tokio::fs::read(&file.path).await;
        let content =
            content.map_err(|error| DeliveryError::Refused { why: format!("the file cannot be read: {error}") })?;
        Ok(Some(Self { file, content, how: As::of(file) }))
    }
}

/// One try.
async fn attempt(
    bot: &Bot,
    payload: &SendMessage,
    file: Option<&Upload<'_>>,
    deadline: Duration,
) -> Result<Answer, CallError> {
    let Some(Upload { file, content, how }) = file else {
        return call(bot, payload, deadline).await;
    };
    let form = form(payload, (file, content), *how).map_err(|error| CallError::NotSent(error.to_string()))?;
    upload(bot, how.method(), form, deadline.max(UPLOAD_MAX)).await
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
    // Telegram fetches an address that is shown with a preview: whoever gets a model to write one would be told what is in it.
    payload.link_preview_options = Some(NO_PREVIEW);
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
async fn send(
    bot: &Bot,
    mut payload: SendMessage,
    mut file: Option<Upload<'_>>,
    deadline: Duration,
) -> Result<Receipt, DeliveryError> {
    loop {
        let error = match attempt(bot, &payload, file.as_ref(), deadline).await {
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
        if let Some(file) = file.as_mut().filter(|file| file.how == As::Photo && is_no_photo(&error)) {
            file.how = As::Document;
            continue;
        }
        match relented(payload, &error) {
            Some(other) => payload = other,
            None => return Err(outcome(&error)),
        }
        info!(channel = "telegram", %error, "sent otherwise, as Telegram said: {error}");
    }
}

/// Did Telegram refuse to take it as a picture? As a document it takes everything.
fn is_no_photo(error: &CallError) -> bool {
    matches!(error, CallError::Api { status: 400, description, .. } if description.to_lowercase().contains("photo")
        || description.contains("IMAGE_PROCESS_FAILED"))
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
