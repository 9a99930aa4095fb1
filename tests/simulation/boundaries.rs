//! A few stories, in each of which the process dies at every commit in turn: just before it, and just after.

use std::sync::Arc;

use crate::plan::GROUP;
use crate::story::{ScriptedMessage, StoryOutcome, calm, scripted, scripted_with_hang_ups, tell_with_deaths};
use crate::world::{UpkeepMode, VoiceBehaviour, World};

/// Nothing is left to the reconciler, which looks every five minutes.
const REST_MS: i64 = 240_000;

/// Tells a story without a death, and with one at each of its commits: whatever happens, nothing is wrong in the end, and
/// everything is at rest by then. Returns it without a death.
fn dies_well(world: &Arc<World>, rest_by_ms: i64) -> StoryOutcome {
    let (whole, deaths) = tell_with_deaths(world);
    assert!(whole.violations.is_empty(), "{}\n{}", whole.trace.join("\n"), whole.violations.join("\n"));
    assert!(whole.rest_ms < rest_by_ms, "{}", whole.trace.join("\n"));
    for death in &deaths {
        let (trace, wrong) = (death.ended.trace.join("\n"), death.ended.violations.join("\n"));
        let told = format!("{trace}\nkilled {:?} commit {} of {}:\n{wrong}", death.when, death.commit, whole.commits);
        assert!(death.ended.violations.is_empty(), "{told}");
        assert!(death.ended.rest_ms < rest_by_ms, "{told}at rest late");
    }
    println!("{} commits, {} deaths", whole.commits, deaths.len());
    assert_eq!(u64::try_from(deaths.len()).unwrap(), 2 * whole.commits, "one before and one after each commit");
    whole
}

/// Tells a story without a death, and then with one at each of its commits.
fn at_every_commit(seed: u64, messages: &[ScriptedMessage]) {
    at_every_commit_within(seed, messages, REST_MS);
}

fn at_every_commit_within(seed: u64, messages: &[ScriptedMessage], rest_ms: i64) {
    let soon = messages.iter().map(|(at, ..)| at + rest_ms).max().unwrap_or(rest_ms);
    dies_well(&calm(seed, messages), soon);
}

/// The process dies at every commit, those of upkeep among them.
#[test]
fn n12_upkeep_beside_a_turn() {
    let talk: &[ScriptedMessage] =
        &[(100, "2", "2", "m do look append"), (9_000, "2", "2", "/stop"), (12_000, "2", "2", "thanks")];
    let world = calm(30, talk);
    world.state().upkeep = UpkeepMode::GoesOn;
    let whole = dies_well(&world, i64::MAX);
    let without = scripted(30, talk);
    assert!(whole.commits > without.commits + 5, "{} {}: upkeep did nothing", whole.commits, without.commits);
}

#[test]
fn n1_a_turn_with_tools() {
    at_every_commit(1, &[(100, "2", "2", "m do look append look+append")]);
}

/// What is over the quota is refused on record: wherever the process dies, it is not made, and nobody is asked about it.
#[test]
fn e15_tool_calls_over_the_quota_of_a_minute() {
    let talk: &[ScriptedMessage] = &[(100, "2", "2", "m do look+look+append append+look")];
    let world = calm(40, talk);
    world.state().tool_calls_per_minute = 2;
    let whole = dies_well(&world, i64::MAX);
    let refused = whole.trace.iter().filter(|line| line.contains("takes effect")).count();
    assert!(refused < 5, "the quota was reached: {}", whole.trace.join("\n"));
}

#[test]
fn n1_c6_what_tools_send_is_sent_once() {
    at_every_commit(7, &[(100, "2", "2", "m do post append+post cry"), (700, "3", "3", "m do cry+cry post")]);
}

/// Wherever the process dies: each answer is spoken by one row of the outbox, or one says why it is not.
#[test]
fn f10_answers_that_are_spoken() {
    let talk: &[ScriptedMessage] =
        &[(100, "2", "2", "/voice on"), (700, "2", "2", "m do look"), (1_200, "2", "2", "m do append")];
    for (voice, what) in [(VoiceBehaviour::Speaks, "takes the voice"), (VoiceBehaviour::Fails, "has no voice")] {
        let world = calm(50, talk);
        world.state().voice = voice;
        let whole = dies_well(&world, 1_200 + REST_MS);
        let said = whole.trace.iter().filter(|line| line.contains(what)).count();
        assert!(said >= 2, "{what}: {}", whole.trace.join("\n"));
    }
}

/// There are three places: whoever comes when they are taken, be it in the same instant, does not count as being at work.
#[test]
fn b8_more_at_once_than_there_are_places() {
    let talk: &[ScriptedMessage] = &[
        (100, "1", "1", "m do nap"),
        (100, "2", "2", "m do nap"),
        (200, "3", "3", "m do nap"),
        (200, GROUP, "1", "m do nap"),
    ];
    at_every_commit(24, talk);
}

#[test]
fn n1_b8_agents() {
    at_every_commit(20, &[(100, "2", "2", "m do helper+helper append")]);
    at_every_commit(21, &[(100, "2", "2", "m do chief+look")]);
}

#[test]
fn b7_a_stop_of_agents() {
    for seed in 23..25 {
        at_every_commit(seed, &[(100, "2", "2", "m do helper+chief+nap append"), (9_000, "2", "2", "/stop")]);
    }
}

