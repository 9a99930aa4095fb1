//! `[destinations.NAME]`: conversations that Hob may write to unasked by them, for its owner.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{check, key_path, shape, values};

/// A conversation that the owner can have Hob write to, by its name. People under `[people]` are known by theirs without
/// this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DestinationConfig>)]
pub struct DestinationConfig {
    /// The chat's id on Telegram; a group's is negative.
    #[schemars(range(min = -4_503_599_627_370_495_i64, max = 4_503_599_627_370_495_i64), example = &-1_001_234_567_890_i64)]
    pub telegram_chat: Option<i64>,
    /// The topic in it, if it is a forum.
    #[schemars(range(min = 1, max = 2_147_483_647), example = &7)]
    pub topic: Option<i64>,
    /// Instead: the channel's id on Slack.
    #[schemars(length(min = 1, max = 100), example = &"C024BE91L")]
    pub slack_channel: Option<String>,
    /// Instead: the channel's id on Discord.
    #[schemars(length(min = 1, max = 20), example = &"1234567890123456789")]
    pub discord_channel: Option<String>,
    /// Instead: the room's id on Matrix.
    #[schemars(length(min = 3, max = 255), example = &"!family:example.org")]
    pub matrix_room: Option<String>,
    /// Which of Hob's accounts there writes. Without it: the first.
    #[schemars(length(min = 1, max = 64), example = &"work")]
    pub account: Option<String>,
}

impl DestinationConfig {
    /// What cannot be.
    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let places = [
            self.telegram_chat.is_some(),
            self.slack_channel.is_some(),
            self.discord_channel.is_some(),
            self.matrix_room.is_some(),
        ];
        if places.into_iter().filter(|named| *named).count() != 1 {
            let why = "does not name one place, expected `telegram_chat`, `slack_channel`, `discord_channel` or `matrix_room`";
            found.push(Finding::new("", why, "keep one of them"));
        }
        if self.topic.is_some() && self.telegram_chat.is_none() {
            found.push(Finding::new("topic", "is there on Telegram alone", "remove it"));
        }
        let is_slack = |id: &str| id.starts_with(['C', 'G', 'D']) && id.chars().all(|c| c.is_ascii_alphanumeric());
        if self.slack_channel.as_deref().is_some_and(|id| !is_slack(id)) {
            let why = "is not the id of a channel, expected a C, then letters and digits";
            found.push(Finding::new("slack_channel", why, "Slack shows it under a channel's details"));
        }
        if self.discord_channel.as_deref().is_some_and(|id| id.parse::<u64>().is_err()) {
            let why = "is not the id of a channel, expected digits";
            found.push(Finding::new("discord_channel", why, "Discord copies it in developer mode"));
        }
        if self.matrix_room.as_deref().is_some_and(|id| !id.starts_with('!')) {
            let why = "is not the id of a room, expected one that begins with `!`";
            found.push(Finding::new("matrix_room", why, "Element shows it in the room's settings, under Advanced"));
        }
        found
    }
}

/// Finds what keeps something that begins by itself, at `at`, from being heard in the place that it names.
pub(super) fn validate_use(
    at: &str,
    to: Option<&str>,
    telegram_chat: Option<i64>,
    known: &BTreeMap<String, DestinationConfig>,
) -> Vec<Finding> {
    let Some(name) = to else { return Vec::new() };
    let key = key_path::child(at, "to");
    let mut found = Vec::new();
    if !known.contains_key(name) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let fix = match check::nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "declare it under `[destinations]`".to_owned(),
            None => format!("there are: {}", names.join(", ")),
        };
        found.push(Finding::new(&key, "is not a destination", fix).with("destinations"));
    }
    if telegram_chat.is_some() {
        let why = "names one place, and `telegram_chat` another";
        found.push(Finding::new(&key, why, "keep one of them").with(&key_path::child(at, "telegram_chat")));
    }
    found
}

/// Finds what cannot be.
pub fn validate(destinations: &BTreeMap<String, DestinationConfig>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, destination) in destinations {
        let key = key_path::key(name);
        if !values::is_name(name) {
            let why = "cannot name a destination, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(&key, why, "rename it"));
        }
        found.extend(destination.validate().into_iter().map(|finding| finding.within(&key)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n13_who_begins_by_itself_speaks_in_a_place_that_there_is() {
        let known = BTreeMap::from([("family".to_owned(), DestinationConfig::default())]);
        let told = |to, telegram_chat, known: &BTreeMap<String, DestinationConfig>| {
            let found = validate_use("heartbeat", to, telegram_chat, known);
            found.into_iter().map(|found| format!("{} {}: {}", found.key, found.why, found.fix)).collect::<Vec<_>>()
        };
        assert!(told(None, Some(7), &known).is_empty() && told(Some("family"), None, &known).is_empty());
        assert_eq!(told(Some("famly"), None, &known), ["heartbeat.to is not a destination: did you mean `family`?"]);
        assert_eq!(told(Some("work"), None, &known), ["heartbeat.to is not a destination: there are: family"]);
        let none = BTreeMap::new();
        assert_eq!(
            told(Some("work"), None, &none),
            ["heartbeat.to is not a destination: declare it under `[destinations]`"]
        );
        assert_eq!(
            told(Some("family"), Some(7), &known),
            ["heartbeat.to names one place, and `telegram_chat` another: keep one of them"]
        );
    }
}
