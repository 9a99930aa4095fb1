//! `[matrix]`: the account, and who may talk to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::{PlatformSection, SectionAccess};
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// Hob's account on a Matrix homeserver. docs/matrix.md says how to make one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<MatrixConfig>)]
pub struct MatrixConfig {
    /// The homeserver's address.
    #[schemars(length(min = 1, max = 1000), example = &"https://matrix.example.org")]
    #[schemars(extend("x-goes" = true))]
    pub homeserver: String,
    /// The account's id there.
    #[schemars(length(min = 4, max = 255), example = &"@hob:example.org")]
    pub user: String,
    /// Its password. Hob logs in with it once, and again when the homeserver wants that.
    #[schemars(length(min = 1, max = 512), example = &"example-password")]
    pub password: Secret,
    /// Ids of the people that may talk to Hob. An empty list lets nobody in.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 4, max = 255)))]
    pub allowed_user_ids: Vec<String>,
    /// Ids of the people that are let in as owners.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 4, max = 255)), example = ["@ada:example.org"])]
    pub owner_user_ids: Vec<String>,
    /// Ids of the people that are let in as admins: they may see, stop and edit what users and guests do.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 4, max = 255)))]
    pub admin_user_ids: Vec<String>,
    /// Ids of the people that are let in as guests: without memory and commands, and with few tokens (`[quotas]`).
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 4, max = 255)))]
    pub guest_user_ids: Vec<String>,
    /// Whether everybody else who can write to the account is let in as a guest.
    #[serde(default)]
    pub allow_guests: bool,
    /// Who Hob is on Matrix: one of the personas. Without it: as under `[agent]`.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// Who Hob is in single rooms: the room's id = one of the personas.
    #[serde(default)]
    #[schemars(example = &persona_example())]
    pub personas: BTreeMap<String, String>,
}

fn persona_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("!kitchen:example.org", "cook")])
}

/// Is it the id of a user?
fn is_user(text: &str) -> bool {
    let parts = text.strip_prefix('@').and_then(|rest| rest.split_once(':'));
    parts.is_some_and(|(name, server)| !name.is_empty() && !server.is_empty() && !text.contains(char::is_whitespace))
}

impl PlatformSection for MatrixConfig {
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
            servers: None,
        }
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = values::check_http_url("homeserver", &self.homeserver).into_iter().collect::<Vec<_>>();
        if !is_user(&self.user) {
            let why = "is not the id of a user, expected `@name:server`";
            found.push(Finding::new("user", why, "for example \"@hob:example.org\""));
        }
        let lists = [
            ("allowed_user_ids", &self.allowed_user_ids),
            ("owner_user_ids", &self.owner_user_ids),
            ("admin_user_ids", &self.admin_user_ids),
            ("guest_user_ids", &self.guest_user_ids),
        ];
        found.extend(lists.into_iter().flat_map(|(key, ids)| validate_users(key, ids)));
        for room in self.personas.keys().filter(|room| !room.starts_with('!')) {
            let at = key_path::child("personas", room);
            found.push(Finding::new(
                at,
                "is not the id of a room",
                "Element shows it in the room's settings, under Advanced",
            ));
        }
        found
    }
}

/// Finds what is not a user's id in a list of them.
pub(super) fn validate_users(key: &str, ids: &[String]) -> Vec<Finding> {
    let bad = ids.iter().enumerate().filter(|(_, id)| !is_user(id));
    bad.map(|(index, _)| {
        let why = "is not the id of a user, expected `@name:server`";
        Finding::new(key_path::item(key, index), why, "for example \"@ada:example.org\"")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_what_names_nobody_on_matrix_is_found() {
        let config: MatrixConfig = toml::from_str(
            "homeserver = 'matrix.example'\nuser = 'hob'\npassword = 'p'\nowner_user_ids = ['@ada:example.org', 'bob', '@x y:z']\n\
             [personas]\nkitchen = 'cook'",
        )
        .unwrap();
        let told: Vec<String> = config.validate().iter().map(|finding| finding.key.clone()).collect();
        assert_eq!(told, ["homeserver", "user", "owner_user_ids[2]", "owner_user_ids[3]", "personas.kitchen"]);
    }
}
