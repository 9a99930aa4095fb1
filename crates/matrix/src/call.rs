//! One request to the homeserver, and what its answer says. No retries: whoever asks decides.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use ruma::api::auth_scheme::{AuthScheme, SendAccessToken};
use ruma::api::path_builder::PathBuilder;
use ruma::api::{IncomingResponse as _, MatrixVersion, OutgoingRequest, SupportedVersions};
use serde_json::Value;

use hob_core::domain::secret::Secret;
use hob_core::domain::text::causes;

/// How long a connection may take to come about.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A request did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum CallError {
    /// The homeserver has not got it.
    #[error("the homeserver cannot be reached: {0}")]
    NotSent(String),
    /// It may have got it.
    #[error("no answer came: {0}")]
    Lost(String),
    /// It said no.
    #[error("{code}: {message}")]
    Refused {
        status: StatusCode,
        /// Matrix's own word for it: `M_FORBIDDEN`.
        code: String,
        message: String,
        retry_after: Option<Duration>,
        /// The whole answer: some say more.
        body: Box<Value>,
    },
    /// What answered is no homeserver, or one that says what nobody knows.
    #[error("this is not a homeserver's answer: {status} {why}")]
    Foreign { status: StatusCode, why: String },
}

impl CallError {
    /// Matrix's word for what is wrong, where it said one.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            Self::NotSent(_) | Self::Lost(_) | Self::Foreign { .. } => None,
        }
    }

    /// Does the server want this device to log in once more, and nothing else?
    pub(super) fn is_soft_logout(&self) -> bool {
        matches!(self, Self::Refused { code, body, .. } if code == "M_UNKNOWN_TOKEN" && body["soft_logout"] == true)
    }

    /// How long is to be waited, where it said so.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            Self::NotSent(_) | Self::Lost(_) | Self::Foreign { .. } => None,
        }
    }
}

/// The homeserver, as one device of Hob's account asks it.
pub(super) struct Api {
    http: reqwest::Client,
    homeserver: url::Url,
    /// It changes when the server wants a new login of the same device.
    token: RwLock<Option<Secret>>,
    request_max: Duration,
    versions: SupportedVersions,
}

impl Api {
    pub(super) fn new(http: reqwest::Client, homeserver: url::Url, request_max: Duration) -> Self {
        // What is used here has been in Matrix since its first numbered version.
        let versions = SupportedVersions { versions: [MatrixVersion::V1_11].into(), features: Default::default() };
        Self { http, homeserver, token: RwLock::default(), request_max, versions }
    }

