//! Many seeds, and what is said of those that fail.

use std::ops::Range;

use crate::story;
use hob_config::environment::Environment;

/// Runs seeds; the first few that fail are shown.
pub(crate) fn run_seeds(seeds: Range<u64>) {
    let (mut failed, mut commits, mut kills) = (Vec::new(), 0, 0);
    for seed in seeds.clone() {
        let ended = story::random(seed);
        commits += ended.commits;
        kills += ended.kills;
        if !ended.violations.is_empty() {
            if failed.is_empty() {
                println!("{}", ended.trace.join("\n"));
            }
            println!("seed {seed}:\n  {}", ended.violations.join("\n  "));
            failed.push(seed);
        }
    }
    println!("seeds {seeds:?}: {commits} commits, {kills} kills");
    assert!(
        failed.is_empty(),
        "rerun: HOB_SIM_SEED={} cargo nextest run -E 'test(seed_from_environment)'; all: {failed:?}",
        failed[0]
    );
}

/// Runs seeds on every core.
pub(crate) fn run_in_parallel(seeds: &Range<u64>) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let each = (seeds.end - seeds.start).div_ceil(cores);
    std::thread::scope(|scope| {
        for core in 0..cores {
            let from = seeds.start + core * each;
            let through = (from + each).min(seeds.end);
            scope.spawn(move || run_seeds(from..through));
        }
    });
}

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    Environment::of_process().text(name)?.parse().ok()
}
