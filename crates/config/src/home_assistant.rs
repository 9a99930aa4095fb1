//! `[home_assistant]`: what of the home Hob may see and switch.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// The tools that there are where it is set up.
pub const TOOLS: [&str; 3] = ["home_do", "home_look", "home_watch"];

/// The module that personas choose them by.
pub const MODULE: &str = "home";

/// A Home Assistant, and the entities of it that Hob may see and switch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<HomeAssistantConfig>)]
pub struct HomeAssistantConfig {
    /// The server. It may be in a private network, and only there without https.
    #[schemars(length(min = 1, max = 1000), example = &"http://homeassistant.local:8123")]
    #[schemars(extend("x-goes" = true))]
    pub url: String,
    /// A long-lived access token, best of a user of its own who is no administrator.
    #[schemars(length(min = 1, max = 4000), example = &"token-example")]
    pub access_token: Secret,
    /// What Hob may see and switch, and nothing else: entities, with `*` for any part. Those that are named without `*`
    /// are known to the model by their ids, so that it can switch them before it has read anything of Home Assistant's.
    #[schemars(length(min = 1, max = 500), inner(length(min = 3, max = 255)))]
    #[schemars(example = ["light.kitchen", "sensor.*"])]
    pub entities: Vec<String>,
    /// What of it is asked about each time, with a warning, besides locks, alarms, garage doors and their like: a plug
    /// that opens a gate, say.
    #[serde(default)]
    #[schemars(length(max = 500), inner(length(min = 3, max = 255)), example = ["switch.gate_*"])]
    pub critical: Vec<String>,
    /// Who may look: guest, user, admin or owner, and all above. Guests never switch anything.
    #[serde(default)]
    pub role: Role,
}

impl HomeAssistantConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = values::check_http_url("url", &self.url).into_iter().collect();
        found.extend(values::header_secret("access_token", self.access_token.expose()));
        for (key, patterns) in [("entities", &self.entities), ("critical", &self.critical)] {
            let wrong = patterns.iter().enumerate().filter(|(_, pattern)| !is_pattern(pattern));
            found.extend(wrong.map(|(index, _)| {
                let why = "is no entity, expected a domain, a dot and a name, of small letters, digits, `_` and `*`";
                Finding::new(key_path::item(key, index), why, "for example `light.kitchen` or `sensor.*`")
            }));
        }
        found
    }
}

/// Can it name entities?
fn is_pattern(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_*".contains(&b))
    };
    text.split_once('.').is_some_and(|(domain, name)| is_part(domain) && is_part(name))
}
