//! What a channel hands to the router.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionKey;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum ChannelKind {
    /// The terminal of `hob chat`.
    Terminal,
    /// Telegram's Bot API.
    Telegram,
    /// Slack, by Socket Mode.
    Slack,
    /// Discord's gateway.
    Discord,
    /// Matrix, end-to-end encrypted.
    Matrix,
    /// A mailbox: IMAP in, SMTP out.
    Email,
    /// The page that Hob serves.
    Web,
    /// What calls in from outside (`POST /hooks/…`); nobody can be spoken to there.
    Event,
}

crate::sql_names!(ChannelKind);

impl ChannelKind {
    /// The name used in the database, logs and session keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Telegram => "telegram",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Matrix => "matrix",
            Self::Email => "email",
            Self::Web => "web",
            Self::Event => "event",
        }
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A channel's name is not one of the known ones.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a channel")]
pub struct UnknownChannel(String);

impl FromStr for ChannelKind {
    type Err = UnknownChannel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "terminal" => Ok(Self::Terminal),
            "telegram" => Ok(Self::Telegram),
            "slack" => Ok(Self::Slack),
            "discord" => Ok(Self::Discord),
            "matrix" => Ok(Self::Matrix),
            "email" => Ok(Self::Email),
            "web" => Ok(Self::Web),
            "event" => Ok(Self::Event),
            other => Err(UnknownChannel(other.to_owned())),
        }
    }
}

/// A place on a platform where people talk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conversation {
    pub channel: ChannelKind,
    /// Which of Hob's accounts there; `default` where there is one.
    pub account: String,
    /// The platform's id of the chat. On Discord and Matrix, where an id does not tell, a private one begins with `dm:`; of e-mail it
    /// is the thread's root: the Message-ID of its first letter, without `<>`.
    pub chat: String,
    /// The platform's id of the thread in it, if any: a forum topic, Slack's `thread_ts`, Discord's id of a thread,
    /// Matrix's event that it began with.
    pub thread: Option<String>,
}

impl Conversation {
    /// The session that holds this conversation (row A12).
    pub fn session_key(&self) -> SessionKey {
        let thread = self.thread.as_deref().map(|thread| format!(":{thread}")).unwrap_or_default();
        let account = if self.account == DEFAULT_ACCOUNT { String::new() } else { format!("@{}", self.account) };
        SessionKey(match self.channel {
            ChannelKind::Terminal => format!("terminal{account}:{}", self.chat),
            ChannelKind::Telegram if account.is_empty() => format!("{}{thread}", self.chat),
            ChannelKind::Telegram => format!("telegram{account}:{}{thread}", self.chat),
            ChannelKind::Slack => format!("slack{account}:{}{thread}", self.chat),
            // A thread there is a channel of its own.
            ChannelKind::Discord => {
                let chat = self.chat.strip_prefix(DISCORD_PRIVATE).unwrap_or(&self.chat);
                format!("discord{account}:{}", self.thread.as_deref().unwrap_or(chat))
            }
            ChannelKind::Matrix => {
                let chat = self.chat.strip_prefix(MATRIX_PRIVATE).unwrap_or(&self.chat);
                format!("matrix{account}:{chat}{thread}")
            }
            ChannelKind::Email => format!("email{account}:{}", self.chat),
            ChannelKind::Web => format!("web{account}:{}", self.chat),
            ChannelKind::Event => format!("event_{}", self.chat),
        })
    }
}

impl Conversation {
    /// Whether one person alone talks with Hob here. On Telegram a group's id is negative, and a private chat's is its
    /// person's; Slack's private ones begin with `D`. A letter can be handed on to anybody.
    pub fn is_private(&self) -> bool {
        match self.channel {
            ChannelKind::Terminal | ChannelKind::Web => true,
            ChannelKind::Telegram => !self.chat.starts_with('-'),
            ChannelKind::Slack => self.chat.starts_with('D'),
            ChannelKind::Discord => self.chat.starts_with(DISCORD_PRIVATE),
            ChannelKind::Matrix => self.chat.starts_with(MATRIX_PRIVATE),
            ChannelKind::Email | ChannelKind::Event => false,
        }
    }

