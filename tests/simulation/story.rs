//! A world from its first message to its rest, over as many lives as it takes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};

use hob_store::{SchedulingMode, Store};
use tempfile::TempDir;

use crate::check;
use crate::life::{LifeEnd, live};
use crate::plan::{self, Life, Message, ScheduledFault};
use crate::upkeep;
use crate::world::{AcceptedMessage, CallerBehaviour, CrashPoint, UpkeepMode, VoiceBehaviour, World};

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

/// As [`scripted`], with rounds of upkeep.
pub(crate) fn scripted_and_kept_up(
    seed: u64,
    messages: &[ScriptedMessage],
    crash: Option<(u64, CrashPoint)>,
) -> StoryOutcome {
    let world = calm(seed, messages);
    world.state().upkeep = UpkeepMode::GoesOn;
    tell(&world, &lives_until(crash))
}

/// A world in which only these messages are sent, and everything else works; the process dies as told.
pub(crate) fn scripted(seed: u64, messages: &[ScriptedMessage], crash: Option<(u64, CrashPoint)>) -> StoryOutcome {
    let world = calm(seed, messages);
    tell(&world, &lives_until(crash))
}

/// As [`scripted`], but whoever hands a message in has gone when it is committed, and hands it in again.
pub(crate) fn scripted_with_hang_ups(seed: u64, messages: &[ScriptedMessage]) -> StoryOutcome {
    let world = calm(seed, messages);
    world.state().caller = CallerBehaviour::HangsUp;
    tell(&world, &lives_until(None))
}

/// As [`scripted`], where nobody may make more tool calls than so many in a minute.
pub(crate) fn scripted_with_a_quota(
    seed: u64,
    tool_calls_per_minute: u32,
    messages: &[ScriptedMessage],
    crash: Option<(u64, CrashPoint)>,
) -> StoryOutcome {
    let world = calm(seed, messages);
    world.state().tool_calls_per_minute = tool_calls_per_minute;
    tell(&world, &lives_until(crash))
}

/// As [`scripted`], where answers are spoken.
pub(crate) fn scripted_aloud(
    seed: u64,
    voice: VoiceBehaviour,
    messages: &[ScriptedMessage],
    crash: Option<(u64, CrashPoint)>,
) -> StoryOutcome {
    let world = calm(seed, messages);
    world.state().voice = voice;
    tell(&world, &lives_until(crash))
}

fn lives_until(crash: Option<(u64, CrashPoint)>) -> Vec<Life> {
    match crash {
        Some((commit, when)) => vec![Life::until(commit, when), Life::long()],
        None => vec![Life::long()],
    }
}

/// A world in which only these messages are sent, and only these troubles come.
pub(crate) fn troubled(seed: u64, messages: &[ScriptedMessage], troubles: &[(i64, ScheduledFault)]) -> StoryOutcome {
    let world = calm(seed, messages);
    tell(&world, &[Life { troubles: troubles.to_vec(), ..Life::long() }])
}

fn calm(seed: u64, messages: &[ScriptedMessage]) -> Arc<World> {
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
    hush();
    let folder = tempfile::tempdir_in(memory()).unwrap();
    let path = folder.path().join("hob.db");
    std::fs::copy(template(), &path).unwrap();
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
