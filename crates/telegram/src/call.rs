//! One request to the Bot API: teloxide's payloads and client, with the answer's status kept.
//!
//! teloxide's own `send()` sleeps ten seconds after a 5xx, drops the status, and parses a batch of updates all or
//! nothing. The outbox must know whether a message may have been taken, and one bad update must not hide its
//! neighbours: so the envelope is read here, and only the typed payloads, types and client are teloxide's.

use std::error::Error;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teloxide::Bot;
use teloxide::requests::Payload;

use crate::settings::Settings;
use crate::upload::MultipartForm;
use hob_core::domain::text::{causes, head};

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How long an idle connection is kept: less than servers keep it, lest a message is written to a closed one.
const IDLE_MAX: Duration = Duration::from_secs(20);

/// How long one try of a download may take.
const DOWNLOAD_MAX: Duration = Duration::from_secs(60);

/// How much of what the other side said is shown.
const SAID_CHARS_MAX: usize = 200;

/// Why a request has no result; none of the texts holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// No connection came about: the platform has seen nothing.
    #[error("no connection: {0}")]
    NotSent(String),
    /// The request was on its way and no whole answer came back.
    #[error("no answer: {0}")]
    Lost(String),
    /// The Bot API said no.
    #[error("{status} {description}")]
    Api {
        /// The error code.
        status: u16,
        /// What it said.
        description: String,
        /// When it may be tried again.
        retry_after: Option<Duration>,
        /// Where the chat lives now.
        migrate_to: Option<i64>,
    },
    /// Something between answered that doesn't speak the Bot API.
    #[error("an answer that is not the Bot API's: {status} {excerpt}")]
    Foreign {
        /// The HTTP status.
        status: u16,
        /// The beginning of what it said.
        excerpt: String,
    },
}

impl CallError {
    /// A proxy's page may quote the address, and that holds the token.
    fn without_token(mut self, token: &str) -> Self {
        match &mut self {
            Self::NotSent(text) | Self::Lost(text) => *text = text.replace(token, "[token]"),
            Self::Api { description: text, .. } | Self::Foreign { excerpt: text, .. } => {
                // Cut only after the token is gone, lest half of it stays.
                *text = head(&text.replace(token, "[token]"), SAID_CHARS_MAX).to_owned();
            }
        }
        self
    }
}

/// A client of its own for `settings`, whose requests end after `deadline` in any case.
pub(super) fn client(settings: &Settings, deadline: Duration) -> Result<Bot, CallError> {
    let client = teloxide::net::default_reqwest_settings()
        .connect_timeout(CONNECT_MAX)
        .timeout(deadline)
        .pool_idle_timeout(IDLE_MAX)
        .build()
        .map_err(|error| CallError::NotSent(describe(error.without_url(), settings.token.expose())))?;
    Ok(Bot::with_client(settings.token.expose(), client).set_api_url(settings.api_url.clone()))
}

/// Sends `payload` and returns the body of a successful answer, still to be parsed.
pub(super) async fn call<P: Payload + Serialize>(
    bot: &Bot,
    payload: &P,
    deadline: Duration,
) -> Result<ApiResponse, CallError> {
    match tokio::time::timeout(deadline, exchange(bot, payload, deadline)).await {
        Ok(answer) => answer,
        Err(elapsed) => Err(CallError::Lost(format!("{elapsed}: {} took longer than {deadline:?}", P::NAME))),
    }
}

async fn exchange<P: Payload + Serialize>(
    bot: &Bot,
    payload: &P,
    deadline: Duration,
) -> Result<ApiResponse, CallError> {
    let bytes = serde_json::to_vec(payload).map_err(|error| CallError::NotSent(error.to_string()))?;
    post(bot, P::NAME, MultipartForm { content_type: "application/json".to_owned(), body: bytes }, deadline).await
}

/// Sends a form with a file in it to `method`, within so long.
pub(super) async fn upload(
    bot: &Bot,
    method: &str,
    form: MultipartForm,
    deadline: Duration,
) -> Result<ApiResponse, CallError> {
    match tokio::time::timeout(deadline, post(bot, method, form, deadline)).await {
        Ok(answer) => answer,
        Err(elapsed) => Err(CallError::Lost(format!("{elapsed}: {method} took longer than {deadline:?}"))),
    }
}

