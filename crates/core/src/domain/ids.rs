//! Identifiers as types of their own, so that one can never be passed for another.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares a row id: an integer that only the database makes.
macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        crate::sql_transparent!($name, i64);

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self(id)
            }
        }
    };
}

row_id!(
    /// A conversation: one lane, one history.
    SessionId
);
row_id!(
    /// A person known to Hob.
    UserId
);
row_id!(
    /// An accepted message.
    InboundId
);
row_id!(
    /// One pass of the agent loop over one message.
    RunId
);
impl RunId {
    /// What is done beside any run: no row has this number.
    pub const NONE: Self = Self(0);

    /// The run, where there is one.
    #[must_use]
    pub fn recorded(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

row_id!(
    /// A message of a conversation's history.
    MessageId
);
row_id!(
    /// A chunk on its way out.
    OutboxId
);
row_id!(
    /// A durable word to a run: cancel, or an answer.
    SignalId
);
row_id!(
    /// What a person has allowed for good.
    GrantId
);
row_id!(
    /// A remembered fact.
    FactId
);
row_id!(
    /// One thing that a person said and Hob remembers.
    MemoryId
);
row_id!(
    /// A stretch of talk without a long pause.
    EpisodeId
);
row_id!(
    /// Somebody of whom something is known.
    PersonId
);
row_id!(
    /// A file that came with a message, or goes with one.
    FileId
);
row_id!(
    /// Somebody who was paired.
    MemberId
);
row_id!(
    /// Something that is to be done later.
    ScheduleId
);

/// A session's published name (row A12): the Telegram chat id, `slack:{channel}`, `terminal` …
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct SessionKey(pub String);

crate::sql_transparent!(SessionKey, String);

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A tool call's id within its run, `{cycle}.{index}`: unique there whatever the provider sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl CallId {
    /// The `index`th call of the `cycle`th reply.
    pub fn new(cycle: u32, index: usize) -> Self {
        Self(format!("{cycle}.{index}"))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
