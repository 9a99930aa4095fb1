//! What Discord knows: people, servers, channels with their messages, sessions with their events.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::shapes;
use super::{FakeDiscord, Fault, GatewayFault};

/// Who lives here.
pub const ADA: u64 = 700_000_000_000_000_001;
pub const BOB: u64 = 700_000_000_000_000_002;
/// A server, with two channels and a thread of the first.
pub const GUILD: u64 = 800_000_000_000_000_001;
pub const HALL: u64 = 800_000_000_000_000_002;
pub const KITCHEN: u64 = 800_000_000_000_000_003;
pub const THREAD: u64 = 800_000_000_000_000_004;
/// Ada's private chat with the bot.
pub const DM: u64 = 800_000_000_000_000_005;
/// The permissions that a channel can lack.
pub const VIEW: &str = "VIEW_CHANNEL";
pub const SEND: &str = "SEND_MESSAGES";
/// In a thread instead of that.
pub const SEND_IN_THREADS: &str = "SEND_MESSAGES_IN_THREADS";
pub const FILES: &str = "ATTACH_FILES";
pub const HISTORY: &str = "READ_MESSAGE_HISTORY";
pub const REACT: &str = "ADD_REACTIONS";

/// A channel or thread.
#[derive(Debug, Clone)]
pub struct Channel {
    pub kind: u8,
    pub guild: Option<u64>,
    pub parent: Option<u64>,
    pub name: &'static str,
    pub archived: bool,
    /// Nobody but moderators opens it again.
    pub locked: bool,
    /// What the bot may not do here.
    pub lacks: BTreeSet<&'static str>,
    pub messages: Vec<Message>,
    /// How often somebody typed.
    pub typed: usize,
}

#[derive(Debug, Clone)]
pub struct Message {
    pub id: u64,
    pub channel: u64,
    pub author: u64,
    pub content: String,
    pub nonce: Option<String>,
    pub reply_to: Option<u64>,
    pub flags: u64,
    pub components: Value,
    /// Names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Emoji and who.
    pub reactions: Vec<(String, u64)>,
    pub edits: usize,
    /// Fields of one's own.
    pub more: Value,
}

/// Something that somebody posts.
pub struct Post {
    channel: u64,
    author: u64,
    content: String,
    reply_to: Option<u64>,
    files: Vec<(String, Vec<u8>)>,
    more: Value,
}

impl Post {
    pub fn new(channel: u64, author: u64, content: &str) -> Self {
        let (reply_to, files, more) = (None, Vec::new(), json!({}));
        Self { channel, author, content: content.to_owned(), reply_to, files, more }
    }

    pub fn answering(mut self, message: u64) -> Self {
        self.reply_to = Some(message);
        self
    }

    pub fn with_file(mut self, name: &str, bytes: &[u8]) -> Self {
        self.files.push((name.to_owned(), bytes.to_vec()));
        self
    }

    /// With these fields over the usual ones.
    pub fn with(mut self, more: Value) -> Self {
        self.more = more;
        self
    }
}

/// A session of the gateway.
#[derive(Debug, Clone, Default)]
pub struct Session {
    pub intents: u64,
    pub events: Vec<(u64, String, Value)>,
    pub gone: bool,
}

#[derive(Debug, Clone)]
pub struct Interaction {
    pub id: u64,
    pub at: Instant,
    pub is_command: bool,
    /// The type of the answer, and whether only its user sees it.
    pub answered: Option<(u64, bool)>,
    /// What it says.
    pub said: Option<String>,
    pub taken_back: bool,
}

