//! What the outbox hands to a channel, and what the channel answers.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::ids::{FileId, OutboxId, RunId};
use crate::domain::inbound::Conversation;

/// Stands before a message that the reader may have already.
pub const REPEAT_MARK: &str = "↻ (sent again after an interruption; you may have it already)";

/// Exactly where a message goes; stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    pub conversation: Conversation,
    /// The platform's id of the message that is answered, where the platform can show that.
    pub reply_to: Option<String>,
}

/// A button under a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What the button says.
    pub label: String,
    /// What comes back as [`crate::domain::inbound::InboundEvent::Pressed`]; at most 64 bytes (Telegram's limit).
    pub token: String,
}

/// One chunk to deliver: already within its platform's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub id: OutboxId,
    pub destination: Destination,
    /// The run it belongs to, if any.
    pub run: Option<RunId>,
    /// What to say, without markup.
    pub text: String,
    /// The same in the platform's markup; what the platform refuses goes out as `text`. None: it has none.
    pub markup: Option<String>,
    /// The message that this one is to replace, where the platform can do that.
    pub replaces: Option<MessageReplacement>,
    /// What the channel said it needs to answer, with the message that this answers, or with the last one that came.
    pub envelope: Option<String>,
    /// Buttons under it. The text has them too, by number, for whoever cannot press.
    pub choices: Vec<Choice>,
    /// The file that goes out; the text stands under it.
    pub file: Option<OutgoingFile>,
    /// An earlier attempt may have reached the platform: the channel verifies where it can, else marks this one.
    pub may_repeat: bool,
}

/// An earlier message that takes another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageReplacement {
    /// The platform's id of it.
    pub external_id: String,
    /// Whether the words go out as a message of their own if it is gone or cannot be changed; if not, they are done without.
    pub or_send: bool,
}

/// A message that still grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftMessage {
    pub destination: Destination,
    /// The platform's id of it, once it is posted.
    pub external_id: Option<String>,
    /// What it says so far, without markup.
    pub text: String,
    /// The same in the platform's markup.
    pub markup: Option<String>,
}

/// A file on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingFile {
    /// Its record.
    pub id: FileId,
    pub name: String,
    /// What it is, by its content.
    pub mime: String,
    pub bytes: u64,
    /// The SHA-256 of its content, by which it is kept.
    pub hash: String,
    /// Where it lies; empty until the delivery has looked.
    pub path: PathBuf,
}

/// What a tool wants delivered. It is stored with the run for years.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRequest {
    /// Where to; none: the conversation that the run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Conversation>,
    /// How that is called, in words for the model.
    pub name: String,
    /// The words; with a file, those under it.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
}

/// The platform took the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The platform's id of it, where it gives one.
    pub external_id: Option<String>,
}

/// Why a delivery did not succeed; the variants are what the outbox does next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The platform did not take it and said so: try again, not before `after` where it named a time.
    #[error("not taken for now: {why}")]
    Retry {
        /// The platform's `retry_after`.
        after: Option<Duration>,
        /// What it said.
        why: String,
    },
    /// The platform will never take it (400, 403).
    #[error("refused: {why}")]
    Refused {
        /// What it said.
        why: String,
    },
    /// It was on its way when the connection was lost: nobody knows.
    #[error("outcome unknown: {why}")]
    Unknown {
        /// What happened.
        why: String,
    },
}
