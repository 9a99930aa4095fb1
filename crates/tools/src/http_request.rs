//! `http_request`: a request to an HTTP API, with credentials that the model names and never sees.

use std::collections::BTreeMap;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::net::{Credentials, EgressGuard, FetchRequest, FetchResponse, address, disclosure};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::network::NamedPlace;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::REDACTED;
use hob_core::domain::secret::Secret;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};
use hob_core::policy::net::AllowedPlaces;
use hob_http::page::{characters, charset};

/// The most characters of an answer's header that are shown.
const HEADER_CHARS_MAX: usize = 200;
/// What is kept free for status and headers, in characters.
const FRAME_CHARS: usize = 1_500;
/// The fewest characters of a body that are shown.
const BODY_CHARS_MIN: usize = 1_000;
/// The headers of an answer that say something.
const TOLD: [&str; 8] = [
    "content-type",
    "content-length",
    "location",
    "date",
    "etag",
    "last-modified",
    "retry-after",
    "x-ratelimit-remaining",
];

/// Said where a request that may change something got no whole answer.
const UNKNOWN: &str = "It may have been done all the same: look before you ask for it again.";

#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum Verb {
    #[serde(rename = "GET")]
    Get,
    #[serde(rename = "HEAD")]
    Head,
    #[serde(rename = "POST")]
    Post,
    #[serde(rename = "PUT")]
    Put,
    #[serde(rename = "PATCH")]
    Patch,
    #[serde(rename = "DELETE")]
    Delete,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    method: Verb,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    /// The name of configured credentials.
    auth: Option<String>,
}

/// Credentials as they were configured.
#[derive(Clone)]
pub struct CredentialProfile {
    /// The only places that they go to.
    pub places: Vec<NamedPlace>,
    pub name: HeaderName,
    pub value: Secret,
    /// What is never shown: what was configured, in every spelling that an answer could repeat.
    pub secrets: Vec<Secret>,
}

/// The tool.
pub struct HttpRequest {
    spec: ToolSpec,
    guard: EgressGuard,
    profiles: BTreeMap<String, CredentialProfile>,
    body_chars: usize,
}