    pub(super) fn set_token(&self, token: Secret) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    fn token(&self) -> Option<Secret> {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A request in the types of `ruma`.
    pub(super) async fn ask<R>(&self, request: R, wait: Duration) -> Result<R::IncomingResponse, CallError>
    where
        R: OutgoingRequest,
        for<'a> R::Authentication: AuthScheme<Input<'a> = SendAccessToken<'a>>,
        for<'a> R::PathBuilder: PathBuilder<Input<'a> = Cow<'a, SupportedVersions>>,
    {
        let token = self.token();
        let token = token.as_ref().map_or(SendAccessToken::None, |token| SendAccessToken::IfRequired(token.expose()));
        let base = self.homeserver.as_str();
        let made = request.try_into_http_request::<Vec<u8>>(base, token, Cow::Borrowed(&self.versions));
        let made = made.map_err(|error| CallError::NotSent(error.to_string()))?;
        let sent = reqwest::Request::try_from(made).map_err(|error| CallError::NotSent(causes(&error)))?;
        let (status, body) = self.execute(sent, wait).await?;
        let mut answer = http::Response::new(body);
        *answer.status_mut() = status;
        R::IncomingResponse::try_from_http_response(answer)
            .map_err(|error| CallError::Foreign { status, why: error.to_string() })
    }

    /// A request in JSON: `path` is what stands behind `/_matrix/client/`, each part as it is.
    pub(super) async fn json(&self, method: Method, path: &[&str], body: Option<&Value>) -> Result<Value, CallError> {
        let mut request = self.request(method, path)?;
        if let Some(body) = body {
            request = request.json(body);
        }
        let request = request.build().map_err(|error| CallError::NotSent(causes(&error.without_url())))?;
        let (status, body) = self.execute(request, Duration::ZERO).await?;
        serde_json::from_slice(&body).map_err(|error| CallError::Foreign { status, why: error.to_string() })
    }

    pub(super) async fn get(&self, path: &[&str]) -> Result<Value, CallError> {
        self.json(Method::GET, path, None).await
    }

    pub(super) async fn put(&self, path: &[&str], body: &Value) -> Result<Value, CallError> {
        self.json(Method::PUT, path, Some(body)).await
    }

    pub(super) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, CallError> {
        self.json(Method::POST, path, Some(body)).await
    }

    /// A request with Hob's token: to this homeserver, whatever the parts say.
    pub(super) fn request(&self, method: Method, path: &[&str]) -> Result<reqwest::RequestBuilder, CallError> {
        let mut address = self.homeserver.clone();
        let (path, query) = match path {
            [before @ .., last] if last.starts_with('?') => (before, Some(&last[1..])),
            path => (path, None),
        };
        match address.path_segments_mut() {
            Ok(mut parts) => parts.pop_if_empty().extend(["_matrix"]).extend(path),
            Err(()) => return Err(CallError::NotSent("the homeserver's address is none".to_owned())),
        };
        address.set_query(query);
        let request = self.http.request(method, address);
        Ok(match self.token() {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        })
    }

    /// Sends it; what is no success is an error.
    async fn execute(&self, mut request: reqwest::Request, wait: Duration) -> Result<(StatusCode, Vec<u8>), CallError> {
        request.timeout_mut().get_or_insert(self.request_max + wait);
        let sent = self.http.execute(request).await.map_err(|error| {
            let (is_unsent, why) = (error.is_connect() || error.is_builder(), causes(&error.without_url()));
            if is_unsent { CallError::NotSent(why) } else { CallError::Lost(why) }
        })?;
        let status = sent.status();
        let header = sent.headers().get("retry-after").and_then(|after| after.to_str().ok()?.parse().ok());
        let body = sent.bytes().await.map_err(|error| CallError::Lost(causes(&error.without_url())))?;
        if status.is_success() {
            return Ok((status, body.to_vec()));
        }
        Err(refusal(status, header.map(Duration::from_secs), &body))
    }
}

fn refusal(status: StatusCode, header: Option<Duration>, body: &[u8]) -> CallError {
    let body = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
    let Some(code) = body["errcode"].as_str().or_else(|| body["flows"].is_array().then_some("M_UIA")) else {
        return CallError::Foreign { status, why: String::new() };
    };
    let (code, message) = (code.to_owned(), body["error"].as_str().unwrap_or("it wants a proof").to_owned());
    let named = body["retry_after_ms"].as_u64().map(Duration::from_millis);
    CallError::Refused { status, code, message, retry_after: named.or(header), body: Box::new(body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_a_refusal_says_why_and_how_long_to_wait() {
        let limited = br#"{"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": 1500}"#;
        let error = refusal(StatusCode::TOO_MANY_REQUESTS, None, limited);
        assert_eq!((error.code(), error.retry_after()), (Some("M_LIMIT_EXCEEDED"), Some(Duration::from_millis(1_500))));
        let error = refusal(
            StatusCode::UNAUTHORIZED,
            None,
            br#"{"flows": [{"stages": ["m.login.password"]}], "session": "s"}"#,
        );
        assert_eq!(error.code(), Some("M_UIA"));
        let error = refusal(StatusCode::BAD_GATEWAY, Some(Duration::from_secs(7)), b"<html>");
        assert_eq!(
            (error.code(), error.to_string()),
            (None, "this is not a homeserver's answer: 502 Bad Gateway ".to_owned())
        );
    }

    #[test]
    fn f11_a_part_of_a_path_stays_one() {
        let api = Api::new(
            hob_http::client(CONNECT_MAX).unwrap(),
            "https://matrix.example/base/".parse().unwrap(),
            Duration::from_secs(1),
        );
        let path = ["client", "v3", "rooms", "!a/b?c:x", "?membership=join"];
        let request = api.request(Method::GET, &path).unwrap().build().unwrap();
        assert_eq!(
            request.url().as_str(),
            "https://matrix.example/base/_matrix/client/v3/rooms/!a%2Fb%3Fc:x?membership=join"
        );
    }
}
