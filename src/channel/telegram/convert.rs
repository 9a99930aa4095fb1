//! An update of Telegram in Hob's words. Pure.

use jiff::Timestamp;
use teloxide::types::{
    CallbackQuery, Chat, ChatId, MediaKind, Message, MessageEntity, MessageEntityKind, MessageKind, MessageOrigin,
    Update, UpdateKind, User, UserId,
};

use crate::domain::inbound::{
    Attachment, Audience, ChannelKind, Circumstances, Conversation, DEFAULT_ACCOUNT, Happening, Inbound, Quoted, Sender,
};

/// Telegram's limit for what a button sends back.
const BUTTON_DATA_BYTES_MAX: usize = 64;

/// Who the bot is, from `getMe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Me {
    pub(super) id: UserId,
    pub(super) username: String,
}

/// The update as an `Inbound`; `None` if it is not for Hob. `now` stands in where Telegram tells no time.
pub(super) fn convert(update: &Update, me: &Me, now: Timestamp) -> Option<Inbound> {
    match &update.kind {
        UpdateKind::Message(message) => {
            let (text, audience) = heard(message, me)?;
            inbound_of(message, (Happening::Posted { text }, circumstances(message, audience, me)), now)
        }
        UpdateKind::EditedMessage(message) => {
            let (text, audience) = heard(message, me)?;
            inbound_of(message, (Happening::Edited { text }, circumstances(message, audience, me)), now)
        }
        UpdateKind::CallbackQuery(query) => pressed(query, now),
        _ => None,
    }
}

fn inbound_of(
    message: &Message,
    (happening, circumstances): (Happening, Circumstances),
    now: Timestamp,
) -> Option<Inbound> {
    let date = match happening {
        Happening::Edited { .. } => message.edit_date().unwrap_or(&message.date),
        _ => &message.date,
    };
    Some(Inbound {
        conversation: conversation(&message.chat, thread(message)),
        external_id: message.id.0.to_string(),
        sender: sender(message)?,
        happening,
        sent_at: Timestamp::from_second(date.timestamp()).unwrap_or(now),
        attachments: attachments(message),
        circumstances,
    })
}

/// To whom it is said, whose words it hands on, and what it answers.
fn circumstances(message: &Message, audience: Audience, me: &Me) -> Circumstances {
    let forwarded_from = message.forward_origin().map(|origin| match origin {
        MessageOrigin::User { sender_user, .. } => sender_user.full_name(),
        MessageOrigin::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        MessageOrigin::Chat { sender_chat: chat, .. } | MessageOrigin::Channel { chat, .. } => {
            chat.title().unwrap_or("a chat").to_owned()
        }
    });
    let answered = message.reply_to_message().filter(|original| original.forum_topic_created().is_none());
    let quoted = answered.and_then(|original| {
        let own = original.from.as_ref().is_some_and(|author| author.id == me.id);
        let author = sender(original).map_or_else(|| "somebody".to_owned(), |sender| sender.name);
        Some(Quoted { author, text: content(original).filter(|text| !text.is_empty())?, own })
    });
    Circumstances { audience, forwarded_from, quoted, ..Circumstances::default() }
}

