//! Builds every part from the config, starts them in order, and stops them in order. No logic of its own.
//!
//! Never: a decision about a message or a run.
//! Start at [`Daemon::start`]; what happens on SIGTERM is [`Daemon::stop`].

mod account_access;
mod assembly;
mod background;
pub mod backups;
mod channels;
mod config_mapping;
pub mod declared_loops;
mod discord;
mod email_policy;
pub mod error;
mod extraction;
pub mod idle;
pub mod last_good_config;
pub mod learned_params;
mod local_api;
pub(crate) mod matrix;
pub mod memory;
pub mod models;
pub mod reload;
mod restartable_task;
mod shutdown;
mod slack;
mod telegram;
mod terminal_notice;
pub mod terminal_windows;
pub mod toolset;
pub mod trial;
mod trigger_target;
pub mod triggers;
mod troubles;
pub mod upkeep;
pub mod watchdog;
pub(crate) mod web_page;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::daemon::assembly::{
    ConfigServices, OwnChannels, ProcessServices, channels, delivery_config, delivery_ports, serves,
};
use crate::daemon::background::BackgroundContext;
use crate::daemon::channels::connect_accounts;
use crate::daemon::error::StartError;
use crate::daemon::idle::IdleWatcher;
use crate::daemon::reload::running::CurrentConfig;
use crate::daemon::reload::{Reloader, StartupParts};
use crate::daemon::shutdown::{FLUSH, ShutdownStages, ended};
use crate::daemon::terminal_windows::{TerminalWindows, WindowService};
use crate::daemon::trial::Trial;
use hob_agent::write_off;
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::{remarks, switched_off};
use hob_core::domain::channel::Adapter;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::health::AccountHealth;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::Rng;
use hob_core::domain::secret::Secret;
use hob_core::domain::space::Space;
use hob_router::delivery::Delivery;
use hob_router::intake::Router;
use hob_router::lanes::Lanes;
use hob_store::backup::restore;
use hob_store::contents::Contents;
use hob_store::daemons::{DaemonIdentity, StandsBy};
use hob_store::error::StoreError;
use hob_store::lock::DataLock;
use hob_store::place::StatePlace;
use hob_store::{Store, Tx, recordings, runs};
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::sandbox::process_hardening;

/// The whole stop may take so much longer than the runs are given.
const STOP_MARGIN: Duration = Duration::from_secs(5);
/// What of it is kept for the database.
const CLOSE: Duration = Duration::from_millis(500);

/// Where people reach this Hob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedChannels {
    /// On the channels of the config and the page, and at terminals.
    Configured,
    /// At terminals alone: those of the config stay off.
    Terminals,
}

impl ServedChannels {
    /// Whether the config says where; otherwise somebody sits here.
    #[must_use]
    pub fn is_configured(self) -> bool {
        self == Self::Configured
    }
}

/// What a daemon is built from.
#[derive(Clone)]
pub struct Blueprint {
    /// The config, as loaded.
    pub config: Config,
    /// The file it was loaded from; none: there is no file.
    pub config_file: Option<PathBuf>,
    /// The file's text as it was when it was read; empty without a file. It may hold keys.
    pub source: Secret,
    /// Where its files are; it exists.
    pub data_dir: PathBuf,
    /// Where its database is.
    pub state: StatePlace,
    /// What must never be seen: see `Loaded::secrets`.
    pub redactor: Redactor,
    /// The process's environment: keys for models.
    pub environment: Environment,
    pub serves: ServedChannels,
    /// It is only tried: nothing of it reaches the outside.
    pub trial: Option<Trial>,
    /// Whether it stays: who is there for a moment only fetches nothing.
    pub stays: bool,
    /// What does not work as it should; what was found before the start is in it.
    pub conditions: Conditions,
    /// How much room there is on the disks.
    pub space: Arc<dyn Space>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// A running Hob.
pub struct Daemon {
    router: Arc<Router>,
    store: Store,
    model: String,
    windows: Arc<TerminalWindows>,
    shutdown: ShutdownStages,
    current: CurrentConfig,
    _lock: Arc<DataLock>,
}

/// A data directory that this process has for its own, and the database that belongs to it, of this Hob's schema.
pub struct OpenedData {
    store: Store,
    lock: DataLock,
}

impl OpenedData {
    /// Takes the directory and opens the database. Where it is migrated, that takes as long as it is large. While another daemon works
    /// with the database, `stands_by` is told which, and may break off.
    ///
    /// # Errors
    /// When the directory is taken, or the database cannot be used.
    pub async fn of(blueprint: &Blueprint, stands_by: &StandsBy<'_>) -> Result<Self, StartError> {
        let data_dir = blueprint.data_dir.as_path();
        let lock = DataLock::take(data_dir)?;
        restore::finish(data_dir)?;
        if let Err(error) = process_hardening::restrict_data_dir(data_dir) {
            tracing::warn!(%error, "data.open: others may look into Hob's data");
        }
        // Before any run goes on: a tool must not run beside its first attempt, nor be asked about while it works.
        ProcessReaper::of(data_dir).kill().await;
        let who = || DaemonIdentity::of(data_dir, blueprint.rng.id(), config_mapping::fingerprint(&blueprint.config));
        Ok(Self { store: blueprint.state.lead(who, stands_by).await?, lock })
    }
}

impl Daemon {
    /// Starts every part: the outbox is swept before any run goes on, so that no answer is paid for twice.
    ///
    /// # Errors
    /// When the data directory is taken, the database cannot be used, or what the config names cannot be built.
    pub async fn start(blueprint: Blueprint) -> Result<Self, StartError> {
        let opened = OpenedData::of(&blueprint, &|_leader| ControlFlow::Break(())).await?;
        Box::pin(Self::begin(blueprint, opened)).await
    }

