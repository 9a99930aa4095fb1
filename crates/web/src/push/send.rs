//! One message to one push service (RFC 8030), and what its answer means.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::SecretKey;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::push::encryption::{EncryptionError, Recipient, SALT_BYTES};
use crate::push::trigger::{PushEvent, PushKind};
use crate::push::vapid::VapidKey;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use hob_store::web_push::Subscription;
use hob_tools::net::error::NetError;
use hob_tools::net::{EgressGuard, FetchRequest, FetchResponse, address};

/// For so many seconds a push service keeps what it cannot hand over: a day.
const KEPT_SECS: &str = "86400";
/// For so many seconds a signature holds. Push services take a day at most.
const SIGNED_SECS: i64 = 12 * 3_600;
/// How long is waited after the first attempt, and after each one that follows.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];
/// It is waited no longer, whatever a push service asks for.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// The length of a topic.
const TOPIC_CHARS: usize = 32;

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PushOutcome {
    /// The push service has it.
    Taken,
    /// The browser is gone.
    Gone,
    /// Not now.
    Later {
        /// Not before.
        after: Option<Duration>,
        /// What was said.
        why: String,
    },
    /// Not this, whenever it is sent.
    Never(String),
}

/// What is told.
pub(super) struct PushMessage {
    words: Vec<u8>,
    urgency: HeaderValue,
    topic: String,
}

impl PushMessage {
    /// That the bell rang so.
    pub(super) fn new(ring: &PushEvent, words: Vec<u8>) -> Self {
        // Of one conversation the newest word is enough, and no push service learns its name.
        let topic = URL_SAFE_NO_PAD.encode(Sha256::digest(ring.chat.as_bytes()));
        let urgency = match ring.kind {
            PushKind::Said => HeaderValue::from_static("normal"),
            PushKind::Asks => HeaderValue::from_static("high"),
        };
        Self { words, urgency, topic: topic.chars().take(TOPIC_CHARS).collect() }
    }
}

/// The way to push services.
pub(super) struct PushClient<'a> {
    pub(super) guard: &'a EgressGuard,
    pub(super) key: &'a VapidKey,
    pub(super) subject: &'a str,
}

impl PushClient<'_> {
    /// One attempt, at a moment in seconds since 1970.
    pub(super) async fn send(&self, letter: &PushMessage, to: &Subscription, now: i64) -> PushOutcome {
        let query = match self.query(letter, to, now) {
            Ok(query) => query,
            Err(why) => return PushOutcome::Never(why),
        };
        match self.guard.send(query).await {
            Ok(answer) => judged(&answer),
            Err(error) if error.is_passing() || matches!(error, NetError::Unresolved { .. }) => {
                PushOutcome::Later { after: None, why: error.to_string() }
            }
            Err(error) => PushOutcome::Never(error.to_string()),
        }
    }

    fn query(&self, letter: &PushMessage, to: &Subscription, now: i64) -> Result<FetchRequest, String> {
        let url = endpoint(&to.endpoint, self.guard)?;
        let says = |error: EncryptionError| error.to_string();
        let sealed = recipient(to).and_then(|recipient| sealed(&recipient, &letter.words)).map_err(says)?;
        let proof = self.key.authorization(&url, now.saturating_add(SIGNED_SECS), self.subject).map_err(says)?;
        let text = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
        let headers = HeaderMap::from_iter([
            (header::AUTHORIZATION, text(&proof)?),
            (header::CONTENT_ENCODING, HeaderValue::from_static("aes128gcm")),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
            (HeaderName::from_static("ttl"), HeaderValue::from_static(KEPT_SECS)),
            (HeaderName::from_static("urgency"), letter.urgency.clone()),
            (HeaderName::from_static("topic"), text(&letter.topic)?),
        ]);
        Ok(FetchRequest { method: Method::POST, url, headers, body: Some(sealed), credentials: None })
    }
}

