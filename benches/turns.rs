//! How fast a turn is, from the message to its delivered answer, and how many fit into a second.
//!
//! `cargo bench --bench turns [-- latency|throughput|memory]`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hob::agent::machine::policy::Policy;
use hob::agent::ports::{Ports, RunLimits};
use hob::agent::prompt::{BASE, PromptSettings};
use hob::agent::quota::Meter;
use hob::domain::channel::{Channel, Intake};
use hob::domain::clock::{Clock, SystemClock};
use hob::domain::condition::Conditions;
use hob::domain::health::{ChannelHealth, Liveness};
use hob::domain::inbound::{ChannelKind, Conversation, Happening, Inbound, Sender};
use hob::domain::outgoing::{DeliveryError, Outgoing, Receipt};
use hob::domain::redactor::Redactor;
use hob::domain::rng::{Rng, SystemRng};
use hob::memory::recall::Memory;
use hob::model::catalog::{Catalog, Entry};
use hob::model::error::ModelError;
use hob::model::message::{Completion, Usage};
use hob::model::provider::{Provider, Request, Sink};
use hob::model::purse::Purse;
use hob::model::table::Table;
use hob::policy::budget::Budget;
use hob::policy::quota::Quotas;
use hob::router::command::Mode;
use hob::router::delivery::{Delivery, DeliveryLimits, DeliveryPorts};
use hob::router::intake::{IntakeLimits, Router, Terms};
use hob::router::lanes::{LaneSettings, Lanes};
use hob::router::respond::House;
use hob::router::streaming::StreamSettings;
use hob::store::contents::Contents;
use hob::store::{Pace, Store};
use hob::tool::Toolbox;
use hob::tool::mcp::Servers;
use hob::tool::registry::Registry;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sqlx::Executor;
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
        Ok(Completion { usage, ..Completion::said("Here you are.", Vec::new()) })
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

struct World {
    router: Router,
    platform: Arc<Platform>,
    store: Store,
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
fn delivery(
    (directory, store): (&Path, &Store),
    channels: Vec<Arc<dyn Channel>>,
    (stop, tracker, rest): (&CancellationToken, &TaskTracker, &Arc<Notify>),
) -> Delivery {
    Delivery::new(DeliveryPorts {
        letters: Arc::default(),
        redactor: Redactor::default(),
        store: store.clone(),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        channels,
        contents: Contents::of(directory),
        limits: delivery_limits(),
        stream: StreamSettings { on: true, every: Duration::from_millis(1_500), off: BTreeSet::new() },
        reactions: true,
        stop: stop.clone(),
        tracker: tracker.clone(),
        rest: Arc::clone(rest),
    })
}

impl World {
    async fn open(directory: &Path) -> Self {
        let store = Store::open(&directory.join("hob.db"), Pace::Threaded).await.unwrap();
        let (clock, platform): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Arc::new(Platform::default()));
        let (stop, rest, tracker) = (CancellationToken::new(), Arc::new(Notify::new()), TaskTracker::new());
        let channels = vec![Arc::clone(&platform) as Arc<dyn Channel>];
        let delivery = delivery((directory, &store), channels, (&stop, &tracker, &rest));
        let models = Arc::new(Catalog::new(Entry::new("primary", Arc::new(Instantly)), Vec::new(), Arc::clone(&clock)));
        let purse = Arc::new(Purse { budget: Budget::default(), zone: TimeZone::UTC });
        let meter = Arc::new(Meter { quotas: Quotas::default(), zone: TimeZone::UTC });
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let skills = Arc::new(hob::skill::library::Library::plain(store.clone(), directory));
        let ports = Arc::new(Ports {
            store: store.clone(),
            memory: memory.clone(),
            contents: Contents::of(directory),
            skills: Arc::clone(&skills),
            clock: Arc::clone(&clock),
            models: Arc::clone(&models),
            redactor: Redactor::default(),
            tools: Arc::new(hob::tool::shed::Tools::new(Registry::default())),
            personas: Arc::default(),
            toolbox: Toolbox::plain(directory),
            prompt: PromptSettings { base: BASE.to_owned(), zone: TimeZone::UTC, history_messages_max: 40 },
            limits: run_limits(),
            table: Arc::new(Table::new(&BTreeMap::new()).unwrap()),
            counts: Arc::default(),
            reply_tokens: 1_000,
            purse: Arc::clone(&purse),
            meter: Arc::clone(&meter),
            access: Arc::default(),
            rng: Arc::new(SystemRng),
            watcher: Arc::new(delivery.clone()),
            owner: SystemRng.id(),
            lease: Duration::from_secs(90),
        });
        let lanes = Lanes::new(
            ports,
            LaneSettings {
                serves: [ChannelKind::Terminal].into(),
                parallel_max: 1_024,
                drain: stop.clone(),
                cut: stop,
                tracker,
                rest,
            },
        );
        let (servers, rng, confined) = (Servers::default(), Arc::new(SystemRng), String::new());
        let (personas, started) = (Arc::default(), clock.now());
        let house = House {
            models,
            purse,
            meter,
            personas,
            memory,
            skills,
            servers,
            rng,
            confined,
            conditions: Conditions::default(),
            config: hob::domain::config_standing::ConfigStanding::default(),
            started,
        };
        let router = Router {
            redactor: Redactor::default(),
            store: store.clone(),
            clock: Arc::clone(&clock),
            terms: arc_swap::ArcSwap::from_pointee(Terms {
                access: Arc::default(),
                limits: IntakeLimits { message_chars_max: 128_000, queue_len_max: 50, mode: Mode::Queue },
                house: Arc::new(house),
                transcriber: None,
            }),
            lanes,
            delivery,
            alarm: Arc::default(),
        };
        Self { router, platform, store }
    }

