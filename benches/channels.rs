//! How fast a reply is made ready for each platform, and a backlog is taken in after an outage.
//!
//! `cargo bench --bench channels [-- render|backlog]`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob_agent::machine::policy::Policy;
use hob_agent::ports::{Ports, RunLimits};
use hob_agent::prompt::{BASE, PromptSettings};
use hob_agent::quota::QuotaChecker;
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::channel::{Channel, Intake};
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::domain::condition::Conditions;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::inbound::{ChannelKind, Conversation, Cursor, Inbound, InboundEvent, MessageMetadata, Sender};
use hob_core::domain::outgoing::{DeliveryError, Outgoing, Receipt};
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::{Rng, SystemRng};
use hob_core::policy::access::AccessList;
use hob_core::policy::budget::Budget;
use hob_core::policy::quota::Quotas;
use hob_core::render::render;
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::Catalog;
use hob_model::catalog::ModelEntry;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::Completion;
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
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a model writes in a long reply.
const SECTION: &str = "## What to do in the garden\n\nThe **roses** want to be cut back to about *thirty centimetres*, see \
[the guide](https://example.org/roses?a=1&b=2). Do it before the `first frost`, and not later.\n\n1. Take the secateurs\n   - clean \
them\n   - sharpen them\n2. Cut above a bud\n\n> My grandmother said so, too.\n\n| plant | when | how |\n|---|---|---|\n| rose | \
October | 30 cm |\n| lavender | March | a third |\n\n```python\nfor plant in garden:\n    plant.cut(height=0.3)  # metres\n```\n\n";

/// 100 KB of Markdown, made ready for each platform.
fn rendering() {
    let text = SECTION.repeat(100_000 / SECTION.len() + 1);
    let of = |kind| *Capabilities::of(kind);
    for (name, capabilities) in [
        ("Telegram", of(ChannelKind::Telegram)),
        ("Slack, blocks", of(ChannelKind::Slack)),
        ("Slack, text", Capabilities::slack_text()),
        ("Discord", of(ChannelKind::Discord)),
        ("mail", of(ChannelKind::Email)),
        ("terminal", Capabilities::terminal(true, Some(100))),
    ] {
        let mut took: Vec<Duration> = (0..60)
            .map(|_| {
                let begun = Instant::now();
                std::hint::black_box(render(std::hint::black_box(&text), &capabilities));
                begun.elapsed()
            })
            .collect();
        took.sort_unstable();
        println!("rendering {} bytes for {name:<14}: p50 {:?}  least {:?}", text.len(), took[30], took[0]);
    }
}

/// A model that is out of reach for as long as the backlog comes in.
struct Away;

#[async_trait]
impl Provider for Away {
    fn label(&self) -> &'static str {
        "bench/away"
    }

    async fn complete(&self, _request: &Request, _sink: &dyn Sink) -> Result<Completion, ModelError> {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Err(ModelError { class: ErrorClass::Timeout, message: String::new(), retry_after: None, parameter: None })
    }
}

/// A platform that takes everything at once.
struct Platform;

#[async_trait]
impl Channel for Platform {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Slack, "default")
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        Ok(Receipt { external_id: Some(message.id.to_string()) })
    }

    fn health(&self) -> ChannelHealth {
        ChannelHealth::plain(Liveness::Connected, Timestamp::UNIX_EPOCH)
    }
}

fn ports(directory: &Path, store: &Store, delivery: &Delivery) -> Ports {
    Ports {
        store: store.clone(),
        contents: Contents::of(directory),
        memory: Memory::by_words(store.clone(), TimeZone::UTC),
        skills: Arc::new(hob_skill::library::Library::plain(store.clone(), directory)),
        clock: Arc::new(SystemClock),
        models: Arc::new(Catalog::new(ModelEntry::new("primary", Arc::new(Away)), Vec::new(), Arc::new(SystemClock))),
        redactor: Redactor::default(),
        tools: Arc::new(hob_tools::registry_handle::ToolRegistryHandle::new(Registry::default())),
        personas: Arc::default(),
        toolbox: ToolRuntime::plain(directory),
        prompt: PromptSettings { base: BASE.to_owned(), zone: TimeZone::UTC, history_messages_max: 40 },
        limits: RunLimits {
            iterations: 10,
            iterations_step: 10,
            iterations_cap: 25,
            soft: Duration::from_secs(900),
            hard: Duration::from_secs(1_200),
            tool_output_chars_max: 8_000,
            policy: Policy::default(),
        },
        table: Arc::new(ModelTable::new(&Default::default()).unwrap()),
        counts: Arc::default(),
        reply_tokens: 1_000,
        budget_guard: Arc::new(BudgetGuard { budget: Budget::default(), zone: TimeZone::UTC }),
        meter: Arc::new(QuotaChecker { quotas: Quotas::default() }),
        access: Arc::default(),
        rng: Arc::new(SystemRng),
        meters: Arc::clone(delivery.meters()),
        watcher: Arc::new(delivery.clone()),
        owner: SystemRng.id(),
        lease: Duration::from_secs(90),
    }
}

