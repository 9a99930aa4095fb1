//! Whose words a message hands on, and what it answers. Pure.

use teloxide::types::{Chat, ExternalReplyInfo, Message, MessageKind, MessageOrigin};

use crate::content::content;
use crate::convert::BotIdentity;
use hob_core::domain::inbound::QuotedMessage;
use hob_core::domain::text::cut;

/// How much of what is answered is worth repeating.
const QUOTE_CHARS_MAX: usize = 500;

/// Said of somebody whom Telegram does not name.
const SOMEBODY: &str = "somebody";

/// Who said first what a message hands on; none: it is the sender's own. What somebody picked among a bot's answers (an inline
/// result), and what a bot writes in their name, is the bot's.
pub(super) fn forwarded_from(message: &Message) -> Option<String> {
    let bot = message.via_bot.as_ref().or(message.sender_business_bot.as_ref());
    message.forward_origin().map(author_of).or_else(|| bot.map(|bot| format!("the bot {}", bot.full_name())))
}

fn author_of(origin: &MessageOrigin) -> String {
    match origin {
        MessageOrigin::User { sender_user, .. } => sender_user.full_name(),
        MessageOrigin::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        MessageOrigin::Chat { sender_chat: chat, .. } | MessageOrigin::Channel { chat, .. } => name_of(chat),
    }
}

fn name_of(chat: &Chat) -> String {
    chat.title().or(chat.username()).unwrap_or(SOMEBODY).to_owned()
}

/// What a message answers: the part that its sender picked, or all of it. Every message of a forum's topic "answers" the
/// notice that opened the topic: that is nothing.
pub(super) fn quoted(message: &Message, me: &BotIdentity) -> Option<QuotedMessage> {
    let picked = message.quote().map(|quote| quote.text.clone());
    if let Some(original) = message.reply_to_message() {
        let text = picked.or_else(|| content(original))?;
        let own = original.from.as_ref().is_some_and(|author| author.id == me.id);
        return Some(QuotedMessage { author: author(original), text: cut(&text, QUOTE_CHARS_MAX), own });
    }
    // It answers something in another chat, of which only the picked part is shown.
    let (elsewhere, text) = (external(message)?, picked?);
    Some(QuotedMessage { author: author_of(&elsewhere.origin), text: cut(&text, QUOTE_CHARS_MAX), own: false })
}

fn external(message: &Message) -> Option<&ExternalReplyInfo> {
    match &message.kind {
        MessageKind::Common(common) => common.external_reply.as_ref(),
        _ => None,
    }
}

fn author(message: &Message) -> String {
    match (&message.sender_chat, &message.from) {
        (Some(chat), _) => name_of(chat),
        (None, Some(user)) => user.full_name(),
        (None, None) => SOMEBODY.to_owned(),
    }
}
