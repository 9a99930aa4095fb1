//! One process: the parts of a daemon put together, driven until it is killed, stopped or at rest.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hob_agent::machine::policy::Policy;
use hob_agent::ports::{Ports, RunLimits};
use hob_agent::prompt::PromptSettings;
use hob_agent::quota::QuotaChecker;
use hob_agent::write_off;
use hob_config::Config;
use hob_core::domain::channel::{Channel, Intake};
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::config_status::ConfigStatusHandle;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::tools::Approval;
use hob_core::domain::upkeep::LastUpkeepRound;
use hob_core::policy::access::{AccessList, Alias};
use hob_core::policy::budget::{Budget, CapsByPeriod, PeriodCaps};
use hob_core::policy::quota::Quotas;
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::{Catalog, ModelEntry};
use hob_model::model_table::ModelTable;
use hob_router::command_handlers::CommandServices;
use hob_router::delivery::config::{DeliveryConfig, DeliveryLimits};
use hob_router::delivery::{Delivery, DeliveryPorts};
use hob_router::intake::{IntakeConfig, IntakeLimits, Router};
use hob_router::lanes::{LaneSettings, Lanes};
use hob_router::mail::EmailPolicy;
use hob_router::streaming::StreamSettings;
use hob_skill::library::Library;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx, recordings, runs};
use hob_tools::ToolRuntime;
use hob_tools::ask_human::AskHuman;
use hob_tools::mcp::Servers;
use hob_tools::plan::PlanTool;
use hob_tools::registry::Registry;
use hob_tools::registry_handle::ToolRegistryHandle;
use hob_tools::request_more_iterations::RequestMoreIterations;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::trial::Confinement;
use hob_tools::spawn_agent::SpawnAgent;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::model::Model;
use crate::plan::{self, Life};
use crate::platform::{self, Account};
use crate::rest;
use crate::spoken;
use crate::tools::WorldTool;
use crate::trouble;
use crate::world::{UpkeepMode, World};

const HEARTBEAT: Duration = Duration::from_secs(60);
const RECONCILE: Duration = Duration::from_secs(300);
/// The tokens of every answer.
pub(crate) const TOKENS_WRITTEN: u64 = 10;
/// So many runs are at work at the same time.
pub(crate) const PLACES: usize = 3;
/// What one run may cost: six answers.
pub(crate) const RUN_USD: f64 = 6.0;
/// What any hour may cost.
pub(crate) const HOUR_USD: f64 = 60.0;

/// A world that is not at rest after so long never will be.
const STUCK: Duration = Duration::from_secs(48 * 3_600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    Killed,
    Stopped,
    AtRest,
    Stuck(String),
}

/// Lives one life on the database at `path`.
pub(crate) fn live(world: &Arc<World>, path: &Path, life: &Life, last: bool) -> LifeEnd {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let end = runtime.block_on(async {
        world.begin(life.down_ms, life.crash);
        let end = tokio::select! {
            biased;
            () = world.killed.notified() => LifeEnd::Killed,
            end = lived(world, path, life, last) => end,
        };
        world.note(format!("life over: {end:?}"));
        world.end();
        end
    });
    drop(runtime);
    end
}

async fn lived(world: &Arc<World>, path: &Path, life: &Life, last: bool) -> LifeEnd {
    let process = Process::boot(world, path, life).await.expect("the store opens");
    process.serve(world);
    for (at, trouble) in life.troubles.iter().copied() {
        let (world, store, path) = (Arc::clone(world), process.store.clone(), path.to_owned());
        tokio::spawn(async move {
            sleep(Duration::from_millis(u64::try_from(at).unwrap_or(0))).await;
            trouble::begin(&world, &store, &path, trouble).await;
        });
    }
    let born = Instant::now();
    loop {
        sleep(Duration::from_secs(5)).await;
        if life.stop_ms.is_some_and(|stop| born.elapsed().as_millis() >= u128::try_from(stop).unwrap_or(0)) {
            process.stop().await;
            return LifeEnd::Stopped;
        }
        if !world.state().updates.is_empty() {
            continue;
        }
        if last && !world.is_calm() && life.crash.is_none() {
            world.note("calm");
            world.state().calm = true;
        }
        let now_ms = process.router.clock.now().as_millisecond();
        let seen = process.store.read(async |tx| rest::look_around(tx, now_ms).await).await.expect("the store reads");
        if seen.is_at_rest() {
            return LifeEnd::AtRest;
        }
        rest::answer(world, &seen);
        if born.elapsed() > STUCK {
            return LifeEnd::Stuck(format!("{seen:?}"));
        }
    }
}