fn pressed(query: &CallbackQuery, now: Timestamp) -> Option<Inbound> {
    let asked = query.message.as_ref()?;
    let (token, known) = parse_data(query.data.as_deref()?);
    let thread = known.map(str::to_owned).or_else(|| asked.regular_message().and_then(thread));
    Some(Inbound {
        conversation: conversation(asked.chat(), thread),
        external_id: format!("cb:{}", query.id.0),
        sender: person(&query.from),
        happening: Happening::Pressed { token: token.to_owned() },
        sent_at: now,
        attachments: Vec::new(),
        circumstances: Circumstances::default(),
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

fn conversation(chat: &Chat, thread: Option<String>) -> Conversation {
    let ChatId(chat) = chat.id;
    let account = DEFAULT_ACCOUNT.to_owned();
    Conversation { channel: ChannelKind::Telegram, account, chat: chat.to_string(), thread }
}

/// The forum topic; elsewhere a thread id only says what a message replies to.
fn thread(message: &Message) -> Option<String> {
    message.thread_id.filter(|_| message.is_topic_message).map(|thread| thread.to_string())
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

/// The message's text, and to whom it is said: in private all is for Hob, in a group what names it, replies to it or commands
/// it. What is said to another bot is for nobody here.
fn heard(message: &Message, me: &Me) -> Option<(String, Audience)> {
    let text = content(message)?;
    if message.chat.is_private() {
        let text = match command(message, &text) {
            Some(command) => bare(&text, &command, me).unwrap_or(text),
            None => text,
        };
        return Some((text, Audience::Hob));
    }
    if message.chat.is_channel() {
        return None;
    }
    if let Some(command) = command(message, &text) {
        return bare(&text, &command, me).map(|text| (text, Audience::Hob));
    }
    let is_for_hob = mentions(message, &text, me) || replies_to(message, me);
    Some((text, if is_for_hob { Audience::Hob } else { Audience::Group }))
}

/// The text, the caption, or a word for what it is instead; `None` for Telegram's own notices.
fn content(message: &Message) -> Option<String> {
    if let Some(text) = message.text().or(message.caption()) {
        return Some(text.to_owned());
    }
    // What comes along says for itself what it is.
    if !attachments(message).is_empty() {
        return Some(String::new());
    }
    let what = match &message.kind {
        MessageKind::Dice(_) => "dice",
        MessageKind::Common(common) => match &common.media_kind {
            MediaKind::Migration(_) => return None,
            MediaKind::Animation(_) => "animation",
            MediaKind::Audio(_) => "audio",
            MediaKind::Contact(_) => "contact",
            MediaKind::Document(_) => "document",
            MediaKind::Game(_) => "game",
            MediaKind::Venue(_) | MediaKind::Location(_) => "location",
            MediaKind::PaidMedia(_) => "paid media",
            MediaKind::Photo(_) => "photo",
            MediaKind::Poll(_) => "poll",
            MediaKind::Checklist(_) => "checklist",
            MediaKind::Sticker(_) => "sticker",
            MediaKind::Story(_) => "story",
            MediaKind::Text(_) => "empty message",
            MediaKind::Video(_) => "video",
            MediaKind::VideoNote(_) => "video note",
            MediaKind::Voice(_) => "voice message",
        },
        _ => return None,
    };
    Some(format!("[{what}]"))
}

/// The files of a message: of a photo, its largest form.
fn attachments(message: &Message) -> Vec<Attachment> {
    let MessageKind::Common(common) = &message.kind else {
        return Vec::new();
    };
    let (file, name) = match &common.media_kind {
        MediaKind::Animation(media) => {
            (&media.animation.file, media.animation.file_name.as_deref().unwrap_or("animation.mp4"))
        }
        MediaKind::Audio(media) => (&media.audio.file, media.audio.file_name.as_deref().unwrap_or("audio")),
        MediaKind::Document(media) => (&media.document.file, media.document.file_name.as_deref().unwrap_or("document")),
        MediaKind::Photo(media) => {
            match media.photo.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height)) {
                Some(largest) => (&largest.file, "photo.jpg"),
                None => return Vec::new(),
            }
        }
        MediaKind::Video(media) => (&media.video.file, media.video.file_name.as_deref().unwrap_or("video.mp4")),
        MediaKind::VideoNote(media) => (&media.video_note.file, "video note.mp4"),
        MediaKind::Voice(media) => (&media.voice.file, "voice message.ogg"),
        _ => return Vec::new(),
    };
    // Telegram leaves the size out where it does not know it; teloxide reads that as the largest number.
    let bytes = (file.size > 0 && file.size < u32::MAX).then(|| u64::from(file.size));
    vec![Attachment { handle: file.id.0.clone(), name: name.to_owned(), bytes }]
}

fn entities(message: &Message) -> &[MessageEntity] {
    message.entities().or(message.caption_entities()).unwrap_or_default()
}

/// What the entity covers; Telegram counts in UTF-16 code units.
fn covered(text: &str, entity: &MessageEntity) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().skip(entity.offset).take(entity.length).collect();
    String::from_utf16(&units).ok()
}

/// The command that the text starts with, as written: `/status@hob_bot`.
fn command(message: &Message, text: &str) -> Option<String> {
    let first = entities(message).iter().find(|entity| entity.offset == 0)?;
    if first.kind == MessageEntityKind::BotCommand { covered(text, first) } else { None }
}

/// The text with the bot's name taken off its command; `None` if the command names another bot.
fn bare(text: &str, command: &str, me: &Me) -> Option<String> {
    match command.split_once('@') {
        None => Some(text.to_owned()),
        Some((name, bot)) if bot.eq_ignore_ascii_case(&me.username) => {
            text.strip_prefix(command).map(|rest| format!("{name}{rest}"))
        }
        Some(_) => None,
    }
}

fn mentions(message: &Message, text: &str, me: &Me) -> bool {
    entities(message).iter().any(|entity| match &entity.kind {
        MessageEntityKind::Mention => covered(text, entity)
            .is_some_and(|name| name.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(&me.username))),
        MessageEntityKind::TextMention { user } => user.id == me.id,
        _ => false,
    })
}

/// Whether it answers the bot. Every message of a forum topic "replies" to the notice that opened the topic.
fn replies_to(message: &Message, me: &Me) -> bool {
    message.reply_to_message().is_some_and(|original| {
        original.forum_topic_created().is_none() && original.from.as_ref().is_some_and(|author| author.id == me.id)
    })
}