    /// As [`Daemon::start`], with what is opened already.
    ///
    /// # Errors
    /// When the database cannot be used, or what the config names cannot be built.
    pub async fn begin(blueprint: Blueprint, opened: OpenedData) -> Result<Self, StartError> {
        let OpenedData { lock, store } = opened;
        let (lock, shutdown) = (Arc::new(lock), ShutdownStages::new());
        let begun = Box::pin(Self::build(&blueprint, &store, &lock, &shutdown)).await;
        if begun.is_err() {
            shutdown.end(&store).await;
        }
        begun
    }

    /// Starts what is built from the config, with the database that is this process's.
    async fn build(
        blueprint: &Blueprint,
        store: &Store,
        lock: &Arc<DataLock>,
        shutdown: &ShutdownStages,
    ) -> Result<Self, StartError> {
        let listener = web_page::listener(blueprint).await?;
        let page = web_page::page_channel(blueprint, listener.as_ref());
        let connected = connect_accounts(blueprint, page.is_some())?;
        let idle: Arc<Notify> = Arc::default();
        let watch = IdleWatcher::new(store.clone(), Arc::clone(&idle));
        let windows = Arc::new(TerminalWindows::new(watch, Arc::clone(&blueprint.clock)));
        let own = OwnChannels { page, windows: Arc::clone(&windows) };
        let channels = channels(&connected, &own);
        let serves = serves(&channels);
        let contents = Contents::of(&blueprint.data_dir).shared_in(store);
        let ports = delivery_ports(blueprint, store, &contents, shutdown, &idle);
        let delivery = Delivery::new(ports, delivery_config(&blueprint.config, channels));
        let roots = ProcessServices::of(blueprint, store.clone(), contents, delivery.clone(), own);
        // The lock says that no other process is alive here: whatever it left behind is ours.
        let (owner, now) = (roots.owner.clone(), blueprint.clock.now());
        store.write(async move |tx| void_leases(tx, &owner, now).await).await?;
        write_off::take_up(store).await?;
        let made = ConfigServices::of(blueprint, &roots, None).await?;
        remarks::update_conditions(&blueprint.config, &blueprint.conditions, blueprint.clock.now());
        switched_off::report(&made.keyless, &blueprint.conditions, blueprint.clock.now());
        let servers = toolset::mcp::servers(blueprint, &made.ports.tools, &roots, &shutdown.channels, &shutdown.cut);
        let settings = shutdown.lanes(&blueprint.config, serves, &idle);
        let lanes = Lanes::new(Arc::clone(&made.ports), settings);
        let router = Arc::new(Router {
            store: store.clone(),
            clock: Arc::clone(&blueprint.clock),
            redactor: blueprint.redactor.clone(),
            config: ArcSwap::from_pointee(made.intake_config(&roots, &servers, blueprint)),
            lanes: lanes.clone(),
            delivery: delivery.clone(),
            alarm: Arc::clone(&roots.alarm),
        });
        let begins = triggers::prepare(blueprint, store).await?;
        delivery.sweep().await?;
        router.take_up_follow_ups().await?;
        lanes.reconcile().await?;
        upkeep::keep_up(shutdown, store, &roots.contents, blueprint, roots.upkeep.clone());
        let (model, heard) = (made.told.clone(), made.ports.models.watch().answers_seen());
        let sandbox = roots.sandbox.clone();
        let parts = StartupParts { roots, made, servers, begins, connected };
        let (reloader, current) = Reloader::of(blueprint, parts, shutdown, &router);
        let context = BackgroundContext { lanes: &lanes, delivery: &delivery, blueprint, current: &current };
        background::start_periodic_tasks(shutdown, &context);
        last_good_config::keep_up(shutdown, blueprint, current.clone(), heard);
        Box::pin(reloader.begin(listener)).await?;
        background::try_sandbox(shutdown, sandbox);
        let (store, shutdown) = (store.clone(), shutdown.clone());
        Ok(Self { router, store, model, windows, shutdown, current, _lock: Arc::clone(lock) })
    }

