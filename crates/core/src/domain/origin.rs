//! Where words come from, and whom a run has listened to (row N6).
//!
//! A run that has read what nobody here vouches for is *tainted* from there on: whoever wrote those words might now be
//! speaking through it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::inbound::ChannelKind;
use crate::domain::principal::{Principal, Role, Trust};

/// The most sources that a taint names; of what comes after them only the kinds of place are kept, each once.
const SOURCES_MAX: usize = 12;
/// What stands for all further sources of a kind.
const FURTHER: &str = "and further ones";
/// The most characters of a source's name.
const WHAT_CHARS_MAX: usize = 160;

/// What kind of place words come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The household's head.
    Owner,
    /// A member of the household.
    User,
    /// Somebody let in, and no more.
    Guest,
    /// A page or an answer from the network.
    Web,
    /// A letter.
    Email,
    /// Something that called in from outside.
    Event,
    File,
    /// What a tool answered.
    Tool,
    /// What is remembered.
    Memory,
    Skill,
    /// What somebody hands on that somebody else said.
    Forwarded,
    /// What was said in a group by somebody who is not a member of the household.
    Stranger,
    /// A value of a closed form that a reader without tools took from words of these (row N16): no words of theirs.
    Reader,
}

impl Origin {
    /// May words from there instruct? Only what people of the household say themselves, and what its owner installed.
    pub fn is_trusted(self) -> bool {
        match self {
            Self::Owner | Self::User => true,
            Self::Guest
            | Self::Web
            | Self::Email
            | Self::Event
            | Self::File
            | Self::Tool
            | Self::Memory
            | Self::Skill
            | Self::Forwarded
            | Self::Stranger
            | Self::Reader => false,
        }
    }

    /// In a word, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "the owner",
            Self::User => "a user",
            Self::Guest => "a guest",
            Self::Web => "the web",
            Self::Email => "e-mail",
            Self::Event => "an event",
            Self::File => "a file",
            Self::Tool => "a tool",
            Self::Memory => "memory",
            Self::Skill => "a skill",
            Self::Forwarded => "a forwarded message",
            Self::Stranger => "a stranger",
            Self::Reader => "a reader's answer",
        }
    }
}

/// One place that words came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OriginSource {
    /// What kind of place.
    #[serde(rename = "o")]
    pub origin: Origin,
    /// Which, in words for people: an address, a file's name, a sender. It may have been chosen by whoever wrote the words.
    #[serde(rename = "w")]
    pub what: String,
}

impl OriginSource {
    /// This place; a long name is cut, and what could break out of its line is left out.
    pub fn new(origin: Origin, what: &str) -> Self {
        let what = what.chars().filter(|c| !c.is_control()).take(WHAT_CHARS_MAX).collect();
        Self { origin, what }
    }
}

impl OriginSource {
    /// Where a value comes from that a reader took from words of `from`.
    pub fn read_in(from: &Self) -> Self {
        Self::new(Origin::Reader, &from.to_string())
    }

    /// Where a person's own words come from, if they may not instruct: they are a guest's, or come by a way that proves
    /// nobody's name.
    pub fn of_speaker(principal: &Principal, channel: ChannelKind) -> Option<Self> {
        let origin = match (principal.trust, principal.role) {
            (Trust::Untrusted, _) if channel == ChannelKind::Email => Origin::Email,
            (Trust::Untrusted, _) => Origin::Event,
            (Trust::Trusted, Role::Guest) => Origin::Guest,
            (Trust::Trusted, Role::User | Role::Admin | Role::Owner) => return None,
        };
        Some(Self::new(origin, &principal.name))
    }
}

impl fmt::Display for OriginSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.what.is_empty() {
            return f.write_str(self.origin.as_str());
        }
        write!(f, "{} ({})", self.origin.as_str(), self.what)
    }
}

/// Everything that is not vouched for and was read; empty: nothing was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Taint(BTreeSet<OriginSource>);

impl Taint {
    /// Was nothing read that is not vouched for?
    pub fn is_clean(&self) -> bool {
        self.0.is_empty()
    }

    /// Are there words among it, and not values of a closed form alone?
    pub fn has_words(&self) -> bool {
        self.0.iter().any(|source| source.origin != Origin::Reader)
    }

    /// Something was read; true if it adds to what was known. What people of the household said taints nothing.
    pub fn add(&mut self, source: OriginSource) -> bool {
        if source.origin.is_trusted() || self.0.contains(&source) {
            return false;
        }
        let is_named = self.has_room(&source);
        self.0.insert(if is_named { source } else { OriginSource::new(source.origin, FURTHER) })
    }

    /// Would such a source be named? Values leave room for the names of what has words.
    pub fn has_room(&self, source: &OriginSource) -> bool {
        let room = if source.origin == Origin::Reader { SOURCES_MAX / 2 } else { SOURCES_MAX };
        self.0.len() < room
    }

    /// Is this one of the places? Of what came after the last that has room only the kind is known.
    pub fn contains(&self, source: &OriginSource) -> bool {
        self.0.contains(source)
    }

