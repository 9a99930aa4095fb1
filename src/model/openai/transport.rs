//! One HTTP exchange: sends once, and turns what is no stream into a [`ModelError`].
//!
//! Never: a retry; when to ask again is the machine's business.
//! Start at [`send`].

use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName};

use crate::model::classify::{self, Refusal};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::openai::reply::{broken_off, malformed};

/// How much of an error's body is read.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How long an error's body may take.
const ERROR_BODY_WAIT_MAX: Duration = Duration::from_secs(5);

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
    let status = response.status();
    if status.is_success() && !is_document(response.headers()) {
        return Ok(response);
    }
    let headers = response.headers().clone();
    let body = read_some(response).await;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let refusal = Refusal::with_headers(status.as_u16(), header, &body);
    if status.is_success() {
        return Err(Failure::from(no_stream(&headers, &body)).into());
    }
    let refuses_usage = classify::refuses_usage(&refusal);
    Err(Failure { error: classify::classify(&refusal), refuses_usage }.into())
}

/// Whether a successful answer is something else than a stream. Servers that name no type are given the benefit.
fn is_document(headers: &HeaderMap) -> bool {
    text(headers, &CONTENT_TYPE)
        .is_some_and(|kind| kind.starts_with("text/html") || kind.starts_with("application/json"))
}

/// A success that is none: a web page, or an error with status 200 (OpenRouter).
fn no_stream(headers: &HeaderMap, body: &str) -> ModelError {
    let is_json = text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if is_json && body.contains("\"error\"") {
        return classify::classify(&Refusal { body, ..Refusal::default() });
    }
    if is_json {
        return malformed("The model server did not stream its reply.");
    }
    malformed("There is a web page where the model should be: check `base_url` under [provider] in config.toml.")
}

/// The start of the body, as far as it comes.
async fn read_some(mut response: Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while body.len() < ERROR_BYTES_MAX {
            match response.chunk().await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%error, "the body of a model's error broke off");
                    break;
                }
            }
        }
    };
    if tokio::time::timeout(ERROR_BODY_WAIT_MAX, read).await.is_err() {
        tracing::debug!("the body of a model's error did not come in time");
    }
    String::from_utf8_lossy(&body).into_owned()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// No response at all.
fn unreachable_server(error: &reqwest::Error) -> ModelError {
    let host = error.url().and_then(reqwest::Url::host_str).unwrap_or("the model provider").to_owned();
    if error.is_timeout() {
        ModelError::new(ErrorClass::Timeout, format!("{host} could not be reached in time."))
    } else if error.is_connect() {
        ModelError::new(ErrorClass::Network, format!("{host} cannot be reached: is the network up, is it running?"))
    } else {
        ModelError::new(ErrorClass::Network, format!("The connection to {host} failed."))
    }
}
