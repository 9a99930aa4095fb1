//! Why Home Assistant did not do what was asked.

use hob_tools::Outcome;
use hob_tools::net::error::NetError;

/// It was not done, or nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// The network is in the way.
    #[error("{0}")]
    Net(#[from] NetError),
    /// The token is not known, or was taken back.
    #[error("Home Assistant does not know the token (over http it is sent within a private network only)")]
    Unauthorized,
    /// The token's user may not do it.
    #[error("the token's user may not do this in Home Assistant")]
    Forbidden,
    /// It is not there.
    #[error("Home Assistant has no such entity")]
    Gone,
    /// It does not do it.
    #[error("Home Assistant refuses it ({0}): the service or its data do not fit this entity")]
    Refused(u16),
    /// It may do it later.
    #[error("Home Assistant cannot do it now ({0})")]
    Busy(u16),
    /// It sends on, and nobody follows with a token.
    #[error("the server redirects to another address ({0}): put the right one into `url`")]
    Elsewhere(u16),
    /// What it said is not what Home Assistant says.
    #[error("the answer cannot be read: {0}")]
    Unreadable(&'static str),
    /// The socket broke, or says nothing.
    #[error("the connection to Home Assistant is lost: {0}")]
    Lost(&'static str),
}

impl HomeError {
    /// In words for the model. None of them are Home Assistant's.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Net(error) if error.is_passing() => Outcome::Transient(format!("Home Assistant: {error}")),
            Self::Busy(_) | Self::Lost(_) => Outcome::Transient(format!("{self}.")),
            Self::Net(_) => Outcome::Error(format!("Home Assistant: {self}")),
            Self::Unauthorized
            | Self::Forbidden
            | Self::Gone
            | Self::Refused(_)
            | Self::Elsewhere(_)
            | Self::Unreadable(_) => Outcome::Error(format!("{self}.")),
        }
    }

    /// Can only an operator mend that?
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Unauthorized | Self::Forbidden | Self::Elsewhere(_))
    }

    /// What a status means; none: it was done.
    pub(crate) fn of_status(status: u16) -> Option<Self> {
        match status {
            200..=299 => None,
            300..=399 => Some(Self::Elsewhere(status)),
            401 => Some(Self::Unauthorized),
            403 => Some(Self::Forbidden),
            404 => Some(Self::Gone),
            // What failed on its way may have been done in part.
            429 | 500..=599 => Some(Self::Busy(status)),
            _ => Some(Self::Refused(status)),
        }
    }
}
