//! What Telegram knows: chats, messages, updates nobody has confirmed.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use super::webhook::Webhook;
use super::{FakeTelegram, Fault};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// With one person.
    Private,
    /// With many, of the old kind.
    Group,
    /// With many, perhaps in topics.
    Supergroup,
    /// Where few write and many read.
    Channel,
}

/// A chat and what was said in it.
#[derive(Debug, Clone)]
pub struct Chat {
    /// Its id; a person's own for a private one.
    pub id: i64,
    pub kind: ChatKind,
    /// The forum topics there are.
    pub topics: BTreeSet<i64>,
    /// The person has blocked the bot.
    pub blocked: bool,
    /// All messages, in order; ids grow by one.
    pub messages: Vec<Message>,
    /// The chat actions that the bot showed, with the topic.
    pub actions: Vec<(String, Option<i64>)>,
    /// The emoji that may be reacted with; none: all of them.
    pub reactions: Option<Vec<String>>,
    /// So many edits are taken, then it is a flood; none: no end.
    pub edits_left: Option<usize>,
    /// The supergroup that the group has become.
    pub migrated_to: Option<i64>,
    /// The id of the next message.
    next_message: i64,
}

impl Chat {
    pub fn by_bot(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.from == FakeTelegram::BOT_ID)
    }

    pub fn message(&self, id: i64) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    /// As the Bot API shows it.
    pub(super) fn json(&self) -> Value {
        match self.kind {
            ChatKind::Private => json!({"id": self.id, "type": "private", "first_name": format!("Person {}", self.id)}),
            ChatKind::Group => json!({"id": self.id, "type": "group", "title": "Home"}),
            ChatKind::Channel => json!({"id": self.id, "type": "channel", "title": "News"}),
            ChatKind::Supergroup => {
                json!({"id": self.id, "type": "supergroup", "title": "Home", "is_forum": !self.topics.is_empty()})
            }
        }
    }
}

/// A message in a chat.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its id in the chat.
    pub id: i64,
    /// Who wrote it.
    pub from: i64,
    /// When, in Unix seconds of the fake's own clock.
    pub date: i64,
    pub text: String,
    /// The message it replies to.
    pub reply_to: Option<i64>,
    /// The topic.
    pub thread: Option<i64>,
    /// The buttons' (label, callback data), row by row.
    pub keyboard: Vec<Vec<(String, String)>>,
    /// The callback data of every button that it ever had.
    pub offered: Vec<String>,
    /// How often it was edited.
    pub edits: usize,
    /// Other fields of the Bot API's message: a photo, say.
    pub more: Value,
    /// The file that the bot sent with it; the text is its caption.
    pub file: Option<Sent>,
    /// What the bot's markup said of the text.
    pub entities: Vec<Value>,
    /// The bot's reactions, one after another; none: it was taken off.
    pub reactions: Vec<Option<String>>,
}

impl Message {
    /// Words, not sent yet.
    pub(super) fn of(from: i64, text: String) -> Self {
        Self {
            id: 0,
            from,
            date: 0,
            text,
            reply_to: None,
            thread: None,
            keyboard: Vec::new(),
            offered: Vec::new(),
            edits: 0,
            more: json!({}),
            file: None,
            entities: Vec::new(),
            reactions: Vec::new(),
        }
    }

    /// What the markup said, as `kind:covered text`.
    pub fn marked(&self) -> Vec<String> {
        let units: Vec<u16> = self.text.encode_utf16().collect();
        let at = |entity: &Value, key: &str| usize::try_from(entity[key].as_u64().unwrap()).unwrap();
        let covered = |entity: &Value| {
            let begin = at(entity, "offset");
            String::from_utf16(&units[begin..begin + at(entity, "length")]).unwrap()
        };
        self.entities.iter().map(|entity| format!("{}:{}", entity["type"].as_str().unwrap(), covered(entity))).collect()
    }
}

