//! What is around Hob fails: the disk, the lock on the database, the clock, the model, the platform, its own code.

use crate::plan::ScheduledFault;
use crate::story::{ScriptedMessage, StoryOutcome, troubled};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Everything that must be true at rest is true, and the rest comes in time.
fn sound(ended: &StoryOutcome, by_ms: i64) {
    let trace = ended.trace.join("\n");
    assert!(ended.violations.is_empty(), "{trace}\n{}", ended.violations.join("\n"));
    assert!(ended.rest_ms < by_ms, "{trace}\nat rest only after {} ms", ended.rest_ms);
}

/// What one chat saw, in order.
fn seen<'a>(ended: &'a StoryOutcome, chat: &str) -> Vec<&'a str> {
    ended.taken.iter().filter(|taken| taken.chat == chat).map(|taken| taken.text.as_str()).collect()
}

const TALK: &[ScriptedMessage] = &[
    (100, "1", "1", "m do append look append"),
    (1_000, "2", "2", "m do look append+append"),
    (2_000, "1", "1", "m do append"),
    (9_000, "2", "2", "m do nap"),
    (15_000, "3", "3", "m do append ask"),
    (20_000, "3", "3", "/status"),
    (40_000, "1", "1", "m do look"),
];

#[test]
fn n1_a_full_disk_delays_and_loses_nothing() {
    let mut felt = 0;
    for seed in 0..20 {
        let troubles = [(500 + 300 * seed, ScheduledFault::DiskFull), (5 * MINUTE, ScheduledFault::DiskFree)];
        let ended = troubled(u64::try_from(seed).unwrap(), TALK, &troubles);
        felt += usize::from(ended.trace.iter().any(|line| line.contains("the disk is full")));
        sound(&ended, 12 * MINUTE);
    }
    // Now and then what is written fits the pages that are there already.
    assert!(felt >= 15, "only {felt} of 20 felt it");
}

#[test]
fn another_programs_lock_delays_and_loses_nothing() {
    for seed in 0..20 {
        let troubles =
            [(500 + 700 * seed, ScheduledFault::Locked(45_000)), (2 * MINUTE, ScheduledFault::Locked(5_000))];
        sound(&troubled(u64::try_from(seed).unwrap(), TALK, &troubles), 5 * MINUTE);
    }
}

#[test]
fn a_clock_that_jumps_delays_nothing() {
    for seed in 0..20 {
        let at = 300 + 900 * seed;
        for (first, second) in [(HOUR, 0), (-HOUR, 0), (HOUR, -HOUR)] {
            // The platform fails meanwhile, so that something waits for a time of day.
            let troubles = [
                (200, ScheduledFault::PlatformDown),
                (at, ScheduledFault::ClockOff(first)),
                (at + 10_000, ScheduledFault::PlatformUp),
                (at + 20_000, ScheduledFault::ClockOff(second)),
            ];
            sound(&troubled(u64::try_from(seed).unwrap(), TALK, &troubles), 5 * MINUTE);
        }
    }
}

#[test]
fn a_platform_that_is_down_for_an_hour_gets_everything_once_and_in_order() {
    for seed in 0..10 {
        let troubles = [(400, ScheduledFault::PlatformDown), (400 + HOUR, ScheduledFault::PlatformUp)];
        let ended = troubled(seed, TALK, &troubles);
        sound(&ended, HOUR + 15 * MINUTE);
        let mut once: Vec<i64> = ended.taken.iter().map(|taken| taken.outbox).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ended.taken.len(), "{}", ended.trace.join("\n"));
    }
}

#[test]
fn a_model_that_stalls_is_told_of_at_the_hard_limit() {
    let ended = troubled(1, &[(100, "2", "2", "m do append stall"), (300, "1", "1", "m do look")], &[]);
    sound(&ended, 22 * MINUTE);
    insta::assert_snapshot!(
        seen(&ended, "2").join("\n"),
        @r"
    I ran out of time on this and stopped. What was done so far is in our conversation; send a message to go on from there.

    Objective: m do append stall
    Where it stood: one step was done: append
    Next: nothing noted
    1. Resume
    2. Try again from the start
    3. Let it be
    "
    );
    assert!(ended.rest_ms > 20 * MINUTE, "{}", ended.trace.join("\n"));
    assert_eq!(seen(&ended, "1").len(), 1, "{}", ended.trace.join("\n"));
}

#[test]
fn c10_a_panic_ends_one_run_and_is_told() {
    let talk: &[ScriptedMessage] = &[
        (100, "1", "1", "m do look append look"),
        (100, "2", "2", "m do boom"),
        (100, "3", "3", "m do bomb"),
        (20_000, "2", "2", "m do look"),
        (20_000, "3", "3", "m do look"),
    ];
    let ended = troubled(1, talk, &[]);
    sound(&ended, 2 * MINUTE);
    // The model talks at length; how long, chance says.
    let short = |text: &&str| text.replace(" It took a while.", "");
    let all = ["1", "2", "3"].map(|chat| {
        let seen: Vec<String> = seen(&ended, chat).iter().map(short).collect();
        format!("{chat}: {}", seen.join("\n   "))
    });
    insta::assert_snapshot!(all.join("\n"), @r"
    1: That was 15.
    2: I could not get an answer from the model: simulated: the model panics. This looks like a fault of mine or of the provider; the log has the details.
       That was 19.
    3: That was 9.

    (By my record, not all of it was done. bomb: 0 of 1 done, 1 failed (The tool broke. What it had done by then is not known).)
       That was 20.
    ");
}

#[test]
fn a_panic_of_the_driver_itself_ends_one_run_and_is_told() {
    // The first is before the run's first event.
    for at in std::iter::once(50).chain((1_000..8_000).step_by(250)) {
        let talk: &[ScriptedMessage] = &[
            (100, "1", "1", "m do look append look"),
            (900, "2", "2", "m do append+look"),
            (20_000, "2", "2", "m do look"),
        ];
        let ended = troubled(1, talk, &[(at, ScheduledFault::LabelPanics)]);
        sound(&ended, 2 * MINUTE);
        let broke = ended.taken.iter().filter(|taken| taken.text.contains("Something broke inside me")).count();
        // By then nothing is at work. What panics as the last message's run is foreseen is tried again by that run.
        let is_quiet = at >= 7_500;
        assert_eq!(broke, usize::from(!is_quiet), "{at}\n{}", ended.trace.join("\n"));
        assert_eq!(ended.taken.len(), 3, "{at}\n{}", ended.trace.join("\n"));
    }
}