fn router(directory: &Path, store: &Store) -> Router {
    let (stop, tracker, clock) = (CancellationToken::new(), TaskTracker::new(), Arc::new(SystemClock));
    let delivery_config = DeliveryConfig {
        channels: vec![Arc::new(Platform)],
        limits: DeliveryLimits {
            attempts_max: 12,
            age_max: Duration::from_secs(86_400),
            backoff_base: Duration::from_secs(1),
            backoff_max: Duration::from_secs(300),
        },
        stream: StreamSettings { on: true, every: Duration::from_millis(1_500), off: BTreeSet::new() },
        reactions: true,
        speaks: false,
        letters: Arc::default(),
    };
    let delivery = Delivery::new(
        DeliveryPorts {
            redactor: Redactor::default(),
            store: store.clone(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            rng: Arc::new(SystemRng),
            contents: Contents::of(directory),
            stop: stop.clone(),
            tracker: tracker.clone(),
            idle: Arc::default(),
            meters: Arc::default(),
        },
        delivery_config,
    );
    let ports = Arc::new(ports(directory, store, &delivery));
    let settings = LaneSettings {
        serves: [ChannelKind::Slack].into(),
        parallel_max: 64,
        drain: stop.clone(),
        cut: stop,
        tracker,
        idle: Arc::default(),
    };
    let services = CommandServices {
        models: Arc::clone(&ports.models),
        budget_guard: Arc::clone(&ports.budget_guard),
        meter: Arc::clone(&ports.meter),
        personas: Arc::default(),
        memory: ports.memory.clone(),
        speaks: false,
        agenda: None,
        home: None,
        skills: Arc::clone(&ports.skills),
        table: Arc::clone(&ports.table),
        drafts: ports.toolbox.drafts.clone(),
        servers: Servers::default(),
        rng: Arc::new(SystemRng),
        confinement: Confinement { trial: Sandbox::none("it is not asked for").into(), outside: Vec::new() },
        conditions: Conditions::default(),
        config: hob_core::domain::config_status::ConfigStatusHandle::default(),
        upkeep: hob_core::domain::upkeep::LastUpkeepRound::default(),
        backups: std::path::PathBuf::new(),
        started: clock.now(),
    };
    let mut access = AccessList::default();
    access.account_access(ChannelKind::Slack, "default").admit("U1", Role::Owner);
    Router {
        redactor: Redactor::default(),
        store: store.clone(),
        clock,
        config: arc_swap::ArcSwap::from_pointee(IntakeConfig {
            access: Arc::new(access),
            limits: IntakeLimits { message_chars_max: 128_000, queue_len_max: 1_000_000, mode: IntakeMode::Queue },
            services: Arc::new(services),
            transcriber: None,
            speech: None,
            looker: None,
        }),
        lanes: Lanes::new(ports, settings),
        delivery,
        alarm: Arc::default(),
    }
}

/// 10,000 messages of 50 chats that came during an outage, handed in in order, each with its cursor.
async fn backlog(directory: &Path) {
    let store = Store::open(&directory.join("hob.db"), SchedulingMode::Threaded).await.unwrap();
    let router = router(directory, &store);
    let (count, begun) = (10_000, Instant::now());
    for number in 0..count {
        let chat = format!("D{}", number % 50);
        let inbound = Inbound {
            conversation: Conversation {
                channel: ChannelKind::Slack,
                account: "default".to_owned(),
                chat: chat.clone(),
                thread: None,
            },
            external_id: number.to_string(),
            sender: Sender { external_id: "U1".to_owned(), name: "Ada".to_owned() },
            happening: InboundEvent::Posted { text: format!("What is there to be said about bed {number} today?") },
            sent_at: SystemClock.now(),
            attachments: Vec::new(),
            metadata: MessageMetadata {
                cursor: Some(Cursor { list: chat, position: i64::from(number) }),
                ..MessageMetadata::default()
            },
        };
        router.accept(inbound).await.unwrap();
    }
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    println!("backlog of {count} messages: {rate:.0}/s into the inbox");
    let mut raw = Store::raw(&directory.join("hob.db")).await.unwrap();
    let order = "SELECT count(*) FROM inbound a JOIN inbound b ON b.id = a.id + 1
                 WHERE CAST(b.external_id AS INTEGER) <> CAST(a.external_id AS INTEGER) + 1";
    let torn: i64 = sqlx::query_scalar(order).fetch_one(&mut raw).await.unwrap();
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM inbound").fetch_one(&mut raw).await.unwrap();
    assert_eq!((stored, torn), (i64::from(count), 0), "each once, and in order");
    raw.close().await.unwrap();
    store.close().await;
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if runs("render") {
        rendering();
    }
    if runs("backlog") {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        // On the disk the daemon would use, not in a memory file system.
        let directory = std::env::current_dir().unwrap().join("target/bench/backlog");
        if directory.exists() {
            std::fs::remove_dir_all(&directory).unwrap();
        }
        std::fs::create_dir_all(&directory).unwrap();
        runtime.block_on(backlog(&directory));
    }
}
