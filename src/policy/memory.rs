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
    [own].into_iter().chain(shared_by(reader)).collect()
}

/// What this person sees of what the house shares, and may add to.
#[must_use]
pub fn shared_by(person: &Principal) -> Option<Scope> {
    (person.role >= Role::User && person.trust == Trust::Trusted).then_some(Scope::House)
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

/// What is nobody else's business, and the words by which it is known.
const RESTRICTED: [(&str, &[&str]); 4] = [
    (
        "health",
        &[
            "health",
            "medical",
            "medicine",
            "medication",
            "illness",
            "disease",
            "diagnosis",
            "gesundheit",
            "krankheit",
            "diagnose",
            "medikament",
            "medikamente",
            "medizin",
        ],
    ),
    (
        "money",
        &[
            "money",
            "finance",
            "finances",
            "financial",
            "salary",
            "income",
            "debt",
            "debts",
            "geld",
            "finanzen",
            "gehalt",
            "einkommen",
            "schulden",
        ],
    ),
    ("politics", &["politics", "political", "politik", "partei"]),
    ("religion", &["religion", "religious", "faith", "glaube", "konfession"]),
];

/// Which restricted category words are about, if any.
#[must_use]
pub fn restricted(words: &str) -> Option<&'static str> {
    let lower = words.to_lowercase();
    let said: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let about = |(_, names): &&(&str, &[&str])| names.iter().any(|name| said.contains(name));
    RESTRICTED.iter().find(about).map(|(category, _)| *category)
}

/// Why something is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Restriction {
    /// Nobody asked for it.
    #[error("About {0} nothing is kept unless somebody asks for just that: then set `sensitive`.")]
    Unasked(&'static str),
    /// Others would see it.
    #[error(
        "About {0} nothing is kept where others see it: only in a private conversation, and for that person alone."
    )]
    Shared(&'static str),
}

/// Whether what these words are about may be kept in `scope`; `asked`: the person asked for just that.
///
/// # Errors
/// When it is restricted.
pub fn may_keep(words: &str, scope: Scope, asked: bool) -> Result<(), Restriction> {
    match (restricted(words), scope) {
        (None, _) => Ok(()),
        (Some(category), Scope::House | Scope::Conversation(_)) => Err(Restriction::Shared(category)),
        (Some(category), Scope::Person(_)) if !asked => Err(Restriction::Unasked(category)),
        (Some(_), Scope::Person(_)) => Ok(()),
    }
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

    #[test]
    fn n8_what_is_restricted_is_kept_for_one_person_and_only_if_asked() {
        let (own, group) = (Scope::Person(UserId(7)), Scope::Conversation(SessionId(3)));
        let table = [
            ("home bins", own, false, Ok(())),
            ("home bins", Scope::House, false, Ok(())),
            ("Health blood pressure", own, false, Err(Restriction::Unasked("health"))),
            ("Health blood pressure", own, true, Ok(())),
            ("work salary", own, false, Err(Restriction::Unasked("money"))),
            ("Gesundheit", Scope::House, true, Err(Restriction::Shared("health"))),
            ("politics", group, true, Err(Restriction::Shared("politics"))),
            ("religion", group, false, Err(Restriction::Shared("religion"))),
            ("healthy breakfast", group, false, Ok(())),
        ];
        for (words, scope, asked, expected) in table {
            assert_eq!(may_keep(words, scope, asked), expected, "{words} in {scope}");
        }
    }
}
