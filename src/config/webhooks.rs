//! `[webhooks.NAME]`: what may call in from outside, and `[server]`: where it calls.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::problem::Finding;
use crate::config::{place, shape, values};
use crate::domain::secret::Secret;

/// Where Hob listens for HTTP. Put a server with TLS before it if it is to be reached from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ServerConfig>)]
pub struct ServerConfig {
    /// The address and port. Without it Hob does not listen.
    #[schemars(length(min = 1, max = 100), example = &"127.0.0.1:8787")]
    pub listen: Option<String>,
}

impl ServerConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let bad = self.listen.as_deref().is_some_and(|listen| listen.parse::<SocketAddr>().is_err());
        let why = "is not an address with a port";
        if bad { vec![Finding::new("listen", why, "for example `127.0.0.1:8787`")] } else { Vec::new() }
    }
}

/// What is signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignedConfig {
    /// the body alone: `sha256=HEX`, as GitHub does
    #[default]
    Body,
    /// the time, a dot and the body: `t=SECONDS,v1=HEX`, as Stripe does; old calls are refused
    Timestamped,
}

/// What may call in with `POST /hooks/NAME`. What it sends is told to the model as data from outside; the run acts for the
/// first owner, and asks before it changes anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<WebhookConfig>)]
pub struct WebhookConfig {
    /// What the caller signs with: HMAC-SHA256.
    #[schemars(length(min = 16, max = 1000), example = &"a-long-random-secret")]
    pub secret: Secret,
    /// What the model is to do about it.
    #[schemars(length(min = 1, max = 4000), example = &"Somebody rang. Tell who, in one sentence.")]
    pub prompt: String,
    /// Where Hob answers: one of the `[destinations]`, on any platform. Without it: in the first owner's own chat.
    #[schemars(length(min = 1, max = 64), example = &"family")]
    pub to: Option<String>,
    /// Instead: a chat on Telegram, by its id.
    #[schemars(range(min = -4_503_599_627_370_495_i64, max = 4_503_599_627_370_495_i64), example = 123_456_789)]
    pub telegram_chat: Option<i64>,
    /// The header with the signature.
    #[serde(default = "header")]
    #[schemars(length(min = 1, max = 100))]
    pub header: String,
    /// What is signed.
    #[serde(default)]
    pub signed: SignedConfig,
    /// Seconds that the time of a timestamped call may differ from ours.
    #[serde(default = "tolerance_secs")]
    #[schemars(range(min = 1, max = 86_400))]
    pub tolerance_secs: u64,
    /// Calls in a minute, at most.
    #[serde(default = "per_minute")]
    #[schemars(range(min = 1, max = 6_000))]
    pub per_minute: u32,
}

fn header() -> String {
    "X-Hub-Signature-256".to_owned()
}

fn tolerance_secs() -> u64 {
    300
}

fn per_minute() -> u32 {
    30
}

/// What cannot be, in all of them.
pub(super) fn validate(webhooks: &BTreeMap<String, WebhookConfig>, server: &ServerConfig) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, webhook) in webhooks {
        let at = place::child("webhooks", name);
        if !values::is_name(name) {
            let why = "cannot name a webhook, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(&at, why, "rename it"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !webhook.header.chars().all(plain) {
            let why = "cannot name a header, expected letters, digits, `-` and `_`";
            found.push(Finding::new(place::child(&at, "header"), why, "for example `X-Hub-Signature-256`"));
        }
        if server.listen.is_none() {
            let why = "cannot be called: Hob does not listen";
            found.push(Finding::new(&at, why, "set `listen` under `[server]`").with("server"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_a_webhook_has_a_name_a_header_and_a_server() {
        let hook = |header: &str| -> WebhookConfig {
            toml::from_str(&format!("secret = '0123456789abcdef'\nprompt = 'x'\nheader = '{header}'")).unwrap()
        };
        let server = |listen: &str| ServerConfig { listen: Some(listen.to_owned()) };
        let keys = |name: &str, header: &str, server: &ServerConfig| {
            let all = BTreeMap::from([(name.to_owned(), hook(header))]);
            validate(&all, server).into_iter().map(|found| found.key).collect::<Vec<_>>()
        };
        let on = server("127.0.0.1:0");
        assert!(keys("door", "X-Signature", &on).is_empty());
        assert_eq!(keys("a b", "X-Signature", &on), ["webhooks.\"a b\""]);
        assert_eq!(keys("door", "X Signature", &on), ["webhooks.door.header"]);
        assert_eq!(keys("door", "X-Signature", &ServerConfig::default()), ["webhooks.door"]);
        for (listen, fine) in [("127.0.0.1:8787", true), ("[::1]:80", true), ("localhost:80", false), ("8787", false)] {
            assert_eq!(server(listen).validate().is_empty(), fine, "{listen}");
        }
    }
}
