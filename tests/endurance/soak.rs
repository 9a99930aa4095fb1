//! A household that talks for a long time while the config is edited, the platform fails and upkeep goes on (`scripts/soak`).
//!
//! What the process holds is sampled all the while: memory, file descriptors, the write-ahead log. At the end there is a curve of
//! each, and whether its second half was flat. In the suite it is a minute of that, for the answers and the log alone.

mod curve;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::soak::curve::{Curve, Sample};
use hob_config::environment::Environment;
use hob_testkit::fake_model::{FakeModel, ReceivedRequest, Reply};
use hob_testkit::fake_telegram::world::Message;
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::process::{HobProcess, hob_command};

const PEOPLE: i64 = 20;
/// Somebody who hears nothing for so long is not answered.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// Longer than a connection that nobody uses is kept (90 s).
const QUIET: Duration = Duration::from_secs(100);

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    Environment::of_process()
        .text(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// How it goes.
struct Plan {
    end: Instant,
    turns: u64,
    sample: Duration,
    trouble: Duration,
}

struct SoakHarness {
    telegram: FakeTelegram,
    model: FakeModel,
    home: tempfile::TempDir,
    begun: AtomicU64,
    answered: AtomicU64,
}

impl SoakHarness {
    async fn found() -> Self {
        let (telegram, model) = (FakeTelegram::start().await, FakeModel::start().await);
        model.forget().otherwise(|asked: &ReceivedRequest| {
            let name = asked.last_user().lines().last().unwrap_or_default().to_owned();
            Reply::text(&format!("answer {name}"))
        });
        let home = tempfile::tempdir_in(Path::new(env!("CARGO_MANIFEST_DIR")).join("target")).unwrap();
        let harness = Self { telegram, model, home, begun: AtomicU64::new(0), answered: AtomicU64::new(0) };
        (1..=PEOPLE).for_each(|person| harness.telegram.person(person));
        harness.configure(10);
        harness
    }

    /// Writes the config as editors do: a new file takes the place of the old.
    fn configure(&self, backoff_ms: u64) {
        let ids = (1..=PEOPLE).map(|person| person.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "[provider]\nkind = \"openai_compatible\"\nbase_url = \"{}\"\napi_key = \"sk\"\nmodels.primary = \"fake\"\n\
             [telegram]\nbot_token = \"{}\"\nallowed_user_ids = [{ids}]\napi_url = \"{}\"\n\
             [delivery]\nbackoff_base_ms = {backoff_ms}\n[daemon]\nlog = \"warn,hob::daemon=info\"\n\
             [upkeep]\nevery_minutes = 1\ndisk_low_mb = 16\n",
            self.model.base_url(),
            FakeTelegram::TOKEN,
            self.telegram.api_url()
        );
        let part = self.home.path().join("config.part");
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, self.home.path().join("config.toml")).unwrap();
    }

    /// Says something and waits for the answer, again and again.
    async fn talk(&self, person: i64, plan: &Plan) {
        while Instant::now() < plan.end {
            let turn = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            if turn > plan.turns {
                return;
            }
            let name = format!("{person}-{turn}");
            self.telegram.say(person, &name);
            let answer = format!("answer {name}");
            let is_answer = |message: &Message| message.from == FakeTelegram::BOT_ID && message.text.ends_with(&answer);
            let heard = tokio::time::timeout(SILENCE_MAX, self.telegram.shown(person, is_answer)).await;
            assert!(
                heard.is_ok(),
                "{person} hears nothing about {name}: {:?}",
                self.telegram.look(|world| world.chat(person).messages.clone())
            );
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Edits the config and lets the platform fail, in turn.
    async fn trouble(&self, plan: &Plan) {
        let faults = [Fault::Server(502), Fault::CutBefore, Fault::ProxyAfter(502), Fault::Flood(1), Fault::CutAfter];
        for round in 0.. {
            tokio::time::sleep(plan.trouble).await;
            self.configure(10 + round % 2);
            let fault = &faults[usize::try_from(round).unwrap() % faults.len()];
            let times = if matches!(fault, Fault::Flood(_)) { 1 } else { 5 };
            self.telegram.faults("sendMessage", fault.clone(), times);
            // Seldom: the wait between two polls grows with each, and what is said meanwhile is to be heard in time.
            if round % 8 == 0 {
                self.telegram.faults("getUpdates", Fault::Server(502), 3);
            }
        }
    }

    /// What the process holds at this moment.
    fn sample(&self, process: &HobProcess, since: Instant) -> Sample {
        let process = PathBuf::from(format!("/proc/{}", process.pid()));
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        let kib = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let bytes =
            |name: &str| std::fs::metadata(self.home.path().join("data").join(name)).map_or(0, |file| file.len());
        Sample {
            second: since.elapsed().as_secs_f64(),
            turns: self.answered.load(Ordering::Relaxed),
            resident_kib: kib("VmRSS:"),
            own_kib: kib("RssAnon:"),
            descriptors: std::fs::read_dir(process.join("fd")).unwrap().count() as u64,
            log_kib: bytes("hob.db-wal") / 1024,
            file_kib: bytes("hob.db") / 1024,
        }
    }

    async fn watch(&self, process: &HobProcess, plan: &Plan, curve: &mut Curve) {
        let since = Instant::now();
        loop {
            tokio::time::sleep(plan.sample).await;
            curve.samples.push(self.sample(process, since));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_holds_no_more_after_a_long_time() {
    let minutes = number("HOB_SOAK_MINUTES", 0);
    let is_long = minutes > 0;
    let length = if is_long { Duration::from_secs(minutes * 60) } else { Duration::from_secs(20) };
    let plan = Plan {
        end: Instant::now() + length,
        turns: number("HOB_SOAK_TURNS", 200),
        sample: Duration::from_millis(number("HOB_SOAK_SAMPLE_MS", if is_long { 10_000 } else { 250 })),
        trouble: if is_long { Duration::from_secs(15) } else { Duration::from_secs(3) },
    };
    let harness = Arc::new(SoakHarness::found().await);
    let mut process = HobProcess::start(hob_command(harness.home.path(), &["run"]));
    let mut curve = Curve::default();
    let people = async {
        let all = (1..=PEOPLE).map(|person| harness.talk(person, &plan));
        futures::future::join_all(all).await;
    };
    tokio::select! {
        () = people => {}
        () = harness.trouble(&plan) => {}
        () = harness.watch(&process, &plan, &mut curve) => {}
    }
    if is_long {
        tokio::time::sleep(QUIET).await;
        curve.quiet = Some(harness.sample(&process, Instant::now()).descriptors);
    }
    process.signal(rustix::process::Signal::TERM);
    assert!(process.ended().await.success(), "it does not stop in good order");
    if let Some(file) = Environment::of_process().get("HOB_SOAK_CSV") {
        std::fs::write(file, curve.csv()).unwrap();
    }
    let answered = harness.answered.load(Ordering::Relaxed);
    let rounds = process.log().matches("upkeep.done").count();
    let mut told = String::new();
    writeln!(told, "soak: {answered} turns, {rounds} rounds of upkeep, {} samples", curve.samples.len()).unwrap();
    told.push_str(&curve.drawn());
    println!("{told}");
    assert!(answered > 0 && answered <= plan.turns);
    assert!(curve.samples.iter().all(|sample| sample.log_kib < 65_536), "the write-ahead log grew:\n{told}");
    if is_long {
        let verdict = curve.verdict();
        assert!(verdict.is_empty(), "not flat: {}\n{told}", verdict.join("; "));
        println!("flat: memory, file descriptors and the write-ahead log");
    }
}
