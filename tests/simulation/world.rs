//! What lies outside of Hob and survives its deaths: time, chance, the platforms, the file that a tool appends to.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use async_trait::async_trait;
use hob_core::domain::clock::Clock;
use hob_core::domain::inbound::{ChannelKind, Conversation, Inbound};
use hob_core::domain::rng::Rng;
use hob_store::writer::Boundary;
use jiff::Timestamp;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::plan::{self, DISCORD, EMAIL, SLACK, TELEGRAM, TERMINAL};
use hob_config::environment::Environment;

/// 2026-01-01T00:00:00Z.
const EPOCH_MS: i64 = 1_767_225_600_000;

/// Just before or just after a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    Before,
    After,
}

#[derive(Debug, Clone)]
pub(crate) struct ToolEffect {
    pub(crate) run: i64,
    pub(crate) call: String,
    pub(crate) user: i64,
    /// Only side effects are counted.
    pub(crate) idempotent: bool,
}

const CONTRACTS: [DuplicateProtection; 3] =
    [DuplicateProtection::Marked, DuplicateProtection::Nonce, DuplicateProtection::Lookup];

/// A message that a platform took.
#[derive(Debug, Clone)]
pub(crate) struct AcceptedMessage {
    pub(crate) account: String,
    pub(crate) chat: String,
    pub(crate) outbox: i64,
    pub(crate) text: String,
    pub(crate) may_repeat: bool,
    /// Hob was told so, in this life, after so many commits.
    pub(crate) told: Option<(usize, u64)>,
}

/// How a platform helps against doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DuplicateProtection {
    /// Not at all: what may be one says so.
    Marked,
    /// It takes what carries the same name once (Discord's nonce).
    Nonce,
    /// Its history tells what is there already (Slack's, by the message's metadata).
    Lookup,
}

/// An account of Hob's on a platform.
pub(crate) type AccountRef = (ChannelKind, &'static str);

/// A message as people see it.
#[derive(Debug, Clone)]
pub(crate) struct VisibleMessage {
    pub(crate) account: String,
    pub(crate) chat: String,
    pub(crate) text: String,
    /// The chunk that it shows; none: a reply that still grows.
    pub(crate) outbox: Option<i64>,
    /// Hob was told its name, in this life, after so many commits.
    pub(crate) told: Option<(usize, u64)>,
}

#[derive(Clone, Default)]
pub(crate) struct Process {
    /// Which life of Hob this is.
    pub(crate) number: usize,
    pub(crate) commits: u64,
    pub(crate) crash: Option<(u64, CrashPoint)>,
    started_ms: i64,
    started: Option<Instant>,
}

/// Whether rounds of upkeep go on beside everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpkeepMode {
    Rests,
    GoesOn,
}

/// Who says answers aloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoiceBehaviour {
    /// Nobody.
    Absent,
    Speaks,
    /// It says each time that it may go well later.
    Fails,
}

/// Who hands something in: whether they wait for its commit, or have gone by then and hand it in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerBehaviour {
    Waits,
    HangsUp,
}

#[derive(Clone)]
pub(crate) struct State {
    rng: SmallRng,
    serial: u64,
    pub(crate) process: Process,
    pub(crate) commits_total: u64,
    /// Commits that each past life had made.
    pub(crate) past: Vec<u64>,
    /// How far the wall clock is off, in milliseconds.
    pub(crate) skew_ms: i64,
    /// No platform can be reached.
    pub(crate) unreachable: bool,
    /// A model's name cannot be told, once.
    pub(crate) label_panics: bool,
    /// The platforms and the models behave.
    pub(crate) calm: bool,
    pub(crate) upkeep: UpkeepMode,
    pub(crate) caller: CallerBehaviour,
    pub(crate) voice: VoiceBehaviour,
    /// What one person may have made in a minute.
    pub(crate) tool_calls_per_minute: u32,
    /// By when they can be fetched: what no poll has acknowledged, with the account it is for.
    pub(crate) updates: BTreeMap<(i64, u64), (String, Inbound)>,
    /// The platform was told that it need not deliver these again.
    pub(crate) acked: Vec<Inbound>,
    pub(crate) taken: Vec<AcceptedMessage>,
    /// How the first platform helps, where all chats but the terminal are on it.
    contract: DuplicateProtection,
    /// Where each chat is, if it is not on the first platform.
    places: BTreeMap<&'static str, AccountRef>,
    /// What the chats show, by the messages' names.
    pub(crate) shown: BTreeMap<u64, VisibleMessage>,
    /// What no platform should have been asked.
    pub(crate) wrong: Vec<String>,
    pub(crate) refused: Vec<i64>,
    pub(crate) effects: Vec<ToolEffect>,
    pub(crate) trace: Vec<String>,
    hash: u64,
}

