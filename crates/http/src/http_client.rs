//! The HTTP client, and bodies within limits.

use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};

use crate::trust;

/// The client could not be built: no trusted root certificates, or a broken proxy setting.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be set up: {0}")]
pub struct HttpError(#[from] reqwest::Error);

/// A client that gives up connecting after `connect_timeout` and honours the environment's proxies.
pub fn client(connect_timeout: Duration) -> Result<reqwest::Client, HttpError> {
    Ok(builder(connect_timeout).build()?)
}

/// As [`client`], but never through a proxy: for servers on this machine.
pub fn direct_client(connect_timeout: Duration) -> Result<reqwest::Client, HttpError> {
    Ok(builder(connect_timeout).no_proxy().build()?)
}

/// What both begin with: for clients that go elsewhere than to models.
pub fn builder(connect_timeout: Duration) -> reqwest::ClientBuilder {
    speaking(connect_timeout, &[b"h2", b"http/1.1"])
}

/// The same, for a client that speaks HTTP/1.1 alone.
pub fn http1_builder(connect_timeout: Duration) -> reqwest::ClientBuilder {
    speaking(connect_timeout, &[b"http/1.1"]).http1_only()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place for it: no redirection, and a deadline for the connection"
)]
fn speaking(connect_timeout: Duration, protocols: &[&[u8]]) -> reqwest::ClientBuilder {
    install_crypto();
    let builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("hob/", env!("CARGO_PKG_VERSION")));
    match trust::speaking(protocols) {
        Some(tls) => builder.tls_backend_preconfigured(tls),
        // What is built of this says that there are no certificates.
        None => builder,
    }
}

/// The whole body of an answer; none: it has more bytes than that.
pub async fn body_within(answer: reqwest::Response, bytes_max: u64) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let (body, is_cut) = body_start(answer, usize::try_from(bytes_max).unwrap_or(usize::MAX)).await?;
    Ok((!is_cut).then_some(body))
}

/// The first bytes of an answer's body, and whether there are more.
pub async fn body_start(mut answer: reqwest::Response, bytes_max: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        let room = bytes_max - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, true));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, false))
}

/// Makes *ring* the process's TLS provider, unless there is one.
fn install_crypto() {
    if CryptoProvider::get_default().is_none() && ring::default_provider().install_default().is_err() {
        tracing::debug!("another thread installed the TLS provider first");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_can_be_built_again_and_again() {
        for _ in 0..2 {
            client(Duration::from_secs(1)).unwrap();
            direct_client(Duration::from_secs(1)).unwrap();
        }
        assert!(CryptoProvider::get_default().is_some());
    }
}
