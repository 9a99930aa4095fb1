//! A model of Telegram's Bot API on loopback: it holds chats, messages and updates, and refuses what Telegram refuses.
//!
//! People act through [`FakeTelegram::say`], [`post`](FakeTelegram::post), [`edit`](FakeTelegram::edit) and
//! [`press`](FakeTelegram::press); the bot through HTTP at [`FakeTelegram::api_url`]. Tests read the [`World`] with
//! [`FakeTelegram::look`] and wait for a condition over it with [`FakeTelegram::until`]; nothing sleeps. Trouble is
//! scripted per method with [`FakeTelegram::fault`]: each fault hits one call, in order.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

mod api;
mod html;
mod request;
mod server;
mod signs;
pub mod webhook;
pub mod world;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use serde_json::Value;
use tokio::task::JoinHandle;

use self::webhook::Webhook;
use self::world::{ChatKind, Message, Post, World};
use super::cut::CutConnection;
use super::grounds::{self, ANYWHERE, PlatformServer, PlatformState, ServerContext};

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `retry_after`, in seconds.
    Flood(u64),
    /// 400 with this description (after `Bad Request: `).
    BadRequest(String),
    /// 400: the group became a supergroup with this id.
    Migrated(i64),
    /// 403: blocked by the user.
    Blocked,
    /// 401: the token is not known.
    Unauthorized,
    /// 409: another poll runs, in another process.
    Conflict,
    /// The Bot API's own 5xx.
    Server(u16),
    /// A page of a proxy, in HTML, with this status; the call is not carried out.
    Proxy(u16),
    /// The proxy's page, but the call behind it is carried out.
    ProxyAfter(u16),
    /// The connection is cut; the call is not carried out.
    CutBefore,
    /// The call is carried out, and the connection cut before it is answered.
    CutAfter,
    /// No answer ever; the call is not carried out.
    Hang,
    /// The call is carried out, and no answer ever comes.
    HangAfter,
    /// 200 with this body.
    Body(String),
}

/// The fake. Dropping it closes its connections.
pub struct FakeTelegram {
    grounds: PlatformServer<World>,
    calls: JoinHandle<()>,
}

/// What the HTTP side and the test share.
pub type Shared = grounds::Shared<World>;

impl Deref for FakeTelegram {
    type Target = PlatformServer<World>;

    fn deref(&self) -> &PlatformServer<World> {
        &self.grounds
    }
}

impl DerefMut for FakeTelegram {
    fn deref_mut(&mut self) -> &mut PlatformServer<World> {
        &mut self.grounds
    }
}

impl PlatformState for World {
    async fn respond(context: &ServerContext<Self>, wire: &CutConnection, request: Request) -> Response {
        server::respond(&context.shared, wire, request).await
    }

    fn cut(&mut self) {
        self.waiting = 0;
    }
}

impl FakeTelegram {
    /// The token that [`FakeTelegram::start`] knows.
    pub const TOKEN: &'static str = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
    /// The bot's user id.
    pub const BOT_ID: i64 = 110_201_543;
    pub const BOT_NAME: &'static str = "hob_test_bot";

    /// Starts on a free port of the loopback.
    pub async fn start() -> Self {
        Self::start_on(ANYWHERE).await
    }

    /// Starts on an address of one's own (for a process of its own, or one that comes back after an outage).
    pub async fn start_on(address: SocketAddr) -> Self {
        Self::serve(address, World::new()).await
    }

    async fn serve(address: SocketAddr, world: World) -> Self {
        let grounds = PlatformServer::serve(address, world).await;
        let calls = tokio::spawn(webhook::call(Arc::clone(&grounds.shared)));
        Self { grounds, calls }
    }

    /// What the bot is told as the API's address.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Posts an update as a webhook's call, once; gives the status of the answer.
    pub async fn call(&self, webhook: &Webhook, update: &Value) -> String {
        webhook::post(webhook, update).await.unwrap()
    }

    /// Waits until the bot has sent `count` messages into the chat, and returns the texts.
    pub async fn until_sent(&self, chat: i64, count: usize) -> Vec<String> {
        let sent = |world: &World| {
            let texts: Vec<String> = world.chat(chat).by_bot().map(|message| message.text.clone()).collect();
            (texts.len() >= count).then_some(texts)
        };
        self.until(&format!("{count} messages in chat {chat}"), sent).await
    }

    /// Waits, without a limit, for messages in the chat after the first `known`.
    pub async fn news(&self, chat: i64, known: usize) -> Vec<Message> {
        let news = |world: &mut World| world.chat(chat).messages.get(known..).map(<[Message]>::to_vec);
        self.shared.until(|world| news(world).filter(|news| !news.is_empty())).await
    }

