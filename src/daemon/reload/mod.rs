//! Takes over what stands in the config file while Hob runs (row K5).
//!
//! A round reads the file, checks it, makes everything anew that is of the config, tries out what is new, and then exchanges
//! it in one step that neither waits nor fails; or leaves everything as it was, and says why. Runs go on with what they began
//! with.
//! Never: a part of a config, or a wait of a message for a reload.
//! Start at `Reloader::begin`; `look` sees what stands there, `plan` says what a change means, `apply` does it.

mod apply;
mod canary;
mod check;
pub(in crate::daemon) mod plan;
mod read;
mod refusal;
mod report_text;
pub mod running;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch as current;
use tokio::time::Instant;

use crate::daemon::assembly::{ConfigServices, ProcessServices};
use crate::daemon::channels::{ConnectedAccount, LiveAccount};
use crate::daemon::error::StartError;
use crate::daemon::reload::read::ReadOutcome;
use crate::daemon::reload::refusal::Refusal;
use crate::daemon::reload::report_text::{ReloadOutcome, words};
use crate::daemon::reload::running::{CurrentConfig, RunningConfig};
use crate::daemon::reload::watch::ConfigWatcher;
use crate::daemon::restartable_task::RestartableTask;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::triggers::{self, PreparedTriggers, RunningTriggers};
use crate::daemon::{Blueprint, background, extraction, local_api, memory, troubles, web_page};
use hob_config::diff;
use hob_core::domain::condition::SystemPart;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::text::hex;
use hob_router::intake::Router;
use hob_router::owner_notices::OwnerNotice;
use hob_skill::watch as skill_watch;
use hob_tools::mcp::Servers;

/// The file is looked at so often, whatever was heard of it.
const LOOK_EVERY: Duration = Duration::from_secs(180);
/// So often while a section lacks a secret.
const LOOK_FOR_SECRETS_EVERY: Duration = Duration::from_secs(60);
/// As long as nobody is known in whose name something begins, it is looked so often whether somebody is.
const OWNER_EVERY: Duration = Duration::from_secs(5);
/// Owners are told of changes at most so often.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// What Hob was started with.
pub(super) struct StartupParts {
    pub(super) roots: ProcessServices,
    pub(super) made: ConfigServices,
    pub(super) servers: Servers,
    pub(super) begins: PreparedTriggers,
    pub(super) connected: Vec<ConnectedAccount>,
}

/// All that runs and can be exchanged.
pub(super) struct Reloader {
    /// What runs, as it was read.
    blueprint: Blueprint,
    /// What the process began with.
    began: Arc<RunningConfig>,
    roots: ProcessServices,
    made: ConfigServices,
    servers: Servers,
    live: Vec<LiveAccount>,
    begun: RunningTriggers,
    waits_for_owner: bool,
    extraction: RestartableTask,
    embedding: RestartableTask,
    running: current::Sender<Arc<RunningConfig>>,
    router: Arc<Router>,
    shutdown: ShutdownStages,
    tell: OwnerReport,
    /// What was refused last, if it could be read.
    refusal: Option<Refusal>,
}

/// What owners are still to be told.
struct OwnerReport {
    /// What they know of.
    known: Arc<RunningConfig>,
    last: Option<Instant>,
    due: bool,
}

/// What made it look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReloadCause {
    /// Something happened to the file.
    File,
    /// Somebody asked, or a signal came.
    Asked,
    Time,
}

