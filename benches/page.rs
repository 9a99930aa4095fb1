//! What watching costs: how many turns people get through with fifty pages open and with none, how soon the page is there, how
//! long a run of a thousand events takes to open, and every list over a million messages.
//!
//! `cargo bench --bench page [-- watched|large]`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use hob_core::domain::clock::{Clock, SystemClock};
use hob_http::direct_client;
use hob_store::Store;
use hob_testkit::fake_model::{FakeModel, ReceivedRequest, Reply};
use hob_testkit::fake_telegram::FakeTelegram;
use reqwest::Client;
use sqlx::Executor;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How many people talk.
const PEOPLE: i64 = 100;
/// How many pages are open.
const PAGES: usize = 50;
/// How long each part of the comparison lasts.
const STRETCH: Duration = Duration::from_secs(15);
/// With and without, so often.
const ROUNDS: usize = 3;
/// How often each address is fetched.
const FETCHES: usize = 20;
const MESSAGES: usize = 1_000_000;
/// Model calls of the long run: each is five events or so.
const CALLS: usize = 200;
/// What the page asks for when somebody opens its views.
const VIEWS: [&str; 22] = [
    "/api/visit",
    "/api/chats",
    "/api/chats/bench-7/messages",
    "/api/runs",
    "/api/runs?channel=telegram&outcome=failed",
    "/api/runs/1",
    "/api/runs/1/events?after=900&limit=100",
    "/api/runs/1/state?at=900",
    "/api/memory",
    "/api/memory/items",
    "/api/memory/search?text=plant%20777",
    "/api/memory/answers",
    "/api/memory/people",
    "/api/operations",
    "/api/operations/queue",
    "/api/operations/outbox",
    "/api/operations/outbox/given-up",
    "/api/operations/schedules",
    "/api/operations/costs",
    "/api/operations/providers",
    "/api/operations/config",
    "/api/operations/log",
];

struct Harness {
    telegram: FakeTelegram,
    model: FakeModel,
    home: PathBuf,
    root: String,
    client: Client,
    key: String,
    hob: Option<Child>,
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Harness {
    async fn new(home: &Path) -> Self {
        std::fs::create_dir_all(home).unwrap();
        let (telegram, model) = (FakeTelegram::start().await, FakeModel::start().await);
        model.forget().otherwise(|asked: &ReceivedRequest| {
            Reply::text(&format!("answer {}", asked.last_user().lines().last().unwrap_or_default()))
        });
        (1..=PEOPLE).for_each(|person| telegram.person(person));
        let ids = (1..=PEOPLE).map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
        // Whoever had the port just now leaves it to Hob.
        let root = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let text = format!(
            "[provider]\nkind = \"openai_compatible\"\nbase_url = \"{}\"\nmodels = {{ primary = \"fake\" }}\n\
             [telegram]\nbot_token = \"{}\"\nowner_user_ids = [1]\nallowed_user_ids = [{ids}]\napi_url = \"{}\"\n\
             [server]\nlisten = \"{root}\"\n[agent]\niterations_max = 1000\niterations_cap = 1000\n\
             [guards]\nenabled = false\n[daemon]\nruns_parallel_max = 100\n",
            model.base_url(),
            FakeTelegram::TOKEN,
            telegram.api_url()
        );
        std::fs::write(home.join("config.toml"), text).unwrap();
        let client = direct_client(Duration::from_secs(120)).unwrap();
        let root = format!("http://{root}");
        let mut harness = Self { telegram, model, home: home.to_owned(), root, client, key: String::new(), hob: None };
        harness.start().await;
        let told = harness.command(&["web", "token", "add", "bench"]).output().unwrap();
        harness.key = String::from_utf8(told.stdout).unwrap().lines().next().unwrap().to_owned();
        harness
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hob"));
        command.arg("--config").arg(self.home.join("config.toml")).args(arguments);
        command.env("HOB_HOME", self.home.join("data")).env("HOB_NO_FETCH", "1").stderr(Stdio::null());
        command
    }

    async fn start(&mut self) {
        let before = self.telegram.look(|world| world.called("getUpdates"));
        self.hob = Some(self.command(&["run"]).spawn().unwrap());
        self.telegram.until_true("the first poll", |world| world.called("getUpdates") > before).await;
    }

    fn stop(&mut self) {
        if let Some(mut hob) = self.hob.take() {
            hob.kill().unwrap();
            hob.wait().unwrap();
        }
    }

    async fn fetch(&self, path: &str) -> (Duration, usize) {
        let begun = Instant::now();
        let response = self.client.get(format!("{}{path}", self.root)).bearer_auth(&self.key).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.status());
        let bytes = response.bytes().await.unwrap().len();
        (begun.elapsed(), bytes)
    }

