//! Who is let in by each account, and who Hob is there.

use hob_config::Config;
use hob_config::accounts::{Account, SectionAccess, lower, numbers};
use hob_config::people::PersonConfig;
use hob_core::domain::inbound::ChannelKind;
use hob_core::policy::access::{AccessList, Alias};
use hob_core::policy::persona::PersonaAssignments;
#[cfg(any(feature = "dav", feature = "mail"))]
use hob_tools::audience::People;

/// The names of somebody of the household on the platforms.
fn names(person: &PersonConfig) -> impl Iterator<Item = (ChannelKind, String)> {
    let all = [
        (ChannelKind::Telegram, numbers(&person.telegram_user_ids)),
        (ChannelKind::Slack, person.slack_user_ids.clone()),
        (ChannelKind::Discord, numbers(&person.discord_user_ids)),
        (ChannelKind::Matrix, person.matrix_user_ids.clone()),
        (ChannelKind::Email, lower(&person.email_addresses)),
    ];
    all.into_iter().flat_map(|(channel, ids)| ids.into_iter().map(move |id| (channel, id)))
}

/// By what somebody of the household is known, on the platforms and at the terminal.
pub(super) fn aliases(person: &PersonConfig) -> Vec<Alias> {
    let named = names(person).map(|(channel, id)| Alias::of(channel, &id));
    named.chain(person.terminal.then_some(Alias::TERMINAL)).collect()
}

/// Those whom a section names, and without names whoever owns this Hob.
#[cfg(any(feature = "dav", feature = "mail"))]
pub(super) fn people(config: &Config, names: &[String]) -> People {
    let known = names.iter().filter_map(|name| config.people.get(name));
    People { owners: names.is_empty(), named: known.map(aliases).collect() }
}

/// Who is let in by each account, and who is one person.
pub(super) fn admit(config: &Config, list: &mut AccessList) {
    for Account { channel, name, section, .. } in config.accounts() {
        let SectionAccess { admitted, guests, .. } = section.access();
        let door = list.account_access(channel, name);
        door.guests = guests;
        for (role, ids) in admitted {
            ids.iter().for_each(|id| door.admit(id, role));
        }
        for person in config.people.values() {
            let here = names(person).filter(|(known, _)| *known == channel);
            here.for_each(|(_, id)| door.admit(&id, person.role));
        }
    }
    for person in config.people.values() {
        list.people.push(aliases(person).into_iter().collect());
    }
}

/// Who Hob is on each account, and in single chats.
pub(super) fn assign(config: &Config, assigned: &mut PersonaAssignments) {
    for Account { channel, name: account, section, .. } in config.accounts() {
        let SectionAccess { persona, personas, servers, .. } = section.access();
        let servers = servers.into_iter().flat_map(|(_, servers)| servers);
        let by_server = servers.map(|(server, name)| ((channel, account.to_owned(), server.clone()), name.clone()));
        assigned.by_server.extend(by_server);
        assigned.by_account.extend(persona.map(|name| ((channel, account.to_owned()), name.clone())));
        assigned.by_chat.extend(personas.iter().map(|(chat, name)| ((channel, chat.clone()), name.clone())));
    }
}
