//! `[destinations.NAME]`: conversations that Hob may write to unasked by them, for its owner.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::problem::Finding;
use crate::config::{place, shape, values};

/// A conversation that the owner can have Hob write to, by its name. People under `[people]` are known by theirs without
/// this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DestinationConfig>)]
pub struct DestinationConfig {
    /// The chat's id on Telegram; a group's is negative.
    #[schemars(range(min = -4_503_599_627_370_495_i64, max = 4_503_599_627_370_495_i64), example = &-1_001_234_567_890_i64)]
    pub telegram_chat: i64,
    /// The topic in it, if it is a forum.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647), example = &7)]
    pub topic: Option<i64>,
}

/// Finds what cannot be.
#[must_use]
pub fn validate(destinations: &BTreeMap<String, DestinationConfig>) -> Vec<Finding> {
    let wrong = destinations.keys().filter(|name| !values::is_name(name));
    let why = "cannot name a destination, expected a letter, then up to 63 letters, digits, `_` or `-`";
    wrong.map(|name| Finding::new(place::key(name), why, "rename it")).collect()
}
