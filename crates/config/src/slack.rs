//! `[slack]`: the app, and who may talk to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::{PlatformSection, SectionAccess};
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// The app in a Slack workspace, by Socket Mode. docs/slack.md says how to make one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<SlackConfig>)]
pub struct SlackConfig {
    /// The bot's token, from "OAuth & Permissions".
    #[schemars(length(min = 1, max = 300), example = &"xoxb-example-token")]
    pub bot_token: Secret,
    /// The app's token with the scope connections:write, from "Basic Information".
    #[schemars(length(min = 1, max = 300), example = &"xapp-example-token")]
    pub app_token: Secret,
    /// Ids of the members that may talk to Hob ("Copy member ID" in a profile). An empty list lets nobody in.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)))]
    pub allowed_user_ids: Vec<String>,
    /// Ids of the members that are let in as owners.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)), example = ["U012AB3CD"])]
    pub owner_user_ids: Vec<String>,
    /// Ids of the members that are let in as admins: they may see, stop and edit what users and guests do.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)))]
    pub admin_user_ids: Vec<String>,
    /// Ids of the members that are let in as guests: without memory and commands, and with few tokens (`[quotas]`).
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)))]
    pub guest_user_ids: Vec<String>,
    /// Whether everybody else who can write to the app is let in as a guest.
    #[serde(default)]
    pub allow_guests: bool,
    /// Who Hob is in this workspace: one of the personas. Without it: as under `[agent]`.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// Who Hob is in single channels: the channel's id = one of the personas.
    #[serde(default)]
    #[schemars(example = &persona_example())]
    pub personas: BTreeMap<String, String>,
    /// Who Hob is in single workspaces, where no persona is set for the channel: the workspace's id = one of the personas. For an
    /// app of a whole organisation.
    #[serde(default)]
    #[schemars(example = &workspace_example())]
    pub workspace_personas: BTreeMap<String, String>,
    /// The Web API's address.
    #[serde(default = "api_url")]
    #[schemars(length(min = 1, max = 1000))]
    #[schemars(extend("x-goes" = true))]
    pub api_url: String,
}

fn persona_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("C012AB3CD", "cook")])
}

fn workspace_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("T012AB3CD", "cook")])
}

fn api_url() -> String {
    "https://slack.com/api".to_owned()
}

/// Is it an id of Slack's that begins with one of these letters?
fn is_id(text: &str, kinds: &[char]) -> bool {
    text.starts_with(kinds) && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Is it the id of a member?
pub fn is_member(text: &str) -> bool {
    is_id(text, &['U', 'W'])
}

impl PlatformSection for SlackConfig {
    fn access(&self) -> SectionAccess<'_> {
        SectionAccess {
            admitted: [
                (Role::Guest, self.guest_user_ids.clone()),
                (Role::User, self.allowed_user_ids.clone()),
                (Role::Admin, self.admin_user_ids.clone()),
                (Role::Owner, self.owner_user_ids.clone()),
            ],
            guests: self.allow_guests,
            persona: self.persona.as_ref(),
            personas: &self.personas,
            servers: Some(("workspace_personas", &self.workspace_personas)),
        }
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let tokens = [
            ("bot_token", &self.bot_token, "xoxb-", "copy the \"Bot User OAuth Token\" from \"OAuth & Permissions\""),
            ("app_token", &self.app_token, "xapp-", "make one under \"Basic Information\", \"App-Level Tokens\""),
        ];
        for (key, token, prefix, fix) in tokens {
            let token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !token.expose().starts_with(prefix) || !token.expose().chars().all(token_char) {
                let why = format!("is not such a token, expected one that begins with `{prefix}`");
                found.push(Finding::new(key, why, fix));
            }
        }
        let lists = [
            ("allowed_user_ids", &self.allowed_user_ids),
            ("owner_user_ids", &self.owner_user_ids),
            ("admin_user_ids", &self.admin_user_ids),
            ("guest_user_ids", &self.guest_user_ids),
        ];
        for (key, ids) in lists {
            found.extend(validate_members(key, ids));
        }
        for chat in self.personas.keys().filter(|chat| !is_id(chat, &['C', 'D', 'G'])) {
            let at = key_path::child("personas", chat);
            found.push(Finding::new(at, "is not the id of a channel", "for example \"C012AB3CD\""));
        }
        for workspace in self.workspace_personas.keys().filter(|workspace| !is_id(workspace, &['T'])) {
            let at = key_path::child("workspace_personas", workspace);
            found.push(Finding::new(at, "is not the id of a workspace", "for example \"T012AB3CD\""));
        }
        found.extend(values::check_http_url("api_url", &self.api_url));
        found
    }
}

/// Finds what is not a member's id in a list of them.
pub(super) fn validate_members(key: &str, ids: &[String]) -> Vec<Finding> {
    let bad = ids.iter().enumerate().filter(|(_, id)| !is_member(id));
    bad.map(|(index, _)| {
        let why = "is not the id of a member, expected `U` and capital letters and digits";
        Finding::new(key_path::item(key, index), why, "\"Copy member ID\" in the profile, for example \"U012AB3CD\"")
    })
    .collect()
}