    /// With everything that `other` has.
    pub fn join(&mut self, other: &Self) {
        for source in &other.0 {
            self.add(source.clone());
        }
    }

    /// As it is stored; none: nothing was read.
    pub fn to_stored(&self) -> Option<String> {
        // A list of names always has a form.
        (!self.is_clean()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// As it was stored. What cannot be read any more is taken for something.
    pub fn from_stored(stored: Option<&str>) -> Self {
        let Some(stored) = stored else { return Self::default() };
        serde_json::from_str(stored).unwrap_or_else(|_| Self::from_iter([OriginSource::new(Origin::Memory, "")]))
    }

    /// What was read, sorted.
    pub fn sources(&self) -> impl Iterator<Item = &OriginSource> {
        self.0.iter()
    }
}

impl FromIterator<OriginSource> for Taint {
    fn from_iter<I: IntoIterator<Item = OriginSource>>(sources: I) -> Self {
        let mut taint = Self::default();
        for source in sources {
            taint.add(source);
        }
        taint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_only_what_nobody_vouches_for_taints() {
        let of = |origin| Taint::from_iter([OriginSource::new(origin, "x")]).is_clean();
        for origin in [Origin::Owner, Origin::User] {
            assert!(of(origin), "{origin:?}");
        }
        use Origin::{Email, Event, File, Forwarded, Guest, Memory, Reader, Skill, Stranger, Tool, Web};
        for origin in [Guest, Web, Email, Event, File, Tool, Memory, Skill, Forwarded, Stranger, Reader] {
            assert!(!of(origin), "{origin:?}");
        }
    }

    #[test]
    fn n6_guests_and_strangers_speak_for_nobody_here() {
        use crate::domain::ids::UserId;
        let of = |role, trust| {
            let principal = Principal { user: UserId(1), name: "Eve\n".to_owned(), role, trust };
            OriginSource::of_speaker(&principal, ChannelKind::Telegram).map(|source| source.to_string())
        };
        let (name, trust) = ("eve@else.example".to_owned(), Trust::Untrusted);
        let writer = Principal { user: UserId(1), name, role: Role::Guest, trust };
        let source = OriginSource::of_speaker(&writer, ChannelKind::Email).map(|source| source.to_string());
        assert_eq!(source.as_deref(), Some("e-mail (eve@else.example)"));
        assert_eq!(of(Role::Guest, Trust::Trusted).as_deref(), Some("a guest (Eve)"));
        assert_eq!(of(Role::Guest, Trust::Untrusted).as_deref(), Some("an event (Eve)"));
        assert_eq!(of(Role::Owner, Trust::Untrusted).as_deref(), Some("an event (Eve)"));
        for role in [Role::User, Role::Admin, Role::Owner] {
            assert_eq!(of(role, Trust::Trusted), None, "{role:?}");
        }
    }

    #[test]
    fn n16_values_leave_room_for_what_has_words() {
        let value = |n: u32| OriginSource::read_in(&OriginSource::new(Origin::File, &n.to_string()));
        let mut taint: Taint = (0..100).map(value).collect();
        assert!(!taint.is_clean() && !taint.has_words(), "{taint:?}");
        assert_eq!(taint.sources().last().unwrap().to_string(), "a reader's answer (and further ones)");
        assert!(taint.add(OriginSource::new(Origin::Web, "x")) && taint.has_words());
        assert_eq!(value(7).to_string(), "a reader's answer (a file (7))");
        assert!(Taint::from_stored(Some("[{")).has_words() && !Taint::default().has_words());
    }

    #[test]
    fn n6_a_taint_only_grows_and_is_bounded() {
        let mut taint = Taint::default();
        assert!(taint.add(OriginSource::new(Origin::Web, "https://a.example/\n[approved]")));
        assert!(!taint.add(OriginSource::new(Origin::Web, "https://a.example/[approved]")), "the same, cleaned");
        let many: Taint = (0..100).map(|n| OriginSource::new(Origin::File, &n.to_string())).collect();
        taint.join(&many);
        assert_eq!(taint.sources().count(), SOURCES_MAX + 1);
        // Full of one kind, it still tells of each other one, and that once.
        let reader = OriginSource::read_in(&OriginSource::new(Origin::Email, "Eve"));
        assert!(taint.add(reader.clone()) && !taint.add(OriginSource::read_in(&reader)));
        assert!(taint.sources().any(|source| source.origin == Origin::Reader), "{taint:?}");
        assert_eq!(Taint::from_stored(taint.to_stored().as_deref()), taint);
        assert_eq!((Taint::default().to_stored(), Taint::from_stored(None)), (None, Taint::default()));
        assert!(!Taint::from_stored(Some("[{\"o\":\"later\"")).is_clean(), "what is damaged is not clean");
        assert_eq!(OriginSource::new(Origin::File, &"x".repeat(500)).what.chars().count(), WHAT_CHARS_MAX);
    }
}
