//! A world from its first message to its rest, over as many lives as it takes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::thread;

use hob_store::{SchedulingMode, Store};
use tempfile::TempDir;

use crate::check;
use crate::life::{LifeEnd, live};
use crate::plan::{self, Life, Message, ScheduledFault};
use crate::upkeep;
use crate::world::{AcceptedMessage, CallerBehaviour, CrashPoint, UpkeepMode, World};

const DATABASE: &str = "hob.db";

/// How a story ended.
pub(crate) struct StoryOutcome {
    pub(crate) hash: u64,
    pub(crate) commits: u64,
    pub(crate) kills: u64,
    /// When everything was at rest.
    pub(crate) rest_ms: i64,
    /// What the platforms saw.
    pub(crate) taken: Vec<AcceptedMessage>,
    pub(crate) trace: Vec<String>,
    pub(crate) violations: Vec<String>,
}

/// A world of which everything is random.
pub(crate) fn random(seed: u64) -> StoryOutcome {
    let world = World::new(seed);
    if seed.is_multiple_of(3) {
        // Not from the world's own chance, so that a seed's people do the same in all of them.
        world.state().tool_calls_per_minute = 1 + u32::try_from(seed / 3 % 4).unwrap_or(0);
    }
    plan::settle(&world, seed);
    plan::people(&world);
    let lives = plan::lives(&world);
    tell(&world, &lives)
}

/// A world of which everything is random, with rounds of upkeep at random moments.
pub(crate) fn kept_up(seed: u64) -> StoryOutcome {
    let world = World::new(seed);
    world.state().upkeep = UpkeepMode::GoesOn;
    plan::people(&world);
    let lives = plan::lives(&world);
    tell(&world, &lives)
}

/// A world in which only these messages are sent, and everything else works.
pub(crate) fn scripted(seed: u64, messages: &[ScriptedMessage]) -> StoryOutcome {
    tell(&calm(seed, messages), &[Life::long()])
}

/// As [`scripted`], but whoever hands a message in has gone when it is committed, and hands it in again.
pub(crate) fn scripted_with_hang_ups(seed: u64, messages: &[ScriptedMessage]) -> StoryOutcome {
    let world = calm(seed, messages);
    world.state().caller = CallerBehaviour::HangsUp;
    tell(&world, &[Life::long()])
}

/// A world in which only these messages are sent, and only these troubles come.
pub(crate) fn troubled(seed: u64, messages: &[ScriptedMessage], troubles: &[(i64, ScheduledFault)]) -> StoryOutcome {
    let world = calm(seed, messages);
    tell(&world, &[Life { troubles: troubles.to_vec(), ..Life::long() }])
}

/// Where only these messages are sent, and everything else works.
pub(crate) fn calm(seed: u64, messages: &[ScriptedMessage]) -> Arc<World> {
    let world = World::new(seed);
    world.state().calm = true;
    for (number, (at, chat, who, text)) in messages.iter().enumerate() {
        plan::post(&world, *at, Message { chat, who, id: &format!("m{number}"), text });
    }
    world
}

/// When, in which chat, who, what.
pub(crate) type ScriptedMessage = (i64, &'static str, &'static str, &'static str);

/// Panics that belong to the story are not shown.
fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.starts_with("simulated")) {
                shown(info);
            }
        }));
    });
}

/// Lives `lives` one after the other until the world is at rest, and checks what must be true then.
pub(crate) fn tell(world: &Arc<World>, lives: &[Life]) -> StoryOutcome {
    go_on(world, new_home().path(), lives)
}

/// A story in which the process died at one commit, and a second one lived on.
pub(crate) struct Death {
    pub(crate) commit: u64,
    pub(crate) when: CrashPoint,
    pub(crate) ended: StoryOutcome,
}

/// Tells a story to its end, and how it goes on from each of its commits if the process dies there, just before it or just after.
///
/// What is before a death is told once: the world stands still while another goes on from a copy of it.
pub(crate) fn tell_with_deaths(world: &Arc<World>) -> (StoryOutcome, Vec<Death>) {
    let (home, deaths) = (new_home(), Arc::<Mutex<Vec<_>>>::default());
    let (from, found) = (home.path().to_owned(), Arc::clone(&deaths));
    world.at_commits(move |world, commit, when| {
        let (fork, home) = (world.after_death(), tempfile::tempdir_in(memory()).unwrap());
        copy(&from, home.path());
        fork.note(format!("KILLED {when:?} commit {commit}"));
        // A runtime has its thread for itself. Its panic is not the story's, which could go on after it.
        let ended = thread::spawn(move || go_on_after_death(&fork, home.path())).join();
        found.lock().unwrap().push((commit, when, ended));
    });
    let whole = go_on(world, home.path(), &[Life::long()]);
    let deaths = std::mem::take(&mut *deaths.lock().unwrap()).into_iter();
    let death = |(commit, when, ended): (_, _, thread::Result<_>)| Death { commit, when, ended: ended.unwrap() };
    (whole, deaths.map(death).collect())
}

fn go_on_after_death(world: &Arc<World>, home: &Path) -> StoryOutcome {
    let violations = check::between_lives(&home.join(DATABASE));
    let mut ended = go_on(world, home, &[Life::long()]);
    ended.violations.splice(0..0, violations);
    ended
}

fn new_home() -> TempDir {
    let home = tempfile::tempdir_in(memory()).unwrap();
    std::fs::copy(template(), home.path().join(DATABASE)).unwrap();
    home
}

/// Copies what a killed process leaves: all of its files, but for those that it shared only with itself.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir(&copied).unwrap();
            copy(&path, &copied);
        } else if path.extension().is_none_or(|kind| kind != "db-shm") {
            std::fs::copy(&path, &copied).unwrap();
        }
    }
}

fn go_on(world: &Arc<World>, home: &Path, lives: &[Life]) -> StoryOutcome {
    hush();
    let path = home.join(DATABASE);
    let mut violations = Vec::new();
    let mut kills = 0;
    let mut number = 0;
    loop {
        // When all planned lives have ended early, one more lives on.
        let last = number + 1 >= lives.len();
        let life = lives.get(number).cloned().unwrap_or_else(Life::long);
        let end = live(world, &path, &life, last);
        number += 1;
        violations.extend(check::between_lives(&path));
        match end {
            LifeEnd::Killed => kills += 1,
            LifeEnd::Stopped => {}
            LifeEnd::AtRest => break,
            LifeEnd::Stuck(open) => {
                violations.push(format!("stuck: {open}"));
                break;
            }
        }
    }
    violations.extend(check::at_rest(world, &path));
    if world.state().upkeep == UpkeepMode::GoesOn {
        upkeep::let_all_go(&path);
        violations.extend(check::let_go(&path));
    }
    let (hash, rest_ms) = (world.hash(), world.now_ms());
    let mut state = world.state();
    let (trace, taken) = (std::mem::take(&mut state.trace), std::mem::take(&mut state.taken));
    StoryOutcome { hash, commits: state.commits_total, kills, rest_ms, taken, trace, violations }
}

/// Where files cost nothing: a killed process loses nothing that it wrote, whatever the disk does.
fn memory() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// A database with its schema, made once.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = TEMPLATE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("template.db");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
        });
        (folder, path)
    });
    path
}