/// What is done at each commit: it is told which one, and whether just before it or just after.
type CommitWatch = Box<dyn Fn(&World, u64, CrashPoint) + Send + Sync>;

pub(crate) struct World {
    state: Mutex<State>,
    watch: OnceLock<CommitWatch>,
    /// The process was killed.
    pub(crate) killed: Notify,
    /// Something new is on a platform.
    pub(crate) posted: Notify,
}

impl State {
    /// How the platform of this account helps against doubles.
    pub(crate) fn contract(&self, account: &str) -> DuplicateProtection {
        match account {
            TELEGRAM => self.contract,
            SLACK => DuplicateProtection::Lookup,
            DISCORD => DuplicateProtection::Nonce,
            // A copy in the folder of what was sent tells; not every mailbox has one.
            EMAIL if self.contract == DuplicateProtection::Lookup => DuplicateProtection::Lookup,
            _ => DuplicateProtection::Marked,
        }
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let state = State {
            rng: SmallRng::seed_from_u64(seed),
            serial: 0,
            process: Process::default(),
            commits_total: 0,
            past: Vec::new(),
            skew_ms: 0,
            unreachable: false,
            label_panics: false,
            calm: false,
            upkeep: UpkeepMode::Rests,
            caller: CallerBehaviour::Waits,
            voice: VoiceBehaviour::Absent,
            tool_calls_per_minute: 1_000,
            updates: BTreeMap::new(),
            acked: Vec::new(),
            taken: Vec::new(),
            contract: CONTRACTS[usize::try_from(seed % 3).unwrap_or(0)],
            places: BTreeMap::from([(TERMINAL, (ChannelKind::Terminal, TERMINAL))]),
            shown: BTreeMap::new(),
            wrong: Vec::new(),
            refused: Vec::new(),
            effects: Vec::new(),
            trace: Vec::new(),
            hash: seed,
        };
        Self::of(state)
    }

    fn of(state: State) -> Arc<Self> {
        let (killed, posted) = (Notify::new(), Notify::new());
        Arc::new(Self { state: Mutex::new(state), watch: OnceLock::new(), killed, posted })
    }

    /// Has this done at each commit; the world stands still meanwhile.
    pub(crate) fn at_commits(&self, watch: impl Fn(&Self, u64, CrashPoint) + Send + Sync + 'static) {
        assert!(self.watch.set(Box::new(watch)).is_ok(), "a world has one watch");
    }

