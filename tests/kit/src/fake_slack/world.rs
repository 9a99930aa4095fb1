//! What the workspace holds, and what people do in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{FakeSlack, Fault};

/// What kind of channel it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Private,
    Channel,
}

/// A channel: its messages, threads and all, by `ts`.
#[derive(Debug, Clone)]
pub struct Channel {
    pub kind: Kind,
    pub archived: bool,
    /// Whether the app is a member.
    pub member: bool,
    pub messages: BTreeMap<String, Value>,
}

/// A file that somebody or the app has handed over.
#[derive(Debug, Clone)]
pub struct File {
    pub name: String,
    pub bytes: Option<Vec<u8>>,
    pub length: usize,
}

/// Something on its way to the app.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub id: String,
    pub kind: &'static str,
    pub payload: Value,
    /// The socket that it went out on last.
    pub sent_on: Option<u64>,
    pub attempts: u64,
}

#[derive(Debug, Clone)]
pub struct World {
    pub address: String,
    pub people: BTreeMap<String, String>,
    pub channels: BTreeMap<String, Channel>,
    pub files: BTreeMap<String, File>,
    /// What is not acknowledged.
    pub envelopes: VecDeque<Envelope>,
    /// The ids that were acknowledged, in order.
    pub acknowledged: Vec<String>,
    /// The sockets that are open.
    pub sockets: BTreeSet<u64>,
    /// Of those, the ones that are as dead.
    pub silent: BTreeSet<u64>,
    pub sockets_opened: u64,
    pub tickets: BTreeSet<String>,
    pub disconnecting: Option<String>,
    /// How long the app has before an envelope comes again.
    pub redeliver_after: Duration,
    pub faults: BTreeMap<String, VecDeque<Fault>>,
    /// Each call: the method and its arguments.
    pub calls: Vec<(String, Value)>,
    pub scopes: BTreeSet<&'static str>,
    /// Threads whose status was set: (channel, thread, status).
    pub statuses: Vec<(String, String, String)>,
    /// The status that stands in a thread, by channel and thread: the app's next message there takes it away.
    pub status: BTreeMap<(String, String), String>,
    /// Channels whose history answers with a word for no.
    pub broken: BTreeMap<String, String>,
    /// What the app said to whoever pressed or typed something, with its acknowledgement.
    pub told: Vec<Value>,
    /// Whether Slack puts what belongs to an unknown thread into the channel.
    pub strays: bool,
    /// The workspace in which things happen.
    pub workspace: &'static str,
    /// Whether a whole organisation has the app, in several workspaces.
    pub is_organisation: bool,
    last: u64,
    counter: u64,
}

