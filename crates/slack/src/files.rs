//! A file that came with a message: asked for with the bot's token, and only from Slack.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tracing::debug;
use url::Url;

use crate::call::CONNECT_MAX;
use crate::convert::text;
use crate::{SetupError, Slack};
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::text::causes;

/// How long one try of a download may take.
const DOWNLOAD_MAX: Duration = Duration::from_secs(60);
/// How often it is tried.
const TRIES: u32 = 3;

/// The client of files. It follows no redirection: the token would go along.
pub(super) fn client(tls: &Arc<ClientConfig>) -> Result<reqwest::Client, SetupError> {
    hob_http::builder(CONNECT_MAX)
        .tls_backend_preconfigured(ClientConfig::clone(tls))
        .build()
        .map_err(|error| SetupError(causes(&error)))
}

/// Is this one of Slack's own servers, or the one that stands for them?
pub(super) fn is_slacks(address: &Url, api: &Url) -> bool {
    let host = address.host_str().unwrap_or_default();
    let is_named = address.scheme() == "https" && (host == "slack.com" || host.ends_with(".slack.com"));
    is_named || address.origin() == api.origin()
}

/// Why one try brought nothing.
enum DownloadError {
    /// Another try changes nothing.
    For(String),
    /// It may pass.
    Perhaps(String),
}

/// Fetches the file; what passes by itself is tried again.
pub(super) async fn fetch(slack: &Slack, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
    let too_big = || FetchError(format!("it is larger than {} MB", bytes_max >> 20));
    if attachment.bytes.is_some_and(|bytes| bytes > bytes_max) {
        return Err(too_big());
    }
    let mut tried = 1;
    loop {
        let why = match attempt(slack, attachment, bytes_max).await {
            Ok(Some(bytes)) => return Ok(bytes),
            Ok(None) => return Err(too_big()),
            Err(DownloadError::For(why)) => return Err(FetchError(why)),
            Err(DownloadError::Perhaps(why)) => why,
        };
        if tried >= TRIES {
            return Err(FetchError(format!("Slack could not be asked for it: {why}")));
        }
        debug!(channel = "slack", %why, "a file is asked for again: {why}");
        tokio::time::sleep(slack.settings.pace.retry_min * tried).await;
        tried += 1;
    }
}

/// One try; none: it is too big.
async fn attempt(slack: &Slack, attachment: &Attachment, bytes_max: u64) -> Result<Option<Vec<u8>>, DownloadError> {
    let address = address(slack, attachment).await?;
    let request = slack.files.get(address).timeout(DOWNLOAD_MAX).bearer_auth(slack.settings.bot_token.expose());
    let lost = |error: reqwest::Error| DownloadError::Perhaps(causes(&error.without_url()));
    let answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_page = kind.starts_with("text/html") && !attachment.name.to_lowercase().contains(".htm");
    if status.is_redirection() || status.as_u16() == 401 || status.as_u16() == 403 || (status.is_success() && is_page) {
        return Err(DownloadError::For("Slack does not hand it out; the app may lack the scope files:read".to_owned()));
    }
    if status.as_u16() == 404 {
        return Err(DownloadError::For("it is gone from Slack".to_owned()));
    }
    if !status.is_success() {
        return Err(DownloadError::Perhaps(status.to_string()));
    }
    hob_http::body_within(answer, bytes_max).await.map_err(lost)
}

/// Where it lies. A file from another workspace is known by its id alone.
async fn address(slack: &Slack, attachment: &Attachment) -> Result<Url, DownloadError> {
    let handle = &attachment.handle;
    let named = if handle.contains("://") {
        handle.clone()
    } else {
        let asked = slack.web.get("files.info", &[("file", handle.clone())]).await;
        let found = asked.map_err(|error| match error.code() {
            Some("ratelimited") | None => DownloadError::Perhaps(error.to_string()),
            Some(_) => DownloadError::For(format!("Slack says: {error}")),
        })?;
        let named = text(&found["file"], "url_private_download");
        named.ok_or_else(|| DownloadError::For("Slack has no copy of it to hand out".to_owned()))?.to_owned()
    };
    let address = Url::parse(&named).ok().filter(|address| is_slacks(address, &slack.settings.api_url));
    address.ok_or_else(|| DownloadError::For("it does not lie on one of Slack's servers".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_the_token_goes_to_slack_alone() {
        let api: Url = "https://slack.com/api".parse().unwrap();
        let table = [
            ("https://files.slack.com/files-pri/T1-F1/a.txt", true),
            ("https://slack.com/a", true),
            ("http://files.slack.com/a", false),
            ("https://files.slack.com.evil.example/a", false),
            ("https://evilslack.com/a", false),
            ("https://files.slack.com@evil.example/a", false),
            ("file:///etc/passwd", false),
        ];
        for (address, expected) in table {
            assert_eq!(is_slacks(&address.parse().unwrap(), &api), expected, "{address}");
        }
        let api: Url = "http://127.0.0.1:8080/api".parse().unwrap();
        assert!(is_slacks(&"http://127.0.0.1:8080/file/1".parse().unwrap(), &api));
        assert!(!is_slacks(&"http://127.0.0.1:8081/file/1".parse().unwrap(), &api));
    }
}
