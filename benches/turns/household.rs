//! A Hob of any build as a process, between a Telegram and a model server on loopback, and what the kernel says it took.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::{Post, World};

/// The owner's id at Telegram.
pub(crate) const OWNER: i64 = 7;
/// Somebody else who is let in.
pub(crate) const NEIGHBOUR: i64 = 1_000;
/// What a person writes: it asks for nothing, so that nothing is looked for.
pub(crate) const HI: &str = "hi";
/// Words that are looked for in memory.
pub(crate) const QUESTION: &str = "What stands on the shelf?";

/// What a process took since it began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUsage {
    /// On a processor, in milliseconds.
    pub(crate) cpu_ms: f64,
    /// Of that, what its main thread was: all but SQLite's work and what takes long.
    pub(crate) main_ms: f64,
    /// Changes of thread, its own and forced.
    pub(crate) switches: f64,
    /// Handed to the disk, in KB.
    pub(crate) written_kb: f64,
}

impl ProcessUsage {
    /// Since an earlier look, for each of so many.
    pub(crate) fn each_since(self, before: Self, count: usize) -> Self {
        let each = |now: f64, then: f64| (now - then) / count as f64;
        Self {
            cpu_ms: each(self.cpu_ms, before.cpu_ms),
            main_ms: each(self.main_ms, before.main_ms),
            switches: each(self.switches, before.switches),
            written_kb: each(self.written_kb, before.written_kb),
        }
    }
}

/// A running Hob; dropped, it is killed.
pub(crate) struct Process(Child);

impl Process {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).unwrap()
    }

    /// What its threads took.
    pub(crate) fn spent(&self) -> ProcessUsage {
        let mut spent =
            ProcessUsage { written_kb: field(&self.file("io"), "write_bytes") / 1e3, ..ProcessUsage::default() };
        for task in std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap() {
            let folder = task.unwrap().path();
            // A thread may end meanwhile.
            let read = |name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            let worked = read("schedstat");
            let worked = worked.split_whitespace().next().map_or(0.0, |nanos| nanos.parse::<f64>().unwrap() / 1e6);
            spent.cpu_ms += worked;
            if folder.ends_with(self.0.id().to_string()) {
                spent.main_ms = worked;
            }
            let status = read("status");
            spent.switches += field(&status, "voluntary_ctxt_switches") + field(&status, "nonvoluntary_ctxt_switches");
        }
        spent
    }

    /// Memory that is its own and written to, in MB.
    pub(crate) fn private_mb(&self) -> f64 {
        field(&self.file("smaps_rollup"), "Private_Dirty") / 1e3
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The number behind a name.
fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()).map_or(0.0, |number| number.parse().unwrap())
}

/// What a Hob talks with, and the files it is started from.
pub(crate) struct Household {
    pub(crate) telegram: FakeTelegram,
    pub(crate) model: FakeModel,
    binary: PathBuf,
    home: PathBuf,
}

impl Household {
    /// One for this binary, with this beside the usual config.
    pub(crate) async fn new(binary: &Path, home: &Path, more: &str) -> Self {
        std::fs::create_dir_all(home).unwrap();
        let (telegram, model) = (FakeTelegram::start().await, FakeModel::start().await);
        // What was asked would be kept for a test to look at: of five thousand turns that is a gigabyte.
        model.forget();
        model.otherwise(|_| Reply::text("Here you are."));
        telegram.person(OWNER);
        let text = format!(
            "[provider]\nkind = \"openai_compatible\"\nbase_url = \"{}\"\nmodels = {{ primary = \"fake\" }}\n\
             [telegram]\nbot_token = \"{}\"\nowner_user_ids = [{OWNER}]\nallowed_user_ids = {:?}\napi_url = \"{}\"\n{more}",
            model.base_url(),
            FakeTelegram::TOKEN,
            people().collect::<Vec<_>>(),
            telegram.api_url(),
        );
        std::fs::write(home.join("config.toml"), text).unwrap();
        Self { telegram, model, binary: binary.to_owned(), home: home.to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--config").arg(self.home.join("config.toml")).current_dir(&self.home);
        command.env("HOB_HOME", self.home.join("data")).env("HOB_NO_FETCH", "1").env("HOB_LISTEN", "off");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A process, and how long it took from its start to its first poll.
    pub(crate) async fn start(&self) -> (Process, Duration) {
        let before = self.telegram.look(|world| world.called("getUpdates"));
        let begun = Instant::now();
        let process = Process(self.command(&["run"]).spawn().unwrap());
        self.telegram.until_true("the first poll", |world| world.called("getUpdates") > before).await;
        (process, begun.elapsed())
    }

    /// Has a command of this build do something to this household, while no process runs.
    pub(crate) fn run(&self, arguments: &[&str]) {
        let done = self.command(arguments).status().unwrap();
        assert!(done.success(), "{arguments:?}: {done}");
    }

    /// A turn of this person's: from the message to its answer.
    pub(crate) async fn turn(&self, person: i64) -> Duration {
        self.say(person, HI).await
    }

    /// Says this, and waits for the next words of Hob's.
    pub(crate) async fn say(&self, person: i64, words: &str) -> Duration {
        let known = self.telegram.look(|world| world.chat(person).messages.len());
        let begun = Instant::now();
        self.telegram.say(person, words);
        // Not from the chat's beginning: one of ten thousand messages would be looked through at every change.
        let is_answered = |world: &World| {
            world.chat(person).messages[known..].iter().any(|message| message.from == FakeTelegram::BOT_ID)
        };
        self.telegram.until_true("an answer", is_answered).await;
        begun.elapsed()
    }

    /// Everybody takes so many turns, one after the other, and all at once. One task looks at all chats: a hundred that look at each
    /// change cost more than Hob.
    pub(crate) async fn talk(&self, turns: usize) {
        let say = |person| {
            self.telegram.look(|world| {
                world.post(Post::new(person, person, HI));
                world.chat(person).messages.len()
            })
        };
        let mut waiting: Vec<(i64, usize, usize)> = people().map(|person| (person, say(person), turns)).collect();
        while !waiting.is_empty() {
            let is_answered =
                |world: &World, (person, said, _): &(i64, usize, usize)| world.chat(*person).messages.len() > *said;
            let looked = |world: &World| {
                let answered: Vec<i64> =
                    waiting.iter().filter(|waits| is_answered(world, waits)).map(|waits| waits.0).collect();
                (!answered.is_empty()).then_some(answered)
            };
            let answered = self.telegram.until("answers", looked).await;
            // Whoever has no turn left has said it all.
            for (person, said, left) in waiting.iter_mut().filter(|waits| answered.contains(&waits.0)) {
                *left -= 1;
                *said = if *left > 0 { say(*person) } else { *said };
            }
            waiting.retain(|(_, _, left)| *left > 0);
        }
    }

    /// So many turns of the owner's with these words.
    pub(crate) async fn turns(&self, words: &str, count: usize) -> Vec<Duration> {
        let mut took = Vec::with_capacity(count);
        for _ in 0..count {
            took.push(self.say(OWNER, words).await);
        }
        took
    }

    /// Where a file of this household is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }
}

/// A hundred people who are let in.
pub(crate) fn people() -> impl Iterator<Item = i64> {
    NEIGHBOUR..NEIGHBOUR + 100
}
