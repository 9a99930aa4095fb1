//! From the config's apps on Slack to what the rooms take.

#[cfg(feature = "slack")]
use std::{any::Any, sync::Arc};

use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "slack"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "slack")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::error::StartError;
use hob_config::Config;
#[cfg(feature = "slack")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_config::accounts::Account,
    hob_config::slack::SlackConfig,
    hob_core::domain::{channel::Adapter, clock::Clock, inbound::ChannelKind, rng::Rng},
    hob_router::command::{self, Command},
    hob_slack::Slack,
    hob_slack::settings::{Settings, Timing},
};

/// How they are reached.
#[cfg(feature = "slack")]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    config
        .slacks()
        .map(|Account { name: account, section: own, .. }| Ok(Arc::new(settings(account, own)?) as SharedConnector))
        .collect()
}

#[cfg(not(feature = "slack"))]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    not_built_in("slack", config.slacks())
}

#[cfg(feature = "slack")]
impl AccountConnector for Settings {
    fn address(&self) -> AccountAddress {
        (ChannelKind::Slack, self.account.clone())
    }

    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| is_same(self, other))
    }

    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError> {
        Ok(Arc::new(Slack::new(self.clone(), clock, rng)?))
    }
}

#[cfg(feature = "slack")]
fn settings(account: &str, config: &SlackConfig) -> Result<Settings, StartError> {
    let api_url = url::Url::parse(&config.api_url);
    let api_url = api_url.map_err(|error| StartError::Config(format!("slack.api_url ({account}): {error}")))?;
    Ok(Settings {
        account: account.to_owned(),
        bot_token: config.bot_token.clone(),
        app_token: config.app_token.clone(),
        api_url,
        is_command: |words| !matches!(command::parse(words), None | Some(Command::Unknown(_))),
        pace: Timing::PRODUCTION,
    })
}

/// Is it the same app, reached in the same way?
#[cfg(feature = "slack")]
fn is_same(one: &Settings, other: &Settings) -> bool {
    let of = |settings: &Settings| {
        let Settings { account, bot_token, app_token, api_url, .. } = settings.clone();
        (account, bot_token, app_token, api_url)
    };
    of(one) == of(other)
}
