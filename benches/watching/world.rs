//! A whole router in this process, over a platform and a model that answer at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hob_agent::machine::policy::Policy;
use hob_agent::ports::{Ports, RunLimits};
use hob_agent::prompt::{BASE, PromptSettings};
use hob_agent::quota::QuotaChecker;
use hob_core::domain::channel::{Channel, Intake};
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::domain::condition::Conditions;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::inbound::{ChannelKind, Conversation, Inbound, InboundEvent, Sender};
use hob_core::domain::outgoing::{DeliveryError, Outgoing, Receipt};
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::{Rng, SystemRng};
use hob_core::domain::upkeep::LastUpkeepRound;
use hob_core::policy::budget::Budget;
use hob_core::policy::quota::Quotas;
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::{Catalog, ModelEntry};
use hob_model::error::ModelError;
use hob_model::message::{Completion, Usage};
use hob_model::metered_provider::Metering;
use hob_model::model_table::ModelTable;
use hob_model::provider::{Provider, Request, Sink};
use hob_router::command_handlers::CommandServices;
use hob_router::delivery::config::{DeliveryConfig, DeliveryLimits};
use hob_router::delivery::{Delivery, DeliveryPorts};
use hob_router::intake::{IntakeConfig, IntakeLimits, Router};
use hob_router::lanes::{LaneSettings, Lanes};
use hob_router::streaming::StreamSettings;
use hob_store::contents::Contents;
use hob_store::{SchedulingMode, Store};
use hob_tools::ToolRuntime;
use hob_tools::mcp::Servers;
use hob_tools::registry::Registry;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::trial::Confinement;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A model that answers at once.
struct Instantly;

#[async_trait]
impl Provider for Instantly {
    fn label(&self) -> &'static str {
        "bench/instantly"
    }

    async fn complete(&self, _request: &Request, _sink: &dyn Sink) -> Result<Completion, ModelError> {
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        Ok(Completion { usage, ..Completion::from_text_and_calls("Here you are.", Vec::new()) })
    }
}

/// A platform that takes everything at once, and tells who waits for it.
#[derive(Default)]
struct Platform {
    waiting: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
}

impl Platform {
    fn expect(&self, chat: &str) -> oneshot::Receiver<()> {
        let (told, answered) = oneshot::channel();
        self.waiting.lock().unwrap().insert(chat.to_owned(), told);
        answered
    }
}

#[async_trait]
impl Channel for Platform {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Terminal, "default")
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        if let Some(told) = self.waiting.lock().unwrap().remove(&message.destination.conversation.chat) {
            told.send(()).unwrap();
        }
        Ok(Receipt { external_id: None })
    }

    fn health(&self) -> ChannelHealth {
        ChannelHealth::plain(Liveness::Connected, Timestamp::UNIX_EPOCH)
    }
}

/// A router with a platform and a model that cost nothing.
pub(crate) struct World {
    pub(crate) router: Arc<Router>,
    platform: Arc<Platform>,
    pub(crate) store: Store,
}

fn delivery_limits() -> DeliveryLimits {
    DeliveryLimits {
        attempts_max: 12,
        age_max: Duration::from_secs(86_400),
        backoff_base: Duration::from_secs(1),
        backoff_max: Duration::from_secs(300),
    }
}

fn run_limits() -> RunLimits {
    RunLimits {
        iterations: 10,
        iterations_step: 10,
        iterations_cap: 25,
        soft: Duration::from_secs(900),
        hard: Duration::from_secs(1_200),
        tool_output_chars_max: 8_000,
        policy: Policy::default(),
    }
}

/// Sends over these channels.
fn delivery_config(channels: Vec<Arc<dyn Channel>>) -> DeliveryConfig {
    DeliveryConfig {
        channels,
        limits: delivery_limits(),
        stream: StreamSettings { on: true, every: Duration::from_millis(1_500), off: BTreeSet::new() },
        reactions: true,
        speaks: false,
        letters: Arc::default(),
    }
}

fn delivery_ports(
    directory: &Path,
    store: &Store,
    stop: &CancellationToken,
    tracker: &TaskTracker,
    idle: &Arc<Notify>,
) -> DeliveryPorts {
    DeliveryPorts {
        redactor: Redactor::default(),
        store: store.clone(),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        contents: Contents::of(directory),
        stop: stop.clone(),
        tracker: tracker.clone(),
        idle: Arc::clone(idle),
        meters: Arc::default(),
    }
}

