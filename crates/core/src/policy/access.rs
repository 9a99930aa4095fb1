//! Who is let in, and as what. Closed by default: who is not named is nobody (rows C1, C5).

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::inbound::{ChannelKind, Conversation, SenderProof, VOICE};
use crate::domain::principal::{Role, Trust};
use crate::domain::tools::CONTROL;
use crate::policy::groups::GroupModes;

/// A name on a platform, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alias {
    pub channel: ChannelKind,
    /// The platform's id of the person; none: there is only one.
    pub external_id: Option<String>,
}

impl Alias {
    /// Whoever sits at this machine.
    pub const TERMINAL: Self = Self { channel: ChannelKind::Terminal, external_id: None };

    /// Somebody on a platform, by its id of them.
    pub fn of(channel: ChannelKind, external_id: &str) -> Self {
        Self { channel, external_id: Some(external_id.to_owned()) }
    }
}

/// Who is let in by one account of Hob's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountAccess {
    /// Those that are named, by the platform's ids, and what they may.
    pub roles: BTreeMap<String, Role>,
    /// Whether others are let in, as guests.
    pub guests: bool,
}

impl AccountAccess {
    /// Lets somebody in; where they are named twice, the higher role counts.
    pub fn admit(&mut self, external_id: &str, role: Role) {
        let known = self.roles.entry(external_id.to_owned()).or_insert(role);
        *known = role.max(*known);
    }
}

/// The people that the config names, by the platform's ids. An account that has no door lets nobody in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// Who is let in, by platform and account.
    pub doors: BTreeMap<(ChannelKind, String), AccountAccess>,
    /// The names of those who have several.
    pub people: Vec<BTreeSet<Alias>>,
    /// When Hob answers in which group.
    pub groups: GroupModes,
}

impl AccessList {
    /// The role of a sender, who has that of `member` if they were paired; none: they are not let in. Where both say
    /// something, the higher role counts.
    pub fn role_of(&self, conversation: &Conversation, sender: &str, member: Option<Role>) -> Option<Role> {
        match conversation.channel {
            // Nobody is known by their voice.
            ChannelKind::Web if sender == VOICE => Some(Role::User),
            // Whoever can type at this machine's terminal as its user can do everything already.
            // The page lets nobody write who has not proven to be its owner.
            ChannelKind::Terminal | ChannelKind::Web => Some(Role::Owner),
            ChannelKind::Telegram
            | ChannelKind::Slack
            | ChannelKind::Discord
            | ChannelKind::Matrix
            | ChannelKind::Email => {
                let door = self.doors.get(&(conversation.channel, conversation.account.clone()))?;
                let named = door.roles.get(sender).copied().max(member);
                named.or_else(|| door.guests.then_some(Role::Guest))
            }
            // What calls in is nobody.
            ChannelKind::Event => None,
        }
    }

    /// Whether this account has a door at all.
    pub fn has_door(&self, conversation: &Conversation) -> bool {
        self.doors.contains_key(&(conversation.channel, conversation.account.clone()))
    }

    /// Whether the config names an owner on any platform. Whoever sits at the terminal cannot be written to.
    pub fn has_owner(&self) -> bool {
        self.doors.values().any(|door| door.roles.values().any(|role| *role == Role::Owner))
    }

    /// How much the words of somebody count who is let in. A letter's do only where its sender is proven and named: letters
    /// come from anybody.
    pub fn trust(&self, conversation: &Conversation, sender: &str, proof: &SenderProof, member: Option<Role>) -> Trust {
        let door = self.doors.get(&(conversation.channel, conversation.account.clone()));
        let is_named = member.is_some() || door.is_some_and(|door| door.roles.contains_key(sender));
        match (proof, conversation.channel) {
            (SenderProof::Nobody { .. }, _) => Trust::Untrusted,
            (SenderProof::Platform, ChannelKind::Email) if !is_named => Trust::Untrusted,
            (SenderProof::Platform, _) => Trust::Trusted,
        }
    }

    /// The door of an account.
    pub fn account_access(&mut self, channel: ChannelKind, account: &str) -> &mut AccountAccess {
        self.doors.entry((channel, account.to_owned())).or_default()
    }