    /// Is what is said here read aloud, to whoever stands before a voice assistant?
    pub fn is_aloud(&self) -> bool {
        self.channel == ChannelKind::Web && self.chat.starts_with(ALOUD)
    }
}

/// What the id of a conversation of the page's begins with whose answers are read aloud, in [`Conversation::chat`].
pub const ALOUD: &str = "aloud-";

/// Who speaks through a voice assistant: whoever stands before it.
pub const VOICE: &str = "voice";

/// What the id of a private chat on Discord begins with, in [`Conversation::chat`].
pub const DISCORD_PRIVATE: &str = "dm:";

/// The same on Matrix: a room of two.
pub const MATRIX_PRIVATE: &str = "dm:";

/// The account's name where a platform has only one.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Who wrote, as the platform names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's id of the person; never a display name.
    pub external_id: String,
    /// How the person is called there.
    pub name: String,
}

/// What happened on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InboundEvent {
    /// A new message.
    Posted { text: String },
    /// The message with this external id now reads otherwise.
    Edited {
        /// Its new text.
        text: String,
    },
    /// The message with this external id is gone.
    Deleted,
    /// A button under one of Hob's questions was pressed; its external id is the press's own.
    Pressed {
        /// The token that [`crate::domain::outgoing::Choice`] carried.
        token: String,
    },
}

/// One update of a platform, in Hob's words. (conversation's channel, account and chat, external id) is unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    pub conversation: Conversation,
    /// The platform's id of the message (or press) within the chat.
    pub external_id: String,
    pub sender: Sender,
    pub happening: InboundEvent,
    /// When, by the platform's clock where it tells.
    pub sent_at: Timestamp,
    /// The files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// How it was said.
    #[serde(rename = "circumstances", default, skip_serializing_if = "MessageMetadata::is_ordinary")]
    pub metadata: MessageMetadata,
}

/// What else a platform tells of a message. The default is a message of one's own, said to Hob by somebody who is
/// certainly who they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageMetadata {
    /// Whether it is said to Hob.
    pub audience: Audience,
    /// How sure it is who said it.
    pub proof: SenderProof,
    /// Whose words these are, where the sender only hands them on: what is forwarded is nobody's own word.
    pub forwarded_from: Option<String>,
    /// The sender wants done what those words say.
    pub wanted: bool,
    /// A program says it for the sender: it commands nothing, and answers no question.
    pub by_program: bool,
    /// It was spoken: its attachment is a recording that the platform made of somebody's voice. Whose it is,
    /// `forwarded_from` tells.
    pub spoken: Option<VoiceRecording>,
    /// What it answers, as far as the platform shows that.
    pub quoted: Option<QuotedMessage>,
    /// The server (Discord's) or workspace (Slack's) that the conversation is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the channel needs to answer this message, in its own words; it comes back as
    /// [`Outgoing::envelope`](crate::domain::outgoing::Outgoing::envelope).
    pub envelope: Option<String>,
    /// With this message, everything that a channel has to catch up with was handed in, up to here. Stored with it.
    pub cursor: Option<Cursor>,
}

impl MessageMetadata {
    /// Is there nothing to tell?
    pub fn is_ordinary(&self) -> bool {
        *self == Self::default()
    }
}

/// To whom something is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// To Hob: in private, by its name, as an answer to it, as a command, with a button.
    #[default]
    Hob,
    /// To a group that Hob is in. Whether it answers, the group's mode decides.
    Group,
}

/// How sure it is that a sender is who they seem to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderProof {
    /// The platform vouches for them.
    #[default]
    Platform,
    /// Nobody does: their name gives them no rights. A letter whose sender is not authenticated.
    Nobody {
        /// Why, for people: `"DMARC failed"`.
        why: String,
    },
}

