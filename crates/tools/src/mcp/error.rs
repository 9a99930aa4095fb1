//! Why a server does not do what it was asked for.

use std::io;
use std::time::Duration;

/// What went wrong. None of it holds more than a few words of the server's.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The program could not be started.
    #[error("{program} could not be started: {reason}")]
    NotStarted {
        /// Which.
        program: String,
        /// Why.
        reason: io::Error,
    },
    /// A header cannot be sent.
    #[error("the header {0} cannot be sent; look at `headers` in the config")]
    Header(String),
    /// It did not answer in time.
    #[error("it did not answer within {} s{}", .within.as_secs(), after(.why))]
    Silent {
        /// How long was waited.
        within: Duration,
        /// What is known besides.
        why: String,
    },
    /// The connection broke off.
    #[error("the connection broke off{}", after(.0))]
    Lost(String),
    /// It answered that it does not.
    #[error("it refused: {0}")]
    Refused(String),
    /// Its answer is none.
    #[error("its answer is not valid MCP")]
    Strange,
    /// It asks for words of a person in turn.
    #[error("it asks for something that only a person could say, in a way in which nobody can be asked")]
    WantsInput,
    /// It asks for a login, in these words of its own.
    #[error("it asks for a login")]
    Challenged(String),
    /// It asks for a login that no person has made yet.
    #[error("it needs a login: hob mcp login {0}")]
    NeedsLogin(String),
    /// It is not tried again yet.
    #[error("it is not there ({why}); it is tried again in {} s", .wait.as_secs().max(1))]
    Resting {
        /// What went wrong the last time.
        why: String,
        /// How long it rests.
        wait: Duration,
    },
    /// Its tool is another than the one that was to be called.
    #[error("the tool has changed since it was chosen: look at it again first")]
    Changed,
    /// It has no such tool any more.
    #[error("it does not have this tool any more")]
    Gone,
    /// Hob is stopping.
    #[error("Hob is stopping")]
    Stopping,
}

fn after(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

impl McpError {
    /// The same, with what became of the server.
    pub(super) fn with_diagnostics(self, fate: &str) -> Self {
        let join = |why: String| match (why.is_empty(), fate.is_empty()) {
            (_, true) => why,
            (true, false) => fate.to_owned(),
            (false, false) => format!("{why}; {fate}"),
        };
        match self {
            Self::Lost(why) => Self::Lost(join(why)),
            Self::Silent { within, why } => Self::Silent { within, why: join(why) },
            other => other,
        }
    }

    /// Has the server failed, rather than the call?
    pub(super) fn is_outage(&self) -> bool {
        match self {
            Self::NotStarted { .. } | Self::Header(_) | Self::Silent { .. } | Self::Lost(_) | Self::Strange => true,
            Self::Refused(_)
            | Self::WantsInput
            | Self::Challenged(_)
            | Self::NeedsLogin(_)
            | Self::Resting { .. }
            | Self::Changed
            | Self::Gone
            | Self::Stopping => false,
        }
    }

    /// May it pass by itself?
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Lost(_) | Self::Resting { .. } | Self::Stopping)
    }
}