    /// The other names of the same person.
    pub fn linked_identities(&self, conversation: &Conversation, sender: &str) -> Vec<Alias> {
        let (own, is_seated) = match conversation.channel {
            ChannelKind::Terminal => (Alias::TERMINAL, false),
            ChannelKind::Web if sender == VOICE => return Vec::new(),
            // Whoever opens the page as its owner is whoever runs this machine.
            ChannelKind::Web => (Alias::TERMINAL, true),
            ChannelKind::Event => return Vec::new(),
            channel => (Alias::of(channel, sender), false),
        };
        let person = self.people.iter().find(|person| person.contains(&own));
        let others = person.into_iter().flatten().filter(|alias| **alias != own).cloned();
        is_seated.then_some(Alias::TERMINAL).into_iter().chain(others).collect()
    }
}

/// The id under which a sender is known here. Whom nobody vouches for is somebody else than whoever really has that name.
pub fn known_as(external_id: &str, proof: &SenderProof) -> String {
    match proof {
        SenderProof::Platform => external_id.to_owned(),
        SenderProof::Nobody { .. } => format!("unproven:{external_id}"),
    }
}

/// What a run may be offered: by who asks, and by the persona (row C5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAccess<'a> {
    /// What the one who asks may.
    pub role: Role,
    /// The modules it is kept to; none: all of them.
    pub modules: Option<&'a BTreeSet<String>>,
}