    /// This world as it would be if its process died now.
    pub(crate) fn after_death(&self) -> Arc<Self> {
        let now = self.now_ms();
        let mut state = self.state().clone();
        (state.process.started_ms, state.process.started) = (now, None);
        Self::of(state)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts chats on platforms of their own.
    pub(crate) fn settle(&self, places: impl IntoIterator<Item = (&'static str, AccountRef)>) {
        self.state().places.extend(places);
    }

    pub(crate) fn place(&self, chat: &str) -> AccountRef {
        self.state().places.get(chat).copied().unwrap_or((ChannelKind::Telegram, TELEGRAM))
    }

    /// A chat as its platform names it.
    pub(crate) fn conversation(&self, chat: &str) -> Conversation {
        let (channel, account) = self.place(chat);
        Conversation { channel, account: account.to_owned(), chat: plan::name_of(channel, chat), thread: None }
    }

    /// Hob's accounts.
    pub(crate) fn accounts(&self) -> BTreeSet<AccountRef> {
        let first = (ChannelKind::Telegram, TELEGRAM);
        self.state().places.values().copied().chain([first]).collect()
    }

    /// A process starts, `down_ms` after the last one's end; it dies at `crash`.
    pub(crate) fn begin(&self, down_ms: i64, crash: Option<(u64, CrashPoint)>) {
        let now = self.now_ms();
        let mut state = self.state();
        let number = state.process.number + 1;
        let commits = state.process.commits;
        state.past.push(commits);
        state.process = Process { number, commits: 0, crash, started_ms: now + down_ms, started: Some(Instant::now()) };
    }

    /// No process lives: time stands still.
    pub(crate) fn end(&self) {
        let now = self.now_ms();
        let mut state = self.state();
        state.process.started_ms = now;
        state.process.started = None;
    }

    /// Milliseconds since the world began.
    pub(crate) fn now_ms(&self) -> i64 {
        let state = self.state();
        let ran = state.process.started.map_or(0, |started| started.elapsed().as_millis());
        state.process.started_ms + i64::try_from(ran).unwrap_or(i64::MAX)
    }

    /// A word in the trace.
    pub(crate) fn note(&self, line: impl AsRef<str>) {
        let now = self.now_ms();
        let mut state = self.state();
        let life = state.process.number;
        let line = format!("{:>10.3} #{life} {}", now as f64 / 1000.0, line.as_ref());
        let mut hasher = DefaultHasher::new();
        (state.hash, &line).hash(&mut hasher);
        state.hash = hasher.finish();
        if Environment::of_process().get("HOB_SIM_LIVE").is_some() {
            eprintln!("{line}");
        }
        state.trace.push(line);
    }

    /// A hash of everything that happened.
    pub(crate) fn hash(&self) -> u64 {
        self.state().hash
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.state().rng.next_u64() % end.max(1)
    }

    pub(crate) fn between(&self, from: u64, through: u64) -> u64 {
        from + self.below(through - from + 1)
    }

    /// True so many times in a thousand.
    pub(crate) fn chance(&self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.state().calm
    }

    /// A number never given before.
    pub(crate) fn serial(&self) -> u64 {
        let mut state = self.state();
        state.serial += 1;
        state.serial
    }

    /// Puts an update on a platform, to be fetched from `at_ms` on.
    pub(crate) fn post(&self, at_ms: i64, account: &str, inbound: Inbound) {
        let serial = self.serial();
        self.state().updates.insert((at_ms, serial), (account.to_owned(), inbound));
        self.posted.notify_waiters();
    }

    /// Something that a person sees or hears may make them act.
    pub(crate) fn take(&self, taken: AcceptedMessage) -> usize {
        let mut state = self.state();
        state.taken.push(taken);
        state.taken.len() - 1
    }

    /// Hob hears that the platform took it.
    pub(crate) fn told(&self, index: usize) {
        let mut state = self.state();
        let told = (state.process.number, state.process.commits);
        if let Some(taken) = state.taken.get_mut(index) {
            taken.told = Some(told);
        }
    }

    async fn maybe_die(&self, when: CrashPoint) {
        let (commits, crash) = {
            let state = self.state();
            (state.process.commits, state.process.crash)
        };
        if let Some(watch) = self.watch.get() {
            watch(self, commits, when);
        }
        let Some((at, moment)) = crash else {
            return;
        };
        if commits == at && moment == when {
            self.note(format!("KILLED {when:?} commit {at}"));
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        let ms = EPOCH_MS + self.now_ms() + self.state().skew_ms;
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl Rng for World {
    fn next_u64(&self) -> u64 {
        self.state().rng.next_u64()
    }
}

#[async_trait]
impl Boundary for World {
    async fn before_commit(&self) {
        self.maybe_die(CrashPoint::Before).await;
    }

    async fn after_commit(&self) {
        {
            let mut state = self.state();
            state.process.commits += 1;
            state.commits_total += 1;
        }
        self.maybe_die(CrashPoint::After).await;
    }
}
