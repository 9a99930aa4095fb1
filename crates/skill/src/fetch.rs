//! Gets a skill from the network: an archive, or a single `SKILL.md`. Only the owner's command line comes here.
//!
//! Start at [`fetch`].

use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Response, Url};

use crate::archive::ARCHIVE_BYTES_MAX;

/// How long connecting may take, and all of it.
const CONNECT: Duration = Duration::from_secs(20);
const WHOLE: Duration = Duration::from_secs(120);
/// How often a server may send on to another.
const REDIRECTS_MAX: usize = 5;

/// Why nothing came.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No address.
    #[error("{0:?} is not an address: one begins with https://")]
    Address(String),
    /// It would travel in the open.
    #[error("{0} is not https: anybody on the way could put other instructions into it")]
    Open(String),
    /// The server cannot be reached.
    #[error("{0} cannot be fetched: {1}")]
    Unreachable(String, String),
    /// The server has no such thing.
    #[error("{0} answers {1}: is the address right?")]
    Refused(String, u16),
    /// It sends on without end.
    #[error("{0} redirects too often")]
    Redirects(String),
    /// Too long.
    #[error("{0} is longer than {max} MiB", max = ARCHIVE_BYTES_MAX >> 20)]
    TooLong(String),
    /// Too slow.
    #[error("{0} did not come within {secs} s", secs = WHOLE.as_secs())]
    Late(String),
    /// A page for people.
    #[error("{0} is a web page: name the address of the SKILL.md itself, of a .zip or of a .tar.gz")]
    Page(String),
}

/// What is behind an address, and which folder of it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchTarget {
    pub url: Url,
    /// The folder within the archive.
    pub below: Option<String>,
}

/// What an address of a person means: a folder of a repository on GitHub is an archive of it, a file there is the file.
///
/// # Errors
/// When it is none that may be fetched.
pub fn fetch_target(address: &str) -> Result<FetchTarget, FetchError> {
    let url = Url::parse(address).map_err(|_no_url| FetchError::Address(address.to_owned()))?;
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
        return Err(FetchError::Open(address.to_owned()));
    }
    let plain = FetchTarget { url: url.clone(), below: None };
    if url.host_str() != Some("github.com") {
        return Ok(plain);
    }
    let parts: Vec<&str> =
        url.path_segments().map(|parts| parts.filter(|part| !part.is_empty()).collect()).unwrap_or_default();
    let (address, below) = match parts.as_slice() {
        [owner, name] => (format!("https://codeload.github.com/{owner}/{name}/tar.gz/HEAD"), None),
        [owner, name, "tree", branch, folder @ ..] => {
            let below = (!folder.is_empty()).then(|| folder.join("/"));
            (format!("https://codeload.github.com/{owner}/{name}/tar.gz/{branch}"), below)
        }
        [owner, name, "blob", rest @ ..] => {
            (format!("https://raw.githubusercontent.com/{owner}/{name}/{}", rest.join("/")), None)
        }
        _ => return Ok(plain),
    };
    let url = Url::parse(&address).map_err(|_no_url| FetchError::Address(address.clone()))?;
    Ok(FetchTarget { url, below })
}

/// Fetches it.
///
/// # Errors
/// When it does not come, or is too long.
pub async fn fetch(wanted: &FetchTarget) -> Result<Vec<u8>, FetchError> {
    let told = wanted.url.to_string();
    let client = hob_http::client(CONNECT).map_err(|error| FetchError::Unreachable(told.clone(), error.to_string()))?;
    tokio::time::timeout(WHOLE, follow(&client, wanted.url.clone())).await.map_err(|_late| FetchError::Late(told))?
}

async fn follow(client: &Client, mut url: Url) -> Result<Vec<u8>, FetchError> {
    for _ in 0..=REDIRECTS_MAX {
        let told = url.to_string();
        let answer = client.get(url.clone()).send().await;
        let answer = answer.map_err(|error| FetchError::Unreachable(told.clone(), error.without_url().to_string()))?;
        let status = answer.status();
        if !status.is_redirection() {
            return if status.is_success() {
                body(answer, &told).await
            } else {
                Err(FetchError::Refused(told, status.as_u16()))
            };
        }
        let next =
            answer.headers().get(LOCATION).and_then(|next| next.to_str().ok()).and_then(|next| url.join(next).ok());
        let next = next.ok_or_else(|| FetchError::Refused(told.clone(), status.as_u16()))?;
        // Who asked for a safe way gets no other.
        if url.scheme() == "https" && next.scheme() != "https" {
            return Err(FetchError::Open(next.to_string()));
        }
        url = next;
    }
    Err(FetchError::Redirects(url.to_string()))
}

async fn body(answer: Response, told: &str) -> Result<Vec<u8>, FetchError> {
    let broken = |error: reqwest::Error| FetchError::Unreachable(told.to_owned(), error.without_url().to_string());
    let bytes = hob_http::body_within(answer, ARCHIVE_BYTES_MAX).await.map_err(broken)?;
    let bytes = bytes.ok_or_else(|| FetchError::TooLong(told.to_owned()))?;
    let start: Vec<u8> =
        bytes.iter().copied().skip_while(u8::is_ascii_whitespace).take(14).map(|b| b.to_ascii_lowercase()).collect();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        return Err(FetchError::Page(told.to_owned()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_an_address_says_what_is_fetched() {
        let of = |address: &str| match fetch_target(address) {
            Ok(FetchTarget { url, below }) => format!("{url} {}", below.unwrap_or_default()).trim_end().to_owned(),
            Err(error) => error.to_string(),
        };
        for (address, what) in [
            ("https://a.example/x.zip", "https://a.example/x.zip"),
            ("https://github.com/o/r", "https://codeload.github.com/o/r/tar.gz/HEAD"),
            ("https://github.com/o/r/tree/main/skills/pdf", "https://codeload.github.com/o/r/tar.gz/main skills/pdf"),
            (
                "https://github.com/o/r/blob/main/skills/pdf/SKILL.md",
                "https://raw.githubusercontent.com/o/r/main/skills/pdf/SKILL.md",
            ),
            ("https://github.com/o/r/releases/download/1/a.zip", "https://github.com/o/r/releases/download/1/a.zip"),
            ("http://127.0.0.1:9/a", "http://127.0.0.1:9/a"),
            (
                "http://a.example/x",
                "http://a.example/x is not https: anybody on the way could put other instructions into it",
            ),
            (
                "file:///etc/passwd",
                "file:///etc/passwd is not https: anybody on the way could put other instructions into it",
            ),
            ("nonsense", "\"nonsense\" is not an address: one begins with https://"),
        ] {
            assert_eq!(of(address), what, "{address}");
        }
    }
}