/// Every scope that the manifest asks for.
pub const SCOPES: [&str; 19] = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "team:read",
    "users:read",
];

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            address: String::new(),
            people: BTreeMap::new(),
            channels: BTreeMap::new(),
            files: BTreeMap::new(),
            envelopes: VecDeque::new(),
            acknowledged: Vec::new(),
            sockets: BTreeSet::new(),
            silent: BTreeSet::new(),
            sockets_opened: 0,
            tickets: BTreeSet::new(),
            disconnecting: None,
            redeliver_after: Duration::from_secs(3),
            faults: BTreeMap::new(),
            calls: Vec::new(),
            scopes: SCOPES.into_iter().collect(),
            statuses: Vec::new(),
            status: BTreeMap::new(),
            broken: BTreeMap::new(),
            told: Vec::new(),
            strays: false,
            workspace: "T0",
            is_organisation: false,
            last: 0,
            counter: 0,
        };
        world.people.insert(FakeSlack::BOT_USER.to_owned(), "hob".to_owned());
        world
    }

    /// The next `ts`: the time, and never the same twice.
    pub fn ts(&mut self) -> String {
        #[expect(clippy::disallowed_methods, reason = "a server elsewhere has a clock of its own")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.last = u64::try_from(now.as_micros()).unwrap().max(self.last + 1);
        format!("{}.{:06}", self.last / 1_000_000, self.last % 1_000_000)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// How often a method was called.
    pub fn called(&self, method: &str) -> usize {
        self.calls.iter().filter(|(called, _)| called == method).count()
    }

    /// The arguments of a method's last call.
    pub fn last_call(&self, method: &str) -> &Value {
        &self.calls.iter().rev().find(|(called, _)| called == method).unwrap().1
    }

    pub(super) fn open(&mut self, id: &str, kind: Kind) {
        let channel = Channel { kind, archived: false, member: true, messages: BTreeMap::new() };
        self.channels.entry(id.to_owned()).or_insert(channel);
    }

    pub fn message(&self, channel: &str, ts: &str) -> &Value {
        &self.channels[channel].messages[ts]
    }

    /// The app's messages in a channel, in order.
    pub fn posts_of_bot(&self, channel: &str) -> Vec<Value> {
        let Some(channel) = self.channels.get(channel) else { return Vec::new() };
        channel.messages.values().filter(|message| message["bot_id"] == FakeSlack::BOT_ID).cloned().collect()
    }

    /// The texts of the app's messages in a channel, in order.
    pub fn by_bot(&self, channel: &str) -> Vec<String> {
        let texts = self.posts_of_bot(channel).into_iter();
        texts.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The reactions of a message that are the app's.
    pub fn reactions(&self, channel: &str, ts: &str) -> Vec<String> {
        let reactions = self.message(channel, ts)["reactions"].as_array().cloned().unwrap_or_default();
        reactions.iter().map(|reaction| reaction["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Puts a message where it belongs; the thread's first message learns of it.
    pub(super) fn place(&mut self, channel: &str, mut message: Value) -> Value {
        let ts = message["ts"].as_str().unwrap().to_owned();
        let channel = self.channels.get_mut(channel).unwrap();
        if let Some(thread) = message["thread_ts"].as_str().map(str::to_owned).filter(|thread| *thread != ts)
            && let Some(root) = channel.messages.get_mut(&thread)
        {
            root["thread_ts"] = thread.as_str().into();
            root["reply_count"] = (root["reply_count"].as_u64().unwrap_or(0) + 1).into();
            root["latest_reply"] = ts.as_str().into();
            message["parent_user_id"] = root["user"].clone();
        }
        channel.messages.insert(ts, message.clone());
        message
    }

    /// A person posts; the app is told.
    pub fn post_by(&mut self, channel: &str, person: &str, fields: Value) -> String {
        let kind = if channel.starts_with('D') { Kind::Private } else { Kind::Channel };
        self.open(channel, kind);
        assert!(self.people.contains_key(person), "{person} is nobody");
        let ts = self.ts();
        let mut message =
            json!({"type": "message", "user": person, "ts": ts, "team": "T0", "client_msg_id": format!("c-{ts}")});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let message = self.place(channel, message);
        self.tell(channel, message.clone());
        let calls = format!("<@{}>", FakeSlack::BOT_USER);
        if kind == Kind::Channel && message["text"].as_str().unwrap_or_default().contains(&calls) {
            let mut mention = message;
            mention["type"] = "app_mention".into();
            mention.as_object_mut().unwrap().remove("subtype");
            mention.as_object_mut().unwrap().remove("parent_user_id");
            mention["channel"] = channel.into();
            self.push_event(mention);
        }
        ts
    }

    /// The app hears of a message where it is a member.
    fn tell(&mut self, channel: &str, mut event: Value) {
        let here = &self.channels[channel];
        if !here.member {
            return;
        }
        event["channel_type"] = if here.kind == Kind::Private { "im" } else { "channel" }.into();
        event["channel"] = channel.into();
        event["event_ts"] = event["ts"].clone();
        self.push_event(event);
    }

    /// Tells the app of an event of any shape.
    pub fn push_event(&mut self, event: Value) {
        let number = self.number();
        let payload = json!({
            "token": "x", "team_id": self.workspace, "api_app_id": "A0HOB", "type": "event_callback", "event": event,
            "event_id": format!("Ev{number}"), "event_time": 1, "authorizations": [],
        });
        self.push("events_api", payload);
    }

    /// What is pushed while nobody listens is lost.
    pub fn push(&mut self, kind: &'static str, payload: Value) {
        if self.sockets.is_empty() {
            return;
        }
        let id = format!("env-{}", self.number());
        self.envelopes.push_back(Envelope { id, kind, payload, sent_on: None, attempts: 0 });
    }

    /// A message of the app's is told to it as well.
    pub(super) fn echo(&mut self, channel: &str, message: Value) {
        self.tell(channel, message);
    }

    pub(super) fn edit(&mut self, channel: &str, ts: &str, text: &str) {
        let edited = self.ts();
        let message = self.channels.get_mut(channel).unwrap().messages.get_mut(ts).unwrap();
        let before = message.clone();
        message["text"] = text.into();
        message["edited"] = json!({"user": before["user"], "ts": edited});
        let now = message.clone();
        let event_ts = self.ts();
        self.tell(channel, json!({"type": "message", "subtype": "message_changed", "hidden": true, "ts": event_ts, "message": now, "previous_message": before}));
    }

    pub(super) fn delete(&mut self, channel: &str, ts: &str) {
        let before = self.channels.get_mut(channel).unwrap().messages.remove(ts).unwrap();
        let event_ts = self.ts();
        self.tell(channel, json!({"type": "message", "subtype": "message_deleted", "hidden": true, "ts": event_ts, "deleted_ts": ts, "previous_message": before}));
    }

    pub(super) fn press(&mut self, channel: &str, ts: &str, person: &str, label: &str) {
        let message = self.message(channel, ts).clone();
        let blocks = message["blocks"].as_array().cloned().unwrap_or_default();
        let mut buttons = blocks.iter().flat_map(|block| block["elements"].as_array().cloned().unwrap_or_default());
        let button = buttons.find(|button| button["text"]["text"] == label);
        let button = button.unwrap_or_else(|| panic!("no button {label:?}: {message:#}"));
        let (action_ts, number) = (self.ts(), self.number());
        let mut container = json!({"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false});
        if let Some(thread) = message["thread_ts"].as_str() {
            container["thread_ts"] = thread.into();
        }
        let name = self.people[person].clone();
        let payload = json!({
            "type": "block_actions", "user": {"id": person, "username": name, "name": name, "team_id": self.workspace},
            "api_app_id": "A0HOB", "token": "x", "container": container, "trigger_id": format!("{number}.1.x"),
            "team": {"id": self.workspace, "domain": "home"}, "channel": {"id": channel, "name": "x"}, "message": message,
            "actions": [{"type": "button", "block_id": "b", "action_id": button["action_id"], "text": button["text"],
                "value": button["value"], "action_ts": action_ts}],
        });
        self.push("interactive", payload);
    }

    pub(super) fn command(&mut self, channel: &str, person: &str, text: &str) {
        let number = self.number();
        let name = self.people[person].clone();
        let payload = json!({
            "token": "x", "team_id": self.workspace, "team_domain": "home", "channel_id": channel, "channel_name": "x",
            "user_id": person, "user_name": name, "command": "/hob", "text": text, "api_app_id": "A0HOB",
            "is_enterprise_install": "false", "response_url": "http://127.0.0.1:9/x", "trigger_id": format!("{number}.2.x"),
        });
        self.push("slash_commands", payload);
    }

    pub(super) fn drop_sockets(&mut self) {
        self.sockets.clear();
        self.silent.clear();
    }

    /// Keeps a file; what messages say of it.
    pub fn store_file(&mut self, name: &str, bytes: &[u8]) -> Value {
        let id = format!("F{:08}", self.number());
        let file = File { name: name.to_owned(), bytes: Some(bytes.to_vec()), length: bytes.len() };
        self.files.insert(id.clone(), file);
        self.file(&id)
    }

    /// A file, as Slack describes it.
    pub(super) fn file(&self, id: &str) -> Value {
        let File { name, length, .. } = &self.files[id];
        let address = format!("http://{}/files-pri/T0-{id}", self.address);
        json!({
            "id": id, "name": name, "title": name, "size": length, "mode": "hosted", "is_external": false,
            "url_private": format!("{address}/{name}"), "url_private_download": format!("{address}/download/{name}"),
        })
    }
}

/// A copy without what is not set.
pub(super) fn compact(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("no object") };
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}