impl ToolAccess<'_> {
    /// Whether a tool of this module, for this role and those above, is on offer.
    pub fn covers(&self, module: &str, role: Role) -> bool {
        let fits = module == CONTROL || self.modules.is_none_or(|modules| modules.contains(module));
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
        let mut list = AccessList::default();
        let door = list.account_access(ChannelKind::Telegram, "default");
        door.guests = guests;
        for (id, role) in [("1", Role::User), ("2", Role::Owner), ("3", Role::Admin), ("4", Role::Guest)] {
            door.admit(id, role);
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
            // Each platform has a door of its own.
            (&open, ChannelKind::Slack, "1", None),
            (&open, ChannelKind::Discord, "2", None),
            (&open, ChannelKind::Email, "5", None),
        ];
        for (list, channel, sender, expected) in table {
            assert_eq!(list.role_of(&at(channel), sender, None), expected, "{channel} {sender}");
        }
    }

    #[test]
    fn c1_who_is_named_twice_has_the_higher_role() {
        for (first, second) in [(Role::User, Role::Owner), (Role::Owner, Role::User)] {
            let mut list = AccessList::default();
            let door = list.account_access(ChannelKind::Telegram, "default");
            door.admit("1", first);
            door.admit("1", second);
            assert_eq!(list.role_of(&at(ChannelKind::Telegram), "1", None), Some(Role::Owner));
        }
    }

    #[test]
    fn c1_a_stranger_in_a_thread_of_the_owner_is_a_stranger_on_every_platform() {
        use ChannelKind::{Discord, Email, Event, Slack, Telegram};
        let mut list = AccessList::default();
        for channel in [Telegram, Slack, Discord, Email, Event] {
            list.account_access(channel, "default").admit("owner", Role::Owner);
            // The chat and the thread are the owner's own.
            let (chat, thread) = ("owner".to_owned(), Some("owner".to_owned()));
            let place = Conversation { channel, account: "default".to_owned(), chat, thread };
            assert_eq!(list.role_of(&place, "stranger", None), None, "{channel}");
            let owner = (channel != Event).then_some(Role::Owner);
            assert_eq!(list.role_of(&place, "owner", None), owner, "{channel}");
        }
    }

    #[test]
    fn c1_who_was_paired_is_let_in_and_the_higher_role_counts() {
        let (closed, nobody) = (some(false), AccessList::default());
        let table = [
            (&closed, "5", Some(Role::User), Some(Role::User)),
            (&closed, "5", None, None),
            (&closed, "1", Some(Role::Owner), Some(Role::Owner)),
            (&closed, "2", Some(Role::Guest), Some(Role::Owner)),
            // An account that is gone lets nobody in, whoever was paired there.
            (&nobody, "5", Some(Role::Owner), None),
        ];
        for (list, sender, member, expected) in table {
            assert_eq!(list.role_of(&at(ChannelKind::Telegram), sender, member), expected, "{sender} {member:?}");
        }
        assert!(closed.has_owner() && !nobody.has_owner());
    }

    #[test]
    fn a12_whom_nobody_vouches_for_has_no_rights() {
        let mut list = some(true);
        list.account_access(ChannelKind::Email, "default").guests = true;
        list.account_access(ChannelKind::Email, "default").admit("ada@home.example", Role::Owner);
        let nobody = SenderProof::Nobody { why: "DMARC failed".to_owned() };
        let table = [
            ("ada@home.example", &SenderProof::Platform, Some(Role::Owner), Trust::Trusted),
            ("ada@home.example", &nobody, Some(Role::Guest), Trust::Untrusted),
            ("eve@else.example", &SenderProof::Platform, Some(Role::Guest), Trust::Untrusted),
            ("eve@else.example", &nobody, Some(Role::Guest), Trust::Untrusted),
        ];
        for (sender, proof, role, trust) in table {
            let (place, known) = (at(ChannelKind::Email), known_as(sender, proof));
            assert_eq!(list.role_of(&place, &known, None), role, "{sender} {proof:?}");
            assert_eq!(list.trust(&place, &known, proof, None), trust, "{sender} {proof:?}");
        }
        let (place, known) = (at(ChannelKind::Telegram), known_as("2", &nobody));
        assert_eq!(list.role_of(&place, &known, None), Some(Role::Guest));
        assert_eq!(list.trust(&place, &known, &nobody, None), Trust::Untrusted);
        assert_eq!(list.trust(&place, "5", &SenderProof::Platform, None), Trust::Trusted);
    }

    #[test]
    fn c1_one_person_has_several_names() {
        let telegram = |id: &str| Alias::of(ChannelKind::Telegram, id);
        let people =
            vec![BTreeSet::from([telegram("1"), telegram("10"), Alias::TERMINAL]), BTreeSet::from([telegram("2")])];
        let list = AccessList { people, ..some(false) };
        let table = [
            (ChannelKind::Telegram, "1", vec![Alias::TERMINAL, telegram("10")]),
            (ChannelKind::Terminal, "local", vec![telegram("1"), telegram("10")]),
            (ChannelKind::Web, "owner", vec![Alias::TERMINAL, telegram("1"), telegram("10")]),
            (ChannelKind::Web, VOICE, vec![]),
            (ChannelKind::Telegram, "2", vec![]),
            (ChannelKind::Telegram, "3", vec![]),
        ];
        for (channel, sender, expected) in table {
            assert_eq!(list.linked_identities(&at(channel), sender), expected, "{channel} {sender}");
        }
    }

    #[test]
    fn c5_tools_go_by_role_and_by_module() {
        let (memory, none) = (BTreeSet::from(["memory".to_owned()]), BTreeSet::new());
        let (all, memory, none) = (None, Some(&memory), Some(&none));
        let table = [
            (Role::Guest, all, "time", Role::Guest, true),
            (Role::Guest, all, "memory", Role::User, false),
            (Role::User, all, "memory", Role::User, true),
            (Role::User, all, "commands", Role::Admin, false),
            (Role::Admin, all, "commands", Role::Admin, true),
            (Role::Admin, all, "commands", Role::Owner, false),
            (Role::Owner, all, "commands", Role::Guest, true),
            (Role::Owner, memory, "memory", Role::User, true),
            (Role::Owner, memory, "time", Role::Guest, false),
            (Role::Owner, memory, "control", Role::Guest, true),
            (Role::Guest, memory, "control", Role::Guest, true),
            // A persona takes tools away and gives none.
            (Role::Guest, memory, "memory", Role::User, false),
            (Role::User, all, "control", Role::Admin, false),
            (Role::Owner, none, "time", Role::Guest, false),
            (Role::Owner, none, "control", Role::Guest, true),
        ];
        for (role, modules, module, needed, expected) in table {
            assert_eq!(ToolAccess { role, modules }.covers(module, needed), expected, "{role:?} {module} {needed:?}");
        }
    }
}