    /// One turn: from the message to the platform's having the answer.
    async fn turn(&self, chat: &str) -> Duration {
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
            happening: Happening::Posted { text: "What is there to be said about the garden today?".to_owned() },
            sent_at: SystemClock.now(),
            attachments: Vec::new(),
            circumstances: Default::default(),
        };
        self.router.accept(inbound).await.unwrap();
        answered.await.unwrap();
        begun.elapsed()
    }
}

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A turn at 10, 1,000 and 10,000 messages in the session.
async fn latency(directory: &Path) {
    let world = World::open(directory).await;
    let mut messages = 0;
    for at in [10, 1_000, 10_000] {
        while messages < at {
            world.turn("one").await;
            messages += 2;
        }
        let mut took = Vec::new();
        for _ in 0..300 {
            took.push(world.turn("one").await);
            messages += 2;
        }
        took.sort_unstable();
        println!("latency at {at:>6} messages: p50 {:?}  p99 {:?}", percentile(&took, 0.5), percentile(&took, 0.99));
    }
    world.store.close().await;
}

/// Sequential commits on the same disk in the same run, for comparison.
async fn raw_commits(directory: &Path) -> f64 {
    let mut connection = Store::raw(&directory.join("raw.db")).await.unwrap();
    connection.execute("CREATE TABLE t (x INTEGER) STRICT").await.unwrap();
    let begun = Instant::now();
    let count = 3_000;
    for _ in 0..count {
        connection.execute("INSERT INTO t VALUES (1)").await.unwrap();
    }
    f64::from(count) / begun.elapsed().as_secs_f64()
}

/// Turns per second with 1 to 1,000 sessions talking at once.
async fn throughput(directory: &Path) {
    println!("raw sequential commits, synchronous=FULL: {:.0}/s", raw_commits(directory).await);
    let world = Arc::new(World::open(directory).await);
    for sessions in [1_usize, 10, 100, 1_000] {
        let turns = (4_000 / sessions).max(4);
        let begun = Instant::now();
        let talking: Vec<_> = (0..sessions)
            .map(|index| {
                let world = Arc::clone(&world);
                tokio::spawn(async move {
                    let chat = format!("{sessions}-{index}");
                    let mut took = Vec::new();
                    for _ in 0..turns {
                        took.push(world.turn(&chat).await);
                    }
                    took
                })
            })
            .collect();
        let mut took = Vec::new();
        for talk in talking {
            took.extend(talk.await.unwrap());
        }
        let rate = (sessions * turns) as f64 / begun.elapsed().as_secs_f64();
        took.sort_unstable();
        println!(
            "{sessions:>5} sessions: {rate:>6.0} turns/s  p50 {:?}  p99 {:?}",
            percentile(&took, 0.5),
            percentile(&took, 0.99)
        );
    }
    world.store.close().await;
}

/// Resident memory over 10,000 turns.
async fn memory(directory: &Path) {
    let world = World::open(directory).await;
    for turn in 0..=11_000 {
        if turn == 1_000 || turn == 11_000 {
            println!("resident after {turn:>6} turns: {} KiB", resident_kib());
        }
        world.turn("one").await;
    }
    world.store.close().await;
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // On the disk the daemon would use, not in a memory file system.
    let directory = |name: &str| {
        let path = std::env::current_dir().unwrap().join("target/bench").join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    if runs("latency") {
        runtime.block_on(latency(&directory("latency")));
    }
    if runs("throughput") {
        runtime.block_on(throughput(&directory("throughput")));
    }
    if runs("memory") {
        runtime.block_on(memory(&directory("memory")));
    }
}
