//! `[groups]`: when Hob answers where several people talk.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, shape};
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::policy::groups::GroupMode;

/// When Hob answers in groups. What `/group` chose in a chat goes before this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<GroupsConfig>)]
pub struct GroupsConfig {
    /// When it answers in a group of which nothing else is said.
    pub mode: GroupMode,
    /// Single groups: the platform, a colon and the chat's id there = when it answers: `"telegram:-1001234567890" = "all"`.
    /// Another account than the first is named behind the platform: `"slack@work:C024BE91L" = "off"`.
    pub chats: BTreeMap<String, GroupMode>,
}

/// The group that a key names: platform, account and chat.
pub fn parse(key: &str) -> Option<(ChannelKind, &str, &str)> {
    let (place, chat) = key.split_once(':')?;
    let (channel, account) = place.split_once('@').unwrap_or((place, DEFAULT_ACCOUNT));
    let channel = channel.parse().ok().filter(|channel| {
        matches!(channel, ChannelKind::Telegram | ChannelKind::Slack | ChannelKind::Discord | ChannelKind::Matrix)
    })?;
    (!account.is_empty() && !chat.is_empty()).then_some((channel, account, chat))
}

impl GroupsConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let wrong = self.chats.keys().filter(|key| parse(key).is_none());
        let why = "names no group, expected telegram, slack, discord or matrix, a colon, and the chat's id";
        let fix = "for example \"telegram:-1001234567890\"";
        wrong.map(|key| Finding::new(key_path::child("chats", key), why, fix)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c4_a_group_is_named_by_platform_account_and_chat() {
        let table = [
            ("telegram:-1001", Some((ChannelKind::Telegram, "default", "-1001"))),
            ("slack@work:C1", Some((ChannelKind::Slack, "work", "C1"))),
            ("discord:42", Some((ChannelKind::Discord, "default", "42"))),
            ("matrix:!a:b.example", Some((ChannelKind::Matrix, "default", "!a:b.example"))),
            ("email:a@b.example", None),
            ("terminal:x", None),
            ("-1001", None),
            ("telegram:", None),
            ("telegram@:-1", None),
            ("", None),
        ];
        for (key, expected) in table {
            assert_eq!(parse(key), expected, "{key}");
        }
    }
}