/// A running Hob.
pub(crate) struct Process {
    pub(crate) store: Store,
    pub(crate) lanes: Lanes,
    pub(crate) router: Arc<Router>,
    accounts: Vec<Arc<Account>>,
    tracker: TaskTracker,
    outside: CancellationToken,
    drain: CancellationToken,
    cut: CancellationToken,
}

fn accounts(world: &Arc<World>) -> Vec<Arc<Account>> {
    let account = |(kind, name)| Arc::new(Account { world: Arc::clone(world), kind, name });
    world.accounts().into_iter().map(account).collect()
}

fn delivery_config(world: &World, accounts: &[Arc<Account>], access: &Arc<AccessList>) -> DeliveryConfig {
    DeliveryConfig {
        channels: accounts.iter().map(|account| Arc::clone(account) as Arc<dyn Channel>).collect(),
        limits: delivery_limits(),
        stream: StreamSettings { on: true, every: Duration::from_millis(1_500), off: BTreeSet::new() },
        reactions: true,
        speaks: spoken::has_voice(world),
        letters: Arc::new(EmailPolicy { access: Arc::clone(access), ..EmailPolicy::default() }),
    }
}

impl Process {
    /// What a daemon does when it starts, up to the moment when it lets its channels speak.
    pub(crate) async fn boot(world: &Arc<World>, path: &Path, life: &Life) -> Result<Self, StoreError> {
        let store = Store::open(path, SchedulingMode::Lockstep(Arc::clone(world) as _)).await?;
        let owner = format!("sim-{}", world.state().process.number);
        let (of, now) = (owner.clone(), world.now());
        store.write(async move |tx| void_leases(tx, &of, now).await).await?;
        write_off::take_up(&store).await?;
        let (tracker, idle) = (TaskTracker::new(), Arc::new(Notify::new()));
        let (drain, cut) = (CancellationToken::new(), CancellationToken::new());
        let clock: Arc<dyn Clock> = Arc::clone(world) as _;
        let (accounts, access) = (accounts(world), Arc::new(access(world)));
        let delivery = Delivery::new(
            DeliveryPorts {
                redactor: Redactor::default(),
                store: store.clone(),
                clock: Arc::clone(&clock),
                rng: Arc::clone(world) as _,
                contents: Contents::of(path.parent().unwrap_or(path)),
                stop: cut.clone(),
                tracker: tracker.clone(),
                idle: Arc::clone(&idle),
                meters: Arc::default(),
            },
            delivery_config(world, &accounts, &access),
        );
        let ports = Ports {
            store: store.clone(),
            memory: Memory::by_words(store.clone(), TimeZone::UTC),
            contents: Contents::of(path.parent().unwrap_or(path)),
            skills: Arc::new(Library::plain(store.clone(), path.parent().unwrap_or(path))),
            clock: Arc::clone(&clock),
            models: models(world),
            redactor: Redactor::default(),
            tools: Arc::new(ToolRegistryHandle::new(tools(world))),
            personas: Arc::default(),
            toolbox: ToolRuntime::plain(path.parent().unwrap_or(path)),
            prompt: PromptSettings { base: life.prompt.clone(), zone: TimeZone::UTC, history_messages_max: 20 },
            limits: run_limits(),
            table: Arc::new(prices()),
            counts: Arc::default(),
            reply_tokens: TOKENS_WRITTEN,
            budget_guard: Arc::new(BudgetGuard { budget: budget(), zone: TimeZone::UTC }),
            meter: Arc::new(QuotaChecker { quotas: quotas(world) }),
            access: Arc::clone(&access),
            rng: Arc::clone(world) as _,
            meters: Arc::clone(delivery.meters()),
            watcher: Arc::new(delivery.clone()),
            owner,
            lease: HEARTBEAT * 3,
        };
        let services = services(world, &ports);
        let settings = LaneSettings {
            serves: accounts.iter().map(|account| account.kind).collect(),
            parallel_max: PLACES,
            drain: drain.clone(),
            cut: cut.clone(),
            tracker: tracker.clone(),
            idle,
        };
        let lanes = Lanes::new(Arc::new(ports), settings);
        delivery.sweep().await?;
        lanes.reconcile().await?;
        let router = Arc::new(Router {
            redactor: Redactor::default(),
            store: store.clone(),
            clock: Arc::clone(&clock),
            config: ArcSwap::from_pointee(IntakeConfig {
                access,
                limits: IntakeLimits { message_chars_max: 2_000, queue_len_max: 4, mode: IntakeMode::Queue },
                services: Arc::new(services),
                transcriber: None,
                speech: spoken::voice(world),
                looker: None,
            }),
            lanes: lanes.clone(),
            delivery,
            alarm: Arc::default(),
        });
        router.take_up_follow_ups().await?;
        Ok(Self { store, lanes, router, accounts, tracker, outside: CancellationToken::new(), drain, cut })
    }

