//! A client whose tokens are renewed to the end: who issues them may take the former ones back with the new, and whoever waits for a call may
//! leave at any moment.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::{AuthClient, AuthError};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio_util::task::TaskTracker;

use hob_telemetry::tasks;

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The SDK's own renews in whoever waits.
#[derive(Clone)]
pub(in crate::mcp) struct TokenClient {
    client: AuthClient<reqwest::Client>,
    tracker: TaskTracker,
}

impl TokenClient {
    pub(super) fn new(client: AuthClient<reqwest::Client>, tracker: TaskTracker) -> Self {
        Self { client, tracker }
    }

    /// Asks with the token that holds. One that the server does not take is renewed, once.
    async fn authorized<T, F: Future<Output = Answer<T>>>(&self, ask: impl Fn(Option<String>) -> F) -> Answer<T> {
        let client = self.client.clone();
        let token = match self.to_its_end(async move { client.get_access_token().await }).await {
            Ok(token) => Some(token),
            // The server says itself whether somebody must log in.
            Err(AuthError::AuthorizationRequired) => None,
            Err(error) => return Err(error.into()),
        };
        match (ask(token.clone()).await, token) {
            (Err(StreamableHttpError::AuthRequired(challenge)), Some(refused)) => match self.renewed().await {
                Ok(token) if token != refused => ask(Some(token)).await,
                Ok(_) | Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                    Err(StreamableHttpError::AuthRequired(challenge))
                }
                Err(error) => Err(error.into()),
            },
            (answer, _) => answer,
        }
    }

    async fn renewed(&self) -> Result<String, AuthError> {
        let manager = Arc::clone(&self.client.auth_manager);
        let renewed = self.to_its_end(async move { manager.lock().await.refresh_token().await }).await?;
        let renewed = serde_json::to_value(renewed).map_err(|error| AuthError::InternalError(error.to_string()))?;
        Ok(renewed["access_token"].as_str().unwrap_or_default().to_owned())
    }

    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, AuthError>> + Send + 'static,
    ) -> Result<T, AuthError> {
        let done = tasks::spawn_among(&self.tracker, "mcp.token", work).await.ok().flatten();
        done.unwrap_or_else(|| Err(AuthError::TokenRefreshFailed("it ended early".to_owned())))
    }
}

impl StreamableHttpClient for TokenClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<StreamableHttpPostResponse> {
        let http = &self.client.http_client;
        let ask = |token| http.post_message(uri.clone(), message.clone(), session.clone(), token, headers.clone());
        self.authorized(ask).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Answer<StreamableHttpPostResponse> {
        let http = &self.client.http_client;
        self.authorized(|token| {
            let (uri, message, session) = (uri.clone(), message.clone(), session.clone());
            http.post_message_with_max_sse_event_size(uri, message, session, token, headers.clone(), most)
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<()> {
        let http = &self.client.http_client;
        self.authorized(|token| http.delete_session(uri.clone(), session.clone(), token, headers.clone())).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        since: Option<String>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<Events> {
        let http = &self.client.http_client;
        let ask = |token| http.get_stream(uri.clone(), session.clone(), since.clone(), token, headers.clone());
        self.authorized(ask).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        since: Option<String>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Answer<Events> {
        let http = &self.client.http_client;
        self.authorized(|token| {
            let (uri, session, since) = (uri.clone(), session.clone(), since.clone());
            http.get_stream_with_max_sse_event_size(uri, session, since, token, headers.clone(), most)
        })
        .await
    }
}
