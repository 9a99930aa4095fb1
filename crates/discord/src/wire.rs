//! What Discord sends, as far as Hob reads it.
//!
//! serenity's own types refuse a whole message for one component or field of a kind they do not know yet. These hold
//! what is used, and pass over the rest.

use std::fmt;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A snowflake: an id that grows with time, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(u64);

impl Id {
    /// The id in this text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|id| *id > 0).map(Self)
    }

    pub(super) fn get(self) -> u64 {
        self.0
    }

    /// As a cursor's position. Snowflakes stay below 2⁶³ until 2084.
    pub(super) fn position(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not an id"))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One frame of the gateway.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    pub(super) op: u8,
    pub(super) d: Option<Box<RawValue>>,
    pub(super) s: Option<u64>,
    pub(super) t: Option<String>,
}

impl Frame {
    /// Its content, as far as it can be read.
    pub(super) fn data<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        self.d.as_ref().and_then(|data| serde_json::from_str(data.get()).ok())
    }
}

/// Op 10.
#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) heartbeat_interval: u64,
}

/// The session begins.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub(super) session_id: String,
    pub(super) resume_gateway_url: Option<String>,
    pub(super) user: User,
    /// The servers that the bot is in; each comes with an event of its own.
    #[serde(default)]
    pub(super) guilds: Vec<GuildRef>,
}

/// A server, by its id alone.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct GuildRef {
    pub(super) id: Id,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct User {
    pub(super) id: Id,
    #[serde(default)]
    pub(super) username: String,
    pub(super) global_name: Option<String>,
    #[serde(default)]
    pub(super) bot: bool,
    #[serde(default)]
    pub(super) system: bool,
    pub(super) member: Option<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Member {
    pub(super) nick: Option<String>,
    pub(super) user: Option<Box<User>>,
}

/// A message, as the gateway, the history and a reference have it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Message {
    pub(super) id: Id,
    pub(super) channel_id: Id,
    pub(super) guild_id: Option<Id>,
    pub(super) author: Option<User>,
    pub(super) member: Option<Member>,
    pub(super) timestamp: Option<String>,
    pub(super) edited_timestamp: Option<String>,
    #[serde(rename = "type", default)]
    pub(super) kind: u8,
    pub(super) webhook_id: Option<Id>,
    pub(super) message_reference: Option<MessageReference>,
    pub(super) referenced_message: Option<Box<Self>>,
    #[serde(default)]
    pub(super) message_snapshots: Vec<MessageSnapshot>,
    pub(super) nonce: Option<Nonce>,
    #[serde(flatten)]
    pub(super) said: MessageContent,
}

/// What a message says.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct MessageContent {
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) mentions: Vec<User>,
    #[serde(default)]
    pub(super) attachments: Vec<File>,
    #[serde(default)]
    pub(super) embeds: Vec<Embed>,
    #[serde(default)]
    pub(super) sticker_items: Vec<NamedItem>,
    pub(super) poll: Option<Poll>,
}

/// A nonce is a text or a number, as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nonce(pub(super) String);

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct MessageReference {
    #[serde(rename = "type", default)]
    pub(super) kind: u8,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct MessageSnapshot {
    pub(super) message: MessageContent,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct File {
    pub(super) filename: String,
    pub(super) size: Option<u64>,
    pub(super) url: String,
    /// Of a voice message, and of nothing else.
    pub(super) waveform: Option<String>,
    pub(super) duration_secs: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Embed {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) url: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct NamedItem {
    pub(super) name: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Poll {
    pub(super) question: Question,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Question {
    pub(super) text: Option<String>,
}

/// One message is gone.
#[derive(Debug, Deserialize)]
pub(super) struct MessageDelete {
    pub(super) id: Id,
    pub(super) channel_id: Id,
    pub(super) guild_id: Option<Id>,
}

/// Several are gone at once.
#[derive(Debug, Deserialize)]
pub(super) struct MessageDeleteBulk {
    pub(super) ids: Vec<Id>,
    pub(super) channel_id: Id,
    pub(super) guild_id: Option<Id>,
}

/// A channel or thread.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ChannelInfo {
    pub(super) id: Id,
    #[serde(rename = "type")]
    pub(super) kind: u8,
    pub(super) guild_id: Option<Id>,
    pub(super) parent_id: Option<Id>,
    pub(super) last_message_id: Option<Id>,
    /// Of a thread that was just made, and not only shown to the bot.
    #[serde(default)]
    pub(super) newly_created: bool,
}

/// A server, with what can be seen there.
#[derive(Debug, Deserialize)]
pub(super) struct Guild {
    pub(super) id: Id,
    #[serde(default)]
    pub(super) channels: Vec<ChannelInfo>,
    #[serde(default)]
    pub(super) threads: Vec<ChannelInfo>,
}

/// The threads of a channel that can be seen from now on.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadList {
    pub(super) guild_id: Option<Id>,
    #[serde(default)]
    pub(super) threads: Vec<ChannelInfo>,
}

/// Somebody used a command or pressed a button.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Interaction {
    pub(super) id: Id,
    pub(super) application_id: Id,
    #[serde(rename = "type")]
    pub(super) kind: u8,
    pub(super) data: Option<InteractionData>,
    pub(super) guild_id: Option<Id>,
    pub(super) channel_id: Option<Id>,
    pub(super) channel: Option<ChannelInfo>,
    pub(super) member: Option<Member>,
    pub(super) user: Option<User>,
    pub(super) token: String,
    /// What the bot may do where it happens, as bits.
    pub(super) app_permissions: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct InteractionData {
    pub(super) name: Option<String>,
    pub(super) custom_id: Option<String>,
    #[serde(default)]
    pub(super) options: Vec<CommandOption>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CommandOption {
    pub(super) value: Option<serde_json::Value>,
}

/// The bot's application.
#[derive(Debug, Deserialize)]
pub(super) struct Application {
    pub(super) id: Id,
    #[serde(default)]
    pub(super) flags: u64,
}

/// Where the gateway is, and how often it may be identified at.
#[derive(Debug, Deserialize)]
pub(super) struct GatewayBot {
    pub(super) url: String,
    pub(super) session_start_limit: Option<StartLimit>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartLimit {
    pub(super) remaining: u64,
    /// In milliseconds.
    pub(super) reset_after: u64,
}