#[derive(Debug, Clone)]
pub struct World {
    pub(super) address: String,
    pub people: BTreeMap<u64, &'static str>,
    pub channels: BTreeMap<u64, Channel>,
    pub sessions: BTreeMap<String, Session>,
    pub interactions: BTreeMap<String, Interaction>,
    /// By server; none: everywhere.
    pub commands: BTreeMap<Option<u64>, Vec<Value>>,
    /// The application's flags.
    pub flags: u64,
    /// How often the bot must beat.
    pub heartbeat_ms: u64,
    /// Heartbeats are not answered, and nothing is told.
    pub deaf: bool,
    /// Nobody is told that they are ready.
    pub never_ready: bool,
    /// So many resumes are answered by silence.
    pub cut_resumes: usize,
    /// How many messages a channel takes before its limit is used up, and for how many seconds; none: no limit.
    pub bucket: Option<(u64, f64)>,
    pub spent: u64,
    pub(super) bucket_at: Option<Instant>,
    pub logins_left: u64,
    /// Where sessions are told to go on; none: here.
    pub resume_at: Option<String>,
    pub identified: usize,
    pub resumed: usize,
    pub heartbeats: usize,
    pub connections: usize,
    pub kicks: VecDeque<GatewayFault>,
    pub faults: HashMap<String, VecDeque<Fault>>,
    pub calls: Vec<String>,
    /// What the bot did that Discord does not allow.
    pub wrong: Vec<String>,
    next: u64,
}

impl World {
    pub(super) fn new() -> Self {
        let channel = |kind, guild, parent, name| Channel {
            kind,
            guild,
            parent,
            name,
            archived: false,
            locked: false,
            lacks: BTreeSet::new(),
            messages: Vec::new(),
            typed: 0,
        };
        let channels = BTreeMap::from([
            (HALL, channel(0, Some(GUILD), None, "hall")),
            (KITCHEN, channel(0, Some(GUILD), None, "kitchen")),
            (THREAD, channel(11, Some(GUILD), Some(HALL), "dinner")),
            (DM, channel(1, None, None, "")),
        ]);
        Self {
            address: String::new(),
            people: BTreeMap::from([(ADA, "ada"), (BOB, "bob"), (FakeDiscord::BOT, FakeDiscord::BOT_NAME)]),
            channels,
            sessions: BTreeMap::new(),
            interactions: BTreeMap::new(),
            commands: BTreeMap::new(),
            flags: 1 << 19,
            heartbeat_ms: 41_250,
            deaf: false,
            never_ready: false,
            cut_resumes: 0,
            bucket: None,
            spent: 0,
            bucket_at: None,
            logins_left: 1_000,
            resume_at: None,
            identified: 0,
            resumed: 0,
            heartbeats: 0,
            connections: 0,
            kicks: VecDeque::new(),
            faults: HashMap::new(),
            calls: Vec::new(),
            wrong: Vec::new(),
            next: 1_300_000_000_000_000_000,
        }
    }

    pub(super) fn id(&mut self) -> u64 {
        self.next += 1 << 22;
        self.next
    }

    pub fn channel(&self, id: u64) -> &Channel {
        self.channels.get(&id).unwrap_or_else(|| panic!("no channel {id}"))
    }

    /// The bot may not do this there.
    pub fn deny(&mut self, channel: u64, permission: &'static str) {
        self.channels.get_mut(&channel).unwrap().lacks.insert(permission);
    }

    pub fn by_bot(&self, channel: u64) -> impl Iterator<Item = &Message> {
        self.channel(channel).messages.iter().filter(|message| message.author == FakeDiscord::BOT)
    }

    pub fn message(&self, channel: u64, id: u64) -> Option<&Message> {
        self.channels.get(&channel)?.messages.iter().find(|message| message.id == id)
    }

    pub(super) fn message_mut(&mut self, channel: u64, id: u64) -> Option<&mut Message> {
        self.channels.get_mut(&channel)?.messages.iter_mut().find(|message| message.id == id)
    }

    /// How often a route was called: `POST messages`.
    pub fn called(&self, route: &str) -> usize {
        self.calls.iter().filter(|call| *call == route).count()
    }

    /// The reactions under a message.
    pub fn reactions(&self, channel: u64, message: u64) -> Vec<&str> {
        let found = self.message(channel, message);
        found.into_iter().flat_map(|message| &message.reactions).map(|(emoji, _)| emoji.as_str()).collect()
    }

