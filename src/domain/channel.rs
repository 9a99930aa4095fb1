//! The port between the outbox and the platforms.

use async_trait::async_trait;

use crate::domain::ids::RunId;
use crate::domain::inbound::{Attachment, ChannelKind, Inbound};
use crate::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};

/// What became of an update that a channel handed in. In each case the platform may now be told that Hob has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Stored, with all that follows from it; it will be answered.
    Committed,
    /// Stored before: the platform delivered it again.
    Duplicate,
    /// Not for Hob, or from somebody who is not let in; nothing was stored.
    Ignored,
}

/// The update could not be stored: do not acknowledge it; hand it in again.
#[derive(Debug, thiserror::Error)]
#[error("the message could not be stored: {0}")]
pub struct IntakeError(pub String);

/// The port through which channels hand in what they receive.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Commits the update. Only after `Ok` may the channel acknowledge it to the platform.
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, IntakeError>;
}

/// Why a file could not be fetched, in words for its sender, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// A sign of life from a run; best effort, never queued, never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The run works; a channel may show that somebody types.
    Working,
    /// More of the reply's text, as the model writes it.
    Delta(String),
    /// What was streamed so far is void: the model's reply is being made again.
    Restart,
    /// The run waits or is over.
    Idle,
}

/// A platform's delivery side. Its transport and its mapping to `Inbound` are the adapter's own business.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Which platform and which of Hob's accounts there.
    fn address(&self) -> (ChannelKind, &str);

    /// Sends one chunk. Called for one chunk of a conversation at a time, in order.
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError>;

    /// Fetches a file that came with a message, of at most `bytes_max` bytes.
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let _unused = (attachment, bytes_max);
        Err(FetchError("files cannot be fetched from here".to_owned()))
    }

    /// Shows progress. Must return at once; spawn through the adapter's own tracker if there is something to send.
    fn progress(&self, destination: &Destination, run: RunId, progress: Progress);

    /// One line for `/status`: connected, last receive, what is wrong.
    fn health(&self) -> String;
}