    /// Fetches it again and again, and says how long that took.
    async fn tell(&self, path: &str) {
        let (mut took, mut bytes) = (Vec::new(), 0);
        for _ in 0..FETCHES {
            let (one, length) = self.fetch(path).await;
            took.push(one);
            bytes = length;
        }
        took.sort_unstable();
        println!("{path}: p50 {:?}  max {:?}  {bytes} bytes", took[FETCHES / 2], took[FETCHES - 1]);
    }

    /// How many turns everybody gets through.
    async fn turns(&self, stretch: Duration, round: usize) -> u64 {
        let (end, turns) = (Instant::now() + stretch, AtomicU64::new(0));
        let talk = async |person: i64| {
            for turn in 0.. {
                if Instant::now() >= end {
                    return;
                }
                let name = format!("{round}-{person}-{turn}");
                self.telegram.say(person, &name);
                let answer = format!("answer {name}");
                self.telegram.shown(person, |message| message.text.ends_with(&answer)).await;
                turns.fetch_add(1, Ordering::Relaxed);
            }
        };
        join_all((1..=PEOPLE).map(talk)).await;
        turns.load(Ordering::Relaxed)
    }

    /// Opens a page: its stream, and a view that it draws anew from time to time.
    fn open(self: &Arc<Self>, pages: &mut JoinSet<()>, number: usize) {
        let harness = Arc::clone(self);
        pages.spawn(async move {
            let path = format!("{}/api/chats/page-{number}/events", harness.root);
            let stream = harness.client.get(path).bearer_auth(&harness.key).send().await.unwrap();
            assert!(stream.status().is_success(), "{}", stream.status());
            let mut stream = stream.bytes_stream();
            let mut often = tokio::time::interval(Duration::from_secs(2));
            loop {
                tokio::select! {
                    piece = stream.next() => assert!(piece.is_some(), "the stream ended"),
                    _ = often.tick() => drop(harness.fetch(VIEWS[number % VIEWS.len()]).await),
                }
            }
        });
    }
}

async fn watched(directory: &Path) {
    let harness = Arc::new(Harness::new(&directory.join("watched")).await);
    harness.turns(Duration::from_secs(3), 0).await;
    let (mut without, mut with) = (0, 0);
    for round in 1..=ROUNDS {
        without += harness.turns(STRETCH, round * 2).await;
        let mut pages = JoinSet::new();
        (0..PAGES).for_each(|number| harness.open(&mut pages, number));
        with += harness.turns(STRETCH, round * 2 + 1).await;
        pages.shutdown().await;
    }
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let ratio = with as f64 / without as f64;
    println!("{PEOPLE} sessions talk, turns with {PAGES} pages open and with none: {with} {without}, {ratio:.3}");
    for path in ["/", "/app/main.js", "/app/hob.css", "/api/visit"] {
        harness.tell(path).await;
    }
}