    pub fn post(&mut self, post: Post) -> u64 {
        let id = self.id();
        let Post { channel, author, content, reply_to, files, more } = post;
        self.add(Message {
            id,
            channel,
            author,
            content,
            nonce: None,
            reply_to,
            flags: 0,
            components: json!([]),
            files,
            reactions: Vec::new(),
            edits: 0,
            more,
        });
        id
    }

    pub(super) fn add(&mut self, message: Message) {
        let (channel, id) = (message.channel, message.id);
        self.channels.get_mut(&channel).unwrap().messages.push(message);
        self.tell_message("MESSAGE_CREATE", channel, id);
    }

    /// Tells the sessions of a message.
    pub fn tell_message(&mut self, event: &str, channel: u64, id: u64) {
        let Some(message) = self.message(channel, id) else { return };
        let mut told = shapes::message(self, message);
        if let Some(guild) = self.channel(channel).guild {
            told["guild_id"] = guild.to_string().into();
            told["member"] = json!({ "nick": null, "roles": [], "joined_at": shapes::TIME, "deaf": false, "mute": false, "flags": 0 });
        }
        self.tell(Some(channel), event, &told);
    }

    /// Somebody changes a message.
    pub fn edit(&mut self, channel: u64, id: u64, content: &str) {
        let message = self.message_mut(channel, id).unwrap();
        content.clone_into(&mut message.content);
        message.edits += 1;
        self.tell_message("MESSAGE_UPDATE", channel, id);
    }

    /// Discord adds a preview to a message: an update that changes no text.
    pub fn unfurl(&mut self, channel: u64, id: u64) {
        let told =
            json!({ "id": id.to_string(), "channel_id": channel.to_string(), "embeds": [{ "title": "A page" }] });
        self.tell(Some(channel), "MESSAGE_UPDATE", &told);
    }

    /// Somebody deletes messages.
    pub fn delete(&mut self, channel: u64, ids: &[u64]) {
        let at = self.channels.get_mut(&channel).unwrap();
        at.messages.retain(|message| !ids.contains(&message.id));
        let mut told = json!({ "channel_id": channel.to_string() });
        if let Some(guild) = at.guild {
            told["guild_id"] = guild.to_string().into();
        }
        match ids {
            [id] => {
                told["id"] = id.to_string().into();
                self.tell(Some(channel), "MESSAGE_DELETE", &told);
            }
            several => {
                told["ids"] = several.iter().map(u64::to_string).collect();
                self.tell(Some(channel), "MESSAGE_DELETE_BULK", &told);
            }
        }
    }

    /// Somebody opens a thread; what it is told as, and its id.
    pub fn make_thread(&mut self, parent: u64) -> u64 {
        let id = self.id();
        let mut thread = self.channel(THREAD).clone();
        (thread.parent, thread.name, thread.archived, thread.messages) = (Some(parent), "new", false, Vec::new());
        let mut told = shapes::channel(id, &thread);
        told["newly_created"] = true.into();
        self.channels.insert(id, thread);
        self.tell(None, "THREAD_CREATE", &told);
        id
    }

    /// Tells all sessions, if they asked for that and can see it.
    pub fn tell(&mut self, channel: Option<u64>, event: &str, data: &Value) {
        let place = channel.map(|id| self.channel(id));
        if place.is_some_and(|place| place.lacks.contains(VIEW)) {
            return;
        }
        let needed = match place {
            None => 0,
            Some(place) if place.guild.is_some() => 1 << 9,
            Some(_) => 1 << 12,
        };
        for session in self.sessions.values_mut().filter(|session| !session.gone) {
            if session.intents & needed == needed {
                session.push(event, data.clone());
            }
        }
    }
}

impl Session {
    pub(super) fn push(&mut self, event: &str, data: Value) {
        let seq = self.events.last().map_or(0, |(seq, ..)| *seq) + 1;
        self.events.push((seq, event.to_owned(), data));
    }
}