    /// Lets the channels speak, and starts what happens from time to time.
    pub(crate) fn serve(&self, world: &Arc<World>) {
        for account in &self.accounts {
            let intake: Arc<dyn Intake> = Arc::clone(&self.router) as _;
            let feed = platform::feed(Arc::clone(account), intake);
            let outside = self.outside.clone();
            tokio::spawn(async move { outside.run_until_cancelled(feed).await });
        }
        tokio::spawn(self.lanes.clone().expire_questions(self.drain.clone()));
        if spoken::has_voice(world) {
            tokio::spawn(Arc::clone(&self.router).speak_answers(self.drain.clone(), self.cut.clone()));
        }
        if world.state().upkeep == UpkeepMode::GoesOn {
            tokio::spawn(crate::upkeep::now_and_then(Arc::clone(world), self.store.clone(), self.drain.clone()));
        }
        let (lanes, world) = (self.lanes.clone(), Arc::clone(world));
        tokio::spawn(async move {
            loop {
                sleep(HEARTBEAT).await;
                if let Err(error) = lanes.heartbeat().await {
                    world.note(format!("no heartbeat: {error}"));
                }
            }
        });
        let (lanes, delivery) = (self.lanes.clone(), self.router.delivery.clone());
        tokio::spawn(async move {
            loop {
                sleep(RECONCILE).await;
                lanes.reconcile().await.expect("the store reads");
                delivery.wake_all().await.expect("the store reads");
            }
        });
    }

    /// Stops in good order: what runs may end; what doesn't in time is cut.
    pub(crate) async fn stop(&self) {
        self.outside.cancel();
        self.drain.cancel();
        self.tracker.close();
        if timeout(Duration::from_secs(3), self.tracker.wait()).await.is_err() {
            self.cut.cancel();
            // What is still being sent then has an unknown outcome.
            let ended = timeout(Duration::from_secs(2), self.tracker.wait()).await;
            tracing::debug!(in_time = ended.is_ok(), "cut");
        }
        self.store.close().await;
    }
}

/// What a daemon's start takes from the one before it.
async fn void_leases(tx: &mut Tx, owner: &str, now: Timestamp) -> Result<u64, StoreError> {
    recordings::close_lost(tx, now).await?;
    runs::void_leases(tx, owner).await
}

fn services(world: &Arc<World>, ports: &Ports) -> CommandServices {
    CommandServices {
        models: Arc::clone(&ports.models),
        budget_guard: Arc::clone(&ports.budget_guard),
        meter: Arc::clone(&ports.meter),
        personas: Arc::default(),
        memory: ports.memory.clone(),
        skills: Arc::clone(&ports.skills),
        drafts: ports.toolbox.drafts.clone(),
        servers: Servers::default(),
        rng: Arc::clone(world) as _,
        table: Arc::clone(&ports.table),
        confinement: Confinement { trial: Sandbox::none("no commands here").into(), outside: Vec::new() },
        conditions: Conditions::default(),
        config: ConfigStatusHandle::default(),
        upkeep: LastUpkeepRound::default(),
        backups: PathBuf::new(),
        speaks: spoken::has_voice(world),
        agenda: None,
        home: None,
        started: ports.clock.now(),
    }
}

