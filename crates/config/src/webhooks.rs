//! `[webhooks.NAME]`: what may call in from outside, and `[server]`: where it calls.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::secret::Secret;

/// Where Hob listens for HTTP. Put a server with TLS before it if it is to be reached from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ServerConfig>)]
pub struct ServerConfig {
    /// The address and port of Hob's page, its API and of webhooks; `off`: Hob does not listen. Without it: $HOB_LISTEN, else
    /// 127.0.0.1:8787, if nobody else has that.
    #[schemars(length(min = 1, max = 100), example = &"127.0.0.1:8787")]
    pub listen: Option<String>,
    /// Under which address the page is reached from outside, if a server with TLS stands before it; docs/page.md says how.
    #[schemars(length(min = 8, max = 300), example = &"https://hob.example.org")]
    pub public_url: Option<String>,
}

/// Where Hob listens if nobody says otherwise: nobody reaches that from another machine.
const LISTEN: &str = "127.0.0.1:8787";
/// It does not listen.
const OFF: &str = "off";

/// Where Hob listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The address and port.
    pub address: String,
    /// Somebody has said so: then it must be had.
    pub asked_for: bool,
}

impl ServerConfig {
    /// Where it listens; none: nowhere.
    pub fn listens(&self, environment: &Environment) -> Option<ListenAddress> {
        let said = self.listen.as_deref().or_else(|| environment.text("HOB_LISTEN"));
        let address = said.unwrap_or(LISTEN).to_owned();
        (address != OFF).then_some(ListenAddress { address, asked_for: said.is_some() })
    }

    /// Whether the file says that it does not listen.
    pub fn is_off(&self) -> bool {
        self.listen.as_deref() == Some(OFF)
    }

    /// It listens nowhere.
    pub fn turn_off(&mut self) {
        self.listen = Some(OFF.to_owned());
    }

    /// The address from outside.
    pub fn public(&self) -> Option<url::Url> {
        self.public_url.as_deref()?.parse().ok()
    }

    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.listen.as_deref().is_some_and(|listen| listen != OFF && listen.parse::<SocketAddr>().is_err()) {
            let fix = "for example `127.0.0.1:8787`, or `off`";
            found.push(Finding::new("listen", "is not an address with a port", fix));
        }
        let is_web =
            |url: &url::Url| matches!(url.scheme(), "http" | "https") && url.host().is_some() && url.path() == "/";
        if self.public_url.is_some() && !self.public().as_ref().is_some_and(is_web) {
            let fix = "for example `https://hob.example.org`, without a path";
            found.push(Finding::new("public_url", "is not the address of a server", fix));
        }
        found
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
    let mut secrets = BTreeMap::new();
    for (name, webhook) in webhooks {
        let at = key_path::child("webhooks", name);
        if !values::is_name(name) {
            let why = "cannot name a webhook, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(&at, why, "rename it"));
        }
        // What one's caller signs would be taken for the other's.
        if let Some(other) = secrets.insert(webhook.secret.expose(), name) {
            let why = format!("is the secret of `webhooks.{other}` too");
            found.push(Finding::new(key_path::child(&at, "secret"), why, "give each its own"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !webhook.header.chars().all(plain) {
            let why = "cannot name a header, expected letters, digits, `-` and `_`";
            found.push(Finding::new(key_path::child(&at, "header"), why, "for example `X-Hub-Signature-256`"));
        }
        if server.is_off() {
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
        let server = |listen: &str| ServerConfig { listen: Some(listen.to_owned()), public_url: None };
        let keys = |name: &str, header: &str, server: &ServerConfig| {
            let all = BTreeMap::from([(name.to_owned(), hook(header))]);
            validate(&all, server).into_iter().map(|found| found.key).collect::<Vec<_>>()
        };
        let on = server("127.0.0.1:0");
        assert!(keys("door", "X-Signature", &on).is_empty());
        assert_eq!(keys("a b", "X-Signature", &on), ["webhooks.\"a b\""]);
        assert_eq!(keys("door", "X Signature", &on), ["webhooks.door.header"]);
        assert!(
            keys("door", "X-Signature", &ServerConfig::default()).is_empty(),
            "it listens, if nobody says otherwise"
        );
        assert_eq!(keys("door", "X-Signature", &server("off")), ["webhooks.door"]);
        let two = |other: &str| {
            let mut second = hook("X-Signature");
            second.secret = Secret::new(other.to_owned());
            let all = BTreeMap::from([("bell".to_owned(), hook("X-Signature")), ("door".to_owned(), second)]);
            validate(&all, &on).into_iter().map(|found| found.key).collect::<Vec<_>>()
        };
        assert_eq!(two("0123456789abcdef"), ["webhooks.door.secret"]);
        assert!(two("fedcba9876543210").is_empty());
        for (listen, fine) in [("127.0.0.1:8787", true), ("[::1]:80", true), ("localhost:80", false), ("8787", false)] {
            assert_eq!(server(listen).validate().is_empty(), fine, "{listen}");
        }
    }
}
