//! A model of Slack on loopback: the Web API and Socket Mode of one workspace with one app.
//!
//! It holds people, channels, threads, reactions and files, and refuses what Slack refuses. People act through
//! [`FakeSlack::say`], [`post`](FakeSlack::post), [`edit`](FakeSlack::edit), [`press`](FakeSlack::press) and
//! [`command`](FakeSlack::command); the app through HTTP at [`FakeSlack::api_url`] and the socket that it opens there.
//! What is pushed while no socket is open is lost; an event that is not acknowledged comes again, a press or a command
//! does not. Tests read the [`World`] with [`FakeSlack::look`] and wait for a condition over it with
//! [`FakeSlack::until`]. Trouble is scripted per method with [`FakeSlack::fault`]: each fault hits one call, in order
//! (`download` is a file's).

mod api;
mod blocks;
mod server;
mod socket;
pub mod world;

use std::net::SocketAddr;

use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

use self::world::{Kind, World};
use super::cut::CutConnection;
use super::grounds::{self, ANYWHERE, PlatformServer, PlatformState, ServerContext};

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `Retry-After`, in seconds.
    Limited(u64),
    /// 200 with `ok: false` and this word.
    Error(String),
    /// The word, but the call is carried out.
    ErrorAfter(String),
    /// A page of a proxy, in HTML, with this status; the call is not carried out.
    Proxy(u16),
    /// The connection is cut; the call is not carried out.
    CutBefore,
    /// The call is carried out, and the connection cut before it is answered.
    CutAfter,
    /// The call is carried out, and no answer ever comes.
    HangAfter,
}

impl Fault {
    /// `ok: false` with this word.
    pub fn error(code: &str) -> Self {
        Self::Error(code.to_owned())
    }
}

/// The fake. Dropping it closes its connections.
pub type FakeSlack = PlatformServer<World>;

/// What the server's side and the test share.
pub type Shared = grounds::Shared<World>;

impl PlatformState for World {
    async fn respond(context: &ServerContext<Self>, wire: &CutConnection, request: Request) -> Response {
        server::respond(context, wire, request).await
    }

    fn cut(&mut self) {
        self.sockets.clear();
        self.silent.clear();
    }
}

impl FakeSlack {
    pub const BOT_TOKEN: &'static str = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy";
    pub const APP_TOKEN: &'static str = "xapp-1-A0HOB-1234567890-aBcDeF";
    /// The bot as a person.
    pub const BOT_USER: &'static str = "U0HOB";
    pub const BOT_ID: &'static str = "B0HOB";

    /// Starts on a free port of the loopback.
    pub async fn start() -> Self {
        Self::start_with(ANYWHERE, World::new()).await
    }

    async fn start_with(address: SocketAddr, world: World) -> Self {
        let grounds = Self::serve(address, world).await;
        grounds.look(|world| world.address = grounds.address.to_string());
        grounds
    }

    /// What the app is told as the Web API's address.
    pub fn api_url(&self) -> String {
        format!("http://{}/api", self.address)
    }

    /// Waits until the app has posted so many messages into the channel and its threads; their texts.
    pub async fn until_sent(&self, channel: &str, count: usize) -> Vec<String> {
        let sent = |world: &World| {
            let texts = world.by_bot(channel);
            (texts.len() >= count).then_some(texts)
        };
        self.until(&format!("{count} messages in {channel}"), sent).await
    }

    /// Waits until a socket is open and greeted.
    pub async fn connected(&self) {
        self.until_true("open socket", |world| !world.sockets.is_empty()).await;
    }

    /// Waits until all that was pushed is acknowledged.
    pub async fn acknowledged(&self) {
        self.until_true("empty line of envelopes", |world| world.envelopes.is_empty()).await;
    }

    /// A member of the workspace.
    pub fn person(&self, id: &str, name: &str) {
        self.look(|world| world.people.insert(id.to_owned(), name.to_owned()));
    }

    /// A channel that the app is in.
    pub fn channel(&self, id: &str) {
        let kind = if id.starts_with('D') { Kind::Private } else { Kind::Channel };
        self.look(|world| world.open(id, kind));
    }

    /// Somebody writes; returns the message's `ts`.
    pub fn say(&self, channel: &str, person: &str, text: &str) -> String {
        self.post(channel, person, json!({ "text": text }))
    }

    /// Somebody writes into a thread.
    pub fn reply(&self, channel: &str, thread: &str, person: &str, text: &str) -> String {
        self.post(channel, person, json!({"text": text, "thread_ts": thread}))
    }

    /// Somebody posts a message with these fields.
    pub fn post(&self, channel: &str, person: &str, fields: Value) -> String {
        self.look(|world| world.post_by(channel, person, fields))
    }

    /// A file that somebody has put there.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Value {
        self.look(|world| world.store_file(name, bytes))
    }

    /// Somebody hands over a file; returns the message's `ts`.
    pub fn hand(&self, channel: &str, person: &str, file: Value, text: &str) -> String {
        self.post(channel, person, json!({"text": text, "subtype": "file_share", "upload": true, "files": [file]}))
    }

    /// The author changes a message.
    pub fn edit(&self, channel: &str, ts: &str, text: &str) {
        self.look(|world| world.edit(channel, ts, text));
    }

    /// The author deletes a message.
    pub fn delete(&self, channel: &str, ts: &str) {
        self.look(|world| world.delete(channel, ts));
    }

    /// Somebody presses the button with this label under the message.
    pub fn press(&self, channel: &str, ts: &str, person: &str, label: &str) {
        self.look(|world| world.press(channel, ts, person, label));
    }

    /// Somebody types `/hob text`.
    pub fn command(&self, channel: &str, person: &str, text: &str) {
        self.look(|world| world.command(channel, person, text));
    }

    /// Pushes a `disconnect` and closes the sockets.
    pub fn disconnect(&self, reason: &str) {
        self.look(|world| world.disconnecting = Some(reason.to_owned()));
    }

    /// All sockets are cut, without a word.
    pub fn drop_sockets(&self) {
        self.look(World::drop_sockets);
    }

    /// The sockets that are open now say nothing more, and hear nothing.
    pub fn silence(&self) {
        self.look(|world| world.silent = world.sockets.clone());
    }

    /// The next call of `method` that has no fault yet goes wrong.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.look(|world| world.faults.entry(method.to_owned()).or_default().push_back(fault));
    }

    /// The server goes away: its port refuses, what is under way is cut. The world stays for [`Outage::end`].
    pub async fn outage(mut self) -> Outage {
        self.go_down().await;
        Outage { address: self.address, world: self.look(|world| world.clone()) }
    }
}

/// Slack is out of reach; people go on writing.
pub struct Outage {
    address: SocketAddr,
    pub world: World,
}

impl Outage {
    /// Slack is there again, with all it knew.
    pub async fn end(self) -> FakeSlack {
        FakeSlack::start_with(self.address, self.world).await
    }
}
