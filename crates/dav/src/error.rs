//! Why a calendar's server did not do what was asked.

use hob_tools::Outcome;
use hob_tools::net::error::NetError;

/// It was not done, or nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DavError {
    /// The network is in the way.
    #[error("{0}")]
    Net(#[from] NetError),
    /// Name or password are wrong.
    #[error("the server does not let the account in ({0}): its user or password is wrong, or it wants an app password")]
    Unauthorized(u16),
    /// It is not there.
    #[error("it is not there (any more)")]
    Gone,
    /// Somebody else has changed it, or made it, in between.
    #[error("somebody else has changed it in between")]
    Changed,
    /// The server may do it later.
    #[error("the server cannot do it now ({0})")]
    Busy(u16),
    /// The server does not do it.
    #[error("the server refuses it ({0})")]
    Refused(u16),
    /// What it said is not what such servers say.
    #[error("the server's answer cannot be read: {0}")]
    Unreadable(String),
    /// It sends on to a host that the password was not given for.
    #[error(
        "the server redirects to {0}, and the password is not meant for that host: if it is right, set it as `url`"
    )]
    Elsewhere(String),
    /// It has no calendars or address books.
    #[error("no {0} was found on the server")]
    Nothing(&'static str),
}

impl DavError {
    /// In words for the model.
    #[must_use]
    pub fn outcome(&self, account: &str) -> Outcome {
        let text = format!("{account}: {self}.");
        match self {
            Self::Net(error) => error.outcome(),
            Self::Busy(_) => Outcome::Transient(text),
            Self::Unauthorized(_)
            | Self::Gone
            | Self::Changed
            | Self::Refused(_)
            | Self::Unreadable(_)
            | Self::Elsewhere(_)
            | Self::Nothing(_) => Outcome::Error(text),
        }
    }

    /// What a status means; none: it was done.
    pub(crate) fn of_status(status: u16) -> Option<Self> {
        match status {
            200..=299 => None,
            401 => Some(Self::Unauthorized(status)),
            404 | 410 => Some(Self::Gone),
            412 => Some(Self::Changed),
            429 | 500..=599 => Some(Self::Busy(status)),
            _ => Some(Self::Refused(status)),
        }
    }
}
