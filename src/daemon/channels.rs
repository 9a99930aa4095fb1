//! The platforms' accounts, as the config names them, and those that are at work.
//!
//! Start at [`wirings`]; [`LiveAccount`] is an account that receives.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::daemon::background::sleep_unless_stopped;
use crate::daemon::error::StartError;
use crate::daemon::reload::plan::AccountAddress;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::{Blueprint, discord, email_policy, matrix, slack, telegram};
use hob_config::Config;
use hob_core::domain::channel::{Adapter, Intake};
use hob_core::domain::clock::Clock;
use hob_core::domain::rng::Rng;
use hob_router::intake::Router;
use hob_telemetry::tasks;

/// The wait before a channel that broke starts again.
const CHANNEL_RESTART: Duration = Duration::from_secs(1);

/// How long the previous adapter may take to end. A message that both hand in is taken once.
const FORMER_MAX: Duration = Duration::from_secs(15);

/// How an account is reached. What else its section says, people and personas, is not part of it.
pub(super) trait AccountConnector: Any + Send + Sync {
    fn address(&self) -> AccountAddress;

    /// Is it reached in the same way?
    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool;

    /// Builds the adapter; nothing is sent yet.
    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError>;
}

/// Why an adapter cannot be built.
pub(super) type BuildError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type SharedConnector = Arc<dyn AccountConnector>;

/// How every account is reached; `is_served`: Hob listens for calls.
pub(super) fn connectors(
    config: &Config,
    is_served: bool,
    data_dir: &Path,
) -> Result<Vec<SharedConnector>, StartError> {
    let mut all = telegram::wirings(config, is_served)?;
    all.extend(slack::wirings(config)?);
    all.extend(discord::wirings(config)?);
    all.extend(matrix::wirings(config, data_dir)?);
    all.extend(email_policy::wirings(config)?);
    Ok(all)
}

/// A platform that this Hob was built without.
#[cfg(not(all(feature = "telegram", feature = "slack", feature = "discord", feature = "matrix", feature = "email")))]
pub(super) fn not_built_in<T>(
    section: &str,
    mut accounts: impl Iterator<Item = T>,
) -> Result<Vec<SharedConnector>, StartError> {
    match accounts.next() {
        None => Ok(Vec::new()),
        Some(_) => Err(StartError::Config(format!(
            "[{section}]: this Hob was built without it: build one with `--features {section}`, or take the section out"
        ))),
    }
}

/// An account with its adapter.
#[derive(Clone)]
pub(super) struct ConnectedAccount {
    pub(super) connector: SharedConnector,
    pub(super) adapter: Arc<dyn Adapter>,
}

/// Every account of the config; `is_served`: Hob listens for calls. With a channel of the caller's own there are none.
pub(super) fn connect_accounts(blueprint: &Blueprint, is_served: bool) -> Result<Vec<ConnectedAccount>, StartError> {
    if !blueprint.serves.is_configured() {
        return Ok(Vec::new());
    }
    let all = connectors(&blueprint.config, is_served, &blueprint.data_dir)?.into_iter();
    all.map(|connector| Ok(ConnectedAccount { adapter: build_adapter(&connector, blueprint)?, connector })).collect()
}

/// The adapter of an account.
pub(super) fn build_adapter(
    connector: &SharedConnector,
    blueprint: &Blueprint,
) -> Result<Arc<dyn Adapter>, StartError> {
    connector.build(Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng)).map_err(|source| {
        let (channel, account) = connector.address();
        StartError::Channel { channel, account, source }
    })
}

/// An account that receives.
pub(super) struct LiveAccount {
    pub(super) connected: ConnectedAccount,
    stop: CancellationToken,
    ended: JoinHandle<Option<()>>,
}

impl LiveAccount {
    /// It receives from now on, or, in the place of another, once that has ended: what is not acknowledged by then, the
    /// platform gives the new one.
    pub(super) fn begin(
        connected: ConnectedAccount,
        before: Option<Self>,
        router: &Arc<Router>,
        shutdown: &ShutdownStages,
    ) -> Self {
        let stop = shutdown.intake.child_token();
        let receives = receive(Arc::clone(&connected.adapter), Arc::clone(router), stop.clone());
        let former = before.map(Self::end);
        let ended = tasks::spawn_among(&shutdown.channels, "channel", async move {
            if let Some(former) = former
                && !matches!(tokio::time::timeout(FORMER_MAX, former).await, Ok(Ok(_)))
            {
                tracing::warn!("the channel's former adapter does not end: the new one begins beside it");
            }
            receives.await;
        });
        Self { connected, stop, ended }
    }

    /// It stops receiving; what it gives is done when nothing of it is at work any more.
    pub(super) fn end(self) -> JoinHandle<Option<()>> {
        self.stop.cancel();
        self.ended
    }
}

/// Receives until the stop. A panic in the adapter is told and leaves no deaf channel: it starts again.
async fn receive(adapter: Arc<dyn Adapter>, router: Arc<Router>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let run = Arc::clone(&adapter).run(Arc::clone(&router) as Arc<dyn Intake>, stop.clone());
        let (channel, account) = adapter.address();
        if tasks::catch_panic("channel", run).await.is_some() {
            return;
        }
        tracing::error!(%channel, account, "the channel's adapter broke; it starts again");
        if sleep_unless_stopped(CHANNEL_RESTART, &stop).await {
            return;
        }
    }
}
