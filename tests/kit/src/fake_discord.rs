//! A model of Discord on loopback: its REST API and its gateway, with servers, channels, messages and sessions.
//!
//! People act through [`FakeDiscord::say`], [`post`](FakeDiscord::post), [`press`](FakeDiscord::press) and
//! [`command`](FakeDiscord::command); the bot through HTTP and the WebSocket at [`FakeDiscord::api_url`]. Tests read the
//! [`World`] with [`FakeDiscord::look`] and wait for a condition over it with [`FakeDiscord::until`]; nothing sleeps.
//! Trouble of REST is scripted per route with [`FakeDiscord::fault`], of the gateway with [`FakeDiscord::kick`] and the
//! world's switches.

mod api;
mod gateway;
mod interactions;
mod server;
mod shapes;
pub mod world;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;

use self::world::{Message, Post, World};
use super::cut::CutConnection;
use super::grounds::{self, ANYWHERE, PlatformServer, PlatformState, ServerContext};

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429 with `retry_after` in seconds; whether for all routes.
    Flood(f64, bool),
    /// This status with Discord's code and message.
    Api(u16, u32, &'static str),
    /// A page of a proxy, in HTML, with this status; the call is not carried out.
    Proxy(u16),
    /// The proxy's page, but the call behind it is carried out.
    ProxyAfter(u16),
    /// The connection is cut; the call is not carried out.
    CutBefore,
    /// The call is carried out, and the connection cut before it is answered.
    CutAfter,
}

/// What becomes of a connection to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayFault {
    /// It is cut.
    Drop,
    /// It is closed with this code.
    Close(u16),
    /// Op 7.
    Reconnect,
    /// Op 9; whether the session can be resumed.
    Invalid(bool),
}

/// The fake. Dropping it closes its connections.
pub type FakeDiscord = PlatformServer<World>;

/// What the HTTP side, the gateway and the test share.
pub type Shared = grounds::Shared<World>;

impl PlatformState for World {
    fn routes() -> Router<ServerContext<Self>> {
        Router::new().route("/gateway", any(gateway::open)).route("/gateway/", any(gateway::open))
    }

    async fn respond(context: &ServerContext<Self>, _wire: &CutConnection, request: Request) -> Response {
        server::respond(&context.shared, request).await
    }

    fn cut(&mut self) {}
}

impl FakeDiscord {
    /// The token that it knows.
    pub const TOKEN: &'static str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GxYzAb.dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs";
    /// The bot's user, and its application.
    pub const BOT: u64 = 123_456_789_012_345_678;
    pub const BOT_NAME: &'static str = "hob_test";

    /// Starts on a free port of the loopback.
    pub async fn start() -> Self {
        let grounds = Self::serve(ANYWHERE, World::new()).await;
        grounds.look(|world| world.address = grounds.address.to_string());
        grounds
    }

    /// What the bot is told as the API's address.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until so many sessions have begun.
    pub async fn until_identified(&self, times: usize) {
        self.until_true(&format!("{times} logins"), |world| world.identified >= times).await;
    }

    /// Waits until the bot has sent `count` messages into the channel, and returns the texts.
    pub async fn until_sent(&self, channel: u64, count: usize) -> Vec<String> {
        let sent = |world: &World| {
            let texts: Vec<String> = world.by_bot(channel).map(|message| message.content.clone()).collect();
            (texts.len() >= count).then_some(texts)
        };
        self.until(&format!("{count} messages in channel {channel}"), sent).await
    }

    /// The bot's messages in a channel.
    pub fn sent(&self, channel: u64) -> Vec<Message> {
        self.look(|world| world.by_bot(channel).cloned().collect())
    }

    /// Somebody writes something; returns the message's id.
    pub fn say(&self, channel: u64, person: u64, text: &str) -> u64 {
        self.post(Post::new(channel, person, text))
    }

    /// Somebody posts something; returns the message's id.
    pub fn post(&self, post: Post) -> u64 {
        self.look(|world| world.post(post))
    }

    /// Somebody presses the button with this id under the bot's message; returns the interaction's id.
    pub fn press(&self, channel: u64, person: u64, message: u64, custom_id: &str) -> u64 {
        self.look(|world| world.press(channel, person, message, custom_id))
    }

    /// Somebody uses a slash command; returns the interaction's id.
    pub fn command(&self, channel: u64, person: u64, name: &str, text: Option<&str>) -> u64 {
        self.look(|world| world.use_command(channel, person, name, text))
    }

    /// The next call of this route (`POST messages`) that has no fault yet goes wrong.
    pub fn fault(&self, route: &str, fault: Fault) {
        self.faults(route, fault, 1);
    }

    /// So many calls of this route go wrong.
    pub fn faults(&self, route: &str, fault: Fault, times: usize) {
        let faults = std::iter::repeat_n(fault, times);
        self.look(|world| world.faults.entry(route.to_owned()).or_default().extend(faults));
    }

    /// What becomes of the connection that there is.
    pub fn kick(&self, kick: GatewayFault) {
        self.look(|world| world.kicks.push_back(kick));
    }

    /// Nothing was done that Discord does not allow.
    pub fn nothing_wrong(&self) {
        let wrong = self.look(|world| world.wrong.clone());
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
