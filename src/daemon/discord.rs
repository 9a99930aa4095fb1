//! From the config's bots on Discord to what the rooms take.

use crate::channel::discord::settings::{Pace, Settings};
use crate::config::Config;
use crate::config::discord::DiscordConfig;
use crate::daemon::{StartError, parts};
use crate::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use crate::domain::principal::Role;
use crate::policy::access::AccessList;
use crate::policy::persona::Assignments;

/// The bots, by their accounts' names.
pub(super) fn accounts(config: &Config) -> impl Iterator<Item = (&str, &DiscordConfig)> {
    let own = config.discord.iter().map(|discord| (DEFAULT_ACCOUNT, discord));
    own.chain(config.discord_accounts.iter().map(|(name, discord)| (name.as_str(), discord)))
}

/// Who is let in by each.
pub(super) fn open_doors(config: &Config, list: &mut AccessList) {
    for (account, discord) in accounts(config) {
        let door = list.door(ChannelKind::Discord, account);
        door.guests = discord.allow_guests;
        for (ids, role) in [
            (&discord.guest_user_ids, Role::Guest),
            (&discord.allowed_user_ids, Role::User),
            (&discord.admin_user_ids, Role::Admin),
            (&discord.owner_user_ids, Role::Owner),
        ] {
            ids.iter().for_each(|id| door.admit(&id.to_string(), role));
        }
        for person in config.people.values() {
            person.discord_user_ids.iter().for_each(|id| door.admit(&id.to_string(), parts::role(person.role)));
        }
    }
}

/// Who Hob is there.
pub(super) fn assign(config: &Config, assigned: &mut Assignments) {
    for (account, discord) in accounts(config) {
        let here = discord.persona.iter().map(|name| ((ChannelKind::Discord, account.to_owned()), name.clone()));
        assigned.by_account.extend(here);
        let by_chat = discord.personas.iter();
        assigned.by_chat.extend(by_chat.map(|(chat, name)| ((ChannelKind::Discord, chat.clone()), name.clone())));
    }
}

/// How Discord is reached by one of them.
pub(super) fn settings(account: &str, config: &DiscordConfig) -> Result<Settings, StartError> {
    let api_url = url::Url::parse(&config.api_url);
    let api_url = api_url.map_err(|error| StartError::Config(format!("discord.api_url ({account}): {error}")))?;
    Ok(Settings {
        account: account.to_owned(),
        token: config.bot_token.clone(),
        api_url,
        command_guilds: config.command_guild_ids.iter().map(i64::to_string).collect(),
        pace: Pace::PRODUCTION,
    })
}
