//! Where a model's server is, and the client for it.
//!
//! Never: a key in a message.
//! Start at [`Endpoint::new`].

use std::net::IpAddr;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Url};
use serde::Serialize;

use crate::error::{ErrorClass, ModelError};
use crate::settings::Deadlines;
use hob_core::domain::secret::Secret;

#[cfg(test)]
mod tests;

/// A server, with what every request to it carries.
#[derive(Debug, Clone)]
pub struct Endpoint {
    client: reqwest::Client,
    base: String,
    headers: HeaderMap,
    /// How long to wait for it.
    pub deadlines: Deadlines,
}

impl Endpoint {
    /// The server under `base_url`; nothing is sent yet. `version` is the path that dialects add by themselves and
    /// people write into the address too: `/v1`, say.
    pub fn new(base_url: &str, version: &str, deadlines: Deadlines) -> Result<Self, ModelError> {
        let base = parse(base_url)?;
        let client = if is_local(&base) {
            hob_http::direct_client(deadlines.connect)
        } else {
            hob_http::client(deadlines.connect)
        };
        let client = client.map_err(|error| ModelError::new(ErrorClass::Network, error.to_string()))?;
        let base = base.as_str().trim_end_matches('/');
        let base = base.strip_suffix(version).unwrap_or(base).trim_end_matches('/').to_owned();
        Ok(Self { client, base, headers: HeaderMap::new(), deadlines })
    }

    /// Adds a header to every request.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds the key to every request, if there is one; `prefix` stands before it (`Bearer `).
    pub fn key(self, name: HeaderName, prefix: &str, key: Option<&Secret>) -> Result<Self, ModelError> {
        match key {
            None => Ok(self),
            Some(key) => Ok(self.header(name, key_header(prefix, key)?)),
        }
    }

    /// A request that brings something; `path` starts with a slash.
    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(self.url(path)).headers(self.headers.clone())
    }

    /// A request that brings a body as [`written`] makes it.
    pub(crate) fn post_json(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        self.post(path).header(CONTENT_TYPE, "application/json").body(body)
    }

    /// A request that fetches something; `path` starts with a slash.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path)).headers(self.headers.clone())
    }

    /// Where something is; `path` starts with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// What all its addresses begin with.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// What every request carries.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// What its requests are sent with.
    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }
}

/// A request's body, as JSON.
pub fn written(body: &impl Serialize) -> Result<Vec<u8>, ModelError> {
    serde_json::to_vec(body).map_err(|error| {
        tracing::debug!(%error, "a request cannot be written");
        ModelError::new(ErrorClass::BadRequest, "The request for the model cannot be written.")
    })
}

/// The address, if it is one.
pub fn parse(base_url: &str) -> Result<Url, ModelError> {
    let url = Url::parse(base_url.trim().trim_end_matches('/')).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()).ok_or_else(|| {
        let what = "`base_url` under [provider] in config.toml must be an address like https://host/v1.";
        ModelError::new(ErrorClass::BadRequest, what)
    })
}

/// The key as a header that no log shows.
pub(crate) fn key_header(prefix: &str, key: &Secret) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose().trim())).map_err(|_invalid| {
        let what = "The API key has characters that no key has: check `api_key` under [provider] in config.toml, or \
                    the key in the environment.";
        ModelError::new(ErrorClass::Auth, what)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether the server is on this machine, where no proxy leads.
pub fn is_local(base: &Url) -> bool {
    match base.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}
