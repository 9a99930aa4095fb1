//! From the config's bots on Discord to what the rooms take.

#[cfg(feature = "discord")]
use std::{any::Any, sync::Arc};

use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "discord"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "discord")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::error::StartError;
use hob_config::Config;
#[cfg(feature = "discord")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_config::accounts::Account,
    hob_config::discord::DiscordConfig,
    hob_core::domain::{channel::Adapter, clock::Clock, inbound::ChannelKind, rng::Rng},
    hob_discord::Discord,
    hob_discord::settings::{Settings, Timing},
};

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
