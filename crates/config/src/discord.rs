//! `[discord]`: the bot on Discord, and who may talk to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::{PlatformSection, SectionAccess, numbers};
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// The Discord bot. docs/discord.md says how to make one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DiscordConfig>)]
pub struct DiscordConfig {
    /// The bot's token, from the developer portal's page "Bot".
    #[schemars(length(min = 1, max = 200), example = &"example-token")]
    pub bot_token: Secret,
    /// Ids of the users that may talk to Hob. An empty list lets nobody in.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)))]
    pub allowed_user_ids: Vec<i64>,
    /// Ids of the users that are let in as owners.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)), example = [80_351_110_224_678_912_i64])]
    pub owner_user_ids: Vec<i64>,
    /// Ids of the users that are let in as admins: they may see, stop and edit what users and guests do.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)))]
    pub admin_user_ids: Vec<i64>,
    /// Ids of the users that are let in as guests: without memory and commands, and with few tokens (`[quotas]`).
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)))]
    pub guest_user_ids: Vec<i64>,
    /// Whether everybody else who can write to the bot is let in as a guest.
    #[serde(default)]
    pub allow_guests: bool,
    /// Who Hob is on Discord: one of the personas. Without it: as under `[agent]`.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// Who Hob is in single channels: the channel's id = one of the personas.
    #[serde(default)]
    #[schemars(example = &persona_example())]
    pub personas: BTreeMap<String, String>,
    /// Who Hob is on single servers, where no persona is set for the channel: the server's id = one of the personas.
    #[serde(default)]
    #[schemars(example = &server_example())]
    pub server_personas: BTreeMap<String, String>,
    /// Ids of the servers in which the slash commands are registered. An empty list registers them everywhere, in private
    /// as well.
    #[serde(default)]
    #[schemars(length(max = 100), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)))]
    pub command_guild_ids: Vec<i64>,
    /// The API's address.
    #[serde(default = "api_url")]
    #[schemars(length(min = 1, max = 1000))]
    #[schemars(extend("x-goes" = true))]
    pub api_url: String,
}

fn persona_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("81384788765712384", "cook")])
}

fn server_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("81384788765712300", "cook")])
}

fn api_url() -> String {
    "https://discord.com".to_owned()
}

impl PlatformSection for DiscordConfig {
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
            servers: Some(("server_personas", &self.server_personas)),
        }
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if !self.bot_token.expose().chars().all(token_char) {
            let why = "has a character that no token has, expected letters, digits, `.`, `_` or `-`, without `Bot `";
            found.push(Finding::new("bot_token", why, "copy it again from the developer portal: Bot → Reset Token"));
        }
        for channel in self.personas.keys().filter(|channel| !is_channel(channel)) {
            let at = key_path::child("personas", channel);
            let why = "is not the id of a channel, expected a whole number";
            found.push(Finding::new(at, why, "for example \"81384788765712384\""));
        }
        for server in self.server_personas.keys().filter(|server| !is_number(server)) {
            let why = "is not the id of a server, expected a whole number";
            found.push(Finding::new(
                key_path::child("server_personas", server),
                why,
                "for example \"81384788765712300\"",
            ));
        }
        found.extend(values::check_http_url("api_url", &self.api_url));
        found
    }
}

/// Whether a text is an id, or one with `dm:` before it.
fn is_channel(text: &str) -> bool {
    let digits = text.strip_prefix(hob_core::domain::inbound::DISCORD_PRIVATE).unwrap_or(text);
    is_number(digits)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
