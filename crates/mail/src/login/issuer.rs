//! Whoever issues tokens: what is asked there, and what may come back.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::login::LoginError;
use hob_core::domain::secret::Secret;
use hob_email::one_line;
use hob_tools::net::error::NetError;
use hob_tools::net::{EgressGuard, FetchRequest, Limits, address};

/// The most bytes of an answer.
const BYTES_MAX: usize = 1 << 16;
/// The most characters of an issuer's words that are told.
const WORDS_CHARS_MAX: usize = 300;
/// The most bytes of a token.
const TOKEN_BYTES_MAX: usize = 16_000;
/// How often is asked where nobody says (RFC 8628, 3.2).
const INTERVAL_SECS: u64 = 5;
/// The longest time between two questions, and the longest that a code holds.
const INTERVAL_SECS_MAX: u64 = 300;
const HOLDS_SECS_MAX: u64 = 3_600;

/// Whoever issues tokens for a mailbox, and who Hob is there. The operator names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Where a code for a person is asked for.
    pub device_url: Url,
    pub token_url: Url,
    /// What is asked for.
    pub scope: String,
    /// Who Hob is.
    pub client_id: String,
    /// The secret that belongs to it, if it has one.
    pub client_secret: Option<Secret>,
}

/// A code that a person types in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    pub page: String,
    pub user_code: String,
    pub(super) interval: Duration,
    pub(super) holds: Duration,
    code: Secret,
}

pub(super) struct IssuedTokens {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) holds: Option<Duration>,
}

/// How far a person is.
pub(super) enum PollOutcome {
    Issued(IssuedTokens),
    Pending,
    TooFast,
}

#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: Secret,
    user_code: String,
    // Google writes `verification_url`.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    expires_in: u64,
    interval: Option<u64>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Secret,
    token_type: String,
    refresh_token: Option<Secret>,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
    error_description: Option<String>,
}

impl Issuer {
    /// The way out to it.
    pub(super) fn guarded(&self, guard: &EgressGuard) -> EgressGuard {
        let guard = guard.allowing_host(&self.device_url).allowing_host(&self.token_url);
        guard.within(Limits { bytes_max: BYTES_MAX, ..Limits::default() })
    }

    pub(super) async fn device_code(&self, guard: &EgressGuard) -> Result<DeviceCode, LoginError> {
        let answer = self.ask::<DeviceAnswer>(guard, &self.device_url, &[("scope", self.scope.as_str())]).await?;
        let answer = answer.map_err(Refusal::told)?;
        // A person is shown these: an issuer's words, which may be anybody's.
        let page = address(&answer.verification_uri).map_err(|error| LoginError::Refused(error.to_string()))?;
        let secs = |given: u64, most: u64| Duration::from_secs(given.clamp(1, most));
        Ok(DeviceCode {
            page: page.to_string(),
            user_code: one_line(&answer.user_code, WORDS_CHARS_MAX),
            interval: secs(answer.interval.unwrap_or(INTERVAL_SECS), INTERVAL_SECS_MAX),
            holds: secs(answer.expires_in, HOLDS_SECS_MAX),
            code: answer.device_code,
        })
    }

    pub(super) async fn poll(&self, guard: &EgressGuard, code: &DeviceCode) -> Result<PollOutcome, LoginError> {
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        let asked = [("grant_type", grant), ("device_code", code.code.expose())];
        match self.ask::<TokenAnswer>(guard, &self.token_url, &asked).await? {
            Ok(answer) => answer.checked().map(PollOutcome::Issued),
            Err(refusal) => match refusal.error.as_str() {
                "authorization_pending" => Ok(PollOutcome::Pending),
                "slow_down" => Ok(PollOutcome::TooFast),
                "expired_token" => Err(LoginError::Expired),
                _ => Err(refusal.told()),
            },
        }
    }

    /// Renews a token; none: it can be renewed no more.
    pub(super) async fn renew(
        &self,
        guard: &EgressGuard,
        refresh: &Secret,
    ) -> Result<Option<IssuedTokens>, LoginError> {
        let asked =
            [("grant_type", "refresh_token"), ("refresh_token", refresh.expose()), ("scope", self.scope.as_str())];
        match self.ask::<TokenAnswer>(guard, &self.token_url, &asked).await? {
            Ok(answer) => answer.checked().map(Some),
            Err(refusal) if refusal.error == "invalid_grant" => Ok(None),
            Err(refusal) => Err(refusal.told()),
        }
    }

    /// Asks; what is inside is what came, or why it was refused.
    async fn ask<T: DeserializeOwned>(
        &self,
        guard: &EgressGuard,
        url: &Url,
        fields: &[(&str, &str)],
    ) -> Result<Result<T, Refusal>, LoginError> {
        let mut form = Serializer::new(String::new());
        form.append_pair("client_id", &self.client_id).extend_pairs(fields);
        if let Some(secret) = &self.client_secret {
            form.append_pair("client_secret", secret.expose());
        }
        let kinds = [(CONTENT_TYPE, "application/x-www-form-urlencoded"), (ACCEPT, "application/json")];
        let headers = kinds.map(|(name, kind)| (name, HeaderValue::from_static(kind)));
        let headers = headers.into_iter().collect::<HeaderMap>();
        let body = Some(form.finish().into_bytes());
        let query = FetchRequest { method: Method::POST, url: url.clone(), headers, body, credentials: None };
        let no_answer = |error: NetError| LoginError::Unreachable(error.to_string().trim_end_matches('.').to_owned());
        let answer = guard.send(query).await.map_err(no_answer)?;
        let strange = || LoginError::Unreachable(format!("it answers {} and no JSON of OAuth", answer.status));
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map(Ok).map_err(|_no_json| strange()),
            400 | 401 | 403 | 428 => serde_json::from_slice(&answer.body).map(Err).map_err(|_no_json| strange()),
            _ => Err(strange()),
        }
    }
}

impl TokenAnswer {
    fn checked(self) -> Result<IssuedTokens, LoginError> {
        // They go into a line of SASL, where a control character would end them.
        let is_plain = |token: &Secret| {
            let token = token.expose();
            !token.is_empty() && token.len() <= TOKEN_BYTES_MAX && token.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let plain = is_plain(&self.access_token) && self.refresh_token.iter().all(is_plain);
        if !plain || !self.token_type.eq_ignore_ascii_case("bearer") {
            return Err(LoginError::Refused("what was issued is no token for mail servers".to_owned()));
        }
        let Self { access_token, refresh_token, expires_in, .. } = self;
        Ok(IssuedTokens { access_token, refresh_token, holds: expires_in.map(Duration::from_secs) })
    }
}

impl Refusal {
    fn told(self) -> LoginError {
        let about = self.error_description.unwrap_or_default();
        LoginError::Refused(one_line(&format!("{} {about}", self.error), WORDS_CHARS_MAX))
    }
}
