//! How a run stands, in the words of the `runs` table.

use crate::machine::event::RunEnd;

/// A run's state as the `runs` table shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waits for the lane.
    Queued,
    /// Has the lane.
    Running,
    /// Has the lane and waits for a person.
    Waiting,
    /// Over, answered.
    Completed,
    /// Over, by somebody's wish.
    Cancelled,
    /// Over, not done.
    Failed,
    /// Over before its turn.
    Withdrawn,
    /// Over: another run took its message.
    Joined,
}

impl Status {
    /// The stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
            Self::Joined => "joined",
        }
    }

    /// The state that an end leaves.
    pub fn of(end: &RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Completed,
            RunEnd::Cancelled | RunEnd::GivenUp => Self::Cancelled,
            RunEnd::Failed { .. } => Self::Failed,
            RunEnd::Withdrawn => Self::Withdrawn,
            RunEnd::Joined => Self::Joined,
        }
    }

    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Completed | Self::Cancelled | Self::Failed | Self::Withdrawn | Self::Joined => true,
        }
    }
}
