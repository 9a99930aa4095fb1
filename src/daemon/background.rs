//! What goes on beside the runs from the start to the stop: receiving, heartbeats, rounds, sweeping.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::daemon::assembly::ProcessServices;
use crate::daemon::reload::running::{CurrentConfig, RunningConfig};
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::{Blueprint, backups, upkeep};
use hob_config::memory::MemoryConfig;
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::RunId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::policy::heartbeat::{prompt_with_list, until_next};
use hob_memory::forget;
use hob_memory::recall::Memory;
use hob_memory::retention::{self, Retention};
use hob_router::delivery::Delivery;
use hob_router::heartbeat::{Heartbeat, HeartbeatList};
use hob_router::intake::Router;
use hob_router::lanes::Lanes;
use hob_skill::loaded_skills::SkillFolders;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::upkeep::latest_message;
use hob_store::{Store, Tx, open_runs, overheard, pairings, work_dir};
use hob_tools::changes::Drafts;
use hob_tools::changes::sweep::SweepReport;
use hob_tools::results::ResultStore;
use hob_tools::sandbox::trial::SandboxTrial;

/// How often results of tools are deleted that are old, or forgotten.
const RESULTS_EVERY: Duration = Duration::from_secs(3600);
/// How often old memories are let go.
const SWEEP_EVERY: Duration = Duration::from_secs(24 * 3600);

/// The sandbox is tried so long after the start: the first messages come before it.
const TRIED_AFTER: Duration = Duration::from_millis(500);

/// After so long without a sign of life a run is taken over.
pub(super) const LEASE: Duration = Duration::from_secs(90);
/// Between two signs of life of a run.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(LEASE.as_secs() / 3);

/// What is looked after.
pub(super) struct BackgroundContext<'a> {
    pub(super) lanes: &'a Lanes,
    pub(super) delivery: &'a Delivery,
    pub(super) blueprint: &'a Blueprint,
    /// The numbers are those of the config that runs.
    pub(super) current: &'a CurrentConfig,
}

/// Heartbeats, reconciliation, a look at the outbox, and backups, from time to time.
pub(super) fn start_periodic_tasks(shutdown: &ShutdownStages, context: &BackgroundContext<'_>) {
    let BackgroundContext { lanes, delivery, blueprint, current } = *context;
    backups::keep_up(shutdown, blueprint, current.clone());
    let beats = (lanes.clone(), shutdown.cut.clone());
    shutdown.keep("heartbeats", async move {
        let (lanes, stop) = beats;
        while !sleep_unless_stopped(HEARTBEAT_EVERY, &stop).await {
            // Who waits for a person holds no lease.
            if lanes.at_work() == 0 {
                continue;
            }
            if let Err(error) = lanes.heartbeat().await {
                tracing::warn!(%error, "leases could not be prolonged");
            }
        }
    });
    shutdown.keep("expiry", lanes.clone().expire_questions(shutdown.drain.clone()));
    let rounds = (lanes.clone(), delivery.clone(), shutdown.drain.clone(), current.clone());
    shutdown.keep("reconciliation", async move {
        let (lanes, delivery, stop, mut current) = rounds;
        let every = |running: &RunningConfig| Duration::from_secs(running.config.daemon.reconcile_secs);
        while !sleep_by_config(every, &mut current, &stop).await {
            if let Err(error) = lanes.reconcile().await {
                tracing::warn!(%error, "runs could not be reconciled");
            }
            if let Err(error) = delivery.wake_all().await {
                tracing::warn!(%error, "the outbox could not be looked through");
            }
        }
    });
}

/// Has the sandbox tried, unless a command came before.
pub(super) fn try_sandbox(shutdown: &ShutdownStages, trial: SandboxTrial) {
    let stop = shutdown.drain.clone();
    shutdown.keep("sandbox", async move {
        if !sleep_unless_stopped(TRIED_AFTER, &stop).await && stop.run_until_cancelled(trial.result()).await.is_none() {
            tracing::debug!("the sandbox was not tried to the end");
        }
    });
}

/// What is old goes, and what is left of what was forgotten.
pub(super) fn start_cleanup_tasks(
    shutdown: &ShutdownStages,
    blueprint: &Blueprint,
    roots: &ProcessServices,
    memory: &Memory,
) {
    sweep_work_dirs(shutdown, blueprint);
    sweep(shutdown, &memory.store, blueprint);
    sweep_files(shutdown, &memory.store, &roots.contents, blueprint);
    sweep_drafts(shutdown, &memory.store, &roots.drafts, blueprint);
    sweep_talk(shutdown, &memory.store, blueprint);
    forget_old_memories(shutdown, memory, blueprint);
}