fn models(world: &Arc<World>) -> Arc<Catalog> {
    let model = |label| Arc::new(Model { world: Arc::clone(world), label });
    let fallback = ModelEntry::new("fallback", model("sim/second"));
    Arc::new(Catalog::new(ModelEntry::new("primary", model("sim/first")), vec![fallback], Arc::clone(world) as _))
}

/// Each answer costs a dollar: ten tokens written.
fn prices() -> ModelTable {
    let price = "[models.'sim/first']\ninput_usd = 0\noutput_usd = 100_000\n[models.'sim/second']\ninput_usd = 0\noutput_usd = 100_000";
    let config: Config = toml::from_str(price).unwrap();
    ModelTable::new(&config.models).unwrap()
}

fn budget() -> Budget {
    let hour = PeriodCaps { usd: Some(Money::from_usd(HOUR_USD)), tokens: None };
    let house = CapsByPeriod { hour, ..CapsByPeriod::default() };
    // Nobody uses up their month, but it is counted.
    let (run, user_month) = (Some(Money::from_usd(RUN_USD)), Some(1_000_000_000));
    Budget { run, house, user_month, ..Budget::default() }
}

/// In some worlds people come to the end of what tools they may use in a minute.
fn quotas(world: &World) -> Quotas {
    Quotas { tool_calls_per_minute: Some(world.state().tool_calls_per_minute) }
}

fn tools(world: &Arc<World>) -> Registry {
    Registry::default()
        .with(WorldTool::new(world, "look", true, 1_000))
        .with(WorldTool::new(world, "nap", true, 30_000))
        .with(WorldTool::new(world, "page", true, 1_000))
        .with(WorldTool::new(world, "append", false, 2_500))
        .with(WorldTool::new(world, "post", true, 2_500))
        .with(WorldTool::new(world, "cry", true, 2_500))
        .with(WorldTool::new(world, "crawl", false, 100_000))
        .with(WorldTool::new(world, "bomb", false, 500))
        .with(WorldTool::careful(world, "pay", false, 2_500, Approval::Ask))
        .with(WorldTool::careful(world, "peek", true, 2_500, Approval::Ask))
        .with(WorldTool::careful(world, "wipe", false, 2_500, Approval::Critical))
        .with(WorldTool::new(world, "stick", false, 2_500))
        .with(WorldTool::careful(world, "unstick", false, 2_500, Approval::Critical))
        .with(Arc::new(AskHuman::default()))
        .with(Arc::new(PlanTool::default()))
        .with(Arc::new(RequestMoreIterations::default()))
        .with(Arc::new(SpawnAgent::new(Arc::clone(world) as _)))
}

fn run_limits() -> RunLimits {
    RunLimits {
        iterations: 3,
        iterations_step: 1,
        iterations_cap: 5,
        soft: Duration::from_secs(15 * 60),
        hard: Duration::from_secs(20 * 60),
        tool_output_chars_max: 2_000,
        policy: Policy::default(),
    }
}

/// As a household has them that configures nothing.
fn delivery_limits() -> DeliveryLimits {
    let config = hob_config::delivery::DeliveryConfig::default();
    DeliveryLimits::with_backoff(Duration::from_millis(config.backoff_base_ms))
}

/// Everybody of the household is let in everywhere, and is the same person there.
fn access(world: &World) -> AccessList {
    let mut list = AccessList::default();
    let mut accounts = world.accounts();
    accounts.retain(|(kind, _)| *kind != ChannelKind::Terminal);
    for (kind, name) in &accounts {
        let door = list.account_access(*kind, name);
        plan::MEMBERS.iter().for_each(|id| door.admit(id, Role::User));
        door.admit(plan::OWNER, Role::Owner);
    }
    let people = plan::MEMBERS.into_iter().chain([plan::OWNER]);
    list.people = people.map(|id| accounts.iter().map(|(kind, _)| Alias::of(*kind, id)).collect()).collect();
    list
}