/// Downloads a file by the path that `getFile` told; none: it is larger than `most` bytes.
pub(super) async fn download(bot: &Bot, path: &str, most: u64) -> Result<Option<Vec<u8>>, CallError> {
    let address = address(bot, &["file", &format!("bot{}", bot.token())], path.split('/'))?;
    let lost = |error: CallError| error.without_token(bot.token());
    // How long a download may take as a whole, whoever asked for it knows.
    let request = bot.client().get(address).timeout(DOWNLOAD_MAX);
    let sent = request.send().await;
    let mut response = sent.map_err(|error| CallError::Lost(describe(error.without_url(), bot.token())))?;
    let status = response.status().as_u16();
    if !response.status().is_success() {
        let body = response.text().await;
        let body = body.map_err(|error| CallError::Lost(describe(error.without_url(), bot.token())))?;
        return Err(lost(
            parse_answer(status, body).err().unwrap_or(CallError::Foreign { status, excerpt: String::new() }),
        ));
    }
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| CallError::Lost(describe(error.without_url(), bot.token())))?;
        let Some(chunk) = chunk else {
            return Ok(Some(bytes));
        };
        if (bytes.len() + chunk.len()) as u64 > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// The API's address with these steps behind it.
fn address<'a>(bot: &Bot, steps: &[&str], more: impl IntoIterator<Item = &'a str>) -> Result<url::Url, CallError> {
    let mut url = bot.api_url();
    match url.path_segments_mut() {
        Ok(mut path) => path.pop_if_empty().extend(steps).extend(more),
        Err(()) => return Err(CallError::NotSent("the address takes no path".to_owned())),
    };
    Ok(url)
}

async fn post(bot: &Bot, method: &str, form: MultipartForm, deadline: Duration) -> Result<ApiResponse, CallError> {
    let url = address(bot, &[&format!("bot{}", bot.token())], [method])?;
    let request = bot.client().post(url).timeout(deadline).header("content-type", form.content_type).body(form.body);
    let response = request.send().await.map_err(|error| {
        let never_left = error.is_connect() || error.is_builder();
        let what = describe(error.without_url(), bot.token());
        if never_left { CallError::NotSent(what) } else { CallError::Lost(what) }
    })?;
    let status = response.status().as_u16();
    let body = response.text().await.map_err(|error| CallError::Lost(describe(error.without_url(), bot.token())))?;
    parse_answer(status, body).map_err(|error| error.without_token(bot.token()))
}

/// The body of an answer that says `ok`.
#[derive(Debug)]
pub(super) struct ApiResponse(String);

#[derive(Deserialize)]
struct Envelope<R> {
    result: R,
}

impl ApiResponse {
    /// Its result as an `R`.
    pub(super) fn result<R: DeserializeOwned>(&self) -> Result<R, serde_json::Error> {
        serde_json::from_str(&self.0).map(|Envelope { result }| result)
    }
}

#[derive(Deserialize)]
struct ResponseStatus {
    ok: bool,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<ResponseParameters>,
}

#[derive(Deserialize)]
struct ResponseParameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

fn parse_answer(status: u16, body: String) -> Result<ApiResponse, CallError> {
    let Ok(verdict) = serde_json::from_str::<ResponseStatus>(&body) else {
        let excerpt = body.chars().filter(|c| !c.is_control()).collect();
        return Err(CallError::Foreign { status, excerpt });
    };
    if verdict.ok {
        return Ok(ApiResponse(body));
    }
    Err(CallError::Api {
        status: verdict.error_code.unwrap_or(status),
        description: verdict.description.unwrap_or_else(|| "no description".to_owned()),
        retry_after: verdict.parameters.as_ref().and_then(|said| said.retry_after).map(Duration::from_secs),
        migrate_to: verdict.parameters.and_then(|said| said.migrate_to_chat_id),
    })
}

/// The error and what caused it, without the token: the URL holds it.
fn describe(error: impl Error, token: &str) -> String {
    causes(&error).replace(token, "[token]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_by_its_envelope() {
        let taken = parse_answer(200, r#"{"ok":true,"result":[1]}"#.to_owned()).unwrap();
        assert_eq!(taken.result::<Vec<i64>>().unwrap(), [1]);
        let flood = r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#;
        insta::assert_snapshot!(parse_answer(429, flood.to_owned()).unwrap_err(), @"429 Too Many Requests");
        let proxy = parse_answer(502, "<html>\n<h1>Bad Gateway</h1>".to_owned()).unwrap_err();
        insta::assert_snapshot!(proxy, @"an answer that is not the Bot API's: 502 <html><h1>Bad Gateway</h1>");
    }

    #[test]
    fn the_token_is_not_in_a_description() {
        let error = std::io::Error::other("cannot reach https://t.me/bot12:secret/getMe");
        assert_eq!(describe(error, "12:secret"), "cannot reach https://t.me/bot[token]/getMe");
        let page = parse_answer(404, format!("{}/bot12:secret/getMe", "x".repeat(190)))
            .unwrap_err()
            .without_token("12:secret");
        assert!(!page.to_string().contains("12:"), "{page}");
    }
}
