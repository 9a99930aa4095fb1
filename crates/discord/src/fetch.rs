//! A file that came with a message: from Discord's own servers, and from nowhere else.

use std::time::Duration;

use crate::settings::Settings;
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::text::causes;
use hob_http::{body_within, builder};

/// Where Discord keeps files.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];
/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long one try of a download may take.
const DOWNLOAD_MAX: Duration = Duration::from_secs(60);
/// How often it is tried.
const TRIES: u32 = 3;

/// Why one try failed.
enum AttemptError {
    /// It may go better next time.
    ForNow(String),
    /// It will not.
    ForGood(String),
}

/// Whether a file may be fetched from there: a message says any address it likes.
fn is_allowed(url: &url::Url, api: &url::Url) -> bool {
    let own =
        url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(|host| HOSTS.contains(&host));
    // A server of one's own in Discord's place keeps the files as well.
    let replaced = api.host_str() != Some("discord.com") && url.origin() == api.origin();
    (own || replaced) && url.username().is_empty() && url.password().is_none()
}

/// Fetches the file; what passes by itself is tried again.
pub(super) async fn fetch(settings: &Settings, attachment: &Attachment, most: u64) -> Result<Vec<u8>, FetchError> {
    let url = url::Url::parse(&attachment.handle).ok().filter(|url| is_allowed(url, &settings.api_url));
    let Some(url) = url else {
        return Err(FetchError("it does not lie on Discord's own servers".to_owned()));
    };
    if attachment.bytes.is_some_and(|bytes| bytes > most) {
        return Err(too_big(most));
    }
    let mut tried = 1;
    loop {
        match attempt(&url, most).await {
            Ok(Some(bytes)) => return Ok(bytes),
            Ok(None) => return Err(too_big(most)),
            Err(AttemptError::ForGood(why)) => return Err(FetchError(why)),
            Err(AttemptError::ForNow(why)) if tried >= TRIES => {
                return Err(FetchError(format!("Discord could not be asked for it: {why}")));
            }
            Err(AttemptError::ForNow(_)) => tokio::time::sleep(settings.pace.retry_min * tried).await,
        }
        tried += 1;
    }
}

fn too_big(most: u64) -> FetchError {
    FetchError(format!("it is larger than {} MB", most >> 20))
}

/// One try; none: it is too big.
async fn attempt(url: &url::Url, most: u64) -> Result<Option<Vec<u8>>, AttemptError> {
    let lost = |error: reqwest::Error| AttemptError::ForNow(causes(&error.without_url()));
    let client = builder(CONNECT_MAX).timeout(DOWNLOAD_MAX).build().map_err(lost)?;
    let response = client.get(url.clone()).send().await.map_err(lost)?;
    match response.status().as_u16() {
        200 => {}
        403 | 404 => return Err(AttemptError::ForGood("Discord does not have it any more; send it again".to_owned())),
        status @ (429 | 500..) => return Err(AttemptError::ForNow(format!("it answers {status}"))),
        status => return Err(AttemptError::ForGood(format!("Discord answers {status}"))),
    }
    body_within(response, most).await.map_err(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_only_discords_own_servers_are_asked() {
        let url = |text: &str| url::Url::parse(text).unwrap();
        let (discord, own) = (url("https://discord.com"), url("http://127.0.0.1:9"));
        let table = [
            ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", &discord, true),
            ("https://media.discordapp.net/attachments/1/2/a.png", &discord, true),
            ("http://cdn.discordapp.com/a", &discord, false),
            ("https://cdn.discordapp.com:8443/a", &discord, false),
            ("https://cdn.discordapp.com.evil.example/a", &discord, false),
            ("https://me:x@cdn.discordapp.com/a", &discord, false),
            ("https://discord.com/a", &discord, false),
            ("http://127.0.0.1:9/a", &discord, false),
            ("http://127.0.0.1:9/a", &own, true),
            ("http://127.0.0.1:8/a", &own, false),
        ];
        for (address, api, expected) in table {
            assert_eq!(is_allowed(&url(address), api), expected, "{address}");
        }
    }
}
