//! One chunk to Telegram, and what its answer means for the outbox.
//!
//! The Bot API has no idempotency key and bots cannot look back into a chat. So a send whose outcome nobody knows is
//! [`DeliveryError::Unknown`], and what may be a repetition says so to the reader.

use std::time::Duration;

use serde::Deserialize;
use teloxide::Bot;
use teloxide::payloads::SendMessage;
use teloxide::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ReplyMarkup, ReplyParameters,
    ThreadId,
};
use tracing::{debug, info};

use crate::call::{ApiResponse, CallError, call, upload};
use crate::convert::button_data;
use crate::edit::{Edit, EditOutcome, edit};
use crate::message_text::MessageText;
use crate::upload::{Upload, form};
use hob_core::domain::capabilities::{Capabilities, Limit};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::outgoing::{Choice, DeliveryError, Destination, DraftMessage, Outgoing, REPEAT_MARK, Receipt};

/// Stands before a message whose topic is no more, or takes no more.
const TOPIC_GONE: &str = "(This belongs to a topic that is gone or closed.)";

/// How long a file may take to go out; less than the outbox waits.
const UPLOAD_MAX: Duration = Duration::from_secs(80);

/// No look at the addresses in a message.
pub(super) const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

/// The part of Telegram's answer that is kept; the message itself is known.
#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

/// Sends the chunk, or changes the message that it replaces; one that may be a repetition with the mark in front, or after
/// it where both don't fit.
pub(super) async fn deliver(bot: &Bot, message: &Outgoing, deadline: Duration) -> Result<Receipt, DeliveryError> {
    let words = MessageText::of(&message.text, message.markup.as_deref());
    if let Some(replaces) = message.replaces.as_ref().filter(|_| message.file.is_none()) {
        let change = Edit {
            place: &message.destination,
            external_id: &replaces.external_id,
            words: words.clone(),
            keyboard: keyboard(message),
        };
        match edit(bot, change, deadline).await? {
            EditOutcome::Done => return Ok(Receipt { external_id: Some(replaces.external_id.clone()) }),
            EditOutcome::Gone if !replaces.or_send => return Ok(Receipt { external_id: None }),
            EditOutcome::Gone => {}
        }
    }
    let mut letter = OutgoingMessage::new(bot, &message.destination, words, deadline)?;
    letter.payload.reply_markup = keyboard(message).map(ReplyMarkup::InlineKeyboard);
    letter.file = Upload::of(message).await?;
    if message.may_repeat {
        letter.prepend_note(REPEAT_MARK).await?;
    }
    letter.send(true).await
}

/// Posts a message that still grows, or changes it.
pub(super) async fn draft(bot: &Bot, draft: &DraftMessage, deadline: Duration) -> Result<Receipt, DeliveryError> {
    let words = MessageText::of(&draft.text, draft.markup.as_deref());
    let Some(external_id) = &draft.external_id else {
        // What is moved to another place says why, once it is whole; and what grows is looked for where it was to be.
        return OutgoingMessage::new(bot, &draft.destination, words, deadline)?.send(false).await;
    };
    match edit(bot, Edit { place: &draft.destination, external_id, words, keyboard: None }, deadline).await? {
        EditOutcome::Done => Ok(Receipt { external_id: Some(external_id.clone()) }),
        EditOutcome::Gone => Err(DeliveryError::Refused { why: "the message that was to grow is gone".to_owned() }),
    }
}

/// A message on its way out.
struct OutgoingMessage<'a> {
    bot: &'a Bot,
    deadline: Duration,
    payload: SendMessage,
    words: MessageText,
    file: Option<Upload<'a>>,
}

/// What was changed because Telegram refused the message as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FallbackStep {
    Chat,
    Topic,
    Reply,
}

impl<'a> OutgoingMessage<'a> {
    fn new(bot: &'a Bot, place: &Destination, words: MessageText, deadline: Duration) -> Result<Self, DeliveryError> {
        Ok(Self { bot, deadline, payload: payload(place)?, words, file: None })
    }

    fn length_limit(&self) -> Limit {
        let telegram = Capabilities::of(ChannelKind::Telegram);
        if self.file.is_some() { telegram.caption_limit() } else { telegram.text_limit() }
    }

    /// Puts a note in front; where both are too long together, it goes out before, alone.
    async fn prepend_note(&mut self, note: &str) -> Result<(), DeliveryError> {
        let noted = self.words.with_note(note);
        if self.length_limit().fits(&noted.plain) {
            self.words = noted;
            return Ok(());
        }
        let mut alone = self.payload.clone();
        alone.text = note.to_owned();
        alone.reply_markup = None;
        while let Err(error) = call(self.bot, &alone, self.deadline).await {
            if try_fallback(&mut alone, &error).is_none() {
                // The note alone is not the message: whatever became of it, the message has not been sent here.
                return Err(repeatable(outcome(&error)));
            }
        }
        Ok(())
    }

