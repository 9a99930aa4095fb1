//! One request to Slack's Web API: slack-morphism's client, with what is needed of the answer kept apart.
//!
//! slack-morphism's typed answers are all or nothing: one message of a new shape would hide a whole page of history. So
//! answers are read as JSON here, and only the client, its tokens and its errors are slack-morphism's. Its errors print
//! the whole body of an answer, with people's words in it: none of that goes on from here.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use slack_morphism::errors::SlackClientError;
use slack_morphism::hyper_tokio::SlackClientHyperConnector;
use slack_morphism::{SlackApiToken, SlackApiTokenValue, SlackClient};

use crate::SetupError;
use crate::settings::Settings;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::causes;
use hob_http::trust;

/// How long a connection may take to stand.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Why a request has no result; none of the texts holds a token or what people said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// No connection came about: the platform has seen nothing.
    #[error("no connection: {0}")]
    NotSent(String),
    /// The request was on its way and no whole answer came back.
    #[error("no answer: {0}")]
    Lost(String),
    /// The Web API said no.
    #[error("{code}{}", details.as_ref().map(|details| format!(" ({details})")).unwrap_or_default())]
    Api {
        /// Slack's word for it.
        code: String,
        /// What it said besides: which scope is missing, say.
        details: Option<String>,
        /// When it may be tried again.
        retry_after: Option<Duration>,
    },
    /// Something between answered that is not the Web API.
    #[error("an answer that is not Slack's: {status}")]
    Foreign {
        /// The HTTP status.
        status: u16,
    },
}

impl CallError {
    /// Slack's word for it, if it is Slack that said no.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Api { code, .. } => Some(code),
            _ => None,
        }
    }

    /// How long Slack wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// What TLS believes, as everywhere in Hob.
pub(super) fn tls(settings: &Settings) -> Result<Arc<ClientConfig>, SetupError> {
    if let Some(tls) = trust::tls() {
        return Ok(tls);
    }
    if settings.api_url.scheme() == "https" {
        return Err(SetupError(trust::NONE.to_owned()));
    }
    // Where nothing is encrypted, nothing need be trusted.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(|error| SetupError(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth()))
}

/// The Web API, for one token.
pub(super) struct WebApi {
    client: SlackClient<SlackClientHyperConnector<HttpsConnector<HttpConnector>>>,
    token: SlackApiToken,
    deadline: Duration,
}

impl WebApi {
    /// A client of its own: connections are shared with no other.
    pub(super) fn new(settings: &Settings, tls: &Arc<ClientConfig>, token: &Secret) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_MAX));
        let https = HttpsConnectorBuilder::new().with_tls_config(ClientConfig::clone(tls)).https_or_http();
        let https = https.enable_http1().enable_http2().wrap_connector(http);
        let address = settings.api_url.as_str().trim_end_matches('/');
        let connector = SlackClientHyperConnector::with_connector(https).with_slack_api_url(address);
        let token = SlackApiToken::new(SlackApiTokenValue(token.expose().to_owned()));
        Self { client: SlackClient::new(connector), token, deadline: settings.pace.send_deadline }
    }

    /// A method that reads: Slack takes its arguments only as a query.
    pub(super) async fn get(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, CallError> {
        let arguments: Vec<(&str, Option<&String>)> =
            arguments.iter().map(|(name, value)| (*name, Some(value))).collect();
        let session = self.client.open_session(&self.token);
        let asked = session.http_session_api.http_get::<Value, _, _>(method, &arguments, None);
        self.within(method, asked).await
    }

    /// A method that takes JSON.
    pub(super) async fn post(&self, method: &str, body: &Value) -> Result<Value, CallError> {
        let session = self.client.open_session(&self.token);
        let asked = session.http_session_api.http_post::<Value, Value>(method, body, None);
        self.within(method, asked).await
    }

    async fn within(
        &self,
        method: &str,
        asked: impl Future<Output = Result<Value, SlackClientError>>,
    ) -> Result<Value, CallError> {
        let Ok(answer) = tokio::time::timeout(self.deadline, asked).await else {
            return Err(CallError::Lost(format!("{method} took longer than {:?}", self.deadline)));
        };
        let answer = answer.map_err(call_error)?;
        // slack-morphism takes a page of HTML for an empty answer.
        if answer["ok"] == true { Ok(answer) } else { Err(CallError::Foreign { status: 200 }) }
    }
}

/// slack-morphism's error in the outbox's terms.
fn call_error(error: SlackClientError) -> CallError {
    match error {
        SlackClientError::ApiError(error) => {
            let body = error.http_response_body.as_deref().map(serde_json::from_str::<Value>);
            let body = body.and_then(Result::ok).unwrap_or_default();
            let messages = body["response_metadata"]["messages"].as_array().cloned().unwrap_or_default();
            let said = messages.iter().filter_map(Value::as_str).chain(body["needed"].as_str());
            let said: Vec<&str> = said.collect();
            let details = (!said.is_empty()).then(|| said.join("; "));
            let is_limit = matches!(error.code.as_str(), "ratelimited" | "rate_limited");
            let retry_after = is_limit.then_some(LIMIT_DEFAULT);
            CallError::Api { code: error.code, details, retry_after }
        }
        SlackClientError::RateLimitError(error) => {
            let retry_after = Some(error.retry_after.unwrap_or(LIMIT_DEFAULT));
            CallError::Api { code: "ratelimited".to_owned(), details: None, retry_after }
        }
        SlackClientError::HttpError(error) => CallError::Foreign { status: error.status_code.as_u16() },
        SlackClientError::ProtocolError(_) => CallError::Foreign { status: 200 },
        SlackClientError::HttpProtocolError(error) => {
            let Some(cause) = error.cause.as_deref() else {
                return CallError::Lost("the connection was lost".to_owned());
            };
            let never_left = cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect);
            if never_left { CallError::NotSent(causes(cause)) } else { CallError::Lost(causes(cause)) }
        }
        _ => CallError::Lost("the connection was lost".to_owned()),
    }
}

/// How long to wait where Slack asks for it and says no time.
const LIMIT_DEFAULT: Duration = Duration::from_secs(30);
