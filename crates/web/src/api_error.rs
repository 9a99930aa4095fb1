//! What the API answers when it does not do what was asked.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::access::origin_check::OriginRefusal;
use hob_core::domain::channel::IntakeError;
use hob_store::error::StoreError;

/// Why a request is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// Nobody is logged in.
    #[error("not logged in: `hob web` prints a link")]
    Nobody,
    /// Viewers only look.
    #[error("viewers cannot change anything")]
    NotAllowed,
    /// It is not the visitor's own request.
    #[error(transparent)]
    Foreign(#[from] OriginRefusal),
    /// Too often.
    #[error("too many attempts: try again in a minute")]
    TooOften,
    /// It is not there.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It cannot be understood.
    #[error("{0}")]
    Bad(String),
    /// It is too big.
    #[error("{0}")]
    TooBig(String),
    /// It cannot be done as things stand.
    #[error("{0}")]
    Conflict(String),
    /// Something of Hob's does not work.
    #[error("{0}")]
    Broken(String),
    /// The database does not do it.
    #[error("the database does not answer: {0}")]
    Store(#[from] StoreError),
    /// What there is has no form in JSON.
    #[error("the answer cannot be encoded: {0}")]
    Formless(#[from] serde_json::Error),
    /// The message is not stored.
    #[error(transparent)]
    Intake(#[from] IntakeError),
}

/// The body of such an answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Problem {
    /// What happened, for people.
    pub error: String,
}

impl ApiError {
    /// What HTTP calls it.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Nobody => StatusCode::UNAUTHORIZED,
            Self::NotAllowed | Self::Foreign(_) => StatusCode::FORBIDDEN,
            Self::TooOften => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TooBig(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Formless(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Store(_) | Self::Intake(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            tracing::warn!(%error, "the page could not be answered");
        }
        (self.status(), Json(Problem { error: self.to_string() })).into_response()
    }
}
