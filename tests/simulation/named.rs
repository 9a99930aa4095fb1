//! Seeds that once failed, by what they found. A new one is added here when a bug is mended; a change of `plan.rs`
//! makes other worlds of them, so each bug has a scripted story in `boundaries.rs` or `faults.rs` as well where one fits.

use crate::story;

const NAMED: &[(&str, u64)] = &[
    ("a second answer, before the first was heard, was lost", 50),
    ("a second answer, before the first was heard, was lost", 154),
    ("a stop that was committed and not yet heard was forgotten over a death", 34),
    ("a button under an earlier question of the same run was taken for an answer and lost", 67),
    ("a button under an earlier question of the same run was taken for an answer and lost", 275),
    ("a message that joined a run which then waited, and was stopped, was lost", 1352),
];

#[test]
fn named_seeds() {
    for (name, seed) in NAMED {
        let ended = story::random(*seed);
        assert!(
            ended.violations.is_empty(),
            "{}\n{name} (seed {seed}):\n{}",
            ended.trace.join("\n"),
            ended.violations.join("\n")
        );
    }
}
