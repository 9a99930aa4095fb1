//! What a server answers before any event: a stream that begins, or a [`Failure`].
//!
//! Never: a retry; when to ask again is the machine's business.
//! Start at `expect_stream`.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName};

use crate::classify::{self, ErrorResponse};
use crate::error::{ErrorClass, ModelError};
use crate::exchange::malformed;

/// How much of an error's body is read.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How long an error's body may take.
const ERROR_BODY_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a document may be: the longest are lists of models.
const DOCUMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// For the caller.
    pub error: ModelError,
    /// The status of the answer; 0 if there was none, or if it was a stream.
    pub status: u16,
    /// The start of the answer's body, by which a dialect may see what it should leave out.
    pub body: String,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error, status: 0, body: String::new() }
    }
}

/// The response, if it is the start of a stream.
pub(crate) async fn expect_stream(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if !status.is_success() {
        return Err(refused(response).await);
    }
    if !is_document(response.headers()) {
        return Ok(response);
    }
    let headers = response.headers().clone();
    let body = read_body_start(response).await;
    Err(Failure { error: no_stream(&headers, &body), status: status.as_u16(), body })
}

/// The body of a response that is not a stream.
pub(crate) async fn read_body(response: Response) -> Result<Vec<u8>, Failure> {
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    if text(response.headers(), &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html")) {
        return Err(web_page().into());
    }
    let body = hob_http::body_within(response, DOCUMENT_BYTES_MAX).await.map_err(|error| unreachable_server(&error))?;
    body.ok_or_else(|| malformed("The model server's answer is too long.").into())
}

async fn refused(response: Response) -> Failure {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = read_body_start(response).await;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let refusal = ErrorResponse::with_headers(status, header, &body);
    Failure { error: classify::classify(&refusal), status, body }
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
        return classify::classify(&ErrorResponse { body, ..ErrorResponse::default() });
    }
    if is_json {
        return malformed("The model server did not stream its reply.");
    }
    web_page()
}

fn web_page() -> ModelError {
    malformed("There is a web page where the model should be: check `base_url` under [provider] in config.toml.")
}

/// The start of the body, as far as it comes.
async fn read_body_start(mut response: Response) -> String {
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
pub(crate) fn unreachable_server(error: &reqwest::Error) -> ModelError {
    let host = error.url().and_then(reqwest::Url::host_str).unwrap_or("the model provider").to_owned();
    if error.is_builder() {
        ModelError::new(ErrorClass::BadRequest, "The request for the model provider could not be written.")
    } else if error.is_timeout() {
        ModelError::new(ErrorClass::Timeout, format!("{host} could not be reached in time."))
    } else if error.is_connect() {
        ModelError::new(ErrorClass::Network, format!("{host} cannot be reached: is the network up, is it running?"))
    } else {
        ModelError::new(ErrorClass::Network, format!("The connection to {host} failed."))
    }
}
