//! The port between the outbox and the platforms.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::domain::capabilities::Capabilities;
use crate::domain::health::ChannelHealth;
use crate::domain::ids::RunId;
use crate::domain::inbound::{Attachment, ChannelKind, Conversation, Cursor, Inbound};
use crate::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use crate::domain::secret::Secret;

/// What became of an update that a channel handed in. In each case the platform may now be told that Hob has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOutcome {
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
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError>;

    /// How far an account has come, by list: from there on it catches up.
    async fn cursors(&self, channel: ChannelKind, account: &str) -> Result<BTreeMap<String, i64>, IntakeError>;

    /// Is somebody let in there, so that Hob goes where they ask it to come?
    async fn admits(&self, place: &Conversation, sender: &str) -> Result<bool, IntakeError> {
        let _unused = (place, sender);
        Ok(false)
    }

    /// Moves a cursor on past what is not a message for Hob.
    async fn advance(&self, channel: ChannelKind, account: &str, cursor: Cursor) -> Result<(), IntakeError>;

    /// The platform has given a chat another id: what was said there goes on under it. May be told more than once.
    async fn chat_moved(&self, place: Conversation, chat: &str) -> Result<(), IntakeError> {
        let _unused = (place, chat);
        Ok(())
    }
}

/// The port for a platform that calls instead of being asked.
#[async_trait]
pub trait UpdateSink: Send + Sync {
    /// Which of Hob's accounts is called.
    fn account(&self) -> &str;

    /// What the platform says with each call, to show that it is itself; none: nobody may call.
    fn secret(&self) -> Option<&Secret>;

    /// Takes in what was posted. `Ok`: the platform need not post it again.
    async fn update(&self, body: &[u8]) -> Result<(), IntakeError>;
}

/// Why a file could not be fetched, in words for its sender, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// Why an account cannot be used, in words for whoever runs Hob: what the platform says, and what to do. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccountError(pub String);

/// A sign of life from a run; best effort, never queued, never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The run works; a channel may show that somebody types.
    Working,
    /// What it does right now, in words for whoever watches: "reading list.md".
    Doing(String),
    /// How far a call at work is, the same with its server's words behind it: "using copy files: pages (3 of 10)".
    Step(String),
    /// More of the reply's text, as the model writes it.
    Delta(String),
    /// What was streamed so far is void: the model's reply is being made again.
    Restart,
    /// The run stands still until somebody here says something.
    Waiting,
    /// Nobody is at work on it any more.
    Idle(IdleReason),
}

/// How it came that nobody is at work on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleReason {
    /// It is answered.
    Done,
    /// It failed, and says so.
    Failed,
    /// Somebody ended it, or it said nothing on purpose.
    Quietly,
    /// It stands still, and goes on later.
    Suspended,
}

/// What becomes of a message, as a sign under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageReaction {
    /// It is taken in, and waits its turn.
    Seen,
    /// It is being worked on.
    Working,
    /// Hob waits for its sender.
    Waiting,
    /// It is answered.
    Done,
    Failed,
    /// Nothing is to be said of it: the sign goes.
    Gone,
}

/// Something small that a platform shows beside messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresenceSignal {
    /// Hob types, for the few seconds that the platform shows it.
    Typing,
    /// This becomes of the message that `reply_to` names. It takes the place of the one before.
    Mood(MessageReaction),
}

/// A platform's delivery side, as the outbox and the signs see it: no conversation logic, only the platform's calls.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Which platform and which of Hob's accounts there.
    fn address(&self) -> (ChannelKind, &str);

    /// What it can show and take.
    fn capabilities(&self) -> &'static Capabilities {
        Capabilities::of(self.address().0)
    }

    /// Sends one chunk, or changes the message that it is to replace. Called for one chunk of a conversation at a time, in
    /// order.
    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError>;

    /// Posts a message that still grows, or changes it. Best effort; nothing rests on it. Only where
    /// [`Feature::Edits`](crate::domain::capabilities::Feature::Edits) is.
    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        let _unused = draft;
        Err(DeliveryError::Refused { why: "nothing can be changed here".to_owned() })
    }

    /// Takes back a message that was posted as a draft and came to nothing. One that is gone is not an error.
    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        let _unused = (place, external_id);
        Ok(())
    }

    /// Shows a sign; best effort. The caller keeps to one at a time for a conversation.
    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        let _unused = (place, sign);
        Ok(())
    }

    /// Fetches a file that came with a message, of at most `bytes_max` bytes.
    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let _unused = (attachment, bytes_max);
        Err(FetchError("files cannot be fetched from here".to_owned()))
    }

    /// Progress as it is, for who shows each word at once. Must return at once.
    fn progress(&self, destination: &Destination, run: RunId, progress: &Progress) {
        let _unused = (destination, run, progress);
    }

    /// How it fares.
    fn health(&self) -> ChannelHealth;
}

/// A platform's whole adapter: it also receives.
#[async_trait]
pub trait Adapter: Channel {
    /// Hands in what the platform has, until `stop`; reconnects by itself. What the intake has not confirmed is not
    /// acknowledged. Once it ends, nothing of it is at work any more; deliveries go on working.
    async fn run(self: Arc<Self>, intake: Arc<dyn Intake>, stop: CancellationToken);

    /// Asks the platform whether the account can be used, and gives who Hob is there. It neither receives nor sends, so that it
    /// can be asked beside a Hob at work.
    async fn check(&self) -> Result<String, AccountError>;

    /// Where the platform's own calls go; none: it is asked, or keeps a connection.
    fn sink(self: Arc<Self>) -> Option<Arc<dyn UpdateSink>> {
        None
    }
}