impl HttpRequest {
    /// Asks through `guard`, with these credentials; a result has at most `chars_max` characters.
    pub fn new(guard: EgressGuard, profiles: BTreeMap<String, CredentialProfile>, chars_max: usize) -> Self {
        let names: Vec<&str> = profiles.keys().map(String::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let about = format!("Makes an HTTP request to an API. Credentials (auth) that there are: {known}.");
        let spec = spec_of::<Arguments>("http_request", &about, false).of("web", Role::Admin).shown_on_need();
        let facts = ToolFacts { changes: true, risk: Risk::Send, ..ToolFacts::default() };
        let body_chars = chars_max.saturating_sub(FRAME_CHARS).max(BODY_CHARS_MIN);
        Self { spec: spec.with(facts), guard, profiles, body_chars }
    }

    fn query(&self, arguments: Arguments) -> Result<(FetchRequest, Vec<Secret>), Outcome> {
        let url = address(&arguments.url).map_err(|error| error.outcome())?;
        let headers = headers(&arguments.headers)?;
        let method = method(arguments.method);
        let body = arguments.body.map(String::into_bytes);
        let query = FetchRequest { method, url, headers, body, credentials: None };
        let Some(name) = arguments.auth else { return Ok((query, Vec::new())) };
        let profile = self.profiles.get(&name).ok_or_else(|| {
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            Outcome::Error(format!("There are no credentials with this name. There are: {}.", known.join(", ")))
        })?;
        let credentials = self.credentials(&name, profile, &query)?;
        Ok((FetchRequest { credentials: Some(credentials), ..query }, profile.secrets.clone()))
    }

    /// The credentials for a request, if it goes where they may go; else why not, in words for the model.
    fn credentials(
        &self,
        name: &str,
        profile: &CredentialProfile,
        query: &FetchRequest,
    ) -> Result<Credentials, Outcome> {
        let no = |why: String| Err(Outcome::Error(why));
        let places = AllowedPlaces::new(profile.places.clone());
        let is_in = |places: &AllowedPlaces| {
            let own = query.url.host().zip(query.url.port_or_known_default());
            own.is_some_and(|(host, port)| places.names(&host, port))
        };
        if !is_in(&places) {
            let places: Vec<String> = profile.places.iter().map(ToString::to_string).collect();
            return no(format!("{name} is only for {}. Nothing was sent.", places.join(", ")));
        }
        if query.url.scheme() != "https" && !is_in(self.guard.allowed()) {
            return no("Credentials are only sent over https. Nothing was sent.".to_owned());
        }
        if query.headers.contains_key(&profile.name) {
            return no(format!("{} is set by {name}; leave it out of the headers.", profile.name));
        }
        let unfit =
            |_error| Outcome::Error(format!("The value of {name} cannot be sent in a header; its owner has to look."));
        let mut value = HeaderValue::from_str(profile.value.expose()).map_err(unfit)?;
        value.set_sensitive(true);
        Ok(Credentials { places: profile.places.clone(), name: profile.name.clone(), value })
    }

    fn response_text(&self, answer: &FetchResponse, secrets: &[Secret]) -> String {
        let reason = reqwest::StatusCode::from_u16(answer.status).ok().and_then(|status| status.canonical_reason());
        let mut lines = vec![format!("{} {}", answer.status, reason.unwrap_or_default()).trim_end().to_owned()];
        for name in TOLD {
            let value = answer.headers.get(name).and_then(|value| value.to_str().ok());
            lines.extend(
                value.map(|value| format!("{name}: {}", value.chars().take(HEADER_CHARS_MAX).collect::<String>())),
            );
        }
        let (_, header) = answer.content_type();
        let binary = answer.body.iter().take(1_024).any(|byte| *byte == 0);
        let body = match binary {
            true => format!("[{} bytes that are not text]", answer.body.len()),
            false => characters::strip_invisible(&charset::decode(&answer.body, header)).0,
        };
        // Before it is cut: half a secret is one.
        let whole = without_secrets(&format!("{}\n\n", lines.join("\n")), secrets);
        let body = head_and_tail(&without_secrets(&body, secrets), self.body_chars);
        let cut = if answer.cut { "\n[The answer is too large: this is of its beginning.]" } else { "" };
        format!("{whole}{body}{cut}")
    }
}

#[async_trait]
impl Tool for HttpRequest {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, is_mentioned: &MentionCheck<'_>) -> Assessment {
        let arguments = &invocation.arguments;
        let text = |key: &str| arguments[key].as_str();
        let mut found = disclosure::assess_address(text("url").unwrap_or_default(), self.guard.allowed(), is_mentioned);
        let looks = matches!(text("method"), Some("GET" | "HEAD"));
        let carries =
            text("body").is_some() || arguments["headers"].as_object().is_some_and(|headers| !headers.is_empty());
        if !looks || carries {
            found.risk = Risk::Send;
        }
        if let Some(name) = text("auth") {
            found.grade = found.grade.max(DangerGrade::Medium);
            found.reasons.push(format!("it acts with the credentials {name}"));
        }
        found
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments = parse(&self.spec, invocation.arguments)?;
        let (query, secrets) = self.query(arguments)?;
        let (asked, looks) = (query.url.clone(), matches!(query.method, Method::GET | Method::HEAD));
        let answer = self.guard.send(query).await.map_err(|error| {
            let outcome = error.outcome_at(&asked);
            if !looks && error.may_have_arrived() { outcome.with(UNKNOWN) } else { outcome }
        })?;
        let source = OriginSource::new(Origin::Web, &without_secrets(answer.url.as_str(), &secrets));
        let text = self.response_text(&answer, &secrets);
        let outcome = match answer.status {
            200..=399 => Outcome::Text(text),
            429 | 500..=599 => Outcome::Transient(text),
            _ => Outcome::Error(text),
        };
        Ok(outcome.from(source))
    }
}

fn method(verb: Verb) -> Method {
    match verb {
        Verb::Get => Method::GET,
        Verb::Head => Method::HEAD,
        Verb::Post => Method::POST,
        Verb::Put => Method::PUT,
        Verb::Patch => Method::PATCH,
        Verb::Delete => Method::DELETE,
    }
}

/// The headers as they can be sent. Those that say where a message ends, or to whom it goes, are not the model's to say.
fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Outcome> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let no_header =
            |_error| Outcome::Error(format!("{name:?} is not a header that can be sent. Nothing was sent."));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(no_header)?;
        let no_value =
            |_error| Outcome::Error(format!("The value of the header {name} cannot be sent. Nothing was sent."));
        let value = HeaderValue::from_str(value).map_err(no_value)?;
        if [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, UPGRADE, COOKIE].contains(&name)
            || name.as_str().starts_with("proxy-")
        {
            return Err(Outcome::Error(format!("The header {name} is not sent from here; leave it out.")));
        }
        headers.insert(name, value);
    }
    Ok(headers)
}

fn without_secrets(text: &str, secrets: &[Secret]) -> String {
    let found = secrets.iter().map(Secret::expose).filter(|secret| !secret.is_empty());
    found.fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
}

/// Beginning and end of a text that is too long.
fn head_and_tail(text: &str, chars_max: usize) -> String {
    let total = text.chars().count();
    if total <= chars_max {
        return text.to_owned();
    }
    let (head, tail) = (chars_max * 3 / 4, chars_max / 4);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(total - tail).collect();
    format!("{first}\n[… {} characters left out …]\n{last}", total - head - tail)
}

#[cfg(test)]
mod tests;
