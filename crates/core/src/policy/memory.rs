//! Who sees which memories, and whose a new one is.

use crate::domain::ids::{SessionId, UserId};
use crate::domain::inbound::Conversation;
use crate::domain::memory::Scope;
use crate::domain::principal::{Principal, Role, Trust};

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeakingPlace {
    pub session: SessionId,
    /// Whether one person alone is in it.
    pub private: bool,
}

impl SpeakingPlace {
    /// The place of a session.
    pub fn of(session: SessionId, conversation: &Conversation) -> Self {
        Self { session, private: conversation.is_private() }
    }
}

/// What `reader` may have recalled at `place`: in private their own, in a group only the group's; what the house shares is
/// not for guests.
pub fn visible_scopes(reader: &Principal, place: SpeakingPlace) -> Vec<Scope> {
    let own = if place.private { Scope::Person(reader.user) } else { Scope::Conversation(place.session) };
    [own].into_iter().chain(shared_by(reader)).collect()
}

/// What this person sees of what the house shares, and may add to.
pub fn shared_by(person: &Principal) -> Option<Scope> {
    (person.role >= Role::User && person.trust == Trust::Trusted).then_some(Scope::House)
}

/// Whose memory it becomes what `speaker` says at `place`; none: nobody's, as untrusted words are not remembered.
pub fn scope_for(speaker: &Principal, place: SpeakingPlace) -> Option<Scope> {
    if speaker.trust == Trust::Untrusted {
        return None;
    }
    Some(if place.private { Scope::Person(speaker.user) } else { Scope::Conversation(place.session) })
}

/// Whether facts may be drawn from what `speaker` said: a guest's words become facts only of that guest's own.
pub fn may_tell_facts(speaker: Role, trust: Trust, scope: Scope) -> bool {
    trust == Trust::Trusted && (speaker >= Role::User || matches!(scope, Scope::Person(_)))
}

/// What `reader` is shown of memory by commands at `place`: in a group what belongs to the group, and nothing else.
pub fn command_scopes(reader: &Principal, place: SpeakingPlace) -> Vec<Scope> {
    if place.private { visible_scopes(reader, place) } else { vec![Scope::Conversation(place.session)] }
}

/// Whether `caller` may have forgotten, or pinned, what somebody told within `scope`.
///
/// Of their own anything; in a conversation and in the house what they told themselves; admins and owners whatever is
/// shown to them.
pub fn may_change(caller: &Principal, place: SpeakingPlace, scope: Scope, told_by: Option<UserId>) -> bool {
    if caller.trust == Trust::Untrusted || !command_scopes(caller, place).contains(&scope) {
        return false;
    }
    match scope {
        Scope::Person(_) => true,
        Scope::Conversation(_) | Scope::House => told_by == Some(caller.user) || caller.role >= Role::Admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(role: Role, trust: Trust) -> Principal {
        Principal { user: UserId(7), name: "Somebody".to_owned(), role, trust }
    }

    #[test]
    fn n8_what_is_private_stays_private() {
        let (own, group) = (Scope::Person(UserId(7)), Scope::Conversation(SessionId(3)));
        let table = [
            (Role::Guest, Trust::Trusted, true, vec![own], Some(own)),
            (Role::Guest, Trust::Trusted, false, vec![group], Some(group)),
            (Role::User, Trust::Trusted, true, vec![own, Scope::House], Some(own)),
            (Role::User, Trust::Trusted, false, vec![group, Scope::House], Some(group)),
            (Role::Owner, Trust::Trusted, true, vec![own, Scope::House], Some(own)),
            (Role::Owner, Trust::Untrusted, true, vec![own], None),
        ];
        for (role, trust, private, seen, kept) in table {
            let place = SpeakingPlace { session: SessionId(3), private };
            let somebody = person(role, trust);
            assert_eq!(
                (visible_scopes(&somebody, place), scope_for(&somebody, place)),
                (seen, kept),
                "{role:?} {private}"
            );
        }
    }

    #[test]
    fn n8_a_guests_words_are_no_facts_of_others() {
        let group = Scope::Conversation(SessionId(3));
        assert!(!may_tell_facts(Role::Guest, Trust::Trusted, group));
        assert!(may_tell_facts(Role::Guest, Trust::Trusted, Scope::Person(UserId(7))));
        assert!(may_tell_facts(Role::User, Trust::Trusted, group));
        assert!(!may_tell_facts(Role::Owner, Trust::Untrusted, group));
    }

    #[test]
    fn n8_who_may_have_what_forgotten() {
        use Role::{Admin, Guest, Owner, User};
        let (own, others) = (Scope::Person(UserId(7)), Scope::Person(UserId(8)));
        let (here, elsewhere) = (Scope::Conversation(SessionId(3)), Scope::Conversation(SessionId(4)));
        let (me, other) = (Some(UserId(7)), Some(UserId(8)));
        // Role, in private, whose, told by whom: whether they may.
        let table = [
            (Guest, true, own, me, true),
            (Guest, true, own, None, true),
            (Owner, true, others, me, false),
            (Owner, false, own, me, false),
            (Guest, false, here, me, true),
            (User, false, here, other, false),
            (User, false, here, None, false),
            (Admin, false, here, other, true),
            (Owner, false, here, None, true),
            (Owner, false, elsewhere, me, false),
            (Owner, true, here, me, false),
            (User, true, Scope::House, me, true),
            (User, true, Scope::House, other, false),
            (Guest, true, Scope::House, me, false),
            (Admin, true, Scope::House, other, true),
            (Owner, false, Scope::House, me, false),
        ];
        for (role, private, scope, told_by, expected) in table {
            let place = SpeakingPlace { session: SessionId(3), private };
            let may = may_change(&person(role, Trust::Trusted), place, scope, told_by);
            assert_eq!(may, expected, "{role:?}, private: {private}, {scope}, {told_by:?}");
            assert!(!may_change(&person(role, Trust::Untrusted), place, scope, told_by));
        }
    }
}