    /// Which model answers, why, and how to change it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Which config runs, now and after each reload.
    pub fn current(&self) -> CurrentConfig {
        self.current.clone()
    }

    /// Takes messages in.
    pub fn router(&self) -> Arc<Router> {
        Arc::clone(&self.router)
    }

    /// Where windows are opened.
    #[must_use]
    pub fn windows(&self) -> WindowService {
        self.shutdown.window_service(&self.windows, &self.router)
    }

    /// Answers whether the runtime and the writer are alive, by letting them do something.
    pub async fn is_alive(&self, within: Duration) -> bool {
        answers(self.router.lanes.heartbeat(), within).await
    }

    /// How each account fares.
    pub fn channels(&self) -> Vec<AccountHealth> {
        self.router.delivery.health()
    }

    /// How many runs are at work.
    pub fn at_work(&self) -> usize {
        self.router.lanes.at_work()
    }

    /// Completes when another daemon has taken over: then nothing is left to be done here but to end, at once.
    pub async fn until_fenced(&self) {
        self.store.until_fenced().await;
        tracing::error!("daemon.fenced: this Hob was not heard of for too long, and another has taken over; it ends");
    }

    /// Stops in order: no more messages, no more runs, runs finished or suspended, the outbox flushed.
    ///
    /// Whatever does not end in time is left: the journal and the outbox say how it goes on at the next start.
    pub async fn stop(self) {
        let drain = Duration::from_secs(self.current.borrow().config.daemon.drain_secs);
        let end = Instant::now() + drain + STOP_MARGIN;
        let last = end - CLOSE;
        self.shutdown.intake.cancel();
        self.shutdown.drain.cancel();
        self.shutdown.lanes.close();
        if tokio::time::timeout(drain, self.shutdown.lanes.wait()).await.is_err() {
            tracing::info!("runs are still at work: they are suspended and go on at the next start");
        }
        self.shutdown.cut.cancel();
        ended("lanes", &self.shutdown.lanes, last).await;
        self.shutdown.outbox.close();
        let flushed = last.min(Instant::now() + FLUSH);
        if tokio::time::timeout_at(flushed, self.shutdown.outbox.wait()).await.is_err() {
            tracing::warn!("not everything could be delivered: the rest goes out at the next start");
        }
        if tokio::time::timeout(CLOSE, self.windows.tell_end()).await.is_err() {
            tracing::info!("windows were not told that all is said");
        }
        self.shutdown.silence.cancel();
        ended("outbox", &self.shutdown.outbox, last).await;
        ended("channels", &self.shutdown.channels, last).await;
        if tokio::time::timeout_at(end, self.store.close()).await.is_err() {
            tracing::warn!("hob.stop_overdue: the database is left open; its log is replayed at the next start");
        }
    }
}

/// A failing disk is no reason for a restart: only silence is, and a writer that is gone.
async fn answers(heartbeat: impl Future<Output = Result<u64, StoreError>>, within: Duration) -> bool {
    !matches!(tokio::time::timeout(within, heartbeat).await, Err(_) | Ok(Err(StoreError::Closed)))
}

async fn void_leases(tx: &mut Tx, owner: &str, now: Timestamp) -> Result<u64, StoreError> {
    recordings::close_lost(tx, now).await?;
    runs::void_leases(tx, owner).await
}

/// Every account's adapter, as a start builds it; nothing is sent.
pub fn accounts(blueprint: &Blueprint) -> Result<Vec<Arc<dyn Adapter>>, StartError> {
    let is_served = blueprint.config.server.listens(&blueprint.environment).is_some();
    Ok(connect_accounts(blueprint, is_served)?.into_iter().map(|connected| connected.adapter).collect())
}

/// The chat's own log, beside the database.
pub fn chat_log(data_dir: &Path) -> PathBuf {
    data_dir.join("chat.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_and_a_writer_that_is_gone_are_death() {
        let within = Duration::from_secs(5);
        for (heartbeat, alive) in [
            (Ok(1), true),
            (Err(StoreError::Full), true),
            (Err(StoreError::Panicked("once".to_owned())), true),
            (Err(StoreError::Closed), false),
        ] {
            assert_eq!(answers(async { heartbeat }, within).await, alive);
        }
        assert!(!answers(std::future::pending(), within).await);
    }
}