#[test]
fn n1_b15_questions() {
    at_every_commit(2, &[(100, "2", "2", "m do ask append+ask"), (900_000, "2", "2", "thanks")]);
}

#[test]
fn n1_a_stop_and_what_waits_behind_it() {
    for seed in 3..6 {
        at_every_commit(
            seed,
            &[
                (100, "2", "2", "m do append nap append"),
                (2_500, "2", "2", "m do look"),
                (4_000, "2", "2", "/stop"),
                (4_200, "2", "2", "/queue"),
                (4_400, "2", "2", "m do append"),
            ],
        );
    }
}

/// A commit that nobody was told of is made up for when it is handed in again, and not left to the reconciler.
#[test]
fn n1_who_hangs_up_at_the_commit_and_comes_again_waits_for_nothing() {
    let stories: [(&[ScriptedMessage], i64); 3] = [
        (&[(100, "2", "2", "m do look append")], 30_000),
        (&[(100, "2", "2", "m do crawl append"), (4_000, "2", "2", "/stop now")], 30_000),
        (&[(100, "2", "2", "m do crawl append"), (4_000, "2", "2", "m do look")], 180_000),
    ];
    for (messages, soon) in stories {
        let ended = scripted_with_hang_ups(31, messages);
        let told = ended.trace.join("\n");
        assert!(ended.violations.is_empty(), "{told}\n{}", ended.violations.join("\n"));
        assert!(ended.trace.iter().filter(|line| line.ends_with("hangs up")).count() == messages.len(), "{told}");
        assert!(ended.rest_ms < soon, "at rest at {}:\n{told}", ended.rest_ms);
    }
}

#[test]
fn a_stop_and_nothing_after_it() {
    for seed in 10..13 {
        at_every_commit(seed, &[(100, "2", "2", "m do append nap append nap append"), (4_000, "2", "2", "/stop")]);
    }
}

#[test]
fn a_stop_while_a_question_is_open() {
    at_every_commit(
        6,
        &[
            (100, "2", "2", "m do ask"),
            (9_000, "2", "2", "/stop"),
            (9_010, "2", "2", "too late"),
            (9_200, "2", "2", "m do append"),
        ],
    );
}

#[test]
fn n1_steering() {
    at_every_commit(
        7,
        &[
            (100, GROUP, "1", "/queue mode steer"),
            (200, GROUP, "2", "m do append nap append"),
            (3_000, GROUP, "2", "m do look append"),
            (3_500, GROUP, "3", "m do look"),
            (4_000, GROUP, "2", "m do append"),
        ],
    );
}

#[test]
fn what_joined_a_run_that_is_then_stopped() {
    let talk: &[ScriptedMessage] = &[
        (100, "2", "2", "/queue mode steer"),
        (200, "2", "2", "m do append+ask"),
        (600, "2", "2", "m do look"),
        (20_000, "2", "2", "/stop"),
    ];
    at_every_commit(13, talk);
}

#[test]
fn n1_interrupting() {
    at_every_commit(
        8,
        &[
            (100, GROUP, "1", "/queue mode interrupt"),
            (200, GROUP, "2", "m do append nap append"),
            (3_500, GROUP, "3", "m do append"),
            (5_000, GROUP, "2", "m do look"),
            (5_500, GROUP, "1", "m do append"),
        ],
    );
}

#[test]
fn b8_sessions_side_by_side() {
    at_every_commit(
        9,
        &[
            (100, "1", "1", "m do append look"),
            (110, "2", "2", "m do look append"),
            (120, "3", "3", "m do append+append"),
            (130, GROUP, "1", "m do append"),
            (140, "tty", "1", "m do append ask"),
            (150, GROUP, "2", "/queue drop 1"),
        ],
    );
}

/// Nobody says a word to the question: it expires, and the run goes on without the call.
#[test]
fn d6_an_approval_that_nobody_gives() {
    at_every_commit_within(
        20,
        &[(100, "2", "2", "m do pay append wipe")],
        // Two questions of five minutes each, and what a restart takes.
        REST_MS + 2 * 300_000,
    );
}

#[test]
fn d6_approvals_and_a_grant() {
    at_every_commit_within(
        21,
        &[
            (100, "2", "2", "m do pay pay"),
            (9_000, "2", "2", "always"),
            (30_000, "2", "2", "m do pay+append wipe"),
            (45_000, "2", "2", "approve"),
            (60_000, "2", "2", "/grants revoke 1"),
            (70_000, "2", "2", "m do pay"),
            (80_000, "2", "2", "no, because it is late"),
        ],
        // At worst the decisions come before the questions, and all of them expire.
        REST_MS + 4 * 300_000,
    );
}

#[test]
fn b7_a_pause_in_the_middle_of_everything() {
    for seed in 22..24 {
        at_every_commit(
            seed,
            &[
                (100, "2", "2", "m do append nap append"),
                (2_500, "2", "2", "/pause"),
                (3_000, "2", "2", "m do append"),
                (60_000, "2", "2", "/resume"),
            ],
        );
    }
}

#[test]
fn b7_the_emergency_stop_holds_over_a_death() {
    at_every_commit(
        24,
        &[
            (100, "2", "2", "m do append nap append"),
            (200, "3", "3", "m do ask append"),
            (2_500, "1", "1", "/pause all"),
            (3_000, "2", "2", "m do append"),
            (50_000, "3", "3", "/stop"),
            (60_000, "1", "1", "/resume all"),
        ],
    );
}