/// A file as the bot sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// `photo`, `voice` or `document`.
    pub field: &'static str,
    pub name: String,
    /// Its content type.
    pub kind: String,
    pub bytes: Vec<u8>,
}

/// A file that Telegram keeps.
#[derive(Debug, Clone)]
pub struct StoredFile {
    pub bytes: Vec<u8>,
    /// Where it can be fetched.
    pub path: String,
    /// `getFile` has told that; before, nothing is there.
    pub told: bool,
}

/// Something that a person posts.
#[derive(Debug, Clone)]
pub struct Post {
    chat: i64,
    from: i64,
    text: String,
    thread: Option<i64>,
    reply_to: Option<i64>,
    more: Value,
}

impl Post {
    pub fn new(chat: i64, from: i64, text: &str) -> Self {
        Self { chat, from, text: text.to_owned(), thread: None, reply_to: None, more: json!({}) }
    }

    /// In a forum's topic.
    pub fn in_topic(mut self, topic: i64) -> Self {
        self.thread = Some(topic);
        self
    }

    pub fn replying(mut self, to: i64) -> Self {
        self.reply_to = Some(to);
        self
    }

    /// With other fields of the Bot API's message, over the usual ones; a text of "" leaves the text out.
    pub fn with(mut self, more: Value) -> Self {
        self.more = more;
        self
    }
}