    /// Sends it; markup, a topic, a reply target or a chat that Telegram does not take is done without, each at most once.
    /// It goes to another topic or chat only if it `moves`.
    async fn send(mut self, moves: bool) -> Result<Receipt, DeliveryError> {
        loop {
            let error = match self.attempt().await {
                Ok(answer) => return Ok(receipt(&answer)),
                Err(error) => error,
            };
            if let Some(file) = self.file.as_mut().filter(|file| file.is_refused(&error)) {
                file.as_document();
                continue;
            }
            if !self.words.is_refused(&error) {
                match try_fallback(&mut self.payload, &error) {
                    Some(FallbackStep::Topic) if moves => self.prepend_note(TOPIC_GONE).await?,
                    Some(FallbackStep::Chat) if moves => {}
                    Some(FallbackStep::Reply) => {}
                    Some(FallbackStep::Topic | FallbackStep::Chat) | None => return Err(outcome(&error)),
                }
            }
            info!(channel = "telegram", %error, "sent otherwise, as Telegram said: {error}");
        }
    }

    /// One try.
    async fn attempt(&mut self) -> Result<ApiResponse, CallError> {
        let (text, parse_mode) = self.words.text_and_mode();
        (self.payload.text, self.payload.parse_mode) = (text.to_owned(), parse_mode);
        let Some(file) = &self.file else {
            return call(self.bot, &self.payload, self.deadline).await;
        };
        let form = form(&self.payload, file).map_err(|error| CallError::NotSent(error.to_string()))?;
        upload(self.bot, file.method(), form, self.deadline.max(UPLOAD_MAX)).await
    }
}

fn receipt(answer: &ApiResponse) -> Receipt {
    let external_id = match answer.result::<SentMessage>() {
        Ok(sent) => Some(sent.message_id.to_string()),
        Err(error) => {
            debug!(channel = "telegram", %error, "a sent message has no readable id: {error}");
            None
        }
    };
    Receipt { external_id }
}

/// The address as Telegram's numbers.
pub(super) fn address(destination: &Destination) -> Result<(ChatId, Option<ThreadId>), DeliveryError> {
    let nowhere = || DeliveryError::Refused { why: "not the address of a Telegram chat".to_owned() };
    let chat = destination.conversation.chat.parse().map_err(|_no_number| nowhere())?;
    let thread = match &destination.conversation.thread {
        Some(thread) => Some(ThreadId(MessageId(thread.parse().map_err(|_no_number| nowhere())?))),
        None => None,
    };
    Ok((ChatId(chat), thread))
}

fn payload(destination: &Destination) -> Result<SendMessage, DeliveryError> {
    let (chat, thread) = address(destination)?;
    let mut payload = SendMessage::new(chat, "");
    payload.message_thread_id = thread;
    // Telegram fetches an address that is shown with a preview: whoever gets a model to write one would be told what is in it.
    payload.link_preview_options = Some(NO_PREVIEW);
    // What isn't a message's number (a press, say) cannot be replied to.
    let reply_to = destination.reply_to.as_ref().and_then(|id| id.parse().ok());
    payload.reply_parameters = reply_to.map(|id| ReplyParameters::new(MessageId(id)).allow_sending_without_reply());
    Ok(payload)
}

fn keyboard(message: &Outgoing) -> Option<InlineKeyboardMarkup> {
    if message.choices.is_empty() {
        return None;
    }
    let thread = message.destination.conversation.thread.as_deref();
    let button = |choice: &Choice| {
        vec![InlineKeyboardButton::callback(choice.label.as_str(), button_data(&choice.token, thread))]
    };
    Some(InlineKeyboardMarkup::new(message.choices.iter().map(button)))
}

/// Makes the message one that Telegram's refusal leaves open, if it does.
fn try_fallback(payload: &mut SendMessage, error: &CallError) -> Option<FallbackStep> {
    let CallError::Api { status: 400, description, migrate_to, .. } = error else { return None };
    if let Some(chat) = migrate_to {
        let moved = ChatId(*chat).into();
        let elsewhere = payload.chat_id != moved;
        payload.chat_id = moved;
        // Messages are numbered anew there.
        payload.reply_parameters = None;
        return elsewhere.then_some(FallbackStep::Chat);
    }
    let said = description.to_lowercase();
    if ["message thread not found", "topic_deleted", "topic_closed"].iter().any(|sign| said.contains(sign)) {
        return payload.message_thread_id.take().map(|_| FallbackStep::Topic);
    }
    if said.contains("repl") && said.contains("not found") {
        return payload.reply_parameters.take().map(|_| FallbackStep::Reply);
    }
    None
}

/// Of what can be done twice without harm.
pub(super) fn repeatable(error: DeliveryError) -> DeliveryError {
    match error {
        DeliveryError::Unknown { why } => DeliveryError::Retry { after: None, why },
        known => known,
    }
}

/// What the outbox has to know. A gateway's 502 or 504 says nothing about what the server behind it did.
pub(super) fn outcome(error: &CallError) -> DeliveryError {
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
