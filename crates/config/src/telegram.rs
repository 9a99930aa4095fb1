//! `[telegram]`: the bot, and who may talk to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::{PlatformSection, SectionAccess, numbers};
use crate::problem::Finding;

use crate::{Config, key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// The Telegram bot.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<TelegramConfig>)]
pub struct TelegramConfig {
    /// The bot's token, from @BotFather.
    #[schemars(length(min = 1, max = 200), example = &"123456789:example-token")]
    pub bot_token: Secret,
    /// Ids of the users that may talk to Hob. An empty list lets nobody in.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 4_503_599_627_370_495_i64)))]
    pub allowed_user_ids: Vec<i64>,
    /// Ids of the users that are let in as owners.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 4_503_599_627_370_495_i64)), example = [123_456_789])]
    pub owner_user_ids: Vec<i64>,
    /// Ids of the users that are let in as admins: they may see, stop and edit what users and guests do.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 4_503_599_627_370_495_i64)))]
    pub admin_user_ids: Vec<i64>,
    /// Ids of the users that are let in as guests: without memory and commands, and with few tokens (`[quotas]`).
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 4_503_599_627_370_495_i64)))]
    pub guest_user_ids: Vec<i64>,
    /// Whether everybody else who finds the bot is let in as a guest.
    #[serde(default)]
    pub allow_guests: bool,
    /// Who Hob is on Telegram: one of the personas. Without it: as under `[agent]`.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// Who Hob is in single chats: the chat's id = one of the personas.
    #[serde(default)]
    #[schemars(example = &persona_example())]
    pub personas: BTreeMap<String, String>,
    /// The Bot API server.
    #[serde(default = "api_url")]
    #[schemars(length(min = 1, max = 1000))]
    #[schemars(extend("x-goes" = true))]
    pub api_url: String,
    /// Seconds that a request for news waits at the server.
    #[serde(default = "poll_timeout_secs")]
    #[schemars(range(min = 1, max = 50))]
    pub poll_timeout_secs: u64,
    /// Where Telegram posts news instead of being asked for them: an address of `[server]` as Telegram sees it, through a
    /// server with TLS. It ends in `/telegram/default`, or in the account's name. docs/telegram.md.
    #[schemars(length(min = 1, max = 1000), example = &"https://hob.example.org/telegram/default")]
    #[schemars(extend("x-goes" = true))]
    pub webhook_url: Option<String>,
    /// What Telegram shows with each of these calls: letters, digits, `_` and `-`, at random.
    #[schemars(length(min = 16, max = 256), example = &"a-long-random-secret")]
    pub webhook_secret: Option<Secret>,
}

fn persona_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("-1001234567890", "cook")])
}

fn api_url() -> String {
    "https://api.telegram.org".to_owned()
}

fn poll_timeout_secs() -> u64 {
    50
}

impl TelegramConfig {
    /// What cannot be of the webhook.
    fn webhook(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if let Some(url) = &self.webhook_url {
            found.extend(values::check_http_url("webhook_url", url));
        }
        let lone = "is of no use alone, expected webhook_url and webhook_secret";
        let fix = "set both, or neither";
        match (&self.webhook_url, &self.webhook_secret) {
            (Some(_), None) => found.push(Finding::new("webhook_url", lone, fix)),
            (None, Some(_)) => found.push(Finding::new("webhook_secret", lone, fix)),
            (Some(_), Some(_)) | (None, None) => {}
        }
        let secret_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.webhook_secret.as_ref().is_some_and(|secret| !secret.expose().chars().all(secret_char)) {
            let why = "has a character that Telegram does not take, expected letters, digits, `_` or `-`";
            found.push(Finding::new("webhook_secret", why, "for example what `openssl rand -hex 24` prints"));
        }
        found
    }
}

impl PlatformSection for TelegramConfig {
    fn access(&self) -> SectionAccess<'_> {
        SectionAccess {
            admitted: [
                (Role::Guest, numbers(&self.guest_user_ids)),
                (Role::User, numbers(&self.allowed_user_ids)),
                (Role::Admin, numbers(&self.admin_user_ids)),
                (Role::Owner, numbers(&self.owner_user_ids)),
            ],
            guests: self.allow_guests,
            persona: self.persona.as_ref(),
            personas: &self.personas,
            servers: None,
        }
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if !self.bot_token.expose().chars().all(token_char) {
            let why = "has a character that no token has, expected digits, a colon, then letters, digits, `_` or `-`";
            found.push(Finding::new("bot_token", why, "copy it again from @BotFather"));
        }
        for chat in self.personas.keys().filter(|chat| chat.parse::<i64>().is_err()) {
            let at = key_path::child("personas", chat);
            found.push(Finding::new(
                at,
                "is not the id of a chat, expected a whole number",
                "for example \"-1001234567890\"",
            ));
        }
        found.extend(values::check_http_url("api_url", &self.api_url));
        found.extend(self.webhook());
        found
    }
}

/// What the accounts need besides what each needs for itself: tokens of their own, and an address that can be called.
pub(crate) fn across(config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut tokens: BTreeMap<&str, String> = BTreeMap::new();
    for account in config.telegrams() {
        let (at, TelegramConfig { bot_token, webhook_url, .. }) = (account.key(), account.section);
        if let Some(other) = tokens.insert(bot_token.expose(), at.clone()) {
            let why = format!("is the bot of `[{other}]` too, expected one of its own");
            found.push(Finding::new(key_path::child(&at, "bot_token"), why, "make another with @BotFather"));
        }
        if webhook_url.is_some() && config.server.is_off() {
            let why = "needs `[server]`, which is where Telegram's calls come in";
            let finding = Finding::new(key_path::child(&at, "webhook_url"), why, "set `listen` there, or remove this");
            found.push(finding.with("server.listen"));
        }
    }
    found
}
