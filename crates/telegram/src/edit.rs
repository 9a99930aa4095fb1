//! Changing a message, and taking one back.

use std::time::Duration;

use teloxide::Bot;
use teloxide::payloads::{DeleteMessage, EditMessageText};
use teloxide::types::{InlineKeyboardMarkup, MessageId};
use tracing::info;

use crate::Telegram;
use crate::call::{CallError, call};
use crate::message_text::MessageText;
use crate::send::{NO_PREVIEW, address, outcome, repeatable};
use hob_core::domain::outgoing::{DeliveryError, Destination};

/// A message's new form. Buttons that are not named go.
pub(super) struct Edit<'a> {
    pub(super) place: &'a Destination,
    pub(super) external_id: &'a str,
    pub(super) words: MessageText,
    pub(super) keyboard: Option<InlineKeyboardMarkup>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditOutcome {
    /// The message reads so now.
    Done,
    /// There is no such message any more, or it cannot be changed.
    Gone,
}

/// What Telegram's refusal of a change means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditRefusal {
    /// It reads so already.
    Same,
    Gone,
    Other,
}

/// Changes a message. To do so twice harms nobody: what may have arrived is simply tried again.
pub(super) async fn edit(bot: &Bot, change: Edit<'_>, deadline: Duration) -> Result<EditOutcome, DeliveryError> {
    let Edit { place, external_id, mut words, keyboard } = change;
    let (chat, _) = address(place)?;
    let Ok(message) = external_id.parse() else { return Ok(EditOutcome::Gone) };
    let mut payload = EditMessageText::new(chat, MessageId(message), "");
    payload.link_preview_options = Some(NO_PREVIEW);
    payload.reply_markup = keyboard;
    loop {
        let (text, parse_mode) = words.text_and_mode();
        (payload.text, payload.parse_mode) = (text.to_owned(), parse_mode);
        let Err(error) = call(bot, &payload, deadline).await else { return Ok(EditOutcome::Done) };
        match refusal(&error) {
            EditRefusal::Same => return Ok(EditOutcome::Done),
            EditRefusal::Gone => return Ok(EditOutcome::Gone),
            EditRefusal::Other if words.is_refused(&error) => {
                info!(channel = "telegram", %error, "changed without markup, as Telegram said: {error}");
            }
            EditRefusal::Other => return Err(repeatable(outcome(&error))),
        }
    }
}

/// Takes a message back; one that is gone already is not an error.
pub(super) async fn retract(telegram: &Telegram, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
    let (chat, _) = address(place)?;
    let Ok(message) = external_id.parse() else { return Ok(()) };
    let delete = DeleteMessage::new(chat, MessageId(message));
    match call(&telegram.sender, &delete, telegram.settings.pace.send_deadline).await {
        Ok(_) => Ok(()),
        Err(error) if refusal(&error) == EditRefusal::Gone => Ok(()),
        Err(error) => Err(repeatable(outcome(&error))),
    }
}

fn refusal(error: &CallError) -> EditRefusal {
    let CallError::Api { status: 400, description, migrate_to, .. } = error else { return EditRefusal::Other };
    let said = description.to_lowercase();
    let gone = [
        "message to edit not found",
        "message to delete not found",
        "message can't be edited",
        "message_id_invalid",
        "there is no text in the message to edit",
    ];
    // A group that has become another chat: its messages cannot be reached any more.
    if migrate_to.is_some() || gone.iter().any(|sign| said.contains(sign)) {
        return EditRefusal::Gone;
    }
    if said.contains("message is not modified") { EditRefusal::Same } else { EditRefusal::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_what_a_refused_change_means() {
        let api = |status, description: &str, migrate_to| {
            let description = format!("Bad Request: {description}");
            refusal(&CallError::Api { status, description, retry_after: None, migrate_to })
        };
        let same = "message is not modified: specified new message content and reply markup are exactly the same";
        assert_eq!(api(400, same, None), EditRefusal::Same);
        assert_eq!(api(400, "message to edit not found", None), EditRefusal::Gone);
        assert_eq!(api(400, "message can't be edited", None), EditRefusal::Gone);
        assert_eq!(api(400, "MESSAGE_ID_INVALID", None), EditRefusal::Gone);
        assert_eq!(api(400, "group chat was upgraded to a supergroup chat", Some(-100)), EditRefusal::Gone);
        assert_eq!(api(400, "can't parse entities", None), EditRefusal::Other);
        assert_eq!(api(429, "message to edit not found", None), EditRefusal::Other);
    }
}
