//! What can go wrong while vectors are made, by what one does about it.

use std::time::Duration;

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Later it may work: recall goes on by text alone, and the backlog waits.
    #[error("{what}")]
    Transient {
        /// What happened.
        what: String,
        /// How long to wait, where the server said so.
        retry_after: Option<Duration>,
    },
    /// Somebody must act: a file is missing or is not what it should be, a key is wrong.
    #[error("{0}")]
    Setup(String),
    /// These texts cannot be embedded, others can.
    #[error("{0}")]
    Refused(String),
    /// What came back is not what was asked for; nothing of it may be stored.
    #[error("{0}")]
    Malformed(String),
}

impl EmbedError {
    /// Whether the same call may work later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }
}