impl Reloader {
    /// With what runs; nothing begins yet.
    pub(super) fn of(
        blueprint: &Blueprint,
        parts: StartupParts,
        shutdown: &ShutdownStages,
        router: &Arc<Router>,
    ) -> (PreparedReloader, CurrentConfig) {
        let StartupParts { roots, made, servers, begins, connected } = parts;
        let (config, source, at) = (Arc::clone(&made.config), blueprint.source.clone(), roots.started);
        let began = Arc::new(RunningConfig { config, source, at });
        let (running, current) = current::channel(Arc::clone(&began));
        let file = blueprint.config_file.is_some();
        roots.standing.set_status(|standing| {
            standing.at = file.then_some(at);
            standing.hash = hash(&began);
        });
        let reloader = Self {
            blueprint: blueprint.clone(),
            tell: OwnerReport { known: Arc::clone(&began), last: None, due: false },
            began,
            roots,
            made,
            servers,
            live: Vec::new(),
            begun: RunningTriggers::default(),
            waits_for_owner: false,
            extraction: RestartableTask::default(),
            embedding: RestartableTask::default(),
            running,
            router: Arc::clone(router),
            shutdown: shutdown.clone(),
            refusal: None,
        };
        (PreparedReloader { reloader, begins, connected }, current)
    }

    fn draw_facts(&mut self) {
        let (extractor, draws) = (self.made.extractor.clone(), self.made.config.memory.extract);
        let draw = |stop| extraction::draw_facts(extractor, draws, stop);
        self.extraction.begin("extraction", &self.shutdown.channels, &self.shutdown.drain, draw);
    }