impl World {
    pub(crate) async fn open(directory: &Path) -> Self {
        let store = Store::open(&directory.join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let (clock, platform): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Arc::new(Platform::default()));
        let (stop, idle, tracker) = (CancellationToken::new(), Arc::new(Notify::new()), TaskTracker::new());
        let channels = vec![Arc::clone(&platform) as Arc<dyn Channel>];
        let ports = delivery_ports(directory, &store, &stop, &tracker, &idle);
        let delivery = Delivery::new(ports, delivery_config(channels));
        let table = Arc::new(ModelTable::new(&BTreeMap::new()).unwrap());
        let metering = Metering { meters: Arc::clone(delivery.meters()), table: Arc::clone(&table) };
        let catalog = Catalog::new(ModelEntry::new("primary", Arc::new(Instantly)), Vec::new(), Arc::clone(&clock));
        let models = Arc::new(catalog.metered(&metering));
        let guard = BudgetGuard { budget: Budget::default(), zone: TimeZone::UTC };
        let (budget_guard, meter) = (Arc::new(guard), Arc::new(QuotaChecker { quotas: Quotas::default() }));
        let skills = Arc::new(hob_skill::library::Library::plain(store.clone(), directory));
        let ports = Arc::new(Ports {
            store: store.clone(),
            memory: Memory::by_words(store.clone(), TimeZone::UTC),
            contents: Contents::of(directory),
            skills: Arc::clone(&skills),
            clock: Arc::clone(&clock),
            models: Arc::clone(&models),
            redactor: Redactor::default(),
            tools: Arc::new(hob_tools::registry_handle::ToolRegistryHandle::new(Registry::default())),
            personas: Arc::default(),
            toolbox: ToolRuntime::plain(directory),
            prompt: PromptSettings { base: BASE.to_owned(), zone: TimeZone::UTC, history_messages_max: 40 },
            limits: run_limits(),
            table: Arc::clone(&table),
            counts: Arc::default(),
            reply_tokens: 1_000,
            budget_guard: Arc::clone(&budget_guard),
            meter: Arc::clone(&meter),
            access: Arc::default(),
            rng: Arc::new(SystemRng),
            meters: Arc::clone(delivery.meters()),
            watcher: Arc::new(delivery.clone()),
            owner: SystemRng.id(),
            lease: Duration::from_secs(90),
        });
        let (drafts, serves, drain) = (ports.toolbox.drafts.clone(), [ChannelKind::Terminal].into(), stop.clone());
        let lanes = Lanes::new(ports, LaneSettings { serves, parallel_max: 1_024, drain, cut: stop, tracker, idle });
        let services = CommandServices {
            models,
            table,
            budget_guard,
            meter,
            personas: Arc::default(),
            speaks: false,
            agenda: None,
            home: None,
            memory: Memory::by_words(store.clone(), TimeZone::UTC),
            skills,
            drafts,
            servers: Servers::default(),
            rng: Arc::new(SystemRng),
            confinement: Confinement { trial: Sandbox::none("it is not asked for").into(), outside: Vec::new() },
            conditions: Conditions::default(),
            config: hob_core::domain::config_status::ConfigStatusHandle::default(),
            upkeep: LastUpkeepRound::default(),
            backups: PathBuf::new(),
            started: clock.now(),
        };
        let router = Arc::new(Router {
            redactor: Redactor::default(),
            store: store.clone(),
            clock,
            config: arc_swap::ArcSwap::from_pointee(IntakeConfig {
                access: Arc::default(),
                limits: IntakeLimits { message_chars_max: 128_000, queue_len_max: 50, mode: IntakeMode::Queue },
                services: Arc::new(services),
                transcriber: None,
                speech: None,
                looker: None,
            }),
            lanes,
            delivery,
            alarm: Arc::default(),
        });
        Self { router, platform, store }
    }

    /// One turn: from the message to the platform's having the answer.
    pub(crate) async fn turn(&self, chat: &str) -> Duration {
        let answered = self.platform.expect(chat);
        let begun = Instant::now();
        let conversation = Conversation {
            channel: ChannelKind::Terminal,
            account: "default".to_owned(),
            chat: chat.to_owned(),
            thread: None,
        };
        let inbound = Inbound {
            conversation,
            external_id: SystemRng.id(),
            sender: Sender { external_id: "you".to_owned(), name: "you".to_owned() },
            happening: InboundEvent::Posted { text: "What is there to be said about the garden today?".to_owned() },
            sent_at: SystemClock.now(),
            attachments: Vec::new(),
            metadata: Default::default(),
        };
        self.router.accept(inbound).await.unwrap();
        answered.await.unwrap();
        begun.elapsed()
    }
}
