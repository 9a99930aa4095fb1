//! `[http.NAME]`: credentials for HTTP APIs, which the model can use and never sees.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::problem::Finding;
use crate::config::{place, shape, values, web};
use crate::domain::secret::Secret;

/// Credentials for an HTTP API. One of `bearer`, `basic` and `value` says which.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<HttpConfig>)]
pub struct HttpConfig {
    /// The only hosts that they are sent to, each with a port or for every one: over https, or to private places that
    /// `[web]` allows.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 300)), example = ["api.example.com"])]
    pub hosts: Vec<String>,
    /// A token, sent as `Authorization: Bearer …`.
    #[schemars(length(min = 1, max = 8000), example = &"token-example")]
    pub bearer: Option<Secret>,
    /// A name and a password with a colon between, sent as `Authorization: Basic …`.
    #[schemars(length(min = 1, max = 8000), example = &"ada:password-example")]
    pub basic: Option<Secret>,
    /// The header in which `value` is sent.
    #[schemars(length(min = 1, max = 200), example = &"X-Api-Key")]
    pub header: Option<String>,
    /// What is sent in `header`.
    #[schemars(length(min = 1, max = 8000), example = &"key-example")]
    pub value: Option<Secret>,
}

/// Finds what keeps `name` from naming credentials.
#[must_use]
pub(super) fn validate_name(name: &str) -> Option<Finding> {
    let why = "cannot name credentials, expected a letter, then up to 63 letters, digits, `_` or `-`";
    (!values::is_name(name)).then(|| Finding::new(place::key(name), why, "rename it"))
}

impl HttpConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            found.extend(web::no_place(&place::item("hosts", index), host));
        }
        let given = [self.bearer.is_some(), self.basic.is_some(), self.value.is_some()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            let why = "needs exactly one of bearer, basic and value";
            let finding = Finding::new("hosts", why, "for example `bearer = \"${API_TOKEN}\"`");
            found.push(finding.with("bearer").with("basic").with("value"));
        }
        for (key, secret) in [("bearer", &self.bearer), ("value", &self.value)] {
            found.extend(secret.as_ref().and_then(|secret| values::header_secret(key, secret.expose())));
        }
        if self.basic.as_ref().is_some_and(|basic| !basic.expose().contains(':')) {
            found.push(Finding::new(
                "basic",
                "has no colon, expected a name, a colon and a password",
                "write `name:password`",
            ));
        }
        if self.header.is_some() != self.value.is_some() {
            found.push(
                Finding::new("header", "is needed with value, and of no use without", "set both or neither")
                    .with("value"),
            );
        }
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if self.header.as_ref().is_some_and(|name| !name.chars().all(token)) {
            found.push(Finding::new("header", "is not a header's name", "for example `X-Api-Key`"));
        }
        found
    }
}
