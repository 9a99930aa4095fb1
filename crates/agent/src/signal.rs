//! Words to a run from outside its lane, as they are stored.

use serde::{Deserialize, Serialize};

use crate::machine::accepted_input::SteeringMessage;
use crate::machine::agents::ChildEnd;
use crate::machine::event::Event;
use crate::machine::question::Answer;
use crate::machine::stop::CancelReason;
use hob_core::domain::ids::UserId;

/// A durable word to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// It must end.
    Cancel { reason: CancelReason },
    /// Somebody wants the older part of its context summed up.
    Compact { by: UserId },
    /// A person answers its question.
    Answer(Answer),
    /// Nobody answered it in time.
    Expire { question: u32 },
    /// An agent of its is done.
    ChildEnded { end: Box<ChildEnd> },
    /// The run that an agent works for says something to it.
    Told { words: Box<SteeringMessage> },
    /// It is to stand still.
    Pause {
        /// Who wants it.
        by: UserId,
    },
    /// It may go on.
    Resume {
        /// Who wants it.
        by: UserId,
    },
    /// A tool that was allowed for good is not any more.
    Revoke { tool: String },
}

impl From<Signal> for Event {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Cancel { reason } => Self::CancelRequested(reason),
            Signal::Compact { by } => Self::CompactRequested { by },
            Signal::Answer(answer) => Self::HumanAnswered(answer),
            Signal::Expire { question } => Self::Expired { question },
            Signal::ChildEnded { end } => Self::ChildEnded(end),
            Signal::Told { words } => Self::Steered(*words),
            Signal::Pause { by } => Self::PauseRequested { by },
            Signal::Resume { by } => Self::PauseLifted { by },
            Signal::Revoke { tool } => Self::GrantRevoked { tool },
        }
    }
}
