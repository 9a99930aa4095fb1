//! `[http.NAME]`: credentials for HTTP APIs, which the model can use and never sees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{key_path, shape, values, web};
use hob_core::domain::secret::Secret;

/// How credentials are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpKind {
    /// a token, as `Authorization: Bearer …`
    #[default]
    Bearer,
    /// a name and a password with a colon between, as `Authorization: Basic …`
    Basic,
    /// as they are, in `header`
    Header,
}

/// Credentials for an HTTP API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<HttpConfig>)]
pub struct HttpConfig {
    /// The only hosts that they are sent to, each with a port or for every one: over https, or to private places that
    /// `[web]` allows.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 300)), example = ["api.example.com"])]
    #[schemars(extend("x-goes" = true))]
    pub hosts: Vec<String>,
    /// How they are sent.
    #[serde(default)]
    pub kind: HttpKind,
    /// The token, `name:password`, or what the header holds.
    #[schemars(length(min = 1, max = 8000), example = &"token-example")]
    pub secret: Secret,
    /// The header's name, for kind header.
    #[serde(default = "header")]
    #[schemars(length(min = 1, max = 200))]
    pub header: String,
}

fn header() -> String {
    "X-Api-Key".to_owned()
}

/// Finds what keeps `name` from naming credentials.
pub(super) fn validate_name(name: &str) -> Option<Finding> {
    let why = "cannot name credentials, expected a letter, then up to 63 letters, digits, `_` or `-`";
    (!values::is_name(name)).then(|| Finding::new(key_path::key(name), why, "rename it"))
}

impl HttpConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            found.extend(web::no_place(&key_path::item("hosts", index), host));
        }
        if self.kind == HttpKind::Basic && !self.secret.expose().contains(':') {
            let why = "has no colon, expected a name, a colon and a password";
            found.push(Finding::new("secret", why, "write `name:password`").with("kind"));
        }
        if self.kind != HttpKind::Basic {
            found.extend(values::header_secret("secret", self.secret.expose()));
        }
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if !self.header.chars().all(token) {
            found.push(Finding::new("header", "is not a header's name", "for example `X-Api-Key`"));
        }
        found
    }
}