/// A Hob that was killed has left what it was making: a copy of the database, in the clear, half a skill, or what it tried.
fn sweep_work_dirs(shutdown: &ShutdownStages, blueprint: &Blueprint) {
    let (data_dir, config) = (&blueprint.data_dir, &blueprint.config);
    let places: [(PathBuf, &[&str]); 3] = [
        (data_dir.clone(), &work_dir::IN_DATA),
        (backups::folder(data_dir, config.backup.dir.as_ref()), &work_dir::IN_BACKUPS),
        (SkillFolders::of(data_dir, Vec::new()).installed, &work_dir::IN_SKILLS),
    ];
    let now = blueprint.clock.now();
    let sweep = move || places.iter().map(|(place, kinds)| work_dir::sweep(place, kinds, now)).sum::<usize>();
    shutdown.channels.spawn_blocking(sweep);
}

/// Deletes old results of tools, and those of runs whose record was forgotten, at the start and every hour.
fn sweep(shutdown: &ShutdownStages, store: &Store, blueprint: &Blueprint) {
    let (results, store) = (ResultStore::of(&blueprint.data_dir).shared_in(store), store.clone());
    shutdown.keep("results", sweep_results(results, store, Arc::clone(&blueprint.clock), shutdown.drain.clone()));
}

/// Lets old files go, and deletes what no record refers to: at the start and every hour.
fn sweep_files(shutdown: &ShutdownStages, store: &Store, contents: &Contents, blueprint: &Blueprint) {
    let keep = SignedDuration::from_hours(24 * i64::from(blueprint.config.workspace.keep_files_days));
    let (store, contents, clock) = (store.clone(), contents.clone(), Arc::clone(&blueprint.clock));
    let stop = shutdown.drain.clone();
    shutdown.keep("files", async move {
        loop {
            match let_files_go(&store, &contents, clock.now(), keep).await {
                Ok(0) => {}
                Ok(files) => tracing::info!(files, "files.swept"),
                Err(error) => tracing::warn!(%error, "old files cannot be deleted; that is tried again"),
            }
            if sleep_unless_stopped(RESULTS_EVERY, &stop).await {
                return;
            }
        }
    });
}

/// Finishes what was cut off while changes were kept, and lets old ones go: at the start and every hour.
fn sweep_drafts(shutdown: &ShutdownStages, store: &Store, drafts: &Drafts, blueprint: &Blueprint) {
    let (store, drafts, clock) = (store.clone(), drafts.clone(), Arc::clone(&blueprint.clock));
    let stop = shutdown.drain.clone();
    shutdown.keep("drafts", async move {
        loop {
            // A run that begins after this look is not over either: only runs that have a draft by then are asked for.
            sweep_once(&store, &drafts, clock.now()).await;
            if sleep_unless_stopped(RESULTS_EVERY, &stop).await {
                return;
            }
        }
    });
}

async fn sweep_once(store: &Store, drafts: &Drafts, now: Timestamp) {
    let known = drafts.clone();
    let with_drafts = match tokio::task::spawn_blocking(move || known.runs()).await {
        Ok(Ok(runs)) => runs,
        Ok(Err(error)) => return tracing::warn!(%error, "drafts cannot be listed; that is tried again"),
        Err(error) => return tracing::error!(%error, "drafts cannot be listed; that is tried again"),
    };
    let over = match store.read(async |tx| finished_runs(tx, &with_drafts).await).await {
        Ok(over) => over,
        Err(error) => return tracing::warn!(%error, "it cannot be looked up whose drafts are to go"),
    };
    let drafts = drafts.clone();
    match tokio::task::spawn_blocking(move || drafts.sweep(now, &|run| over.contains(&run))).await {
        Ok(Ok(swept)) if swept != SweepReport::default() => tracing::info!(?swept, "drafts.swept"),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "drafts cannot be swept; that is tried again"),
        Err(error) => tracing::error!(%error, "drafts cannot be swept; that is tried again"),
    }
}

/// Which of these runs are over.
async fn finished_runs(tx: &mut Tx, runs: &[RunId]) -> Result<BTreeSet<RunId>, StoreError> {
    let open: BTreeSet<RunId> = open_runs::list_open(tx).await?.into_iter().map(|run| run.id).collect();
    Ok(runs.iter().copied().filter(|run| !open.contains(run)).collect())
}

