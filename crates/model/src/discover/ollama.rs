//! Asks an Ollama which models it has.
//!
//! Never: more than one short question.
//! Start at [`probe`].

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use serde::Deserialize;

/// How long the probe may take in all: the start waits for it.
pub(crate) const PROBE_WAIT_MAX: Duration = Duration::from_millis(300);
/// How much of its answer is read.
const TAGS_BYTES_MAX: u64 = 1024 * 1024;
/// Where Ollama listens unless told otherwise.
const PORT: u16 = 11434;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OllamaAddress(Url);

impl OllamaAddress {
    /// Reads `host`, `host:port`, `:port` or an address, as `$OLLAMA_HOST` has it; `0.0.0.0` is this machine.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('/').trim_end_matches("/v1");
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
        let mut url = Url::parse(&format!("{}://{rest}", if scheme.is_empty() { "http" } else { scheme })).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        if scheme.is_empty() && url.port().is_none() {
            url.set_port(Some(PORT)).ok()?;
        }
        if url.host_str() == Some("0.0.0.0") {
            url.set_host(Some("127.0.0.1")).ok()?;
        }
        Some(Self(url))
    }

    /// Where its API begins.
    pub fn base(&self) -> String {
        self.path("")
    }

    fn path(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }
}

#[derive(Debug, Deserialize)]
struct TagsResponse {
    models: Vec<ModelTag>,
}

#[derive(Debug, Deserialize)]
struct ModelTag {
    name: String,
    modified_at: Option<Timestamp>,
}

/// The model to use, if an Ollama answers there at once and has one.
pub async fn probe(address: &OllamaAddress) -> Option<String> {
    match tokio::time::timeout(PROBE_WAIT_MAX, tags(address)).await {
        Ok(Ok(body)) => pick(&body),
        Ok(Err(error)) => {
            tracing::debug!(%error, "no Ollama answers");
            None
        }
        Err(_elapsed) => {
            tracing::debug!("no Ollama answers in time");
            None
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error(transparent)]
    Setup(#[from] hob_http::HttpError),
    #[error(transparent)]
    Exchange(#[from] reqwest::Error),
    #[error("its answer is too long")]
    TooLong,
}

async fn tags(address: &OllamaAddress) -> Result<Vec<u8>, ProbeError> {
    let client = hob_http::direct_client(PROBE_WAIT_MAX)?;
    let answer = client.get(address.path("/api/tags")).send().await?.error_for_status()?;
    hob_http::body_within(answer, TAGS_BYTES_MAX).await?.ok_or(ProbeError::TooLong)
}

/// The most recently modified model that can talk; the first of equals.
fn pick(body: &[u8]) -> Option<String> {
    let tags = match serde_json::from_slice::<TagsResponse>(body) {
        Ok(tags) => tags,
        Err(error) => {
            tracing::debug!(%error, "what answers is no Ollama");
            return None;
        }
    };
    let talks = |tag: &&ModelTag| !tag.name.is_empty() && !tag.name.contains("embed") && !tag.name.contains("minilm");
    let newest = tags.models.iter().rev().filter(talks).max_by_key(|tag| tag.modified_at)?;
    Some(newest.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_ollama_reads_them() {
        let cases = [
            ("127.0.0.1:11434", Some("http://127.0.0.1:11434")),
            ("localhost", Some("http://localhost:11434")),
            ("0.0.0.0", Some("http://127.0.0.1:11434")),
            (":8080", Some("http://127.0.0.1:8080")),
            ("[::1]", Some("http://[::1]:11434")),
            ("https://ollama.example/", Some("https://ollama.example")),
            ("http://10.0.0.2:11434/v1/", Some("http://10.0.0.2:11434")),
            ("ftp://host", None),
            ("a b", None),
            ("", None),
        ];
        for (text, api) in cases {
            assert_eq!(OllamaAddress::parse(text).map(|address| address.base()).as_deref(), api, "{text}");
        }
    }

    #[test]
    fn the_newest_model_that_can_talk_is_picked() {
        let body = br#"{"models":[
            {"name":"old","modified_at":"2024-01-01T10:00:00.123456789+01:00"},
            {"name":"new","modified_at":"2025-01-01T10:00:00-07:00"},
            {"name":"nomic-embed-text","modified_at":"2026-01-01T00:00:00Z"},
            {"name":"undated"}
        ]}"#;
        assert_eq!(pick(body).as_deref(), Some("new"));
        assert_eq!(pick(br#"{"models":[{"name":"a"},{"name":"b"}]}"#).as_deref(), Some("a"));
        assert_eq!(pick(br#"{"models":[]}"#), None);
        assert_eq!(pick(b"<html>"), None);
    }
}