/// For whom a browser's words are sealed.
pub(super) fn recipient(to: &Subscription) -> Result<Recipient, EncryptionError> {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
    let key = bytes(&to.p256dh).map_err(|_not_base64| EncryptionError::Key)?;
    let auth = bytes(&to.auth).map_err(|_not_base64| EncryptionError::Auth)?;
    Recipient::new(&key, &auth)
}

fn sealed(recipient: &Recipient, words: &[u8]) -> Result<Vec<u8>, EncryptionError> {
    let random = SystemRandom::new();
    let (mut own, mut salt) = ([0; 32], [0; SALT_BYTES]);
    random.fill(&mut own)?;
    random.fill(&mut salt)?;
    // Of 2^32 random numbers one is not a key: then this is not sent.
    let own = SecretKey::from_slice(&own).map_err(|_no_scalar| EncryptionError::Refused)?;
    recipient.seal(words, &own, salt)
}

/// The address of a browser at its push service: sealed on the way, or a place that the operator has opened.
pub(super) fn endpoint(text: &str, guard: &EgressGuard) -> Result<Url, String> {
    let url = address(text).map_err(|error| error.to_string())?;
    let place = url.host().zip(url.port_or_known_default());
    let is_opened = place.is_some_and(|(host, port)| guard.allowed().names(&host, port));
    if url.scheme() == "https" || is_opened { Ok(url) } else { Err("a push service is reached over https".to_owned()) }
}

/// What an answer means. Pure.
fn judged(answer: &FetchResponse) -> PushOutcome {
    let after = || {
        let said = answer.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
        said.trim().parse().ok().map(Duration::from_secs)
    };
    let why = || format!("it answered {}", answer.status);
    match answer.status {
        200..=299 => PushOutcome::Taken,
        404 | 410 => PushOutcome::Gone,
        408 | 429 | 500..=599 => PushOutcome::Later { after: after(), why: why() },
        _ => PushOutcome::Never(why()),
    }
}

/// How long is waited after so many attempts; none: it is given up. Pure.
pub(super) fn retry_delay(attempts: usize, asked: Option<Duration>) -> Option<Duration> {
    let own = WAITS.get(attempts.checked_sub(1)?)?;
    Some(asked.map_or(*own, |asked| asked.clamp(*own, WAIT_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f8_an_answer_of_a_push_service_means_one_of_four_things() {
        let later = |secs: Option<u64>, status: u16| PushOutcome::Later {
            after: secs.map(Duration::from_secs),
            why: format!("it answered {status}"),
        };
        let table = [
            (201, None, PushOutcome::Taken),
            (202, None, PushOutcome::Taken),
            (404, None, PushOutcome::Gone),
            (410, None, PushOutcome::Gone),
            (429, Some("30"), later(Some(30), 429)),
            (503, Some("soon"), later(None, 503)),
            (500, None, later(None, 500)),
            (301, None, PushOutcome::Never("it answered 301".to_owned())),
            (403, None, PushOutcome::Never("it answered 403".to_owned())),
            (413, None, PushOutcome::Never("it answered 413".to_owned())),
        ];
        for (status, retry, expected) in table {
            let headers = retry.map(|secs| (header::RETRY_AFTER, HeaderValue::from_static(secs))).into_iter().collect();
            let url = Url::parse("https://push.example.net/1").unwrap();
            assert_eq!(
                judged(&FetchResponse { url, status, headers, body: Vec::new(), cut: false }),
                expected,
                "{status}"
            );
        }
    }

    #[test]
    fn f8_it_is_tried_again_within_bounds() {
        let secs = |attempts, asked: Option<u64>| {
            retry_delay(attempts, asked.map(Duration::from_secs)).map(|wait| wait.as_secs())
        };
        assert_eq!([1, 2, 3, 4].map(|attempts| secs(attempts, None)), [Some(1), Some(10), Some(60), None]);
        assert_eq!([Some(0), Some(30), Some(9_000)].map(|asked| secs(2, asked)), [Some(10), Some(30), Some(300)]);
    }
}
