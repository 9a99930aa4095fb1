//! What a turn costs a process: the table of docs/performance.md, of one build or of two side by side.
//!
//! `cargo bench --bench turns [-- floor start plain facts lived-in grown crowd everywhere] [--binary PATH] [--against PATH]
//! [--postgres]`; the last: the same binary beside itself, with its state on a server of this machine's. What is measured is another process, so that its fakes need not be optimised: `cargo test --bench turns -- --binary PATH` builds them
//! as the tests do, and measures that binary. What is counted exactly (statements, commits, bytes in the log) is in tests/costs.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

#[path = "turns/household.rs"]
mod household;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hob_store::Store;
use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_model::Reply;
use hob_testkit::fake_slack::FakeSlack;
use hob_testkit::mail_servers::{self, Servers};
use hob_testkit::postgres::Cluster;
use household::{HI, Household, NEIGHBOUR, OWNER, Process, QUESTION, people};
use jiff::{SignedDuration, Timestamp};
use sqlx::Executor;
use tokio::time::Instant;

/// Starts of each build; the middle one counts.
const STARTS: usize = 11;
/// Turns that are measured.
const TURNS: usize = 200;
/// Messages of the grown chat.
const MESSAGES: usize = 10_000;
const MEMORIES: usize = 100_000;
/// A minute apart.
const MEMORIES_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// A skill of the household's own.
const SKILL: &str =
    "---\nname: hens\ndescription: Keeps the book of the hens' eggs.\n---\n\nWrite down who has laid, and when.\n";
/// Turns of each of the hundred people.
const TURNS_EACH: usize = 30;
/// So long a process is left alone until it is idle.
const SETTLE: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_secs(60);

/// A build to measure, and the folder for its households.
struct Build {
    binary: PathBuf,
    folder: PathBuf,
    /// Where its households' states are; none: in their files.
    server: Option<Cluster>,
}

impl Build {
    async fn household(&self, name: &str, more: &str) -> Household {
        let url = self.server.as_ref().map(|server| server.database().url().to_owned());
        let state = url.map_or_else(String::new, |url| format!("[state]\nurl = '{url}'\n"));
        Household::new(&self.binary, &self.folder.join(name), &format!("{more}{state}")).await
    }
}

