//! What becomes of what is said where several people are (rows C1, C4). Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::inbound::{Audience, ChannelKind, Conversation};
use crate::domain::principal::Role;

/// When Hob answers in a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupMode {
    /// when it is named, answered or given a command
    #[default]
    Mention,
    /// whatever people say who are let in
    All,
    /// never; owners can give commands
    Off,
}

impl GroupMode {
    /// The name in the config, the database and the chat.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::All => "all",
            Self::Off => "off",
        }
    }

    /// The mode with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Mention, Self::All, Self::Off].into_iter().find(|mode| mode.as_str() == name)
    }
}

/// When Hob answers in which group, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupModes {
    /// Where nothing else is said.
    pub usual: GroupMode,
    /// In single groups: by platform, account and chat.
    pub chats: BTreeMap<(ChannelKind, String, String), GroupMode>,
}

impl GroupModes {
    /// The mode of a place as configured; none: it is not a group.
    pub fn of(&self, place: &Conversation) -> Option<GroupMode> {
        let key = (place.channel, place.account.clone(), place.chat.clone());
        is_group(place).then(|| self.chats.get(&key).copied().unwrap_or(self.usual))
    }
}

/// Whether several people talk there, so that a mode holds. A letter is to its addressees, whoever else reads it.
pub(crate) fn is_group(conversation: &Conversation) -> bool {
    match conversation.channel {
        ChannelKind::Telegram | ChannelKind::Slack | ChannelKind::Discord | ChannelKind::Matrix => {
            !conversation.is_private()
        }
        ChannelKind::Terminal | ChannelKind::Email | ChannelKind::Web | ChannelKind::Event => false,
    }
}

/// What somebody said, as far as it decides who is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressingFacts {
    pub group: Option<GroupMode>,
    /// To whom it is said.
    pub audience: Audience,
    /// What its sender may; none: they are not let in.
    pub role: Option<Role>,
    /// Whether it is a command.
    pub is_command: bool,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageDisposition {
    /// It is for Hob.
    Heard,
    /// It is kept for a while, as context of what will be for Hob.
    Overheard,
    /// A stranger talks with Hob alone.
    Unknown,
    /// Nothing is kept of it.
    Ignored,
}

/// Decides. The role is always the sender's own, wherever and in whose thread they speak.
pub fn disposition(remark: AddressingFacts) -> MessageDisposition {
    let AddressingFacts { group, audience, role, is_command } = remark;
    match (group, audience, role) {
        (None, Audience::Hob, Some(_)) => MessageDisposition::Heard,
        (None, Audience::Hob, None) => MessageDisposition::Unknown,
        // A letter that Hob only got a copy of.
        (None, Audience::Group, _) => MessageDisposition::Ignored,
        (Some(GroupMode::Off), Audience::Hob, Some(Role::Owner)) if is_command => MessageDisposition::Heard,
        (Some(GroupMode::Off), _, _) => MessageDisposition::Ignored,
        (Some(GroupMode::Mention), Audience::Hob, Some(_)) | (Some(GroupMode::All), _, Some(_)) => {
            MessageDisposition::Heard
        }
        (Some(GroupMode::Mention), Audience::Group, _) | (Some(GroupMode::Mention | GroupMode::All), _, None) => {
            MessageDisposition::Overheard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::inbound::DEFAULT_ACCOUNT;

    #[test]
    fn who_is_meant_goes_by_mode_audience_and_sender() {
        use Audience::{Group, Hob};
        use GroupMode::{All, Mention, Off};
        use MessageDisposition::{Heard, Ignored, Overheard, Unknown};
        let (guest, user, admin, owner) = (Some(Role::Guest), Some(Role::User), Some(Role::Admin), Some(Role::Owner));
        let table = [
            (None, Hob, user, false, Heard),
            (None, Hob, guest, true, Heard),
            (None, Hob, None, false, Unknown),
            (None, Hob, None, true, Unknown),
            (None, Group, owner, false, Ignored),
            (Some(Mention), Hob, guest, false, Heard),
            (Some(Mention), Hob, None, false, Overheard),
            (Some(Mention), Hob, None, true, Overheard),
            (Some(Mention), Group, owner, false, Overheard),
            (Some(Mention), Group, None, false, Overheard),
            (Some(All), Hob, user, false, Heard),
            (Some(All), Group, guest, false, Heard),
            (Some(All), Group, None, false, Overheard),
            (Some(All), Hob, None, true, Overheard),
            (Some(Off), Hob, owner, true, Heard),
            (Some(Off), Hob, owner, false, Ignored),
            (Some(Off), Group, owner, true, Ignored),
            (Some(Off), Hob, admin, true, Ignored),
            (Some(Off), Hob, user, true, Ignored),
            (Some(Off), Group, user, false, Ignored),
            (Some(Off), Hob, None, true, Ignored),
        ];
        for (group, audience, role, is_command, expected) in table {
            let remark = AddressingFacts { group, audience, role, is_command };
            assert_eq!(disposition(remark), expected, "{remark:?}");
        }
    }

    #[test]
    fn c4_a_mode_holds_where_several_people_talk() {
        let table = [
            (ChannelKind::Telegram, "-7", true),
            (ChannelKind::Telegram, "7", false),
            (ChannelKind::Slack, "C7", true),
            (ChannelKind::Slack, "D7", false),
            (ChannelKind::Discord, "7", true),
            (ChannelKind::Discord, "dm:7", false),
            (ChannelKind::Email, "a@b.example", false),
            (ChannelKind::Terminal, "7", false),
            (ChannelKind::Event, "7", false),
        ];
        for (channel, chat, expected) in table {
            let account = DEFAULT_ACCOUNT.to_owned();
            let place = Conversation { channel, account, chat: chat.to_owned(), thread: None };
            assert_eq!(is_group(&place), expected, "{channel} {chat}");
        }
    }

    #[test]
    fn c4_a_group_of_its_own_goes_before_the_usual() {
        let place = |chat: &str| Conversation {
            channel: ChannelKind::Telegram,
            account: DEFAULT_ACCOUNT.to_owned(),
            chat: chat.to_owned(),
            thread: Some("3".to_owned()),
        };
        let key = (ChannelKind::Telegram, DEFAULT_ACCOUNT.to_owned(), "-1".to_owned());
        let modes = GroupModes { usual: GroupMode::Off, chats: BTreeMap::from([(key, GroupMode::All)]) };
        assert_eq!(modes.of(&place("-1")), Some(GroupMode::All));
        assert_eq!(modes.of(&place("-2")), Some(GroupMode::Off));
        assert_eq!(modes.of(&place("2")), None);
    }

    #[test]
    fn modes_have_names() {
        for mode in [GroupMode::Mention, GroupMode::All, GroupMode::Off] {
            assert_eq!(GroupMode::parse(mode.as_str()), Some(mode));
        }
        assert_eq!(GroupMode::parse("ALL"), None);
    }
}
