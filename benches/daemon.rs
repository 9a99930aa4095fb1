//! The daemon as a process: what 10,000 schedules cost that are not due yet, and how soon an edited config is gone by.
//!
//! `cargo bench --bench daemon [-- schedules|reloads]`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hob_core::domain::clock::{Clock, SystemClock};
use hob_store::Store;
use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::fake_telegram::FakeTelegram;
use sqlx::Executor;
use tokio::time::Instant;

const OWNER: i64 = 7;
const STARTS: usize = 10;
const SCHEDULES: usize = 10_000;
const RELOADS: usize = 50;
/// Longer than the timer of the schedules sleeps.
const IDLE: Duration = Duration::from_secs(65);

struct Hob(Child);

impl Hob {
    fn start(home: &Path, config: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_hob"))
            .args(["run", "--config"])
            .arg(config)
            .env("HOB_HOME", home)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Hob {
    /// The time that its threads had on a processor.
    fn worked(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let of = |task: std::io::Result<std::fs::DirEntry>| {
            let told = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
            told.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        Duration::from_nanos(tasks.map(of).sum())
    }
}

impl Drop for Hob {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What a daemon talks with, and the files it is started from.
struct Household {
    telegram: FakeTelegram,
    _model: FakeModel,
    home: PathBuf,
    config: PathBuf,
}

impl Household {
    async fn new(home: &Path) -> Self {
        std::fs::create_dir_all(home).unwrap();
        let telegram = FakeTelegram::start().await;
        let model = FakeModel::start().await;
        model.otherwise(|_| Reply::text("Here you are."));
        telegram.person(OWNER);
        let config = home.join("config.toml");
        let text = format!(
            "[provider]\nkind = \"openai_compatible\"\nbase_url = \"{}\"\nmodels = {{ primary = \"fake\" }}\n\
             [telegram]\nbot_token = \"{}\"\nowner_user_ids = [{OWNER}]\napi_url = \"{}\"\n",
            model.base_url(),
            FakeTelegram::TOKEN,
            telegram.api_url()
        );
        std::fs::write(&config, text).unwrap();
        Self { telegram, _model: model, home: home.to_owned(), config }
    }

    /// A daemon, and how long it took from its start to its first poll.
    async fn start(&self) -> (Hob, Duration) {
        let before = self.telegram.look(|world| world.called("getUpdates"));
        let begun = Instant::now();
        let hob = Hob::start(&self.home, &self.config);
        self.telegram.until_true("the first poll", |world| world.called("getUpdates") > before).await;
        (hob, begun.elapsed())
    }

    async fn starts(&self) -> Vec<Duration> {
        let mut took = Vec::new();
        for _ in 0..STARTS {
            took.push(self.start().await.1);
        }
        took.sort_unstable();
        took
    }
}

/// Has somebody make so many schedules, each due once a day, an hour from now and later.
async fn make_schedules(house: &Household) {
    let hob = house.start().await.0;
    house.telegram.say(OWNER, "Hello.");
    house.telegram.until_sent(OWNER, 1).await;
    drop(hob);
    let mut database = Store::raw(&house.home.join("hob.db")).await.unwrap();
    let now = SystemClock.now().as_millisecond();
    let rows = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SCHEDULES})
         INSERT INTO schedules (source, user_id, channel, account, chat, task, rule, zone, asked, taint, state, grace_secs,
             coalesces, next_at, created_at)
         SELECT 'chat', (SELECT min(id) FROM users), 'telegram', 'default', '{OWNER}', 'Tell what is on today.',
             json_object('kind', 'cron', 'expression', (i % 60) || ' ' || (i % 24) || ' * * *'), 'Europe/Berlin',
             'once a day', '[]', 'active', 3600, 1, {now} + 3600000 + i * 8000, {now} FROM n"
    );
    database.execute(sqlx::AssertSqlSafe(rows)).await.unwrap();
}

/// Two daemons side by side, one of them with schedules.
async fn schedules(directory: &Path) {
    let (none, many) = (Household::new(&directory.join("none")).await, Household::new(&directory.join("many")).await);
    make_schedules(&many).await;
    let ready = (none.starts().await, many.starts().await);
    println!(
        "{SCHEDULES} schedules against none, to the first poll: p50 {:?} {:?}",
        ready.1[STARTS / 2],
        ready.0[STARTS / 2]
    );
    let (none, many) = (none.start().await.0, many.start().await.0);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = (none.worked(), many.worked());
    tokio::time::sleep(IDLE).await;
    println!("on a processor in {IDLE:?} of idleness: {:?} {:?}", many.worked() - before.1, none.worked() - before.0);
    println!("resident while idle: {} KiB {} KiB", many.resident_kib(), none.resident_kib());
}

/// From an edit to the log's word that it is gone by, and what of that came after the file had settled.
async fn reloads(directory: &Path) {
    let house = Household::new(&directory.join("reloads")).await;
    let usual = std::fs::read_to_string(&house.config).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hob"))
        .args(["run", "--config"])
        .arg(&house.config)
        .env("HOB_HOME", &house.home)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let _hob = Hob(child);
    house.telegram.until_true("the first poll", |world| world.called("getUpdates") > 0).await;
    let (mut seen, mut took) = (Vec::new(), Vec::new());
    for edit in 0..RELOADS {
        let begun = Instant::now();
        std::fs::write(&house.config, format!("{usual}[agent]\nsystem_prompt = \"You are edit {edit}.\"\n")).unwrap();
        let line = log.find(|line| line.contains("config.reloaded")).unwrap();
        seen.push(begun.elapsed());
        let millis = line.split("took_ms=").nth(1).unwrap().split_whitespace().next().unwrap();
        took.push(Duration::from_millis(millis.parse().unwrap()));
    }
    seen.sort_unstable();
    took.sort_unstable();
    println!("an edit, to its being gone by: p50 {:?}  max {:?}", seen[RELOADS / 2], seen[RELOADS - 1]);
    println!("of that after the file had settled: p50 {:?}  max {:?}", took[RELOADS / 2], took[RELOADS - 1]);
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir_in(std::env::current_dir().unwrap().join("target")).unwrap();
    if runs("reloads") {
        runtime.block_on(reloads(directory.path()));
    }
    if runs("schedules") {
        runtime.block_on(schedules(directory.path()));
    }
}
