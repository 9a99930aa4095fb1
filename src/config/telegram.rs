//! `[telegram]`: the bot, and who may talk to it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::problem::Finding;
use crate::config::{shape, values};
use crate::domain::secret::Secret;

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
    /// The Bot API server.
    #[serde(default = "api_url")]
    #[schemars(length(min = 1, max = 1000))]
    pub api_url: String,
    /// Seconds that a request for news waits at the server.
    #[serde(default = "poll_timeout_secs")]
    #[schemars(range(min = 1, max = 50))]
    pub poll_timeout_secs: u64,
}

fn api_url() -> String {
    "https://api.telegram.org".to_owned()
}

fn poll_timeout_secs() -> u64 {
    50
}

impl TelegramConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if !self.bot_token.expose().chars().all(token_char) {
            let why = "has a character that no token has, expected digits, a colon, then letters, digits, `_` or `-`";
            found.push(Finding::new("bot_token", why, "copy it again from @BotFather"));
        }
        found.extend(values::http_url("api_url", &self.api_url));
        found
    }
}
