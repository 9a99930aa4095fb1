//! Who sees which memories, and whose a new one is.

use crate::domain::ids::SessionId;
use crate::domain::inbound::Conversation;
use crate::domain::memory::Scope;
use crate::domain::principal::{Principal, Role, Trust};

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The conversation.
    pub session: SessionId,
    /// Whether one person alone is in it.
    pub private: bool,
}

impl Place {
    /// The place of a session.
    #[must_use]
    pub fn of(session: SessionId, conversation: &Conversation) -> Self {
        Self { session, private: conversation.is_private() }
    }
}

/// What `reader` may have recalled at `place`: in private their own, in a group only the group's; what the house shares is
/// not for guests.
#[must_use]
pub fn visible(reader: &Principal, place: Place) -> Vec<Scope> {
    let own = if place.private { Scope::Person(reader.user) } else { Scope::Conversation(place.session) };
    let house = (reader.role >= Role::User && reader.trust == Trust::Trusted).then_some(Scope::House);
    [own].into_iter().chain(house).collect()
}

/// Whose memory it becomes what `speaker` says at `place`; none: nobody's, as untrusted words are not remembered.
#[must_use]
pub fn kept_in(speaker: &Principal, place: Place) -> Option<Scope> {
    if speaker.trust == Trust::Untrusted {
        return None;
    }
    Some(if place.private { Scope::Person(speaker.user) } else { Scope::Conversation(place.session) })
}

/// Whether facts may be drawn from what `speaker` said: a guest's words become facts only of that guest's own.
#[must_use]
pub fn may_tell_facts(speaker: Role, trust: Trust, scope: Scope) -> bool {
    trust == Trust::Trusted && (speaker >= Role::User || matches!(scope, Scope::Person(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::UserId;

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
            let place = Place { session: SessionId(3), private };
            let somebody = person(role, trust);
            assert_eq!((visible(&somebody, place), kept_in(&somebody, place)), (seen, kept), "{role:?} {private}");
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
}