    /// Looks after the config until the stop.
    async fn run(mut self) {
        let file = self.blueprint.config_file.clone().filter(|_| self.blueprint.stays);
        // The name of a file alone says no folder.
        let file = file.map(|file| std::path::absolute(&file).unwrap_or(file));
        let mut ear = file.as_deref().map(ConfigWatcher::of);
        // Who sits at the terminal means something else by it.
        let mut hangup = self
            .blueprint
            .serves
            .is_configured()
            .then(|| signal(SignalKind::hangup()))
            .and_then(|hears| hears.inspect_err(|error| tracing::warn!(%error, "SIGHUP is not heard")).ok());
        let stop = self.shutdown.intake.clone();
        if stop.run_until_cancelled(Box::pin(self.look_first())).await.is_none() {
            return;
        }
        let mut look_at = Instant::now() + self.next_check_delay();
        loop {
            let cause = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.roots.standing.wait_for_request() => ReloadCause::Asked,
                () = wait_for_signal(hangup.as_mut()) => ReloadCause::Asked,
                () = settled(ear.as_mut()) => ReloadCause::File,
                () = self.tell.is_due() => {
                    self.tell_changes().await;
                    continue;
                }
                () = tokio::time::sleep(OWNER_EVERY), if self.waits_for_owner => {
                    self.begin_with_owner().await;
                    continue;
                }
                () = tokio::time::sleep_until(look_at) => ReloadCause::Time,
            };
            let asking = self.roots.standing.take_requesters();
            // A stop comes between two steps of it: what is exchanged is exchanged as a whole.
            if stop.run_until_cancelled(Box::pin(self.round(cause, asking))).await.is_none() {
                return;
            }
            look_at = Instant::now() + self.next_check_delay();
        }
    }

    /// What lacks a secret may have it soon.
    fn next_check_delay(&self) -> Duration {
        let is_off = |part: &SystemPart| matches!(part, SystemPart::Section(_));
        if self.blueprint.conditions.all().keys().any(is_off) { LOOK_FOR_SECRETS_EVERY } else { LOOK_EVERY }
    }

    async fn round(&mut self, cause: ReloadCause, asking: Vec<Conversation>) {
        let begun = Instant::now();
        let (outcome, is_known) = Box::pin(self.check_file(cause)).await;
        match &outcome {
            ReloadOutcome::Refused(_) if is_known => tracing::debug!(?cause, "config.refused_still"),
            ReloadOutcome::Unchanged { .. } | ReloadOutcome::NoFile => tracing::debug!(?cause, "config.unchanged"),
            ReloadOutcome::Done(done) => {
                let keys: Vec<&str> = done.changes.iter().map(|change| change.key.as_str()).collect();
                let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                let (changes, keys, waits) = (keys.len(), keys.join(", "), done.waits.join(", "));
                tracing::info!(changes, keys, waits, took_ms, "config.reloaded");
                self.router.delivery.meters().reloaded("applied");
            }
            ReloadOutcome::Refused(why) => {
                tracing::error!(why, "config.refused: everything goes on as it was");
                self.router.delivery.meters().reloaded("refused");
            }
        }
        self.tell_those(asking.clone(), &outcome).await;
        if !is_known {
            self.tell(&outcome, asking).await;
        }
    }

    /// Whether the file, as it was seen last, is not what runs; a start from an older one counts.
    pub(super) fn is_refused(&self) -> bool {
        self.roots.standing.status().refused.is_some()
            || self.blueprint.conditions.all().contains_key(&SystemPart::Config)
    }

    /// The file may have been written while Hob began. One that Hob could not begin with was told by the start itself.
    async fn look_first(&mut self) {
        if !self.is_refused() {
            return Box::pin(self.round(ReloadCause::Time, Vec::new())).await;
        }
        let Some(look) = self.config_reader() else { return };
        match self.read(&look).await {
            ReadOutcome::Bad(why) => {
                let since = self.roots.started;
                self.roots.standing.set_status(|standing| standing.refused = Some((since, why)));
            }
            ReadOutcome::Good(_) => Box::pin(self.round(ReloadCause::Time, Vec::new())).await,
        }
    }

    /// Who asked hears what came of it.
    async fn tell_those(&self, asking: Vec<Conversation>, outcome: &ReloadOutcome) {
        for place in asking {
            let key = format!("config:{}", self.blueprint.rng.id());
            if let Err(error) = self.router.tell(place, key, words(outcome)).await {
                tracing::warn!(%error, "it could not be told what came of the reload");
            }
        }
    }

    /// Every owner hears what changed, but for those who asked.
    async fn tell(&mut self, outcome: &ReloadOutcome, asking: Vec<Conversation>) {
        match outcome {
            ReloadOutcome::Unchanged { mends: false } | ReloadOutcome::NoFile => {}
            ReloadOutcome::Done(_) if asking.is_empty() => self.tell.due = true,
            ReloadOutcome::Done(_) => {
                self.tell.known = self.running.borrow().clone();
                self.tell_owners(words(outcome), asking).await;
            }
            ReloadOutcome::Unchanged { mends: true } | ReloadOutcome::Refused(_) => {
                self.tell_owners(words(outcome), asking).await;
            }
        }
    }

    /// Several changes in a moment are told as one.
    async fn tell_changes(&mut self) {
        let running = self.running.borrow().clone();
        let known = std::mem::replace(&mut self.tell.known, Arc::clone(&running));
        (self.tell.due, self.tell.last) = (false, Some(Instant::now()));
        let changes = diff::changes_between(known.source.expose(), running.source.expose());
        let waits = plan::keys_needing_restart(&self.began.config, &running.config);
        let done = report_text::AppliedChanges { changes, channels: Vec::new(), waits, mends: false };
        self.tell_owners(words(&ReloadOutcome::Done(done)), Vec::new()).await;
    }

    async fn tell_owners(&self, text: String, except: Vec<Conversation>) {
        let telling = OwnerNotice { key: format!("config:{}", self.blueprint.rng.id()), text, except };
        if let Err(error) = self.router.tell_owners(telling).await {
            tracing::warn!(%error, "the owners could not be told of the config");
        }
    }

    /// Somebody may have become the owner since: what waits for that begins.
    async fn begin_with_owner(&mut self) {
        let begins = match triggers::prepare(&self.blueprint, &self.roots.store).await {
            Ok(begins) if !begins.waits_for_owner => begins,
            Ok(_) => return,
            Err(error) => return tracing::warn!(%error, "it could not be looked whether there is an owner"),
        };
        if let Err(error) = self.router.sync_schedules(begins.declared.clone()).await {
            return tracing::warn!(%error, "the config's schedules could not be stored; that is tried again");
        }
        tracing::info!("begins.owner_known: what waited for an owner begins");
        self.begin_these(begins);
    }

    fn begin_these(&mut self, begins: PreparedTriggers) {
        if begins.waits_for_owner && !self.waits_for_owner {
            tracing::warn!(
                "no owner has written yet: schedules, webhooks and the heartbeat of config.toml begin when one has"
            );
        }
        self.waits_for_owner = begins.waits_for_owner;
        let adapters = self.live.iter().map(|live| Arc::clone(&live.connected.adapter));
        self.begun.exchange(begins, adapters, &self.shutdown, &self.router);
        self.begun.follow(&self.made.home, &self.shutdown, &self.router);
        self.router.alarm.notify_one();
    }
}

