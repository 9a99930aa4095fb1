//! The same with several daemons on one PostgreSQL, of which one leads: whichever is killed, where the server falls over, and where one
//! is stopped past its lease and woken.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use super::town::Harness;
use super::{audit, number};
use hob_testkit::postgres::{Cluster, Database};
use hob_testkit::postgres_wire::Wire;
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_tools::process_reaper::ProcessReaper;

/// How often the server falls over in all.
const OUTAGES: u64 = 10;
/// Between two looks whether one has ended by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The daemons, each with a home of its own and the config of the town.
struct Fleet<'d> {
    database: &'d Database<'d>,
    homes: Vec<PathBuf>,
    running: Vec<HobProcess>,
    _others: Vec<TempDir>,
}

impl<'d> Fleet<'d> {
    fn start(town: &Harness, database: &'d Database<'d>, wire: &Wire, count: u64) -> Self {
        let config = town.home.path().join("config.toml");
        let stated =
            format!("{}\n[state]\nurl = '{}'\n", std::fs::read_to_string(&config).unwrap(), database.url_through(wire));
        std::fs::write(&config, stated).unwrap();
        let others: Vec<TempDir> = (1..count).map(|_| tempfile::tempdir().unwrap()).collect();
        for other in &others {
            std::fs::copy(&config, other.path().join("config.toml")).unwrap();
        }
        let homes: Vec<PathBuf> = [&town.home].into_iter().chain(&others).map(|home| home.path().to_owned()).collect();
        let running = homes.iter().map(|home| run(home)).collect();
        Self { database, homes, running, _others: others }
    }

    /// Which one leads; none: nobody, for a moment.
    fn leader(&self) -> Option<usize> {
        let name =
            self.database.ask("SELECT d.name FROM leases l JOIN daemons d ON d.boot = l.boot WHERE l.what = 'house'");
        self.homes.iter().position(|home| name.ends_with(&home.join("data").display().to_string()))
    }

    /// With all that it has started, as systemd and a power cut do it.
    async fn kill(&mut self, which: usize) {
        if !self.running[which].has_ended() {
            self.running[which].kill().await;
        }
        ProcessReaper::of(&self.homes[which].join("data")).kill().await;
    }

    fn restart(&mut self, which: usize) {
        self.running[which] = run(&self.homes[which]);
    }

    /// Waits until one leads. Who could not reach the server at its start has ended, and is started again, as systemd does it.
    async fn back(&mut self, town: &Harness, away: Option<usize>) {
        let polled = async {
            while timeout(LOOK_EVERY, town.polled()).await.is_err() {
                self.restart_ended(away);
            }
        };
        within("poll of one that leads", polled).await;
    }

    fn restart_ended(&mut self, away: Option<usize>) {
        for which in 0..self.running.len() {
            if away != Some(which) && self.running[which].has_ended() {
                self.restart(which);
            }
        }
    }

    /// Stops one past its lease and wakes it when another leads: it ends by itself, having done nothing more.
    async fn stop_and_wake(&mut self, which: usize, town: &Harness) {
        self.running[which].signal(Signal::STOP);
        town.forget_polls();
        self.back(town, Some(which)).await;
        self.running[which].signal(Signal::CONT);
        assert_eq!(self.running[which].ended().await.code(), Some(1), "{}", self.running[which].log());
        assert!(self.running[which].log().contains("daemon.fenced"));
        self.restart(which);
    }
}

fn run(home: &Path) -> HobProcess {
    HobProcess::start(hob_command(home, &["run"]))
}

#[tokio::test]
async fn n15_everything_is_answered_whichever_of_several_daemons_is_killed() {
    let (kills, daemons) = (number("HOB_TORTURE_KILLS", 6), number("HOB_TORTURE_DAEMONS", 2));
    let seed = number("HOB_TORTURE_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number("HOB_TORTURE_SECS", 600));
    let (cluster, started) = (Cluster::own("torture"), Instant::now());
    let database = cluster.database();
    let mut town = Harness::found(seed).await;
    let wire = database.wire();
    let mut fleet = Fleet::start(&town, &database, &wire, daemons);
    let mut rng = SmallRng::seed_from_u64(seed);
    fleet.back(&town, None).await;
    let (mut killed, mut outages, mut cuts, mut slowest) = (0, 0, 0, Duration::ZERO);
    while killed < kills && Instant::now() < end {
        // A hand-over takes longer than a start: who never lives to answer proves nothing.
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(rng.random_range(10..3_000))).await;
            // All connections break wherever they are, or one where a commit is not answered.
            if rng.random_bool(0.5) {
                wire.cut()
            } else {
                wire.cut_at_commit()
            }
            cuts += 1;
        }
        if outages < OUTAGES && killed >= kills * outages / OUTAGES {
            cluster.cut_off();
            outages += 1;
        }
        let which = rng.random_range(0..fleet.homes.len());
        let leads = fleet.leader() == Some(which);
        if leads && killed == kills / 2 {
            fleet.stop_and_wake(which, &town).await;
            killed += 1;
            continue;
        }
        fleet.kill(which).await;
        town.forget_polls();
        let since = Instant::now();
        killed += 1;
        // Sometimes it stays away until another has taken over.
        let stays_away = leads && rng.random_bool(0.5);
        if !stays_away {
            fleet.restart(which);
        }
        fleet.back(&town, stays_away.then_some(which)).await;
        if leads {
            slowest = slowest.max(since.elapsed());
        }
        if stays_away {
            fleet.restart(which);
        }
    }
    fleet.restart_ended(None);
    let talks = town.hush().await;
    for daemon in &mut fleet.running {
        daemon.signal(Signal::TERM);
        assert!(daemon.ended().await.success());
    }
    let found = audit::audit(&town, &talks);
    println!(
        "torture: {daemons} daemons, {killed} kills, {outages} outages, {cuts} cuts, {} messages, {} answers, {} repeats, {} questions, \
         {:.1} seconds (seed {seed}, longest hand-over {} ms)",
        found.messages,
        found.answers,
        found.repeats,
        found.questions,
        started.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
    assert!(found.wrong.is_empty(), "seed {seed}:\n{}", found.wrong.join("\n"));
    assert_eq!(town.model.refused(), Vec::<String>::new());
}
