//! Why a service of sound gives nothing: one that hears, or one that speaks.
//!
//! Never: a repetition; whoever asked decides on it.
//! Start at [`SoundError`].

use std::time::Duration;

use crate::error::{ErrorClass, ModelError};

/// The wait before a repetition, where the server names none.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// Why nothing is heard, or spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundError {
    /// In words for whoever it was for, without a full stop.
    pub why: String,
    /// The same may go well after so long; none: it will not.
    pub again: Option<Duration>,
    /// The service may have worked for an answer that nobody heard or understood.
    pub worked: bool,
}

/// By which words a service is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoundService {
    /// Its section in the config.
    pub(crate) section: &'static str,
    pub(crate) given: &'static str,
    /// What it is to give.
    pub(crate) wanted: &'static str,
}

impl SoundError {
    /// Nothing was sent.
    pub fn unsent(why: String) -> Self {
        Self { why, again: None, worked: false }
    }

    /// The service gave this in the place of an answer.
    pub(crate) fn of(service: SoundService, error: &ModelError) -> Self {
        let class = error.class;
        tracing::warn!(%class, section = service.section, error = error.message, "a service of sound gave no answer");
        Self {
            why: why(class, service),
            again: passes(class).then(|| error.retry_after.unwrap_or(RETRY_WAIT)),
            worked: matches!(class, ErrorClass::Timeout | ErrorClass::Malformed),
        }
    }
}

/// Whether the same may go well a moment later.
fn passes(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Timeout
            | ErrorClass::Network
            | ErrorClass::Server
            | ErrorClass::Malformed
    )
}

/// What to tell whoever it was for: what is wrong, and where it can be set right.
fn why(class: ErrorClass, service: SoundService) -> String {
    let SoundService { section, given, wanted } = service;
    let check = |key: &str| format!("check `{key}` under [{section}] in config.toml");
    match class {
        ErrorClass::Auth => format!("the key is not accepted: {}", check("api_key")),
        ErrorClass::Billing => "the account has no credit left".to_owned(),
        ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Resting => {
            "the service has too much to do".to_owned()
        }
        ErrorClass::UnknownModel => format!("there is no such model: {}", check("model")),
        ErrorClass::Refused => "the service refuses it".to_owned(),
        ErrorClass::BadRequest | ErrorClass::ContextTooLong => format!("the service does not take {given}"),
        ErrorClass::Timeout => "it took too long".to_owned(),
        ErrorClass::Network => "the service cannot be reached".to_owned(),
        ErrorClass::Server => "the service failed".to_owned(),
        ErrorClass::Malformed => format!("the answer is not {wanted}: {}", check("base_url")),
    }
}
