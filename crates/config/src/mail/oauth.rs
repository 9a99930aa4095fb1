//! `[mail.NAME.oauth]`: a login instead of a password.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::email::is_loopback;
use crate::problem::Finding;
use crate::{shape, values};
use hob_core::domain::secret::Secret;

/// Whoever issues tokens for its own mail servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailProvider {
    /// Gmail; to most programs it gives no mail by a code (docs/mail.md)
    Google,
    /// Outlook and Microsoft 365
    Microsoft,
}

/// A login at whoever issues tokens for the mailbox, instead of a password: `hob mail login NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<OAuthConfig>)]
pub struct OAuthConfig {
    /// Who issues them; another one is described by device_url, token_url and scope.
    #[schemars(example = &"microsoft")]
    #[schemars(extend("x-goes" = true))]
    pub provider: Option<MailProvider>,
    /// Who Hob is there: the id that the provider gives to a program which you register with it.
    #[schemars(length(min = 1, max = 2000), example = &"hob-household")]
    pub client_id: String,
    /// The secret that belongs to client_id, if it has one.
    #[schemars(length(min = 1, max = 4000), example = &"example-secret")]
    pub client_secret: Option<Secret>,
    /// Where the code is asked for that you type in.
    #[schemars(length(min = 1, max = 1000), example = &"https://login.example.org/device")]
    #[schemars(extend("x-goes" = true))]
    pub device_url: Option<String>,
    /// Where the tokens are.
    #[schemars(length(min = 1, max = 1000), example = &"https://login.example.org/token")]
    #[schemars(extend("x-goes" = true))]
    pub token_url: Option<String>,
    /// What is asked for.
    #[schemars(length(min = 1, max = 2000), example = &"imap smtp offline_access")]
    pub scope: Option<String>,
}

impl OAuthConfig {
    /// What cannot be.
    pub(super) fn validate(&self) -> Vec<Finding> {
        let urls = [("device_url", &self.device_url), ("token_url", &self.token_url)];
        let mut found = Vec::new();
        for (key, url) in urls.into_iter().filter_map(|(key, url)| Some((key, url.as_ref()?))) {
            found.extend(values::check_http_url(key, url).or_else(|| unsealed(key, url)));
        }
        let own = [self.device_url.is_some(), self.token_url.is_some(), self.scope.is_some()];
        let is_own = own.iter().all(|is| *is);
        match self.provider {
            Some(_) if own.iter().any(|is| *is) => {
                let why = "is known by its name, expected no device_url, token_url or scope";
                found.push(Finding::new("provider", why, "remove them, or provider"));
            }
            None if !is_own => {
                let why = "is missing, expected it or all of device_url, token_url and scope";
                found.push(Finding::new("provider", why, "set provider = \"microsoft\", or the three"));
            }
            Some(_) | None => {}
        }
        found
    }
}

fn unsealed(key: &str, url: &str) -> Option<Finding> {
    let url = url::Url::parse(url).ok()?;
    let open = url.scheme() != "https" && !url.host_str().is_some_and(is_loopback);
    let why = "would send tokens readable over the network, expected https";
    open.then(|| Finding::new(key, why, "begin it with https://"))
}
