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
    #[error(
        "the server does not let the account in ({0}): its user name or password is wrong, or it needs an app password"
    )]
    Unauthorized(u16),
    /// It is not there.
    #[error("it is not there (any more)")]
    Gone,
    /// Somebody else has changed it, or made it, in between.
    #[error("somebody else has changed it in the meantime")]
    Changed,
    /// Another entry has its name where it is to go.
    #[error("that calendar already has an entry of the same name")]
    Taken,
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
    /// It was asked to change something, and what became of that is not known.
    #[error("it is not known whether it was done, because the answer was cut off ({0}); check before doing it again")]
    Unknown(String),
    /// It has no calendars or address books.
    #[error("no {0} was found on the server")]
    Nothing(&'static str),
}

impl DavError {
    /// In words for the model.
    pub fn outcome(&self, account: &str) -> Outcome {
        let text = format!("{account}: {self}.");
        match self {
            Self::Net(error) => error.outcome(),
            Self::Busy(_) | Self::Unknown(_) => Outcome::Transient(text),
            Self::Unauthorized(_)
            | Self::Gone
            | Self::Changed
            | Self::Taken
            | Self::Refused(_)
            | Self::Unreadable(_)
            | Self::Elsewhere(_)
            | Self::Nothing(_) => Outcome::Error(text),
        }
    }

    /// The same of a change: whatever failed once there was a connection may have been done.
    pub(crate) fn of_change(self) -> Self {
        match self {
            Self::Net(error) if error.may_have_arrived() => Self::Unknown(error.to_string()),
            Self::Busy(status @ 500..=599) => Self::Unknown(status.to_string()),
            Self::Unreadable(why) => Self::Unknown(why),
            Self::Net(_)
            | Self::Unauthorized(_)
            | Self::Gone
            | Self::Changed
            | Self::Taken
            | Self::Busy(_)
            | Self::Refused(_)
            | Self::Elsewhere(_)
            | Self::Unknown(_)
            | Self::Nothing(_) => self,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_a_change_whose_answer_breaks_off_may_have_been_made() {
        let (host, why) = (String::new(), String::new());
        let broken = DavError::Net(NetError::Broken { host: host.clone(), why: why.clone() });
        let unasked = DavError::Net(NetError::Unreachable { host, why });
        assert!(
            matches!(broken.clone().of_change().outcome("ada"), Outcome::Transient(text) if text.contains("is not known"))
        );
        assert_eq!(unasked.clone().of_change(), unasked);
        assert!(matches!(broken.outcome("ada"), Outcome::Error(_)), "a look is made again by whoever wants it");
        assert!(matches!(DavError::Busy(502).of_change(), DavError::Unknown(_)));
        assert_eq!(DavError::Busy(429).of_change(), DavError::Busy(429));
    }
}
