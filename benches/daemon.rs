//! The daemon as a process: how soon it is ready, what it holds while idle, and a turn over Telegram and a model server.
//!
//! `cargo bench --bench daemon`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::fake_model::{FakeModel, Reply};
use support::fake_telegram::FakeTelegram;
use tokio::time::Instant;

const OWNER: i64 = 7;
const STARTS: usize = 10;
const TURNS: usize = 200;

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

impl Drop for Hob {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn measure(directory: &Path) {
    let telegram = FakeTelegram::start().await;
    let model = FakeModel::start().await;
    model.otherwise(|_| Reply::text("Here you are."));
    telegram.person(OWNER);
    let config = directory.join("config.toml");
    let text = format!(
        "[provider]\nkind = \"openai_compatible\"\nbase_url = \"{}\"\nmodels = {{ primary = \"fake\" }}\n\
         [telegram]\nbot_token = \"{}\"\nowner_user_ids = [{OWNER}]\napi_url = \"{}\"\n",
        model.base_url(),
        FakeTelegram::TOKEN,
        telegram.api_url()
    );
    std::fs::write(&config, text).unwrap();
    let mut ready = Vec::new();
    for _ in 0..STARTS {
        let before = telegram.look(|world| world.called("getUpdates"));
        let begun = Instant::now();
        let _hob = Hob::start(directory, &config);
        telegram.until_true("the first poll", |world| world.called("getUpdates") > before).await;
        ready.push(begun.elapsed());
    }
    ready.sort_unstable();
    println!("from exec to the first poll: p50 {:?}  max {:?}", ready[STARTS / 2], ready[STARTS - 1]);
    let hob = Hob::start(directory, &config);
    let before = telegram.look(|world| world.called("getUpdates"));
    telegram.until_true("the first poll", |world| world.called("getUpdates") > before).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("resident while idle: {} KiB", hob.resident_kib());
    let mut took = Vec::new();
    for turn in 1..=TURNS {
        let begun = Instant::now();
        telegram.say(OWNER, "What is there to be said about the garden today?");
        telegram.until_sent(OWNER, turn).await;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    println!("a turn over Telegram: p50 {:?}  p99 {:?}", took[TURNS / 2], took[TURNS * 99 / 100]);
    println!("resident after {TURNS} turns: {} KiB", hob.resident_kib());
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir_in(std::env::current_dir().unwrap().join("target")).unwrap();
    runtime.block_on(measure(directory.path()));
}