/// What was measured of one build: names, with their unit, and numbers.
type Measured = Vec<(&'static str, f64)>;

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn middle(mut numbers: Vec<Duration>) -> f64 {
    numbers.sort_unstable();
    millis(numbers[numbers.len() / 2])
}

/// From exec to the first poll, of a household that is there.
async fn start(build: &Build) -> Measured {
    let household = build.household("start", "").await;
    drop(household.start().await);
    let mut took = Vec::new();
    for _ in 0..STARTS {
        took.push(household.start().await.1);
    }
    vec![("exec to the first poll, ms", middle(took))]
}

/// Turns of a household that has settled, each named by its kind.
async fn measured_turns(household: &Household, process: &Process, words: &str, names: [&'static str; 4]) -> Measured {
    household.turns(words, 20).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = process.spent();
    let took = household.turns(words, TURNS).await;
    let spent = process.spent().each_since(before, TURNS);
    let numbers = [middle(took), spent.cpu_ms, spent.switches, spent.written_kb];
    names.into_iter().zip(numbers).collect()
}

/// A plain "hi" of the owner's, one fact known; the memory of it; and a question.
async fn plain(build: &Build) -> Measured {
    let household = build.household("plain", "").await;
    let (process, _) = household.start().await;
    tokio::time::sleep(SETTLE).await;
    let idle = process.private_mb();
    household.model.reply(remembered(1));
    household.say(OWNER, "Remember what stands on the shelf.").await;
    let names = ["\"hi\", ms", "\"hi\", CPU ms", "\"hi\", switches of thread", "\"hi\", KB to the disk"];
    let mut measured = measured_turns(&household, &process, HI, names).await;
    household.turns(HI, 1_000 - TURNS - 21).await;
    measured.extend([("private memory, idle, MB", idle), ("after 1,000 turns, MB", process.private_mb())]);
    let names = ["a question, ms", "a question, CPU ms", "a question, switches", "a question, KB"];
    measured.extend(measured_turns(&household, &process, QUESTION, names).await);
    measured
}

/// A reply that has so many facts remembered.
fn remembered(facts: usize) -> Reply {
    let facts: Vec<String> = (0..facts)
        .map(|at| format!(r#"{{"category":"kitchen","key":"shelf {at}","value":"jar number {at}"}}"#))
        .collect();
    let calls: Vec<(&str, &str)> = facts.iter().map(|fact| ("remember_fact", fact.as_str())).collect();
    Reply::calls(&calls)
}

/// With eighty facts known.
async fn facts(build: &Build) -> Measured {
    let household = build.household("facts", "").await;
    let (process, _) = household.start().await;
    household.model.reply(remembered(80));
    household.say(OWNER, "Remember what stands on the shelves.").await;
    let names = ["80 facts, ms", "80 facts, CPU ms", "80 facts, switches", "80 facts, KB"];
    measured_turns(&household, &process, HI, names).await
}

/// Facts, skills, an embedding, a schedule, and two people.
async fn lived_in(build: &Build) -> Measured {
    assert!(Command::new("scripts/embedding-model").status().unwrap().success(), "there is no model");
    let model = std::env::current_dir().unwrap().join("target/embedding-model");
    let more = format!("[memory.embedding]\npath = \"{}\"\n", model.display());
    let household = build.household("lived-in", &more).await;
    std::fs::create_dir_all(household.path("data/skills/hens")).unwrap();
    std::fs::write(household.path("data/skills/hens/SKILL.md"), SKILL).unwrap();
    household.telegram.person(NEIGHBOUR);
    let (process, _) = household.start().await;
    household.model.reply(remembered(80));
    household.say(OWNER, "Remember what stands on the shelves.").await;
    let yearly = r#"{"action": "create", "when": "every year on 1 January at 9:00", "task": "Water the plants."}"#;
    household.model.reply(Reply::call("schedule", yearly));
    household.say(OWNER, "Remind me of the plants.").await;
    for at in 0..50 {
        household.say(NEIGHBOUR, &format!("The train number {at} leaves at noon.")).await;
        household.say(OWNER, &format!("The hen number {at} has laid an egg.")).await;
    }
    // Vectors are made of what was said.
    tokio::time::sleep(SETTLE).await;
    let names = ["lived in, ms", "lived in, CPU ms", "lived in, switches", "lived in, KB"];
    let mut measured = measured_turns(&household, &process, HI, names).await;
    measured.push(("lived in, private memory, MB", process.private_mb()));
    measured
}

/// After ten thousand messages in the chat, and with a hundred thousand memories.
async fn grown(build: &Build) -> Measured {
    let household = build.household("grown", "").await;
    let (process, _) = household.start().await;
    household.turns(HI, MESSAGES / 2).await;
    drop(process);
    let (mut lines, mut said_at) = (String::new(), Timestamp::UNIX_EPOCH);
    for at in 0..MEMORIES {
        said_at += MEMORIES_EVERY;
        let line = serde_json::json!({
            "kind": "memory",
            "scope": {"person": {"name": "Owner", "identities": [format!("telegram:{OWNER}")]}},
            "episode": at / 12,
            "speaker": "Owner",
            "text": format!("hi from shelf {at}"),
            "origin": "import",
            "importance": 0.3,
            "at": said_at,
        });
        writeln!(lines, "{line}").unwrap();
    }
    std::fs::write(household.path("memories.jsonl"), lines).unwrap();
    household.run(&["memory", "import", &household.path("memories.jsonl").display().to_string()]);
    let (process, _) = household.start().await;
    let names = ["grown, ms", "grown, CPU ms", "grown, switches", "grown, KB"];
    let mut measured = measured_turns(&household, &process, HI, names).await;
    let names = ["grown, a question, ms", "its CPU ms", "its switches", "its KB"];
    measured.extend(measured_turns(&household, &process, QUESTION, names).await);
    measured
}

/// A hundred people at once.
async fn crowd(build: &Build) -> Measured {
    let household = build.household("crowd", "").await;
    people().for_each(|person| household.telegram.person(person));
    let (process, _) = household.start().await;
    household.turns(HI, 20).await;
    household.talk(2).await;
    let (before, begun) = (process.spent(), Instant::now());
    household.talk(TURNS_EACH).await;
    let (took, turns) = (begun.elapsed(), people().count() * TURNS_EACH);
    let spent = process.spent().each_since(before, turns);
    vec![
        ("100 people at once, turns a second", turns as f64 / took.as_secs_f64()),
        ("100 people at once, CPU ms a turn", spent.cpu_ms),
        ("of it on the main thread, ms", spent.main_ms),
    ]
}

/// Idle on Telegram, Slack, Discord and in a mailbox.
async fn everywhere(build: &Build) -> Measured {
    let (slack, discord, mail) = (FakeSlack::start().await, FakeDiscord::start().await, Servers::start());
    let more = format!(
        "[slack]\nbot_token = '{}'\napp_token = '{}'\nowner_user_ids = ['U0OWNER']\napi_url = '{}'\n\
         [discord]\nbot_token = '{}'\nowner_user_ids = [7]\napi_url = '{}'\n\
         [email]\naddress = 'hob@home.example'\nimap_host = 'localhost'\nimap_port = {}\nimap_user = 'hob'\n\
         imap_password = 'secret'\nsmtp_host = 'localhost'\nsmtp_port = {}\nca_file = '{}'\n\
         allowed_addresses = ['ada@example.org']\nauthserv_ids = ['mx.home.example']\n",
        FakeSlack::BOT_TOKEN,
        FakeSlack::APP_TOKEN,
        slack.api_url(),
        FakeDiscord::TOKEN,
        discord.api_url(),
        mail.imap_port,
        mail.smtp_port,
        mail_servers::files().join("localhost.crt").display()
    );
    let household = build.household("everywhere", &more).await;
    let (process, _) = household.start().await;
    slack.connected().await;
    discord.until_identified(1).await;
    household.turn(OWNER).await;
    // IDLE begins a little later than the others are there.
    tokio::time::sleep(SETTLE).await;
    let before = process.spent();
    tokio::time::sleep(MINUTE).await;
    let idle = process.spent().each_since(before, 1);
    vec![
        ("on all four, private memory, MB", process.private_mb()),
        ("on all four, idle for a minute, CPU ms", idle.cpu_ms),
        ("on all four, idle for a minute, switches", idle.switches),
    ]
}

/// What a commit and a statement cost without Hob: a turn cannot be cheaper than its number of each.
async fn floor(folder: &Path) {
    let mut connection = Store::raw(&folder.join("raw.db")).await.unwrap();
    connection.execute("CREATE TABLE t (x INTEGER) STRICT").await.unwrap();
    let (commits, statements) = (1_000, 10_000);
    let begun = Instant::now();
    for _ in 0..commits {
        connection.execute("INSERT INTO t VALUES (1)").await.unwrap();
    }
    let commit = begun.elapsed() / commits;
    let begun = Instant::now();
    for _ in 0..statements {
        sqlx::query("SELECT 1").fetch_one(&mut connection).await.unwrap();
    }
    println!("floor: a commit {commit:?}, a statement handed over and back {:?}", begun.elapsed() / statements);
    connection.close().await.unwrap();
}

/// A line for each number, the builds beside each other.
fn table(all: &[Measured]) {
    for (at, (name, first)) in all[0].iter().enumerate() {
        let others: String = all[1..].iter().fold(String::new(), |mut line, other| {
            let (_, number) = other[at];
            write!(line, " {number:>9.2} | {:>5.2} × |", first / number).unwrap();
            line
        });
        println!("| {name:<42} | {first:>9.2} |{others}");
    }
}

/// Measures all builds in turns, and tells of it.
macro_rules! measure {
    ($wanted:expr, $builds:expr, $($name:literal => $scenario:ident),+ $(,)?) => {$(
        if $wanted.is_empty() || $wanted.contains($name) {
            let mut all = Vec::new();
            for build in $builds {
                all.push($scenario(build).await);
            }
            table(&all);
        }
    )+};
}

/// What is named on the command line.
struct Arguments {
    /// The scenarios; none: all.
    wanted: BTreeSet<String>,
    /// What is measured, and what beside it.
    binaries: Vec<PathBuf>,
    /// The first of them once more, on a server.
    on_server: bool,
}

impl Arguments {
    fn of_process() -> Self {
        let (mut wanted, mut binary, mut against, mut on_server) = (BTreeSet::new(), None, None, false);
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let mut path = || std::fs::canonicalize(arguments.next().unwrap()).unwrap();
            match argument.as_str() {
                "--binary" => binary = Some(path()),
                "--against" => against = Some(path()),
                "--postgres" => on_server = true,
                _ => drop(wanted.insert(argument)),
            }
        }
        let binary = binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_hob").into());
        Self { wanted, binaries: std::iter::once(binary).chain(against).collect(), on_server }
    }
}

/// A server that has on its disk what it says is committed, as a file of SQLite's has.
fn durable_server() -> Cluster {
    let server = Cluster::own("bench");
    for durable in ["ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"] {
        server.sql(&server.url("postgres"), durable);
    }
    server
}

fn main() {
    let Arguments { wanted, mut binaries, on_server } = Arguments::of_process();
    let files = binaries.len();
    binaries.extend(on_server.then(|| binaries[0].clone()));
    // On the disk the daemon would use, not in a memory file system.
    let folder = tempfile::tempdir_in(std::env::current_dir().unwrap().join("target")).unwrap();
    let builds: Vec<Build> = binaries
        .into_iter()
        .enumerate()
        .map(|(at, binary)| {
            let server = (at >= files).then(durable_server);
            Build { binary, folder: folder.path().join(at.to_string()), server }
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if wanted.is_empty() || wanted.contains("floor") {
            floor(folder.path()).await;
        }
        measure!(wanted, &builds,
            "start" => start,
            "plain" => plain,
            "facts" => facts,
            "lived-in" => lived_in,
            "grown" => grown,
            "crowd" => crowd,
            "everywhere" => everywhere,
        );
    });
}