/// A run of a thousand events, then a million messages around it.
async fn large(directory: &Path) {
    let mut harness = Harness::new(&directory.join("large")).await;
    for call in 0..CALLS {
        harness.model.reply(Reply::call("recall", &format!(r#"{{"query":"word {call}"}}"#)));
    }
    harness.model.reply(Reply::text("That was long."));
    harness.telegram.say(1, "Look for everything.");
    harness.telegram.shown(1, |message| message.text == "That was long.").await;
    harness.stop();
    fill(&harness.home.join("data/hob.db")).await;
    harness.start().await;
    for path in VIEWS {
        harness.tell(path).await;
    }
}

/// Puts a million messages, half of them answers, into a thousand conversations of the page, with what else belongs to them.
async fn fill(path: &Path) {
    let mut database = Store::raw(path).await.unwrap();
    let now = SystemClock.now().as_millisecond();
    let all = MESSAGES / 2;
    let exchanges = format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {all} - 1),
         e AS (SELECT i, (SELECT max(id) FROM sessions WHERE key = 'web:bench-' || (i % 1000)) AS session, i / 1000 AS place,
             {now} - ({all} - i) * 1000 AS at, (SELECT min(id) FROM users) AS user FROM n)"
    );
    let rows = format!(
        "BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
         INSERT INTO sessions (key, channel, created_at) SELECT 'web:bench-' || i, 'web', {now} FROM n;
         {exchanges}
         INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at,
             received_at)
         SELECT 1000 + i, session, user, 'web', 'default', 'bench-' || (i % 1000), 'm' || i,
             'What is there to be said about plant ' || i || '?', 0.5, 'run', at, at FROM e;
         INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at, ended_at)
         SELECT id, session_id, id, user_id, 'completed', received_at, received_at + 900 FROM inbound WHERE id >= 1000;
         INSERT INTO messages (session_id, ordinal, run_id, role, user_id, body, text, at)
         SELECT session_id, (id / 1000) * 2 - 1, id, 'user', user_id, json_quote(text), text, received_at FROM inbound WHERE id >= 1000;
         INSERT INTO messages (session_id, ordinal, run_id, role, body, text, at)
         SELECT session_id, (id / 1000) * 2, id, 'assistant', json_quote('It grows.'), 'It grows.', received_at + 900
         FROM inbound WHERE id >= 1000;
         INSERT INTO outbox (key, session_id, run_id, channel, account, chat, text, choices, state, next_attempt_at, created_at,
             ended_at)
         SELECT 'run:' || id || ':5:0', session_id, id, 'web', 'default', chat, 'It grows.', '[]', 'delivered', received_at,
             received_at + 900, received_at + 901 FROM inbound WHERE id >= 1000;
         INSERT INTO model_calls (run_id, asked_seq, model, state, input_tokens, output_tokens, asked_at, ended_at, session_id,
             user_id, cost, latency_ms)
         SELECT id, 2, 'openai-compatible/fake', 'answered', 900, 20, received_at, received_at + 800, session_id, user_id, 1000, 800
         FROM inbound WHERE id >= 1000;
         INSERT INTO episodes (id, scope, session_id, began_at, ended_at, turns)
         SELECT 1000 + id, 'p' || (SELECT min(id) FROM users), id, {now}, {now}, 500 FROM sessions WHERE key LIKE 'web:bench-%';
         INSERT INTO memories (episode_id, place, scope, speaker, user_id, text, origin, importance, at)
         SELECT 1000 + session_id, id / 1000, 'p' || user_id, 'Ada', user_id, text, 'owner', 0.5, received_at
         FROM inbound WHERE id >= 1000;
         COMMIT;
         ANALYZE;"
    );
    database.execute(sqlx::AssertSqlSafe(rows)).await.unwrap();
    database.close().await.unwrap();
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir_in(std::env::current_dir().unwrap().join("target")).unwrap();
    if runs("watched") {
        runtime.block_on(watched(directory.path()));
    }
    if runs("large") {
        runtime.block_on(large(directory.path()));
    }
}
