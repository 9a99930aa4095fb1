//! What is shown beside messages: that Hob types, and what becomes of a message.

use std::collections::HashSet;
use std::sync::Mutex;

use teloxide::payloads::{SendChatAction, SetMessageReaction};
use teloxide::types::{ChatAction, ChatId, MessageId, ReactionType};
use tracing::debug;

use crate::Telegram;
use crate::call::{CallError, call};
use crate::send::{address, outcome};
use hob_core::domain::channel::{MessageReaction, PresenceSignal};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination};

/// How many chats without reactions are remembered.
const CHATS_MAX: usize = 10_000;

/// The chats that allow no reactions, or not Hob's.
#[derive(Debug, Default)]
pub(super) struct ReactionlessChats(Mutex<HashSet<ChatId>>);

impl ReactionlessChats {
    fn add(&self, chat: ChatId) {
        let mut chats = lock(&self.0);
        if chats.len() >= CHATS_MAX {
            chats.clear();
        }
        chats.insert(chat);
    }
}

/// The reaction that says it, of those that Telegram lets bots give; none: there is to be none.
fn emoji(mood: MessageReaction) -> Option<&'static str> {
    match mood {
        MessageReaction::Seen => Some("👀"),
        MessageReaction::Working => Some("✍"),
        MessageReaction::Waiting => Some("🤔"),
        MessageReaction::Done => Some("👍"),
        MessageReaction::Failed => Some("👎"),
        MessageReaction::Gone => None,
    }
}

/// Shows a sign. A chat that takes no reactions is left in peace from then on.
pub(super) async fn sign(telegram: &Telegram, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
    let Telegram { sender: bot, reactionless, settings, .. } = telegram;
    let deadline = settings.pace.send_deadline;
    let (chat, thread) = address(place)?;
    let mood = match sign {
        PresenceSignal::Typing => {
            let mut action = SendChatAction::new(chat, ChatAction::Typing);
            action.message_thread_id = thread;
            return call(bot, &action, deadline).await.map(drop).map_err(|error| outcome(&error));
        }
        PresenceSignal::Mood(mood) => mood,
    };
    let message = place.reply_to.as_deref().and_then(|id| id.parse().ok());
    let Some(message) = message.filter(|_| !lock(&reactionless.0).contains(&chat)) else { return Ok(()) };
    let mut reaction = SetMessageReaction::new(chat, MessageId(message));
    reaction.reaction =
        Some(emoji(mood).map(|emoji| ReactionType::Emoji { emoji: emoji.to_owned() }).into_iter().collect());
    let Err(error) = call(bot, &reaction, deadline).await else { return Ok(()) };
    if !is_forbidden(&error) {
        return Err(outcome(&error));
    }
    debug!(channel = "telegram", %error, "no reactions in this chat: {error}");
    reactionless.add(chat);
    // What an earlier sign said may be allowed, and is no longer so.
    reaction.reaction = Some(Vec::new());
    if let Err(error) = call(bot, &reaction, deadline).await {
        debug!(channel = "telegram", %error, "an earlier reaction stays: {error}");
    }
    Ok(())
}

/// Whether the chat takes no reactions, or not this one.
fn is_forbidden(error: &CallError) -> bool {
    match error {
        CallError::Api { status: 400, description, .. } => {
            let said = description.to_lowercase();
            said.contains("reaction") || said.contains("not enough rights")
        }
        CallError::Api { status: 403, .. } => true,
        _ => false,
    }
}
