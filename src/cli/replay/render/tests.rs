use super::*;
use hob_agent::machine::event::{Event, JournalMismatch};
use hob_agent::machine::testkit::{Script, answers, asks};
use hob_agent::replay::testkit::{busy, recorded};
use hob_agent::replay::what_if::{WhatIf, WhatIfChange, what_if};

#[test]
fn d8_a_tree_is_shown() {
    insta::assert_snapshot!(tree(&RunTree::of(&recorded(&busy()))), @r#"
    Run 12 of Anna in 7: completed
    2026-01-01 00:00:00 UTC, over after 1.7 s
    > hello

    Cycle 1: 10 tokens read (1 from cache), 2 written, price unknown
      asked a/one: failed in 100 ms (server error): no luck
      asked a/one: answered in 100 ms
      said: I'll look.
      look {"a":1} (1.0, 200 ms)
        = ok
      write_file {"a":1} (1.1, 200 ms)
        = failed: disk full [It failed. Don't make results up: try another way, or say plainly what is not known or not done.]

    Cycle 2: 10 tokens read (1 from cache), 2 written, price unknown
      asked a/one: answered in 100 ms
      look {"a":1} (2.0, 100 ms)
        = ok

    Cycle 3: 10 tokens read (1 from cache), 2 written, price unknown
      asked a/one: answered in 100 ms
      said: It is full.
      * reply.made It is full.
      * run.ended completed

    ended by answer: 3 cycles, 30 tokens read (3 from cache), 6 written, price unknown
    "#);
}

#[test]
fn d8_a_waiting_run_is_shown() {
    let mut script = Script::acting(&["ask_human", "look"]);
    script.on(Event::SoftLimit);
    script.on(asks("1.0", "Red or blue?"));
    insta::assert_snapshot!(tree(&RunTree::of(&recorded(&script))), @r#"
    Run 12 of Anna in 7: running
    2026-01-01 00:00:00 UTC
    > hello

    Cycle 1: 10 tokens read (1 from cache), 2 written, price unknown
      asked a/one: answered in 100 ms
      ask_human {"a":1} (1.0, 300 ms)
        = Red or blue?
      look {"a":1} (1.1)
        no result yet
      * limit.soft

    not over: 1 cycle, 10 tokens read (1 from cache), 2 written, price unknown
    "#);
    script.on(hob_agent::machine::testkit::done("1.1"));
    script.on(answers("Blue."));
    let text = tree(&RunTree::of(&recorded(&script)));
    assert!(text.contains("* human.answered Blue.\n"), "{text}");
}

#[test]
fn d8_a_run_that_never_began_is_shown() {
    let mut script = Script::queued();
    script.on(Event::Withdrawn);
    insta::assert_snapshot!(tree(&RunTree::of(&recorded(&script))), @"
    Run 12 of Anna in 7: withdrawn
    2026-01-01 00:00:00 UTC, over after 200 ms
    > hello
    * input.withdrawn
    * run.ended withdrawn

    ended by withdrawn: 0 cycles, 0 tokens read, 0 written, $0.00
    ");
}

#[test]
fn n2_a_verdict_is_told() {
    let mut run = recorded(&busy());
    let honest = verdict(12, &ReplayVerdict::of(&run));
    assert!(honest.starts_with("Run 12: 18 events folded.\nThe journal replays to the same effects.\nThe state is the one that was written down: state1:"), "{honest}");
    run.state_hash = Some("state1:00".to_owned());
    let told = verdict(12, &ReplayVerdict::of(&run));
    assert!(told.contains("NOT THE SAME STATE:\n  written down state1:00\n  folded       state1:"), "{told}");
    run.state_hash = None;
    run.events.truncate(2);
    run.broken = Some(hob_agent::replay::UnreadableRow { seq: 3, what: "no event".to_owned() });
    let mut found = ReplayVerdict::of(&run);
    found.told = vec![JournalMismatch { seq: 2, expected: "a".to_owned(), actual: "b".to_owned() }];
    insta::assert_snapshot!(verdict(12, &found), @"
    Run 12: 2 events folded.
    NOT READABLE from event 3 on: no event
    The journal replays to the same effects.
    A person was told of this one while the run lived: event 2 of the journal should be a but is b.
    No hash of the state was written down: the run is older than such hashes, or was written off.
    ");
    run.state_hash = Some("state0:00".to_owned());
    let told = verdict(12, &ReplayVerdict::of(&run));
    assert!(
        told.ends_with("The state's hash was made by another edition (state0) and cannot be compared.\n"),
        "{told}"
    );
}

#[test]
fn n2_a_comparison_is_told() {
    let compared = |text: &str| {
        let change = WhatIfChange { what: WhatIf::parse(text).unwrap(), bills: Vec::new() };
        report(12, &what_if(&recorded(&busy()), &change).unwrap())
    };
    insta::assert_snapshot!(compared("[limits]\niterations = 1"), @"
    Run 12 under another policy: 6 events compared, nothing was called.
    After event 10 (tool.finished):
      was:      ask the model: work
      would be: ask the model: wrap_up_iterations
    It ends at event 10: the model would have been asked for something else (wrap_up_iterations instead of work), and what it would have answered is not on record.
    Was, up to there: running after 1 cycle, 10 tokens read (1 from cache), 2 written, price unknown
    Would be, up to there: running after 1 cycle, 10 tokens read (1 from cache), 2 written, price unknown
    ");
    insta::assert_snapshot!(compared("models = ['c/three']"), @"
    Run 12 under another policy: 9 events compared, nothing was called.
    Note: what another model or another prompt would have answered cannot be known: the recorded replies are taken as given.
    It would have decided the same.
    Asked after event 2: a/one, 105 tokens, price unknown; would be c/three, 105 tokens, price unknown
    Asked after event 4: a/one, 105 tokens, price unknown; would be c/three, 105 tokens, price unknown
    Asked after event 10: a/one, 198 tokens, price unknown; would be c/three, 198 tokens, price unknown
    Asked after event 14: a/one, 230 tokens, price unknown; would be c/three, 230 tokens, price unknown
    The record was followed to its end.
    Was: completed after 3 cycles, 30 tokens read (3 from cache), 6 written, price unknown
    Would be: completed after 3 cycles, 30 tokens read (3 from cache), 6 written, price unknown
    ");
    insta::assert_snapshot!(compared("[policy.truth]\nask_again = true"), @"
    Run 12 under another policy: 9 events compared, nothing was called.
    It would have decided the same.
    The record was followed to its end.
    Was: completed after 3 cycles, 30 tokens read (3 from cache), 6 written, price unknown
    Would be: completed after 3 cycles, 30 tokens read (3 from cache), 6 written, price unknown
    ");
}
