//! What a channel hands to the router.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionKey;

/// The kinds of channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum ChannelKind {
    /// The terminal of `hob chat`.
    Terminal,
    /// Telegram's Bot API.
    Telegram,
    /// What calls in from outside (`POST /hooks/…`); nobody can be spoken to there.
    Event,
}

impl ChannelKind {
    /// The name used in the database, logs and session keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Telegram => "telegram",
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
            "event" => Ok(Self::Event),
            other => Err(UnknownChannel(other.to_owned())),
        }
    }
}

/// A place on a platform where people talk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conversation {
    /// The platform.
    pub channel: ChannelKind,
    /// Which of Hob's accounts there; `default` where there is one.
    pub account: String,
    /// The platform's id of the chat.
    pub chat: String,
    /// The platform's id of the thread in it, if any.
    pub thread: Option<String>,
}

impl Conversation {
    /// The session that holds this conversation (row A12).
    #[must_use]
    pub fn session_key(&self) -> SessionKey {
        let thread = self.thread.as_deref().map(|thread| format!(":{thread}")).unwrap_or_default();
        let account = if self.account == DEFAULT_ACCOUNT { String::new() } else { format!("@{}", self.account) };
        SessionKey(match self.channel {
            ChannelKind::Terminal => format!("terminal{account}:{}", self.chat),
            ChannelKind::Telegram if account.is_empty() => format!("{}{thread}", self.chat),
            ChannelKind::Telegram => format!("telegram{account}:{}{thread}", self.chat),
            ChannelKind::Event => format!("event_{}", self.chat),
        })
    }
}

impl Conversation {
    /// Whether one person alone talks with Hob here. On Telegram a group's id is negative, and a private chat's is its person's.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match self.channel {
            ChannelKind::Terminal => true,
            ChannelKind::Telegram => !self.chat.starts_with('-'),
            ChannelKind::Event => false,
        }
    }
}

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
pub enum Happening {
    /// A new message.
    Posted {
        /// Its text.
        text: String,
    },
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
    /// Where.
    pub conversation: Conversation,
    /// The platform's id of the message (or press) within the chat.
    pub external_id: String,
    /// Who.
    pub sender: Sender,
    /// What.
    pub happening: Happening,
    /// When, by the platform's clock where it tells.
    pub sent_at: Timestamp,
    /// The files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
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
            (ChannelKind::Event, DEFAULT_ACCOUNT, None, "event_7"),
        ];
        for (channel, account, thread, expected) in table {
            let thread = thread.map(str::to_owned);
            let place = Conversation { channel, account: account.to_owned(), chat: "7".to_owned(), thread };
            assert_eq!(place.session_key().0, expected);
        }
    }
}