/// At a start the clock may not be set yet: what it makes old by mistake would be gone for good.
async fn let_files_go(
    store: &Store,
    contents: &Contents,
    now: Timestamp,
    keep: SignedDuration,
) -> Result<usize, StoreError> {
    let newest = store.read(latest_message::message_at).await?;
    if !upkeep::is_plausible(now, newest) {
        tracing::warn!(%now, ?newest, "files.kept: the clock is far ahead of the newest message; no file goes until one comes");
        return Ok(0);
    }
    forget::old_files(store, contents, now.saturating_sub(keep).unwrap_or(Timestamp::MIN)).await
}

/// What was overheard a day ago, and codes that hold no more.
async fn sweep_old_talk(tx: &mut Tx, now: Timestamp) -> Result<u64, StoreError> {
    pairings::sweep(tx, now).await?;
    overheard::sweep(tx, now).await
}

/// Lets old talk go, at the start and every hour.
fn sweep_talk(shutdown: &ShutdownStages, store: &Store, blueprint: &Blueprint) {
    let (store, clock, stop) = (store.clone(), Arc::clone(&blueprint.clock), shutdown.drain.clone());
    shutdown.keep("talk", async move {
        loop {
            let now = clock.now();
            if let Err(error) = store.write(async move |tx| sweep_old_talk(tx, now).await).await {
                tracing::warn!(%error, "what was overheard cannot be let go; that is tried again");
            }
            if sleep_unless_stopped(RESULTS_EVERY, &stop).await {
                return;
            }
        }
    });
}

async fn sweep_results(results: ResultStore, store: Store, clock: Arc<dyn Clock>, stop: CancellationToken) {
    loop {
        results.sweep(clock.now()).await;
        let runs = sweep_forgotten(&results, &store).await;
        tokio::select! {
            () = stop.cancelled() => return,
            shared = results.share_runs(&runs) => if let Err(error) = shared {
                tracing::warn!(%error, "not all results of tools are where other daemons find them; that is tried again");
            },
        }
        if sleep_unless_stopped(RESULTS_EVERY, &stop).await {
            return;
        }
    }
}

/// A long result of a tool may hold the words for which its run's record was taken away. Gives the runs whose results stay.
async fn sweep_forgotten(results: &ResultStore, store: &Store) -> Vec<RunId> {
    let mut runs = match results.runs().await {
        Ok(runs) => runs,
        Err(error) => {
            tracing::warn!(%error, "the results of tools cannot be listed");
            return Vec::new();
        }
    };
    let gone = match store.read(async |tx| forget::without_record(tx, &runs).await).await {
        Ok(gone) => gone,
        Err(error) => {
            tracing::warn!(%error, "it cannot be looked up whose results are to go");
            return Vec::new();
        }
    };
    runs.retain(|run| !gone.contains(run));
    for run in gone {
        match results.drop_run(run).await {
            Ok(()) => tracing::info!(%run, "tool.results_forgotten"),
            Err(error) => tracing::warn!(%run, %error, "results of a run that was forgotten cannot be deleted"),
        }
    }
    runs
}

/// Old memories that matter little by now are let go, at the start and once a day, if the household wants that.
fn forget_old_memories(shutdown: &ShutdownStages, memory: &Memory, blueprint: &Blueprint) {
    let Some(retention) = retention(&blueprint.config.memory) else { return };
    let (memory, clock, stop) = (memory.clone(), Arc::clone(&blueprint.clock), shutdown.drain.clone());
    shutdown.keep("letting go", async move {
        loop {
            if let Err(error) = retention::expire_old(&memory, &retention, clock.now(), &stop).await {
                tracing::warn!(%error, "old memories could not be looked through; that is tried again tomorrow");
            }
            if sleep_unless_stopped(SWEEP_EVERY, &stop).await {
                return;
            }
        }
    });
}

fn retention(config: &MemoryConfig) -> Option<Retention> {
    let hours = i64::try_from(config.retention_days?.saturating_mul(24)).unwrap_or(i64::MAX / 3_600);
    Some(Retention::after(SignedDuration::from_hours(hours)))
}

