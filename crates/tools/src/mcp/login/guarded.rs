//! How servers that issue tokens are asked: through the guard, since a server's word says where they are.

use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use url::Url;

use crate::net::error::NetError;
use crate::net::{EgressGuard, FetchRequest, Limits, address};

/// The most bytes of an answer.
const BYTES_MAX: usize = 1 << 20;

/// The way out to them.
pub(super) struct GuardedClient {
    guard: EgressGuard,
    /// The server is asked over TLS, so that nobody else is asked without.
    is_sealed: bool,
}

impl GuardedClient {
    /// For the server at `url`, which the operator named.
    pub(super) fn new(guard: &EgressGuard, url: &Url) -> Self {
        let guard = guard.allowing_host(url).within(Limits { bytes_max: BYTES_MAX, ..Limits::default() });
        Self { guard, is_sealed: url.scheme() == "https" }
    }

    /// The address, if it may be asked.
    pub(super) fn address(&self, text: &str) -> Result<Url, NetError> {
        let url = address(text)?;
        if self.is_sealed && url.scheme() != "https" {
            return Err(NetError::Downgrade(url.host_str().unwrap_or_default().to_owned()));
        }
        Ok(url)
    }
}

impl OAuthHttpClient for GuardedClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (head, body) = asked.request.into_parts();
            let url = self.address(&head.uri.to_string())?;
            let body = (!body.is_empty()).then_some(body);
            // What carries a code or a token is a POST, and the guard follows redirects of a GET alone.
            let query = FetchRequest { method: head.method, url, headers: head.headers, body, credentials: None };
            let answer = self.guard.send(query).await?;
            let mut response = http::Response::builder().status(answer.status);
            for (name, value) in &answer.headers {
                response = response.header(name, value);
            }
            Ok(response.body(answer.body)?)
        })
    }
}