impl OwnerReport {
    /// Waits until there is something to be told, and not too soon after the last.
    async fn is_due(&self) {
        if !self.due {
            return std::future::pending().await;
        }
        if let Some(last) = self.last {
            tokio::time::sleep_until(last + TELL_EVERY).await;
        }
    }
}

/// A [`Reloader`], and what is to begin with it.
pub(super) struct PreparedReloader {
    reloader: Reloader,
    begins: PreparedTriggers,
    connected: Vec<ConnectedAccount>,
}

impl PreparedReloader {
    /// Everything begins: what happens by itself, the channels, and the look after the config.
    pub(super) async fn begin(self, listener: Option<TcpListener>) -> Result<(), StartError> {
        let Self { mut reloader, begins, connected } = self;
        let this = &mut reloader;
        let (shutdown, router, blueprint) = (this.shutdown.clone(), Arc::clone(&this.router), this.blueprint.clone());
        let (skills, drain) = (Arc::clone(&this.roots.skills), shutdown.drain.clone());
        shutdown.keep("skills", skill_watch::keep_up(skills, current::Sender::default(), drain));
        let known = this.made.ports.memory.clone();
        memory::keep_up(&mut this.embedding, &shutdown, &this.made, &blueprint);
        background::start_cleanup_tasks(&shutdown, &blueprint, &this.roots, &known);
        this.draw_facts();
        triggers::tell_first_owner(&blueprint, &router).await?;
        if blueprint.stays {
            router.sync_schedules(begins.declared.clone()).await?;
        }
        triggers::keep_schedules(&shutdown, &router);
        let (stops, cut) = (shutdown.drain.clone(), shutdown.silence.clone());
        shutdown.keep("speech", Arc::clone(&router).speak_answers(stops, cut));
        this.live =
            connected.into_iter().map(|connected| LiveAccount::begin(connected, None, &router, &shutdown)).collect();
        this.begin_these(begins);
        let page_at = listener
            .as_ref()
            .and_then(|listener| web_page::address(listener, this.roots.own.page.as_ref(), &blueprint.config));
        // First: whoever reads that the page is there may ask for a link to it.
        local_api::serve(&shutdown, &router, &blueprint, page_at, &this.roots.own.windows);
        if let Some(listener) = listener {
            let server = web_page::PageServer { blueprint: &blueprint, shutdown: &shutdown, router: &router };
            let (page, called) = (this.roots.own.page.clone(), this.begun.routes(&router));
            server.serve(listener, page, this.running.subscribe(), called).await?;
        }
        if blueprint.stays {
            troubles::keep_up(&shutdown, &router, &blueprint);
        }
        // Last: no server delays the start.
        this.servers.keep(blueprint.stays);
        shutdown.keep("reload", reloader.run());
        Ok(())
    }
}

fn hash(running: &RunningConfig) -> String {
    hex(&Sha256::digest(running.source.expose()))
}

async fn wait_for_signal(signal: Option<&mut Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if heard.is_none() {
        std::future::pending::<()>().await;
    }
}

async fn settled(ear: Option<&mut ConfigWatcher>) {
    match ear {
        Some(ear) => ear.settled().await,
        None => std::future::pending().await,
    }
}
