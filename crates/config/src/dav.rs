//! `[dav.NAME]`: somebody's calendars and address books (CalDAV, CardDAV).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::people::{self, PersonConfig};
use crate::problem::Finding;
use crate::{email, key_path, shape, values};
use hob_core::domain::secret::Secret;

/// The tools that there are where an account is set up.
pub const TOOLS: [&str; 8] = [
    "calendar_add",
    "calendar_answer",
    "calendar_cancel",
    "calendar_change",
    "calendar_free",
    "calendar_list",
    "calendar_read",
    "contacts_find",
];

/// The module that personas choose them by.
pub const MODULE: &str = "calendar";

/// An account whose calendars and address books Hob may look at and change, for the people whom it names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DavConfig>)]
pub struct DavConfig {
    /// The server; what is on it is found by itself. It may be in a private network.
    #[schemars(length(min = 1, max = 1000), example = &"https://cloud.example.org")]
    #[schemars(extend("x-goes" = true))]
    pub url: String,
    /// The user there.
    #[schemars(length(min = 1, max = 200), example = &"ada")]
    pub user: String,
    /// The password; most services want one that is for Hob alone (an app password).
    #[schemars(length(min = 1, max = 1000), example = &"app-password")]
    pub password: Secret,
    /// Who may see it all and change it, by their names under `[people]`; without it whoever owns this Hob.
    #[serde(rename = "for", default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)), example = ["ada"])]
    pub people: Vec<String>,
    /// Who may see when these people are busy, and nothing else.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)))]
    pub busy_for: Vec<String>,
    /// The calendar that new entries go to; without it the first.
    #[schemars(length(min = 1, max = 200), example = &"personal")]
    pub calendar: Option<String>,
    /// The addresses that invitations to these people name, where the server does not say.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 3, max = 254)))]
    pub addresses: Vec<String>,
}

impl DavConfig {
    /// What cannot be; `known` are the people that there are.
    pub fn validate(&self, known: &BTreeMap<String, PersonConfig>) -> Vec<Finding> {
        let mut found: Vec<Finding> = values::check_http_url("url", &self.url).into_iter().collect();
        if self.user.contains(':') || self.user.chars().any(char::is_control) {
            found.push(Finding::new("user", "has a colon or a line break in it, expected neither", "remove it"));
        }
        found.extend(email::validate_addresses("addresses", &self.addresses));
        found.extend(people::unknown("for", &self.people, known));
        found.extend(people::unknown("busy_for", &self.busy_for, known));
        found
    }
}

/// What cannot be, in all of them.
pub(super) fn validate_accounts(
    accounts: &BTreeMap<String, DavConfig>,
    people: &BTreeMap<String, PersonConfig>,
) -> Vec<Finding> {
    let of = |(name, account): (&String, &DavConfig)| {
        let own = account.validate(people).into_iter().map(|finding| finding.within(&key_path::key(name)));
        people::account_name(name).into_iter().chain(own).collect::<Vec<_>>()
    };
    accounts.iter().flat_map(of).collect()
}
