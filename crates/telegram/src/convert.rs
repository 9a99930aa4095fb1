//! An update of Telegram in Hob's words. Pure.

use crate::audience::{AddressedText, addressed_text};
use crate::content::{attachments, has_words, voice_recording};
use crate::origin::{forwarded_from, quoted};
use hob_core::domain::inbound::{ChannelKind, Conversation, Inbound, InboundEvent, MessageMetadata, Sender};
use jiff::Timestamp;
use teloxide::types::{CallbackQuery, Chat, ChatId, Message, Update, UpdateKind, User, UserId};

/// Telegram's limit for what a button sends back.
const BUTTON_DATA_BYTES_MAX: usize = 64;

/// The topic that every forum has. What is sent there names no topic.
const GENERAL_TOPIC: i32 = 1;

/// Who the bot is, from `getMe`, and what its account is called here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BotIdentity {
    pub(super) id: UserId,
    pub(super) username: String,
    pub(super) account: String,
}

/// The update as an `Inbound`; `None` if it is not for Hob. `now` stands in where Telegram tells no time.
pub(super) fn convert(update: &Update, me: &BotIdentity, now: Timestamp) -> Option<Inbound> {
    match &update.kind {
        UpdateKind::Message(message) => inbound_of(message, me, false, now),
        // Telegram reports as edited what moves, too: a place that is shared for a while, a poll's votes.
        UpdateKind::EditedMessage(message) if has_words(message) => inbound_of(message, me, true, now),
        UpdateKind::CallbackQuery(query) => inbound_from_press(query, me, now),
        _ => None,
    }
}

/// The group that has become another chat, and that chat: Telegram says so in both of them.
pub(super) fn chat_migration(update: &Update) -> Option<(ChatId, ChatId)> {
    let UpdateKind::Message(message) = &update.kind else { return None };
    let here = message.chat.id;
    let to = message.migrate_to_chat_id().map(|to| (here, *to));
    to.or_else(|| message.migrate_from_chat_id().map(|from| (*from, here)))
}

fn inbound_of(message: &Message, me: &BotIdentity, edited: bool, now: Timestamp) -> Option<Inbound> {
    let AddressedText { text, audience } = addressed_text(message, me)?;
    let date = message.edit_date().filter(|_| edited).unwrap_or(&message.date);
    Some(Inbound {
        conversation: conversation(&message.chat, thread(message), me),
        external_id: message.id.0.to_string(),
        sender: sender(message)?,
        happening: if edited { InboundEvent::Edited { text } } else { InboundEvent::Posted { text } },
        sent_at: Timestamp::from_second(date.timestamp()).unwrap_or(now),
        attachments: attachments(message),
        metadata: MessageMetadata {
            audience,
            forwarded_from: forwarded_from(message),
            quoted: quoted(message, me),
            spoken: voice_recording(message),
            ..MessageMetadata::default()
        },
    })
}

fn inbound_from_press(query: &CallbackQuery, me: &BotIdentity, now: Timestamp) -> Option<Inbound> {
    let asked = query.message.as_ref()?;
    let (token, known) = parse_data(query.data.as_deref()?);
    let thread = known.map(str::to_owned).or_else(|| asked.regular_message().and_then(thread));
    Some(Inbound {
        conversation: conversation(asked.chat(), thread, me),
        external_id: format!("cb:{}", query.id.0),
        sender: person(&query.from),
        happening: InboundEvent::Pressed { token: token.to_owned() },
        sent_at: now,
        attachments: Vec::new(),
        metadata: MessageMetadata::default(),
    })
}

/// What a button sends back. In a topic it names the topic: of a message older than 48 hours Telegram tells only the
/// chat.
pub(super) fn button_data(token: &str, thread: Option<&str>) -> String {
    let data = thread.map(|thread| format!("{token}@{thread}")).filter(|data| data.len() <= BUTTON_DATA_BYTES_MAX);
    data.unwrap_or_else(|| token.to_owned())
}

/// The token, and the topic if it is named.
fn parse_data(data: &str) -> (&str, Option<&str>) {
    match data.rsplit_once('@') {
        Some((token, thread)) if thread.parse::<i32>().is_ok() => (token, Some(thread)),
        _ => (data, None),
    }
}

fn conversation(chat: &Chat, thread: Option<String>, me: &BotIdentity) -> Conversation {
    let ChatId(chat) = chat.id;
    Conversation { channel: ChannelKind::Telegram, account: me.account.clone(), chat: chat.to_string(), thread }
}

/// The forum topic; elsewhere a thread id only says what a message replies to.
fn thread(message: &Message) -> Option<String> {
    let topic = message.thread_id.filter(|topic| message.is_topic_message && topic.0.0 != GENERAL_TOPIC);
    topic.map(|topic| topic.to_string())
}

/// Who wrote. Who writes in the name of a chat (a channel, an anonymous administrator) is that chat: Telegram
/// then names a stand-in user who is the same for all of them. Other bots are not heard.
fn sender(message: &Message) -> Option<Sender> {
    if let Some(chat) = &message.sender_chat {
        let ChatId(id) = chat.id;
        return Some(Sender { external_id: id.to_string(), name: chat.title().unwrap_or("anonymous").to_owned() });
    }
    message.from.as_ref().filter(|user| !user.is_bot).map(person)
}

fn person(user: &User) -> Sender {
    Sender { external_id: user.id.0.to_string(), name: user.full_name() }
}
