//! What the terminal is given, and who is at it.

use std::sync::Arc;

use async_trait::async_trait;

use crate::attach;
use hob_core::domain::channel::{Intake, IntakeError, UpdateOutcome};
use hob_core::domain::clock::Clock;
use hob_core::domain::inbound::{
    ChannelKind, Conversation, DEFAULT_ACCOUNT, Inbound, InboundEvent, MessageMetadata, Sender,
};
use hob_core::domain::rng::Rng;

/// The terminal's usual chat, and the external id of the person at it.
pub const LOCAL: &str = "local";

/// A conversation that is held at a terminal.
pub fn place(chat: &str) -> Conversation {
    Conversation {
        channel: ChannelKind::Terminal,
        account: DEFAULT_ACCOUNT.to_owned(),
        chat: chat.to_owned(),
        thread: None,
    }
}

/// The one that is held where nothing else is said.
pub fn local() -> Conversation {
    place(LOCAL)
}

/// Knows when nothing more is to come for what was handed in.
#[async_trait]
pub trait SessionIdle: Send + Sync {
    /// Resolves when the terminal's session has no run that is queued or at work, and nothing that is undelivered.
    async fn quiet(&self);
}

/// What the terminal is given to work with.
#[derive(Clone)]
pub struct Ports {
    /// Takes what was typed.
    pub intake: Arc<dyn Intake>,
    /// Makes the ids of messages.
    pub rng: Arc<dyn Rng>,
    /// Tells when they were sent.
    pub clock: Arc<dyn Clock>,
    /// How the person at the terminal is called.
    pub name: String,
    pub place: Conversation,
}

impl Ports {
    /// Hands a line in as a message of the person at the terminal.
    pub(crate) async fn say(&self, line: String) -> Result<UpdateOutcome, IntakeError> {
        let (text, attachments) = match attach::parse(&line) {
            Some((attachment, text)) => (text, vec![attachment]),
            None => (line, Vec::new()),
        };
        let inbound = Inbound {
            conversation: self.place.clone(),
            external_id: self.rng.id(),
            sender: Sender { external_id: LOCAL.to_owned(), name: self.name.clone() },
            happening: InboundEvent::Posted { text },
            sent_at: self.clock.now(),
            attachments,
            metadata: MessageMetadata::default(),
        };
        self.intake.accept(inbound).await
    }
}

/// Why the conversation at the terminal ended early.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The terminal cannot be read or written.
    #[error("the terminal does not work: {0}")]
    Terminal(#[from] rustyline::error::ReadlineError),
    /// Standard input cannot be read.
    #[error("standard input cannot be read: {0}")]
    Input(#[source] std::io::Error),
    /// A thread could not be started.
    #[error("the terminal's thread could not be started: {0}")]
    Thread(#[source] std::io::Error),
    /// Ctrl-C cannot be listened for.
    #[error("the terminal's signals cannot be received: {0}")]
    Signals(#[source] std::io::Error),
    /// A line of standard input could not be stored; those after it were not read.
    #[error("line {line} could not be handed in: {source}")]
    NotStored {
        /// Its number, from 1.
        line: u64,
        /// What went wrong.
        source: IntakeError,
    },
}
