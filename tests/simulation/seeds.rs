//! Many seeds, and what is said of those that fail.

use std::ops::Range;

use crate::story;

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

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
