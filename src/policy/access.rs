//! Who is let in, and as what. Closed by default: who is not named is nobody.

use std::collections::BTreeSet;

use crate::domain::inbound::{ChannelKind, Conversation};
use crate::domain::principal::Role;

/// The people that the config names, by the platform's ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// Telegram's users.
    pub telegram_users: BTreeSet<String>,
    /// Telegram's users who are owners.
    pub telegram_owners: BTreeSet<String>,
}

impl AccessList {
    /// The role of a sender; none: they are not let in.
    #[must_use]
    pub fn role_of(&self, conversation: &Conversation, sender: &str) -> Option<Role> {
        match conversation.channel {
            // Whoever can type at this machine's terminal as its user can do everything already.
            ChannelKind::Terminal => Some(Role::Owner),
            ChannelKind::Telegram if self.telegram_owners.contains(sender) => Some(Role::Owner),
            ChannelKind::Telegram if self.telegram_users.contains(sender) => Some(Role::User),
            ChannelKind::Telegram => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_named_is_nobody() {
        let at = |channel| Conversation { channel, account: "default".into(), chat: "7".into(), thread: None };
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let nobody = AccessList::default();
        let some = AccessList { telegram_users: set(&["1"]), telegram_owners: set(&["2"]) };
        let table = [
            (&nobody, ChannelKind::Terminal, "anyone", Some(Role::Owner)),
            (&nobody, ChannelKind::Telegram, "1", None),
            (&some, ChannelKind::Telegram, "1", Some(Role::User)),
            (&some, ChannelKind::Telegram, "2", Some(Role::Owner)),
            (&some, ChannelKind::Telegram, "3", None),
            // The chat's id is no credential, only the sender's.
            (&some, ChannelKind::Telegram, "7", None),
        ];
        for (list, channel, sender, expected) in table {
            assert_eq!(list.role_of(&at(channel), sender), expected, "{channel} {sender}");
        }
    }
}
