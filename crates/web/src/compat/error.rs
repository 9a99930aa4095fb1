//! Why a client's request is not done, as OpenAI says it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api_error::ApiError;

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompatError {
    status: StatusCode,
    /// Clients decide by it.
    kind: &'static str,
    code: Option<&'static str>,
    /// Which part of the request it is about.
    param: Option<&'static str>,
    message: String,
}

/// The body of such an answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct FaultBody {
    /// What happened.
    pub(super) error: FaultDetail,
}

/// What happened.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct FaultDetail {
    /// For people.
    message: String,
    /// `invalid_request_error` or `server_error`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Which part of the request it is about.
    param: Option<&'static str>,
    /// What it is, in one word.
    code: Option<&'static str>,
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl CompatError {
    /// The request makes no sense.
    pub(super) fn invalid(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, kind: INVALID, code: None, param, message: message.into() }
    }

    /// It asks for what Hob does not do.
    pub(super) fn unsupported(param: &'static str, message: impl Into<String>) -> Self {
        Self { code: Some("unsupported_parameter"), ..Self::invalid(Some(param), message) }
    }

    /// There is no such model.
    pub(super) fn no_model(model: &str) -> Self {
        let message = format!("The model `{model}` does not exist: Hob is the only one here, `hob`.");
        let (status, code) = (StatusCode::NOT_FOUND, Some("model_not_found"));
        Self { status, code, ..Self::invalid(Some("model"), message) }
    }

    /// There is nothing at this address.
    pub(super) fn no_address(path: &str) -> Self {
        let status = StatusCode::NOT_FOUND;
        Self { status, code: Some("unknown_url"), ..Self::invalid(None, format!("Unknown request URL: {path}.")) }
    }

    /// It can be asked, but not in this way.
    pub(super) fn no_method() -> Self {
        let (status, code) = (StatusCode::METHOD_NOT_ALLOWED, Some("method_not_supported"));
        Self { status, code, ..Self::invalid(None, "That cannot be done here.") }
    }

    /// Hob stops; nothing is lost.
    pub(super) fn stopping() -> Self {
        let message = "Hob stops. Your message is kept, and will be answered: ask again in a moment.".to_owned();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, kind: SERVER, code: Some("stopping"), param: None, message }
    }

    pub(super) fn body(&self) -> FaultBody {
        let Self { kind, code, param, message, .. } = self.clone();
        FaultBody { error: FaultDetail { message, kind, param, code } }
    }
}

impl From<ApiError> for CompatError {
    fn from(refused: ApiError) -> Self {
        let status = refused.status();
        let (kind, code) = match &refused {
            ApiError::Nobody => (INVALID, Some("invalid_api_key")),
            ApiError::NotAllowed | ApiError::Foreign(_) => (INVALID, Some("insufficient_permissions")),
            ApiError::TooOften => ("requests", Some("rate_limit_exceeded")),
            ApiError::NotFound(_) | ApiError::Bad(_) | ApiError::Conflict(_) | ApiError::TooBig(_) => (INVALID, None),
            ApiError::Store(_) | ApiError::Intake(_) | ApiError::Broken(_) | ApiError::Formless(_) => (SERVER, None),
        };
        let message = match refused {
            ApiError::Nobody => "Incorrect API key provided: `hob web token add NAME` makes one.".to_owned(),
            refused => refused.to_string(),
        };
        Self { status, kind, code, param: None, message }
    }
}

impl IntoResponse for CompatError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body())).into_response()
    }
}
