//! Hob in a world of its own: seeded, single-threaded, in virtual time, killed between any two commits.
//!
//! A failing seed prints its trace; run it again with `HOB_SIM_SEED=… cargo nextest run -E 'test(seed_from_environment)'`.
//! `HOB_SIM_LIVE=1` shows the trace while it grows, should a world ever stand still.
//! `HOB_SIM_SEEDS` sets how many seeds `many_seeds` takes (`scripts/simulate`).

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a simulation that cannot go on fails")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a failing seed shows its trace")]

mod boundaries;
mod check;
mod faults;
mod journals;
mod life;
mod model;
mod named;
mod plan;
mod platform;
mod remembered;
mod rest;
mod seeds;
mod spoken;
mod story;
mod tools;
mod trouble;
mod upkeep;
mod world;

use seeds::{run_in_parallel, run_seeds};

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in [1, 2, 3, 4, 5, 6, 7, 8] {
        let (first, second) = (story::random(seed), story::random(seed));
        if first.hash != second.hash {
            let differ = first.trace.iter().zip(&second.trace).position(|(a, b)| a != b).unwrap_or(0);
            let shown = differ.saturating_sub(5)..(differ + 3).min(first.trace.len()).min(second.trace.len());
            panic!(
                "seed {seed} differs:\n{}\n--\n{}",
                first.trace[shown.clone()].join("\n"),
                second.trace[shown].join("\n")
            );
        }
    }
}

// Two minutes of seeds on two cores, those with upkeep among them; `scripts/simulate` takes as many as it is told.
#[test]
fn seeds_000() {
    run_seeds(0..50);
}

#[test]
fn seeds_050() {
    run_seeds(50..100);
}

#[test]
fn seeds_100() {
    run_seeds(100..150);
}

#[test]
fn seeds_150() {
    run_seeds(150..200);
}

#[test]
fn seeds_200() {
    run_seeds(200..250);
}

#[test]
fn seeds_with_upkeep() {
    for seed in 500..525 {
        let ended = story::kept_up(seed);
        assert!(
            ended.violations.is_empty(),
            "{}\nseed {seed}:\n{}",
            ended.trace.join("\n"),
            ended.violations.join("\n")
        );
    }
}

#[test]
fn the_same_seed_is_the_same_world_with_upkeep() {
    for seed in 500..503 {
        assert_eq!(story::kept_up(seed).hash, story::kept_up(seed).hash, "seed {seed}");
    }
}

/// One seed, as named by `HOB_SIM_SEED`, with its trace.
#[test]
fn seed_from_environment() {
    let Some(seed) = seeds::number("HOB_SIM_SEED") else {
        return;
    };
    let ended = story::random(seed);
    println!("{}", ended.trace.join("\n"));
    assert!(ended.violations.is_empty(), "seed {seed}:\n{}", ended.violations.join("\n"));
}

/// The nightly-style command: `scripts/simulate`.
#[test]
#[ignore = "takes minutes: scripts/simulate runs it"]
fn many_seeds() {
    let from = seeds::number("HOB_SIM_FROM").unwrap_or(1_000);
    let count = seeds::number("HOB_SIM_SEEDS").unwrap_or(10_000);
    run_in_parallel(&(from..from + count));
}
