//! Who is let in, and as what. Closed by default: who is not named is nobody (rows C1, C5).

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::inbound::{ChannelKind, Conversation};
use crate::domain::principal::Role;
use crate::domain::tools::CONTROL;

/// A name on a platform, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alias {
    /// Telegram's id of a user.
    Telegram(String),
    /// Whoever sits at this machine.
    Terminal,
}

impl Alias {
    /// The platform.
    #[must_use]
    pub fn channel(&self) -> ChannelKind {
        match self {
            Self::Telegram(_) => ChannelKind::Telegram,
            Self::Terminal => ChannelKind::Terminal,
        }
    }

    /// The platform's id of the person; none: there is only one.
    #[must_use]
    pub fn external_id(&self) -> Option<&str> {
        match self {
            Self::Telegram(id) => Some(id),
            Self::Terminal => None,
        }
    }
}

/// The people that the config names, by the platform's ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// Telegram's users, and what they may.
    pub telegram: BTreeMap<String, Role>,
    /// Whether others are let in on Telegram, as guests.
    pub guests: bool,
    /// The names of those who have several.
    pub people: Vec<BTreeSet<Alias>>,
}

impl AccessList {
    /// The role of a sender; none: they are not let in.
    #[must_use]
    pub fn role_of(&self, conversation: &Conversation, sender: &str) -> Option<Role> {
        match conversation.channel {
            // Whoever can type at this machine's terminal as its user can do everything already.
            ChannelKind::Terminal => Some(Role::Owner),
            ChannelKind::Telegram => self.telegram.get(sender).copied().or_else(|| self.guests.then_some(Role::Guest)),
            // What calls in is nobody.
            ChannelKind::Event => None,
        }
    }

    /// Lets somebody in; where they are named twice, the higher role counts.
    pub fn admit(&mut self, telegram: &str, role: Role) {
        let known = self.telegram.entry(telegram.to_owned()).or_insert(role);
        *known = role.max(*known);
    }

    /// The other names of the same person.
    #[must_use]
    pub fn others_of(&self, conversation: &Conversation, sender: &str) -> Vec<Alias> {
        let own = match conversation.channel {
            ChannelKind::Terminal => Alias::Terminal,
            ChannelKind::Telegram => Alias::Telegram(sender.to_owned()),
            ChannelKind::Event => return Vec::new(),
        };
        let person = self.people.iter().find(|person| person.contains(&own));
        person.into_iter().flatten().filter(|alias| **alias != own).cloned().collect()
    }
}

/// What a run may be offered: by who asks, and by the persona (row C5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach<'a> {
    /// What the one who asks may.
    pub role: Role,
    /// The persona's modules; empty: all of them.
    pub modules: &'a BTreeSet<String>,
}

impl Reach<'_> {
    /// Whether a tool of this module, for this role and those above, is on offer.
    #[must_use]
    pub fn covers(&self, module: &str, role: Role) -> bool {
        let fits = module == CONTROL || self.modules.is_empty() || self.modules.contains(module);
        self.role >= role && fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(channel: ChannelKind) -> Conversation {
        Conversation { channel, account: "default".into(), chat: "7".into(), thread: None }
    }

    fn some(guests: bool) -> AccessList {
        let mut list = AccessList { guests, ..AccessList::default() };
        for (id, role) in [("1", Role::User), ("2", Role::Owner), ("3", Role::Admin), ("4", Role::Guest)] {
            list.admit(id, role);
        }
        list
    }

    #[test]
    fn c1_who_is_not_named_is_nobody_or_a_guest() {
        let (nobody, closed, open) = (AccessList::default(), some(false), some(true));
        let table = [
            (&nobody, ChannelKind::Terminal, "anyone", Some(Role::Owner)),
            (&nobody, ChannelKind::Telegram, "1", None),
            (&closed, ChannelKind::Telegram, "1", Some(Role::User)),
            (&closed, ChannelKind::Telegram, "2", Some(Role::Owner)),
            (&closed, ChannelKind::Telegram, "3", Some(Role::Admin)),
            (&closed, ChannelKind::Telegram, "4", Some(Role::Guest)),
            (&closed, ChannelKind::Telegram, "5", None),
            // The chat's id is no credential, only the sender's.
            (&closed, ChannelKind::Telegram, "7", None),
            (&open, ChannelKind::Telegram, "5", Some(Role::Guest)),
            (&open, ChannelKind::Telegram, "1", Some(Role::User)),
        ];
        for (list, channel, sender, expected) in table {
            assert_eq!(list.role_of(&at(channel), sender), expected, "{channel} {sender}");
        }
    }

    #[test]
    fn c1_who_is_named_twice_has_the_higher_role() {
        for (first, second) in [(Role::User, Role::Owner), (Role::Owner, Role::User)] {
            let mut list = AccessList::default();
            list.admit("1", first);
            list.admit("1", second);
            assert_eq!(list.role_of(&at(ChannelKind::Telegram), "1"), Some(Role::Owner));
        }
    }

    #[test]
    fn c1_one_person_has_several_names() {
        let telegram = |id: &str| Alias::Telegram(id.to_owned());
        let people =
            vec![BTreeSet::from([telegram("1"), telegram("10"), Alias::Terminal]), BTreeSet::from([telegram("2")])];
        let list = AccessList { people, ..some(false) };
        let table = [
            (ChannelKind::Telegram, "1", vec![telegram("10"), Alias::Terminal]),
            (ChannelKind::Terminal, "local", vec![telegram("1"), telegram("10")]),
            (ChannelKind::Telegram, "2", vec![]),
            (ChannelKind::Telegram, "3", vec![]),
        ];
        for (channel, sender, expected) in table {
            assert_eq!(list.others_of(&at(channel), sender), expected, "{channel} {sender}");
        }
        assert_eq!((telegram("1").channel(), telegram("1").external_id()), (ChannelKind::Telegram, Some("1")));
        assert_eq!((Alias::Terminal.channel(), Alias::Terminal.external_id()), (ChannelKind::Terminal, None));
    }

    #[test]
    fn c5_tools_go_by_role_and_by_module() {
        let (all, memory) = (BTreeSet::new(), BTreeSet::from(["memory".to_owned()]));
        let table = [
            (Role::Guest, &all, "time", Role::Guest, true),
            (Role::Guest, &all, "memory", Role::User, false),
            (Role::User, &all, "memory", Role::User, true),
            (Role::User, &all, "commands", Role::Admin, false),
            (Role::Admin, &all, "commands", Role::Admin, true),
            (Role::Admin, &all, "commands", Role::Owner, false),
            (Role::Owner, &all, "commands", Role::Guest, true),
            (Role::Owner, &memory, "memory", Role::User, true),
            (Role::Owner, &memory, "time", Role::Guest, false),
            (Role::Owner, &memory, "control", Role::Guest, true),
            (Role::Guest, &memory, "control", Role::Guest, true),
            // A persona takes tools away and gives none.
            (Role::Guest, &memory, "memory", Role::User, false),
            (Role::User, &all, "control", Role::Admin, false),
        ];
        for (role, modules, module, needed, expected) in table {
            assert_eq!(Reach { role, modules }.covers(module, needed), expected, "{role:?} {module} {needed:?}");
        }
    }
}