/// Looks whether there is something to do, once in each slot.
pub(super) async fn beat(heartbeat: Heartbeat, router: Arc<Router>, stop: CancellationToken) {
    let wait = || until_next(router.clock.now().as_millisecond(), heartbeat.every_secs);
    while !sleep_unless_stopped(wait(), &stop).await {
        let Some(heartbeat) = with_list(&heartbeat).await else {
            tracing::debug!("heartbeat.skipped: its list is empty");
            continue;
        };
        match router.beat(&heartbeat).await {
            Ok(true) => tracing::info!("heartbeat.begun"),
            Ok(false) => tracing::debug!("heartbeat.skipped"),
            Err(error) => tracing::warn!(%error, "the heartbeat's run could not be stored"),
        }
    }
}

/// The heartbeat with what its list holds now; none: there is nothing to look at.
async fn with_list(heartbeat: &Heartbeat) -> Option<Heartbeat> {
    let Some(HeartbeatList { path, written_by_tools }) = &heartbeat.list else { return Some(heartbeat.clone()) };
    let read = async {
        let real = tokio::fs::canonicalize(path).await?;
        Ok::<_, io::Error>((tokio::fs::read_to_string(&real).await?, real))
    };
    let (text, real) = match read.await {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "the heartbeat's list cannot be read");
            return None;
        }
    };
    let prompt = prompt_with_list(&heartbeat.prompt, &text)?;
    // Where its name lies, and where that leads: a link to somewhere else may have been laid.
    let named = path.parent().and_then(|folder| folder.canonicalize().ok()).unwrap_or_else(|| path.clone());
    let is_within = |folder: &PathBuf| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        [&named, &real].into_iter().any(|list| list.starts_with(&folder))
    };
    let source = || OriginSource::new(Origin::File, &path.display().to_string());
    let taint = written_by_tools.iter().any(is_within).then(source).into_iter().collect();
    Some(Heartbeat { prompt, taint, ..heartbeat.clone() })
}

/// Sleeps as long as the config that runs says; another config ends the sleep. True if it was woken because of the stop.
async fn sleep_by_config(
    wait: impl Fn(&RunningConfig) -> Duration,
    current: &mut CurrentConfig,
    stop: &CancellationToken,
) -> bool {
    let wait = wait(&current.borrow_and_update());
    tokio::select! {
        biased;
        () = stop.cancelled() => true,
        () = tokio::time::sleep(wait) => false,
        () = wait_for_config_change(current) => false,
    }
}

/// Waits until another config runs.
pub(super) async fn wait_for_config_change(current: &mut CurrentConfig) {
    if current.changed().await.is_err() {
        // Nobody exchanges it any more.
        std::future::pending::<()>().await;
    }
}

/// Sleeps; true if it was woken because of the stop.
pub(super) async fn sleep_unless_stopped(wait: Duration, stop: &CancellationToken) -> bool {
    tokio::time::timeout(wait, stop.cancelled()).await.is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use hob_core::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
    use hob_core::domain::origin::Taint;

    #[tokio::test]
    async fn e14_a_list_of_a_heartbeat_that_tools_can_write_is_no_owners_words() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["work", "own"] {
            std::fs::create_dir(at(folder)).unwrap();
            std::fs::write(at(folder).join("list.md"), "- the oven").unwrap();
        }
        symlink(at("work"), at("named")).unwrap();
        symlink(at("own/list.md"), at("work/link.md")).unwrap();
        symlink(at("work/list.md"), at("own/link.md")).unwrap();
        let (channel, account) = (ChannelKind::Telegram, DEFAULT_ACCOUNT.to_owned());
        let conversation = Conversation { channel, account, chat: "7".to_owned(), thread: None };
        let tainted = async |folder: &str, list: &str| {
            let list = HeartbeatList { path: at(list), written_by_tools: vec![at(folder)] };
            let heartbeat = Heartbeat {
                every_secs: 60,
                prompt: "Look.".to_owned(),
                conversation: conversation.clone(),
                owner: "7".to_owned(),
                list: Some(list),
                taint: Taint::default(),
            };
            let told = with_list(&heartbeat).await.unwrap();
            assert_eq!(told.prompt, "Look.\n\n- the oven");
            told.taint != Taint::default()
        };
        assert!(!tainted("work", "own/list.md").await);
        for (folder, list) in [
            ("work", "work/list.md"),
            ("named", "work/list.md"),
            ("work", "named/list.md"),
            ("named", "named/link.md"),
            ("work", "work/link.md"),
            ("work", "own/link.md"),
        ] {
            assert!(tainted(folder, list).await, "{list} in {folder}");
        }
    }
}
