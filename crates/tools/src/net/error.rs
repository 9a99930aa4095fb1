//! Why a request was not let out, or got no answer: in words for the model.

use std::error::Error;

use url::Url;

use crate::Outcome;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::policy::net::AddressRefusal;

/// The most characters of what a library says.
const WHY_CHARS_MAX: usize = 200;

/// No answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// What was given is not an address to ask.
    #[error("This address cannot be asked: {0}.")]
    Address(String),
    /// It leads where Hob does not go.
    #[error("{host} was not asked: {why}.")]
    Barred { host: String, why: AddressRefusal },
    /// A page of the public network sends on into the house.
    #[error("The page redirects to {0}, which is in a private network. That was not followed.")]
    Inward(String),
    /// Its name leads nowhere.
    #[error("{host} was not found: {why}.")]
    Unresolved { host: String, why: String },
    /// Nobody answers there.
    #[error("No connection to {host}: {why}.")]
    Unreachable { host: String, why: String },
    /// It does not prove who it is.
    #[error("{host} has no valid certificate, so nothing was sent: {why}.")]
    Untrusted { host: String, why: String },
    /// It takes too long.
    #[error("{host} did not answer in full within {secs} s.")]
    TimedOut {
        host: String,
        /// How long.
        secs: u64,
    },
    /// It is sent on and on.
    #[error("The page redirects more than {0} times.")]
    Redirects(usize),
    /// It would be sent on from a sealed connection to an open one.
    #[error("The page redirects from https to http ({0}). That was not followed.")]
    Downgrade(String),
    /// What came is not HTTP.
    #[error("The answer of {host} is broken: {why}.")]
    Broken { host: String, why: String },
}

impl NetError {
    /// What a failed request says of this host.
    pub(super) fn of(host: String, error: &reqwest::Error) -> Self {
        let why = innermost(error);
        if untrusted(error) {
            return Self::Untrusted { host, why };
        }
        if error.is_timeout() && !error.is_connect() {
            return Self::Unreachable { host, why: "it took too long".to_owned() };
        }
        if error.is_connect() {
            return Self::Unreachable { host, why };
        }
        Self::Broken { host, why }
    }

    /// May it pass by itself?
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Address(_)
            | Self::Barred { .. }
            | Self::Inward(_)
            | Self::Unresolved { .. }
            | Self::Untrusted { .. }
            | Self::Redirects(_)
            | Self::Downgrade(_)
            | Self::Broken { .. } => false,
        }
    }

    /// Was there a connection, so that what was asked for may have been done?
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Broken { .. } => true,
            Self::Address(_)
            | Self::Barred { .. }
            | Self::Inward(_)
            | Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::Redirects(_)
            | Self::Downgrade(_) => false,
        }
    }

    /// As a tool's answer.
    pub fn outcome(&self) -> Outcome {
        let text = self.to_string();
        if self.is_passing() { Outcome::Transient(text) } else { Outcome::Error(text) }
    }

    /// As a tool's answer, after `asked` was gone to: there may be words in it that were chosen there (row N6).
    pub(crate) fn outcome_at(&self, asked: &Url) -> Outcome {
        let outcome = self.outcome();
        if self.quotes(asked) { outcome.from(OriginSource::new(Origin::Web, asked.as_str())) } else { outcome }
    }

    /// In Hob's own words alone, after `asked` was gone to.
    pub fn own_words(&self, asked: &Url) -> String {
        if self.quotes(asked) { "what answered there is not to be relied on".to_owned() } else { self.to_string() }
    }

    /// May it repeat what somebody answered: the name of another host, or of a certificate?
    fn quotes(&self, asked: &Url) -> bool {
        match self {
            Self::Inward(_) | Self::Downgrade(_) | Self::Untrusted { .. } | Self::Broken { .. } => true,
            Self::Barred { host, .. }
            | Self::Unresolved { host, .. }
            | Self::Unreachable { host, .. }
            | Self::TimedOut { host, .. } => Some(host.as_str()) != asked.host_str(),
            Self::Address(_) | Self::Redirects(_) => false,
        }
    }
}

fn causes(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut causes: Vec<&(dyn Error + 'static)> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }
    causes
}

/// Did TLS fail? rustls hides in an I/O error, whose own cause it then is.
fn untrusted(error: &reqwest::Error) -> bool {
    let inner = |error: &(dyn Error + 'static)| -> bool {
        let io = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        error.is::<rustls::Error>() || io.is_some_and(|inner| inner.is::<rustls::Error>())
    };
    causes(error).into_iter().any(inner)
}

/// What is at the bottom of it: those above only say that something failed.
fn innermost(error: &reqwest::Error) -> String {
    let words = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    words.chars().filter(|c| !c.is_control()).take(WHY_CHARS_MAX).collect()
}
