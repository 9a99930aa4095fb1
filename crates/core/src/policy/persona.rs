//! Who Hob is in a conversation (row C3): chosen there → by chat → by server → by platform → everywhere → nobody in particular.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::inbound::{ChannelKind, Conversation};

/// What the config says about who Hob is where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonaAssignments {
    /// The personas that there are.
    pub known: BTreeSet<String>,
    pub by_chat: BTreeMap<(ChannelKind, String), String>,
    /// By platform, Hob's account there, and the server (Discord's) or workspace (Slack's).
    pub by_server: BTreeMap<(ChannelKind, String, String), String>,
    /// By platform and Hob's account there.
    pub by_account: BTreeMap<(ChannelKind, String), String>,
    pub(crate) by_platform: BTreeMap<ChannelKind, String>,
    /// Everywhere else.
    pub everywhere: Option<String>,
}

/// Why it is this persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonaOrigin {
    /// `/persona` in this conversation.
    Chosen,
    /// The config, for this chat.
    Chat,
    /// The config, for this server.
    Server,
    /// The config, for this workspace.
    Workspace,
    /// The config, for this platform.
    Platform,
    /// The config, for everywhere.
    Everywhere,
}

impl PersonaOrigin {
    pub fn words(self) -> &'static str {
        match self {
            Self::Chosen => "chosen here",
            Self::Chat => "set for this chat",
            Self::Server => "set for this server",
            Self::Workspace => "set for this workspace",
            Self::Platform => "set for this platform",
            Self::Everywhere => "set for everywhere",
        }
    }
}

/// Who Hob is in a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResolvedPersona<'a> {
    /// The persona and why it is this one; none: nobody in particular.
    pub persona: Option<(&'a str, PersonaOrigin)>,
    /// What was chosen here and is not configured any more.
    pub gone: Option<&'a str>,
}

impl<'a> ResolvedPersona<'a> {
    /// The persona's name.
    pub fn name(&self) -> Option<&'a str> {
        self.persona.map(|(name, _)| name)
    }
}

/// What is known of a conversation beyond where it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonaContext<'a> {
    /// The server or workspace that it is on; none: the platform has no such thing, or did not tell.
    pub server: Option<&'a str>,
    /// The persona that was chosen there.
    pub chosen: Option<&'a str>,
}

impl PersonaAssignments {
    /// Who Hob is in `place`, of which that much is known.
    pub fn resolve<'a>(&'a self, place: &Conversation, here: PersonaContext<'a>) -> ResolvedPersona<'a> {
        let PersonaContext { server, chosen } = here;
        let gone = chosen.filter(|name| !self.known.contains(*name));
        let chosen = chosen.filter(|name| self.known.contains(*name)).map(|name| (name, PersonaOrigin::Chosen));
        let by_chat = self.by_chat.get(&(place.channel, place.chat.clone()));
        let key = |server: &str| (place.channel, place.account.clone(), server.to_owned());
        let by_server = server.and_then(|server| self.by_server.get(&key(server)));
        let server = if place.channel == ChannelKind::Slack { PersonaOrigin::Workspace } else { PersonaOrigin::Server };
        let by_account = self.by_account.get(&(place.channel, place.account.clone()));
        let by_platform = by_account.or_else(|| self.by_platform.get(&place.channel));
        let from = |name: Option<&'a String>, origin| name.map(|name| (name.as_str(), origin));
        let persona = chosen
            .or_else(|| from(by_chat, PersonaOrigin::Chat))
            .or_else(|| from(by_server, server))
            .or_else(|| from(by_platform, PersonaOrigin::Platform))
            .or_else(|| from(self.everywhere.as_ref(), PersonaOrigin::Everywhere));
        ResolvedPersona { persona, gone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(channel: ChannelKind, chat: &str) -> Conversation {
        Conversation { channel, account: "default".into(), chat: chat.into(), thread: None }
    }

    fn at_work(chat: &str) -> Conversation {
        Conversation { account: "work".into(), ..at(ChannelKind::Discord, chat) }
    }

    #[test]
    fn c3_the_nearest_word_counts() {
        let (discord, slack, terminal) = (ChannelKind::Discord, ChannelKind::Slack, ChannelKind::Terminal);
        let server = |channel, account: &str, server: &str| (channel, account.to_owned(), server.to_owned());
        let full = PersonaAssignments {
            known: ["cook", "clerk", "nurse", "host", "night"].map(str::to_owned).into(),
            by_chat: BTreeMap::from([((discord, "1".to_owned()), "cook".to_owned())]),
            by_server: BTreeMap::from([
                (server(discord, "default", "s"), "night".to_owned()),
                (server(slack, "default", "s"), "host".to_owned()),
                (server(discord, "work", "t"), "night".to_owned()),
            ]),
            by_account: BTreeMap::from([((discord, "work".to_owned()), "nurse".to_owned())]),
            by_platform: BTreeMap::from([(discord, "clerk".to_owned())]),
            everywhere: Some("host".to_owned()),
        };
        let none = PersonaAssignments::default();
        let table = [
            (&full, at(discord, "1"), (Some("s"), Some("nurse")), "nurse chosen here"),
            (&full, at(discord, "1"), (Some("s"), None), "cook set for this chat"),
            (&full, at(discord, "2"), (Some("s"), None), "night set for this server"),
            (&full, at(slack, "2"), (Some("s"), None), "host set for this workspace"),
            // Another server's is not this one's, nor another account's.
            (&full, at(discord, "2"), (Some("t"), None), "clerk set for this platform"),
            (&full, at_work("2"), (Some("s"), None), "nurse set for this platform"),
            (&full, at_work("2"), (Some("t"), None), "night set for this server"),
            // In private, and where the platform does not tell.
            (&full, at(discord, "2"), (None, None), "clerk set for this platform"),
            (&full, at_work("1"), (None, None), "cook set for this chat"),
            (&full, at(terminal, "1"), (None, None), "host set for everywhere"),
            (&full, at(terminal, "1"), (None, Some("cook")), "cook chosen here"),
            (&full, at(discord, "1"), (Some("s"), Some("butler")), "cook set for this chat, butler is gone"),
            (&full, at(discord, "2"), (Some("s"), Some("butler")), "night set for this server, butler is gone"),
            (&none, at(discord, "1"), (Some("s"), None), "nobody"),
            (&none, at(discord, "1"), (Some("s"), Some("cook")), "nobody, cook is gone"),
        ];
        for (assignments, place, (server, chosen), expected) in table {
            let resolved = assignments.resolve(&place, PersonaContext { server, chosen });
            let persona = resolved
                .persona
                .map_or_else(|| "nobody".to_owned(), |(name, origin)| format!("{name} {}", origin.words()));
            let gone = resolved.gone.map(|gone| format!(", {gone} is gone")).unwrap_or_default();
            assert_eq!(format!("{persona}{gone}"), expected);
            assert_eq!(resolved.name(), resolved.persona.map(|(name, _)| name));
        }
    }
}
