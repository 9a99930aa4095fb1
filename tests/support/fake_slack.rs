//! A model of Slack on loopback: the Web API and Socket Mode of one workspace with one app.
//!
//! It holds people, channels, threads, reactions and files, and refuses what Slack refuses. People act through
//! [`FakeSlack::say`], [`post`](FakeSlack::post), [`edit`](FakeSlack::edit), [`press`](FakeSlack::press) and
//! [`command`](FakeSlack::command); the app through HTTP at [`FakeSlack::api_url`] and the socket that it opens there.
//! What is pushed while no socket is open is lost; what is pushed and not acknowledged comes again. Tests read the
//! [`World`] with [`FakeSlack::look`] and wait for a condition over it with [`FakeSlack::until`]. Trouble is scripted
//! per method with [`FakeSlack::fault`]: each fault hits one call, in order.

mod api;
mod blocks;
mod server;
mod socket;
pub mod world;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::world::{Kind, World};

/// How long [`FakeSlack::until`] waits before it fails the test.
const PATIENCE: Duration = Duration::from_secs(20);

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
pub struct FakeSlack {
    shared: Arc<Shared>,
    address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
    down: CancellationToken,
}

/// What the server's side and the test share.
pub(crate) struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
}

impl Shared {
    /// Looks at the world or changes it; whoever waits looks again.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let result = act(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_replace(());
        result
    }

    /// As [`Shared::with`], for what changes nothing: nobody is woken.
    pub(crate) fn peek<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until `seen` finds something.
    pub(crate) async fn until<T>(&self, mut seen: impl FnMut(&mut World) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            match self.peek(&mut seen) {
                Some(found) => return found,
                None => changes.changed().await.unwrap(),
            }
        }
    }
}

impl FakeSlack {
    /// The bot's token.
    pub const BOT_TOKEN: &'static str = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy";
    /// The app's token.
    pub const APP_TOKEN: &'static str = "xapp-1-A0HOB-1234567890-aBcDeF";
    /// The bot as a person.
    pub const BOT_USER: &'static str = "U0HOB";
    /// The bot as a bot.
    pub const BOT_ID: &'static str = "B0HOB";

    /// Starts on a free port of the loopback.
    pub async fn start() -> Self {
        Self::serve(SocketAddr::from(([127, 0, 0, 1], 0)), World::new()).await
    }

    async fn serve(address: SocketAddr, world: World) -> Self {
        let shared = Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) });
        let down = CancellationToken::new();
        let (address, server) = server::serve(address, Arc::clone(&shared), down.clone()).await;
        shared.with(|world| world.address = address.to_string());
        Self { shared, address, server, down }
    }

    /// What the app is told as the Web API's address.
    pub fn api_url(&self) -> String {
        format!("http://{}/api", self.address)
    }

    /// Looks at the world, or sets it up.
    pub fn look<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.shared.with(act)
    }

    /// Waits until `seen` finds something; fails the test with `what` and the world's state after [`PATIENCE`].
    pub async fn until<T>(&self, what: &str, mut seen: impl FnMut(&World) -> Option<T>) -> T {
        let found = tokio::time::timeout(PATIENCE, self.shared.until(|world| seen(world))).await;
        found.unwrap_or_else(|_| panic!("no {what} in {PATIENCE:?}: {:#?}", self.look(|world| world.clone())))
    }

    /// Waits until the condition holds.
    pub async fn until_true(&self, what: &str, mut holds: impl FnMut(&World) -> bool) {
        self.until(what, |world| holds(world).then_some(())).await;
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

    /// Somebody hands over a file; returns the message's `ts`.
    pub fn hand(&self, channel: &str, person: &str, (name, bytes): (&str, &[u8]), text: &str) -> String {
        let file = self.look(|world| world.store_file(name, bytes));
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

    /// The server goes away: its port refuses, what is under way is cut. The world stays, and people go on writing.
    pub async fn go_down(&mut self) {
        self.down.cancel();
        self.server.abort();
        let _ended = (&mut self.server).await;
        self.look(|world| {
            world.sockets.clear();
            world.silent.clear();
        });
    }

    /// It is back where it was.
    pub async fn come_back(&mut self) {
        self.down = CancellationToken::new();
        (_, self.server) = server::serve(self.address, Arc::clone(&self.shared), self.down.clone()).await;
    }

    /// The server goes away: its port refuses, what is under way is cut. The world stays for [`Outage::end`].
    pub async fn outage(mut self) -> Outage {
        self.down.cancel();
        self.server.abort();
        let _ended = (&mut self.server).await;
        let mut world = self.look(|world| world.clone());
        world.sockets.clear();
        world.silent.clear();
        Outage { address: self.address, world }
    }
}

impl Drop for FakeSlack {
    fn drop(&mut self) {
        self.down.cancel();
        self.server.abort();
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
        FakeSlack::serve(self.address, self.world).await
    }
}
