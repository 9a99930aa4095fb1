//! To whom a message is said, and what it then says. Pure.

use teloxide::types::{Message, MessageEntityKind};

use crate::content::{content, entities, entity_text, with_marks};
use crate::convert::BotIdentity;
use hob_core::domain::inbound::Audience;

/// What somebody said.
pub(super) struct AddressedText {
    pub(super) text: String,
    pub(super) audience: Audience,
}

/// The words of a message, and to whom they are said; none: they are another bot's command, or no words of a person.
///
/// In private all is said to Hob; in a group what names it, answers it or commands it. What is forwarded was said
/// elsewhere: it names and commands nobody here.
pub(super) fn addressed_text(message: &Message, me: &BotIdentity) -> Option<AddressedText> {
    let text = content(message)?;
    // A channel's posts are for its readers, and so are their copies in its discussion group.
    if message.chat.is_channel() || message.is_automatic_forward() {
        return None;
    }
    let own = message.forward_origin().is_none();
    let is_meant = own && (mentions(message, &text, me) || replies_to(message, me));
    let said = command(message, &text).filter(|_| own);
    let text = with_marks(&text, entities(message));
    // What is quoted commands nothing.
    let said = said.filter(|command| text.starts_with(command.as_str()));
    if message.chat.is_private() {
        let text = match said {
            Some(command) => without_bot_name(&text, &command, me).unwrap_or(text),
            None => text,
        };
        return Some(AddressedText { text, audience: Audience::Hob });
    }
    if let Some(command) = said {
        return without_bot_name(&text, &command, me).map(|text| AddressedText { text, audience: Audience::Hob });
    }
    Some(AddressedText { text, audience: if is_meant { Audience::Hob } else { Audience::Group } })
}

/// The command that the text starts with, as written: `/status@hob_bot`.
fn command(message: &Message, text: &str) -> Option<String> {
    let first = entities(message).iter().find(|entity| entity.offset == 0)?;
    if first.kind == MessageEntityKind::BotCommand { entity_text(text, first) } else { None }
}

/// The text with the bot's name taken off its command; `None` if the command names another bot.
fn without_bot_name(text: &str, command: &str, me: &BotIdentity) -> Option<String> {
    match command.split_once('@') {
        None => Some(text.to_owned()),
        Some((name, bot)) if bot.eq_ignore_ascii_case(&me.username) => {
            text.strip_prefix(command).map(|rest| format!("{name}{rest}"))
        }
        Some(_) => None,
    }
}

fn mentions(message: &Message, text: &str, me: &BotIdentity) -> bool {
    entities(message).iter().any(|entity| match &entity.kind {
        MessageEntityKind::Mention => entity_text(text, entity)
            .is_some_and(|name| name.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(&me.username))),
        MessageEntityKind::TextMention { user } => user.id == me.id,
        _ => false,
    })
}

/// Whether it answers the bot. Every message of a forum topic "replies" to the notice that opened the topic.
fn replies_to(message: &Message, me: &BotIdentity) -> bool {
    message.reply_to_message().is_some_and(|original| {
        original.forum_topic_created().is_none() && original.from.as_ref().is_some_and(|author| author.id == me.id)
    })
}
