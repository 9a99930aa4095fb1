//! Telegram's accounts, as the config names them.

#[cfg(feature = "telegram")]
use std::{any::Any, sync::Arc, time::Duration};

use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "telegram"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "telegram")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::error::StartError;
use hob_config::Config;
#[cfg(feature = "telegram")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_config::accounts::Account,
    hob_config::telegram::TelegramConfig,
    hob_core::domain::{channel::Adapter, clock::Clock, inbound::ChannelKind, rng::Rng},
    hob_router::command::LISTED,
    hob_telegram::Telegram,
    hob_telegram::settings::{Settings, Timing, Webhook},
};

/// How they are reached.
#[cfg(feature = "telegram")]
pub(super) fn wirings(config: &Config, is_served: bool) -> Result<Vec<SharedConnector>, StartError> {
    config
        .telegrams()
        .map(|Account { name: account, section: own, .. }| {
            Ok(Arc::new(settings(account, own, is_served)?) as SharedConnector)
        })
        .collect()
}

#[cfg(not(feature = "telegram"))]
pub(super) fn wirings(config: &Config, _is_served: bool) -> Result<Vec<SharedConnector>, StartError> {
    not_built_in("telegram", config.telegrams())
}

#[cfg(feature = "telegram")]
impl AccountConnector for Settings {
    fn address(&self) -> AccountAddress {
        (ChannelKind::Telegram, self.account.clone())
    }

    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }

    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError> {
        Ok(Arc::new(Telegram::new(self.clone(), clock, rng)?))
    }
}

#[cfg(feature = "telegram")]
fn settings(account: &str, config: &TelegramConfig, is_served: bool) -> Result<Settings, StartError> {
    let url = |key: &str, url: &str| {
        url::Url::parse(url).map_err(|error| StartError::Config(format!("telegram.{key}, account {account}: {error}")))
    };
    let webhook = match (&config.webhook_url, &config.webhook_secret) {
        (Some(address), Some(secret)) if is_served => {
            Some(Webhook { url: url("webhook_url", address)?, secret: secret.clone() })
        }
        _ => None,
    };
    Ok(Settings {
        account: account.to_owned(),
        token: config.bot_token.clone(),
        api_url: url("api_url", &config.api_url)?,
        poll_timeout: Duration::from_secs(config.poll_timeout_secs),
        webhook,
        commands: LISTED.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect(),
        pace: Timing::PRODUCTION,
    })
}
