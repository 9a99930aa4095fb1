//! From the config's bots on Discord to what the rooms take.

#[cfg(feature = "discord")]
use std::{any::Any, sync::Arc};

use crate::daemon::account_access::{AccountSection, numbers};
use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "discord"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "discord")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::error::StartError;
use hob_config::Config;
use hob_config::accounts::Account;
#[cfg(feature = "discord")]
use hob_config::discord::DiscordConfig;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::principal::Role;
#[cfg(feature = "discord")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_core::domain::{channel::Adapter, clock::Clock, rng::Rng},
    hob_discord::Discord,
    hob_discord::settings::{Settings, Timing},
};

/// What each of them says of people.
pub(super) fn sections(config: &Config) -> impl Iterator<Item = AccountSection<'_>> {
    config.discords().map(|Account { name: account, section: discord, .. }| AccountSection {
        channel: ChannelKind::Discord,
        account,
        admitted: [
            (Role::Guest, numbers(&discord.guest_user_ids)),
            (Role::User, numbers(&discord.allowed_user_ids)),
            (Role::Admin, numbers(&discord.admin_user_ids)),
            (Role::Owner, numbers(&discord.owner_user_ids)),
        ],
        guests: discord.allow_guests,
        persona: discord.persona.as_ref(),
        personas: &discord.personas,
        servers: Some(&discord.server_personas),
    })
}

/// How they are reached.
#[cfg(feature = "discord")]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    config
        .discords()
        .map(|Account { name: account, section: own, .. }| Ok(Arc::new(settings(account, own)?) as SharedConnector))
        .collect()
}

#[cfg(not(feature = "discord"))]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    not_built_in("discord", config.discords())
}

#[cfg(feature = "discord")]
impl AccountConnector for Settings {
    fn address(&self) -> AccountAddress {
        (ChannelKind::Discord, self.account.clone())
    }

    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }

    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError> {
        Ok(Arc::new(Discord::new(self.clone(), clock, rng)?))
    }
}

#[cfg(feature = "discord")]
fn settings(account: &str, config: &DiscordConfig) -> Result<Settings, StartError> {
    let api_url = url::Url::parse(&config.api_url);
    let api_url = api_url.map_err(|error| StartError::Config(format!("discord.api_url ({account}): {error}")))?;
    Ok(Settings {
        account: account.to_owned(),
        token: config.bot_token.clone(),
        api_url,
        command_guilds: config.command_guild_ids.iter().map(i64::to_string).collect(),
        pace: Timing::PRODUCTION,
    })
}