/// A recording of a voice, as the platform tells of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceRecording {
    /// How long it is.
    pub seconds: Option<u32>,
}

/// A message that another one answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotedMessage {
    /// Who said it.
    pub author: String,
    /// What, cut to what is worth repeating.
    pub text: String,
    /// Whether Hob itself said it: then the conversation has it already.
    pub own: bool,
}

/// How far a channel has come with what it must catch up with after an outage. It only grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Of which list: a chat's id, a mailbox with its UIDVALIDITY.
    pub list: String,
    /// Up to where, by the platform's own order: a message's id, a timestamp in microseconds, a UID.
    pub position: i64,
}

/// A file that came with a message, as the platform tells of it. Nothing of that is checked, and nothing is fetched yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What the channel fetches it by: [`crate::domain::channel::Channel::fetch`].
    pub handle: String,
    /// Its name, or what it is where it has none.
    pub name: String,
    /// Its size, where the platform tells.
    pub bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_sessions_have_published_names() {
        let table = [
            (ChannelKind::Telegram, DEFAULT_ACCOUNT, None, "7"),
            (ChannelKind::Telegram, DEFAULT_ACCOUNT, Some("3"), "7:3"),
            (ChannelKind::Telegram, "work", None, "telegram@work:7"),
            (ChannelKind::Telegram, "work", Some("3"), "telegram@work:7:3"),
            (ChannelKind::Terminal, DEFAULT_ACCOUNT, None, "terminal:7"),
            (ChannelKind::Terminal, "work", None, "terminal@work:7"),
            (ChannelKind::Web, DEFAULT_ACCOUNT, None, "web:7"),
            (ChannelKind::Event, DEFAULT_ACCOUNT, None, "event_7"),
            (ChannelKind::Slack, DEFAULT_ACCOUNT, None, "slack:7"),
            (ChannelKind::Slack, DEFAULT_ACCOUNT, Some("17.01"), "slack:7:17.01"),
            (ChannelKind::Slack, "work", Some("17.01"), "slack@work:7:17.01"),
            (ChannelKind::Discord, DEFAULT_ACCOUNT, None, "discord:7"),
            (ChannelKind::Discord, DEFAULT_ACCOUNT, Some("8"), "discord:8"),
            (ChannelKind::Matrix, DEFAULT_ACCOUNT, None, "matrix:7"),
            (ChannelKind::Matrix, "work", Some("$8"), "matrix@work:7:$8"),
            (ChannelKind::Email, DEFAULT_ACCOUNT, None, "email:7"),
        ];
        for (channel, account, thread, expected) in table {
            let thread = thread.map(str::to_owned);
            let place = Conversation { channel, account: account.to_owned(), chat: "7".to_owned(), thread };
            assert_eq!(place.session_key().0, expected);
        }
    }

    #[test]
    fn c4_a_place_tells_whether_it_is_private() {
        let table = [
            (ChannelKind::Telegram, "7", true),
            (ChannelKind::Telegram, "-1007", false),
            (ChannelKind::Slack, "D07", true),
            (ChannelKind::Slack, "C07", false),
            (ChannelKind::Slack, "G07", false),
            (ChannelKind::Discord, "dm:7", true),
            (ChannelKind::Discord, "7", false),
            (ChannelKind::Matrix, "dm:!7:x", true),
            (ChannelKind::Matrix, "!7:x", false),
            (ChannelKind::Email, "a@b.example", false),
            (ChannelKind::Event, "7", false),
        ];
        for (channel, chat, private) in table {
            let place = Conversation { channel, account: DEFAULT_ACCOUNT.into(), chat: chat.into(), thread: None };
            assert_eq!(place.is_private(), private, "{channel} {chat}");
        }
        let dm = Conversation {
            channel: ChannelKind::Discord,
            account: DEFAULT_ACCOUNT.into(),
            chat: "dm:7".into(),
            thread: None,
        };
        assert_eq!(dm.session_key().0, "discord:7");
    }
}