    /// Waits, without a limit, until one of the last messages in the chat is such: a draft that was edited counts as it is now.
    pub async fn shown(&self, chat: i64, is_it: impl Fn(&Message) -> bool) {
        const LAST: usize = 20;
        self.shared
            .until(|world| world.chat(chat).messages.iter().rev().take(LAST).find(|it| is_it(it)).map(|_| ()))
            .await;
    }

    /// Waits, without a limit, until a method was called so often.
    pub async fn called(&self, method: &str, times: usize) {
        self.shared.until(|world| (world.called(method) >= times).then_some(())).await;
    }

    /// A private chat with a person, whose id is also the chat's.
    pub fn person(&self, id: i64) {
        self.look(|world| {
            world.open(id, ChatKind::Private);
        });
    }

    /// A supergroup; `topics` makes it a forum.
    pub fn group(&self, id: i64, topics: &[i64]) {
        self.look(|world| world.open(id, ChatKind::Supergroup).topics.extend(topics));
    }

    /// A group of the old kind becomes this supergroup.
    pub fn migrate(&self, group: i64, supergroup: i64) {
        self.look(|world| world.migrate(group, supergroup, 7));
    }

    /// Somebody sends pictures together, with these words under each; returns the messages' ids.
    pub fn album(&self, chat: i64, person: i64, group: &str, captions: &[&str]) -> Vec<i64> {
        let part = |caption: &&str| {
            let mut photo = self.look(|world| world.upload("", "image/jpeg", caption.as_bytes()));
            (photo["width"], photo["height"]) = (1.into(), 1.into());
            let mut more = serde_json::json!({ "photo": [photo], "media_group_id": group });
            if !caption.is_empty() {
                more["caption"] = (*caption).into();
            }
            self.post(Post::new(chat, person, "").with(more))
        };
        captions.iter().map(part).collect()
    }

    /// A person writes to the bot in private; returns the message's id.
    pub fn say(&self, person: i64, text: &str) -> i64 {
        self.post(Post::new(person, person, text))
    }

    /// Somebody posts something somewhere; returns the message's id. The chat is opened if it isn't there.
    pub fn post(&self, post: Post) -> i64 {
        self.look(|world| world.post(post))
    }

    /// A person sends a document to the bot in private, with these words under it; returns the message's id.
    pub fn hand(&self, person: i64, name: &str, bytes: &[u8], caption: &str) -> i64 {
        let document = self.look(|world| world.upload(name, "application/octet-stream", bytes));
        let mut more = serde_json::json!({ "document": document });
        if !caption.is_empty() {
            more["caption"] = caption.into();
        }
        self.post(Post::new(person, person, "").with(more))
    }

    /// The author changes a message.
    pub fn edit(&self, chat: i64, message: i64, text: &str) {
        self.look(|world| world.edit(chat, message, text));
    }

    /// A person presses the button with this callback data under the bot's message; returns the query's id.
    pub fn press(&self, chat: i64, person: i64, message: i64, data: &str) -> String {
        self.look(|world| world.press(chat, person, message, data))
    }

    /// Puts an update of any shape in line; gives it the next `update_id`, which is returned.
    pub fn raw_update(&self, update: Value) -> i64 {
        self.look(|world| world.queue(update))
    }

    /// The next call of `method` that has no fault yet goes wrong.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.faults(method, fault, 1);
    }

    /// So many calls of `method` go wrong.
    pub fn faults(&self, method: &str, fault: Fault, times: usize) {
        let faults = std::iter::repeat_n(fault, times);
        self.look(|world| world.faults.entry(method.to_lowercase()).or_default().extend(faults));
    }

    /// All scripted faults are off.
    pub fn mend(&self) {
        self.look(|world| world.faults.clear());
    }

    /// The server goes away: its port refuses, what is under way is cut. The world stays for [`Outage::end`].
    pub async fn outage(mut self) -> Outage {
        self.calls.abort();
        self.go_down().await;
        Outage { address: self.address, world: self.look(|world| world.clone()) }
    }
}

impl Drop for FakeTelegram {
    fn drop(&mut self) {
        self.calls.abort();
    }
}

/// Telegram is down: connections to its port are refused.
pub struct Outage {
    /// Where it was and will be again.
    pub address: SocketAddr,
    world: World,
}

impl Outage {
    /// Somebody posts something meanwhile; returns the message's id.
    pub fn post(&mut self, post: Post) -> i64 {
        self.world.post(post)
    }

    /// Telegram is back, with all it knew.
    pub async fn end(self) -> FakeTelegram {
        FakeTelegram::serve(self.address, self.world).await
    }
}
