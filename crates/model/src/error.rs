//! What can go wrong with a model, by what one does about it (row A7).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key is wrong or missing: the operator must act.
    Auth,
    /// The account has no money: the operator must act.
    Billing,
    /// Too many calls: wait.
    RateLimit,
    /// The provider has too much to do: wait.
    Overloaded,
    /// The provider does not know the model: another one.
    UnknownModel,
    /// The request does not fit the context window.
    ContextTooLong,
    /// The provider refuses the content.
    Refused,
    /// The provider finds the request malformed.
    BadRequest,
    /// No answer in time.
    Timeout,
    /// The connection failed or broke.
    Network,
    /// The provider failed (5xx).
    Server,
    /// The reply cannot be understood, or is empty.
    Malformed,
    /// It was not asked: it failed too often a moment ago and rests (row E2).
    Resting,
}

impl ErrorClass {
    /// Its name in the database, in metrics and in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::UnknownModel => "unknown_model",
            Self::ContextTooLong => "context_too_long",
            Self::Refused => "refused",
            Self::BadRequest => "bad_request",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Server => "server",
            Self::Malformed => "malformed",
            Self::Resting => "resting",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auth => "no access",
            Self::Billing => "no credit",
            Self::RateLimit => "rate limit",
            Self::Overloaded => "overloaded",
            Self::UnknownModel => "unknown model",
            Self::ContextTooLong => "too long",
            Self::Refused => "content refused",
            Self::BadRequest => "bad request",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Server => "server error",
            Self::Malformed => "malformed reply",
            Self::Resting => "resting",
        })
    }
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What to do about it.
    pub class: ErrorClass,
    /// What the provider said, short and without secrets: a person reads it.
    pub message: String,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// The request's parameter that it refuses, where it names one.
    pub parameter: Option<String>,
}

impl ModelError {
    /// A failure of `class` without a named wait.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None, parameter: None }
    }
}
