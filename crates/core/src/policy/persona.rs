//! Who Hob is in a conversation (row C3): chosen there → by chat → by platform → everywhere → nobody in particular.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::inbound::{ChannelKind, Conversation};

/// What the config says about who Hob is where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignments {
    /// The personas that there are.
    pub known: BTreeSet<String>,
    /// By platform and chat.
    pub by_chat: BTreeMap<(ChannelKind, String), String>,
    /// By platform and Hob's account there.
    pub by_account: BTreeMap<(ChannelKind, String), String>,
    /// By platform.
    pub by_platform: BTreeMap<ChannelKind, String>,
    /// Everywhere else.
    pub everywhere: Option<String>,
}

/// Why it is this persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `/persona` in this conversation.
    Chosen,
    /// The config, for this chat.
    Chat,
    /// The config, for this platform.
    Platform,
    /// The config, for everywhere.
    Everywhere,
}

impl Origin {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Chosen => "chosen here",
            Self::Chat => "set for this chat",
            Self::Platform => "set for this platform",
            Self::Everywhere => "set for everywhere",
        }
    }
}

/// Who Hob is in a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// The persona and why it is this one; none: nobody in particular.
    pub persona: Option<(&'a str, Origin)>,
    /// What was chosen here and is not configured any more.
    pub gone: Option<&'a str>,
}

impl<'a> Resolved<'a> {
    /// The persona's name.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.persona.map(|(name, _)| name)
    }
}

impl Assignments {
    /// Who Hob is in `place`, where `chosen` was chosen.
    #[must_use]
    pub fn resolve<'a>(&'a self, place: &Conversation, chosen: Option<&'a str>) -> Resolved<'a> {
        let gone = chosen.filter(|name| !self.known.contains(*name));
        let chosen = chosen.filter(|name| self.known.contains(*name)).map(|name| (name, Origin::Chosen));
        let by_chat = self.by_chat.get(&(place.channel, place.chat.clone()));
        let by_account = self.by_account.get(&(place.channel, place.account.clone()));
        let by_platform = by_account.or_else(|| self.by_platform.get(&place.channel));
        let from = |name: Option<&'a String>, origin| name.map(|name| (name.as_str(), origin));
        let persona = chosen
            .or_else(|| from(by_chat, Origin::Chat))
            .or_else(|| from(by_platform, Origin::Platform))
            .or_else(|| from(self.everywhere.as_ref(), Origin::Everywhere));
        Resolved { persona, gone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(channel: ChannelKind, chat: &str) -> Conversation {
        Conversation { channel, account: "default".into(), chat: chat.into(), thread: None }
    }

    fn at_work(chat: &str) -> Conversation {
        Conversation { account: "work".into(), ..at(ChannelKind::Telegram, chat) }
    }

    #[test]
    fn c3_the_nearest_word_counts() {
        let (telegram, terminal) = (ChannelKind::Telegram, ChannelKind::Terminal);
        let full = Assignments {
            known: ["cook", "clerk", "nurse", "host"].map(str::to_owned).into(),
            by_chat: BTreeMap::from([((telegram, "-1".to_owned()), "cook".to_owned())]),
            by_account: BTreeMap::from([((telegram, "work".to_owned()), "nurse".to_owned())]),
            by_platform: BTreeMap::from([(telegram, "clerk".to_owned())]),
            everywhere: Some("host".to_owned()),
        };
        let none = Assignments::default();
        let table = [
            (&full, at(telegram, "-1"), Some("nurse"), "nurse chosen here"),
            (&full, at(telegram, "-1"), None, "cook set for this chat"),
            (&full, at(telegram, "-2"), None, "clerk set for this platform"),
            (&full, at_work("-2"), None, "nurse set for this platform"),
            (&full, at_work("-1"), None, "cook set for this chat"),
            (&full, at(terminal, "-1"), None, "host set for everywhere"),
            (&full, at(terminal, "-1"), Some("cook"), "cook chosen here"),
            (&full, at(telegram, "-1"), Some("butler"), "cook set for this chat, butler is gone"),
            (&none, at(telegram, "-1"), None, "nobody"),
            (&none, at(telegram, "-1"), Some("cook"), "nobody, cook is gone"),
        ];
        for (assignments, place, chosen, expected) in table {
            let resolved = assignments.resolve(&place, chosen);
            let persona = resolved
                .persona
                .map_or_else(|| "nobody".to_owned(), |(name, origin)| format!("{name} {}", origin.words()));
            let gone = resolved.gone.map(|gone| format!(", {gone} is gone")).unwrap_or_default();
            assert_eq!(format!("{persona}{gone}"), expected);
            assert_eq!(resolved.name(), resolved.persona.map(|(name, _)| name));
        }
    }
}
