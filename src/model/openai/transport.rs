//! One HTTP exchange: sends once, and turns what is no stream into a [`ModelError`].
//!
//! Never: a retry; when to ask again is the machine's business.
//! Start at [`send`].

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::Response;

use crate::model::classify::{self, Refusal};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::exchange::answer::{self, unreachable_server};
use crate::model::exchange::{broken_off, malformed};

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct Failure {
    /// For the caller.
    pub(super) error: ModelError,
    /// The server only refused to report the usage.
    pub(super) refuses_usage: bool,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error, refuses_usage: false }
    }
}

impl From<answer::Failure> for Failure {
    fn from(failure: answer::Failure) -> Self {
        let answer::Failure { error, status, body } = failure;
        let refuses_usage = classify::refuses_usage(&Refusal { status, body: &body, ..Refusal::default() });
        Self { error, refuses_usage }
    }
}

impl From<Failure> for OpenAIError {
    fn from(failure: Failure) -> Self {
        Self::Boxed(Box::new(failure))
    }
}

impl From<OpenAIError> for Failure {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(inner) => match inner.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(other) => ModelError::new(ErrorClass::Network, other.to_string()).into(),
            },
            OpenAIError::Reqwest(error) => unreachable_server(&error).into(),
            OpenAIError::StreamError(_) => broken_off().into(),
            OpenAIError::JSONDeserialize(..) | OpenAIError::ApiError(_) => {
                malformed("The model's reply cannot be understood.").into()
            }
            OpenAIError::InvalidArgument(what) => ModelError::new(ErrorClass::BadRequest, what).into(),
            OpenAIError::FileSaveError(what) | OpenAIError::FileReadError(what) => {
                ModelError::new(ErrorClass::BadRequest, what).into()
            }
        }
    }
}

/// Sends the request once; answers with the response if it is the start of a stream.
pub(super) async fn send(http: reqwest::Client, request: HttpRequestFactory) -> Result<Response, OpenAIError> {
    let request = request.build().await?;
    let response = http.execute(request).await.map_err(|error| Failure::from(unreachable_server(&error)))?;
    answer::begun(response).await.map_err(|failure| Failure::from(failure).into())
}
