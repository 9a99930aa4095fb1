//! From the config's accounts on Matrix to what the rooms take.

use std::path::Path;
#[cfg(feature = "matrix")]
use std::{any::Any, sync::Arc};

use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "matrix"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "matrix")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::error::StartError;
use hob_config::Config;
#[cfg(feature = "matrix")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_config::accounts::Account,
    hob_config::matrix::MatrixConfig,
    hob_core::domain::{channel::Adapter, clock::Clock, inbound::ChannelKind, rng::Rng},
    hob_matrix::Matrix,
    hob_matrix::settings::{Settings, Timing},
    hob_router::command::{self, Command},
};

/// How they are reached.
#[cfg(feature = "matrix")]
pub(super) fn wirings(config: &Config, data_dir: &Path) -> Result<Vec<SharedConnector>, StartError> {
    let settings = |Account { name: account, section: own, .. }| {
        let made = settings(account, own, data_dir);
        let made = made.map_err(|error| StartError::Config(format!("matrix.homeserver ({account}): {error}")))?;
        Ok(Arc::new(made) as SharedConnector)
    };
    config.matrices().map(settings).collect()
}

#[cfg(not(feature = "matrix"))]
pub(super) fn wirings(config: &Config, _data_dir: &Path) -> Result<Vec<SharedConnector>, StartError> {
    not_built_in("matrix", config.matrices())
}

#[cfg(feature = "matrix")]
impl AccountConnector for Settings {
    fn address(&self) -> AccountAddress {
        (ChannelKind::Matrix, self.account.clone())
    }

    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| is_same(self, other))
    }

    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError> {
        Ok(Arc::new(Matrix::new(self.clone(), clock, rng)?))
    }
}

/// How an account is reached, also from the command line.
#[cfg(feature = "matrix")]
pub(crate) fn settings(account: &str, config: &MatrixConfig, data_dir: &Path) -> Result<Settings, url::ParseError> {
    Ok(Settings {
        account: account.to_owned(),
        homeserver: url::Url::parse(&config.homeserver)?,
        user: config.user.clone(),
        password: config.password.clone(),
        data_dir: data_dir.to_owned(),
        is_command: |words| !matches!(command::parse(words), None | Some(Command::Unknown(_))),
        pace: Timing::PRODUCTION,
    })
}

/// Is it the same account, reached in the same way?
#[cfg(feature = "matrix")]
fn is_same(one: &Settings, other: &Settings) -> bool {
    let of = |settings: &Settings| {
        let Settings { account, homeserver, user, password, data_dir, .. } = settings.clone();
        (account, homeserver, user, password, data_dir)
    };
    of(one) == of(other)
}