/// All that Telegram knows of this bot.
#[derive(Debug, Clone)]
pub struct World {
    /// The token that is known here.
    pub token: String,
    /// The chats by id.
    pub chats: BTreeMap<i64, Chat>,
    /// Updates not confirmed yet, by id.
    pub updates: VecDeque<(i64, Value)>,
    /// How often each method (in lower case) was called, faults included.
    pub calls: BTreeMap<String, usize>,
    /// The client's port of each call of `getupdates` and `sendmessage`: which connection it came by.
    pub ports: HashMap<String, Vec<u16>>,
    /// The offsets of the polls, in order.
    pub offsets: Vec<Option<i64>>,
    /// The `allowed_updates` that the bot asked for last.
    pub allowed_updates: Option<Vec<String>>,
    /// Files that people have sent, by id.
    pub files: BTreeMap<String, StoredFile>,
    /// The addresses that Telegram itself went to, to show what is there.
    pub previews: Vec<String>,
    /// Callback queries: answered or not.
    pub presses: BTreeMap<String, bool>,
    /// What callback queries were answered with.
    pub answers: BTreeMap<String, Option<String>>,
    /// Where updates are posted.
    pub webhook: Option<Webhook>,
    /// What `setMyCommands` said last.
    pub commands: Value,
    /// What goes wrong next, per method in lower case.
    pub faults: HashMap<String, VecDeque<Fault>>,
    /// Polls that wait now.
    pub waiting: usize,
    /// Polls that waited and were answered.
    pub polls_answered: usize,
    /// The newest poll; an older one that still waits is ended with 409.
    pub(super) newest_poll: u64,
    next_update: i64,
    next_press: u64,
    clock: i64,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            token: FakeTelegram::TOKEN.to_owned(),
            chats: BTreeMap::new(),
            updates: VecDeque::new(),
            calls: BTreeMap::new(),
            ports: HashMap::new(),
            offsets: Vec::new(),
            allowed_updates: None,
            files: BTreeMap::new(),
            previews: Vec::new(),
            presses: BTreeMap::new(),
            answers: BTreeMap::new(),
            webhook: None,
            commands: Value::Null,
            faults: HashMap::new(),
            waiting: 0,
            polls_answered: 0,
            newest_poll: 0,
            next_update: 817_000_001,
            next_press: 1,
            clock: 1_790_000_000,
        }
    }

    /// The chat; it must be there.
    pub fn chat(&self, id: i64) -> &Chat {
        self.chats.get(&id).unwrap_or_else(|| panic!("no chat {id}"))
    }

    /// How often a method was called.
    pub fn called(&self, method: &str) -> usize {
        self.calls.get(&method.to_lowercase()).copied().unwrap_or(0)
    }

    /// Keeps a file; gives its fields in the Bot API's message.
    pub fn upload(&mut self, name: &str, kind: &str, bytes: &[u8]) -> Value {
        let number = self.files.len() + 1;
        let (id, path) = (format!("BQACAgIAAxkBAAI{number}"), format!("documents/file_{number}"));
        self.files.insert(id.clone(), StoredFile { bytes: bytes.to_vec(), path, told: false });
        json!({"file_id": id, "file_unique_id": format!("AgAD{number}"), "file_size": bytes.len(),
            "file_name": name, "mime_type": kind})
    }

    /// Opens the chat if it isn't there.
    pub fn open(&mut self, id: i64, kind: ChatKind) -> &mut Chat {
        self.chats.entry(id).or_insert_with(|| Chat {
            id,
            kind,
            topics: BTreeSet::new(),
            blocked: false,
            messages: Vec::new(),
            actions: Vec::new(),
            reactions: None,
            edits_left: None,
            migrated_to: None,
            next_message: 1,
        })
    }

    /// Puts an update in line under the next id.
    pub fn queue(&mut self, mut update: Value) -> i64 {
        let id = self.next_update;
        self.next_update += 1;
        update["update_id"] = json!(id);
        self.updates.push_back((id, update));
        id
    }

    /// A message is in line once more, under a new update.
    pub fn repeat(&mut self, chat: i64, message: i64) {
        let shown = self.message_json(chat, message);
        self.queue(json!({ "message": shown }));
    }

    /// Adds a message to a chat; its id grows with each.
    pub(super) fn add(&mut self, chat: i64, mut message: Message) -> i64 {
        self.clock += 1;
        message.offered = message.keyboard.concat().into_iter().map(|(_, token)| token).collect();
        let chat = self.chats.get_mut(&chat).unwrap();
        let id = chat.next_message;
        chat.next_message += 1;
        message.id = id;
        message.date = self.clock;
        chat.messages.push(message);
        id
    }

    /// Somebody posts something; gives the message's id.
    pub fn post(&mut self, post: Post) -> i64 {
        let kind = if post.chat < 0 { ChatKind::Supergroup } else { ChatKind::Private };
        self.open(post.chat, kind).topics.extend(post.thread);
        let Post { chat, from, text, thread, reply_to, more } = post;
        let id = self.add(chat, Message { reply_to, thread, more, ..Message::of(from, text) });
        let shown = self.message_json(chat, id);
        let kind = if self.chat(chat).kind == ChatKind::Channel { "channel_post" } else { "message" };
        self.queue(json!({ kind: shown }));
        id
    }

    /// The bot has asked something, with one button; gives the message's id.
    pub fn ask(&mut self, chat: i64, text: &str, data: &str) -> i64 {
        let keyboard = vec![vec![("yes".to_owned(), data.to_owned())]];
        self.add(chat, Message { keyboard, ..Message::of(FakeTelegram::BOT_ID, text.to_owned()) })
    }

    /// A group becomes a supergroup: both are told.
    pub(super) fn migrate(&mut self, group: i64, supergroup: i64, by: i64) {
        self.open(supergroup, ChatKind::Supergroup);
        self.post(Post::new(group, by, "").with(json!({ "migrate_to_chat_id": supergroup })));
        self.post(Post::new(supergroup, by, "").with(json!({ "migrate_from_chat_id": group })));
        self.chats.get_mut(&group).unwrap().migrated_to = Some(supergroup);
    }

    pub(super) fn edit(&mut self, chat: i64, message: i64, text: &str) {
        self.clock += 1;
        let messages = &mut self.chats.get_mut(&chat).unwrap().messages;
        let edited = messages.iter_mut().find(|candidate| candidate.id == message).unwrap();
        text.clone_into(&mut edited.text);
        edited.edits += 1;
        let mut shown = self.message_json(chat, message);
        shown["edit_date"] = json!(self.clock);
        self.queue(json!({ "edited_message": shown }));
    }

    pub(super) fn press(&mut self, chat: i64, person: i64, message: i64, data: &str) -> String {
        // A button that was taken away may be pressed by whoever has not seen that yet.
        let shown = self.chat(chat).message(message);
        let shown = shown.is_some_and(|shown| shown.offered.iter().any(|token| token == data));
        assert!(shown, "message {message} of chat {chat} never had a button with {data:?}");
        let id = format!("49000{}", self.next_press);
        self.next_press += 1;
        self.presses.insert(id.clone(), false);
        let shown = self.message_json(chat, message);
        let from = user_json(person);
        self.queue(
            json!({"callback_query": {"id": id, "from": from, "message": shown, "chat_instance": "7", "data": data}}),
        );
        id
    }

    /// A message as the Bot API shows it.
    pub(super) fn message_json(&self, chat: i64, id: i64) -> Value {
        let chat = self.chat(chat);
        let Some(message) = chat.message(id) else { return Value::Null };
        let mut shown = json!({
            "message_id": id,
            "from": user_json(message.from),
            "chat": chat.json(),
            "date": message.date,
        });
        if let Some(file) = &message.file {
            shown[file.field] = json!({"file_id": "sent", "file_unique_id": "sent", "file_size": file.bytes.len()});
            shown["caption"] = json!(message.text);
            if !message.entities.is_empty() {
                shown["caption_entities"] = json!(message.entities);
            }
        } else if !message.text.is_empty() {
            shown["text"] = json!(message.text);
            let found = entities(&message.text).into_iter().chain(message.entities.iter().cloned());
            let entities: Vec<Value> = found.collect();
            if !entities.is_empty() {
                shown["entities"] = json!(entities);
            }
        }
        if let Some(topic) = message.thread {
            shown["message_thread_id"] = json!(topic);
            shown["is_topic_message"] = json!(true);
        }
        if let Some(original) = message.reply_to {
            let mut original = self.message_json(chat.id, original);
            if let Some(fields) = original.as_object_mut() {
                fields.remove("reply_to_message");
                shown["reply_to_message"] = original;
            }
        }
        if !message.keyboard.is_empty() {
            let button = |(label, token): &(String, String)| json!({"text": label, "callback_data": token});
            let rows: Vec<Vec<Value>> = message.keyboard.iter().map(|row| row.iter().map(button).collect()).collect();
            shown["reply_markup"] = json!({ "inline_keyboard": rows });
        }
        if let (Some(fields), Some(more)) = (shown.as_object_mut(), message.more.as_object()) {
            fields.extend(more.clone());
        }
        shown
    }
}

/// A user as the Bot API shows it.
pub(super) fn user_json(id: i64) -> Value {
    if id == FakeTelegram::BOT_ID {
        return json!({"id": id, "is_bot": true, "first_name": "Hob", "username": FakeTelegram::BOT_NAME});
    }
    json!({"id": id, "is_bot": false, "first_name": format!("Person {id}"), "username": format!("person_{id}")})
}

/// The commands and mentions that Telegram finds in a text, in UTF-16 units.
fn entities(text: &str) -> Vec<Value> {
    let mut offset = 0;
    let mut found = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim_end().trim_end_matches(['.', ',', '!', '?', ':']);
        let kind = match name.chars().next() {
            Some('/') if name.len() > 1 => Some("bot_command"),
            Some('@') if name.len() > 1 => Some("mention"),
            _ => None,
        };
        if let Some(kind) = kind {
            found.push(json!({"type": kind, "offset": offset, "length": name.encode_utf16().count()}));
        }
        offset += word.encode_utf16().count();
    }
    found
}
