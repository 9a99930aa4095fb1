//! The recovery ladder (row B5), and the other ways to keep within the window (row D3).

use super::*;

#[test]
fn b5_compact_then_prune_then_ask_and_at_most_four() {
    let mut run = summarising();
    run.check(made("short"), &[RUN, ASK]);
    // R2, R3 as soon as it fills again.
    let context = size::request(run.run(), &run.run().view);
    assert!(context < 700, "{context}");
    round(&mut run, 1, 400, &[FIRED, RUN, ASK]);
    assert_eq!(recoveries(&run), [RecoveryStep::Compact, RecoveryStep::DeepPrune]);
    round(&mut run, 2, 400, &[FIRED, "human context full"]);
    run.check(answers("keep going"), &[RUN, ASK]);
    assert_fits(run.run());
    round(&mut run, 3, 600, &[FIRED, "human context full"]);
    run.check(answers("2"), &["notice Given up", "end GivenUp"]);
    assert_eq!(run.run().course.recoveries, 4);
}

#[test]
fn b5_a_deep_prune_tells_of_the_calls_of_earlier_tasks() {
    let mut begun = full();
    begun.past.iter_mut().skip(2).step_by(4).for_each(|message| message.role = PastRole::Tool);
    let run = started(begun, &[FIRED, "summarise 0..15 by a/one"]);
    let told = CutPlan::keeping(run.run(), 4).unwrap().deeply(run.run()).pruned.unwrap();
    insta::assert_snapshot!(told, @"[deep pruned: 21 messages, without a summary; called in them: 5 times in earlier tasks]");
}

#[test]
fn b5_after_the_last_recovery_the_oldest_is_left_out_without_a_word() {
    let mut begun = full();
    begun.policy.as_mut().unwrap().context.recoveries_max = 0;
    let mut run = started(begun, &[RUN, ASK]);
    assert!(!size::crosses(run.run(), &run.run().view, 501));
    assert!(recoveries(&run).is_empty());
    assert_eq!(compactions(&run)[0].0, CompactionMeans::Truncation);
    run.check(says("hi"), &["answer hi", "end Completed"]);
}

#[test]
fn b5_a_recovery_long_ago_is_no_reason_for_the_next_step() {
    for (span, steps) in [(1, RecoveryStep::DeepPrune), (0, RecoveryStep::Compact)] {
        let mut begun = full();
        begun.policy.as_mut().unwrap().context.recovery_span = span;
        let mut run = started(begun, &[FIRED, "summarise 0..15 by a/one"]);
        run.on(made("short"));
        run.on(wants(&["look"]));
        run.on(finished("1.0", ToolOutcome::Text { text: words(400), is_error: false }));
        assert_eq!(recoveries(&run), [RecoveryStep::Compact, steps]);
    }
}

#[test]
fn b5_free_words_are_a_new_direction() {
    let mut run = summarising();
    run.on(made("short"));
    round(&mut run, 1, 400, &[FIRED, RUN, ASK]);
    round(&mut run, 2, 400, &[FIRED, "human context full"]);
    run.check(crash(), &[]);
    run.check(answers("Just tell me the sum"), &[RUN, ASK]);
    let said = run.said();
    assert_eq!(said.last().unwrap(), "user: Just tell me the sum");
    let shown = run.run().view.of_transcript(&run.run().transcript, run.run().past.len());
    assert!(shown.iter().any(|message| message.text() == "hello"), "the task is quoted");
    assert_eq!(shown.last().unwrap().text(), "Just tell me the sum");
    insta::assert_snapshot!(crate::machine::texts::question(&Question::ContextFull), @"I have made progress, but my memory of this task fills faster than I can empty it. Shall I keep going with less of it in mind, or stop? Or tell me in your own words what to do instead.");
}

#[test]
fn d3_the_rolling_window_goes_down_to_half_at_eighty_percent() {
    let rolling = ContextPolicy { strategy: ContextStrategy::RollingWindow, ..ContextPolicy::default() };
    let mut sizes = past(28, 25);
    sizes[27].tokens = 25 - task() - 1;
    started(with(sizes.clone(), rolling.clone()), &[ASK]);
    sizes[27].tokens += 1;
    let run = started(with(sizes, rolling), &[RUN, ASK]);
    let used = size::request(run.run(), &run.run().view);
    assert!((450..500).contains(&used), "{used}");
    assert_eq!(compactions(&run)[0].0, CompactionMeans::Window);
    assert!(run.run().view.body().unwrap().starts_with("(1"), "{:?}", run.run().view.body());
}

#[test]
fn d3_summaries_are_periodic_a_few_times_and_then_it_rolls() {
    let context = ContextPolicy {
        strategy: ContextStrategy::PeriodicSummary,
        roll_at_per_mille: 500,
        summaries_max: 2,
        ..ContextPolicy::default()
    };
    let mut run = started(with(past(24, 25), context), &["summarise 0..15 by a/one"]);
    run.check(made("one"), &[RUN, ASK]);
    for number in 1..5 {
        run.on(wants(&["look"]));
        let effects = run.on(finished(&format!("{number}.0"), ToolOutcome::Text { text: words(150), is_error: false }));
        if effects.iter().any(|effect| effect.starts_with("summarise")) {
            run.check(made("two"), &[RUN, ASK]);
        }
    }
    let means: Vec<CompactionMeans> = compactions(&run).into_iter().map(|(means, _)| means).collect();
    assert_eq!(means[..2], [CompactionMeans::Summary; 2]);
    assert!(means.len() > 2 && means[2..].iter().all(|means| *means == CompactionMeans::Window), "{means:?}");
    assert!(recoveries(&run).is_empty());
}
