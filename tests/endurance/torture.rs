//! Twenty people talk with Hob while its process is killed, again and again, at random moments (`scripts/torture`).
//!
//! The invariants are checked from outside, by what Telegram and the file system saw: see [`audit`].

mod audit;
mod person;
mod several;
mod town;

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::Instant;

use crate::torture::town::Harness;
use hob_config::environment::Environment;
use hob_testkit::process::{HobProcess, hob_command, within};

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    Environment::of_process()
        .text(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

#[tokio::test]
async fn n1_everything_is_answered_however_often_it_is_killed() {
    let kills = number("HOB_TORTURE_KILLS", 12);
    let seed = number("HOB_TORTURE_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number("HOB_TORTURE_SECS", 600));
    let started = Instant::now();
    let mut town = Harness::found(seed).await;
    let mut rng = SmallRng::seed_from_u64(seed);
    let (mut process, mut killed, mut slowest) = (start(&town), 0, Duration::ZERO);
    while killed < kills && Instant::now() < end {
        // Now and then it does not even get to its first poll.
        if rng.random_bool(0.15) {
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..60))).await;
        } else {
            slowest = slowest.max(back(&town).await);
            tokio::time::sleep(Duration::from_millis(rng.random_range(20..1_500))).await;
        }
        process.kill().await;
        town.forget_polls();
        killed += 1;
        process = start(&town);
    }
    slowest = slowest.max(back(&town).await);
    let talks = town.hush().await;
    process.signal(rustix::process::Signal::TERM);
    assert!(process.ended().await.success());
    let found = audit::audit(&town, &talks);
    println!(
        "torture: {killed} kills, {} messages, {} answers, {} repeats, {} questions, {:.1} seconds (seed {seed}, \
         slowest start {} ms)",
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

fn start(town: &Harness) -> HobProcess {
    HobProcess::start(hob_command(town.home.path(), &["run"]))
}

/// Waits for the first poll; says how long that took.
async fn back(town: &Harness) -> Duration {
    let since = Instant::now();
    within("poll after a start", town.polled()).await;
    since.elapsed()
}
