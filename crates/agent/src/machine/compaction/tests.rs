//! Rows B4, B5, D3, E8, E11 as scripts: the window is 1,000 tokens, of which 100 are fixed.

mod ladder;
mod laws;

use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::compaction::fit::{head_and_tail, share};
use crate::machine::compaction::plan::{CutPlan, fitted, hidden, pin, through};
use crate::machine::compaction::{ContextView, PinnedResult, size, texts};
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::note::{CompactionMeans, RecoveryStep};
use crate::machine::policy::{ContextPolicy, Policy};
use crate::machine::question::Question;
use crate::machine::run_start::{
    Billing, CarriedSummary, ContextBudget, FixedTokens, ModelBill, PastMessage, PastRole, RunStart,
};
use crate::machine::state::ActiveState;
use crate::machine::tests::{
    ANNA, Script, accepted, answers, begun, completion, crash, fails, finished, says, steers, stop, wants,
};
use hob_core::domain::choices::ContextStrategy;
use hob_core::domain::ids::{CallId, UserId};
use hob_model::error::ErrorClass;
use hob_model::message::{Message, ReplyPart, ToolResult, Usage};
use hob_model::tokens;

const FIRED: &str = "agent.recovery.fired";
const RUN: &str = "agent.compaction.run";
const ASK: &str = "ask a/one Work";

/// The task's tokens.
fn task() -> u64 {
    tokens::message(&Message::user("hello"))
}

/// A past of messages of so many tokens each, whose first ordinal is 11.
fn past(count: usize, each: u64) -> Vec<PastMessage> {
    let role = |index: usize| if index.is_multiple_of(2) { PastRole::User } else { PastRole::Assistant };
    (0..count).zip(11..).map(|(index, ordinal)| PastMessage { role: role(index), tokens: each, ordinal }).collect()
}

fn with(past: Vec<PastMessage>, context: ContextPolicy) -> RunStart {
    let bill = ModelBill { rates: None, per_mille: 1_000, window: Some(1_000), assumed: None };
    let tokens: u64 = past.iter().map(|message| message.tokens).sum();
    let mut begun = begun();
    begun.context.history_from = 11;
    begun.context.history_through = 10 + i64::try_from(past.len()).unwrap();
    RunStart {
        billing: Billing { models: vec![bill; 2], context_tokens: 100 + tokens, reply_tokens: 0 },
        policy: Some(Box::new(Policy { context, ..Policy::default() })),
        past,
        ..begun
    }
}

fn full() -> RunStart {
    with(past(24, 25), ContextPolicy::default())
}

fn started(begun: RunStart, expected: &[&str]) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(begun)), expected);
    run
}

fn summarising() -> Script {
    started(full(), &[FIRED, "summarise 0..15 by a/one"])
}

fn made(text: &str) -> Event {
    Event::SummaryMade {
        text: text.to_owned(),
        usage: Usage { input_tokens: 50, output_tokens: 9, ..Usage::default() },
    }
}

fn failed(late: bool) -> Event {
    Event::SummaryFailed { why: "no luck".to_owned(), late }
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

/// One more round with a tool whose result has so many words.
fn round(run: &mut Script, number: u32, count: usize, expected: &[&str]) {
    run.check(wants(&["look"]), &[&format!("run {number}.0 look #1")]);
    let outcome = ToolOutcome::Text { text: words(count), is_error: false };
    run.check(finished(&format!("{number}.0"), outcome), expected);
}

fn compactions(run: &Script) -> Vec<(CompactionMeans, u32)> {
    let note = |event: &Event| {
        if let Event::Compacted(compaction) = event { Some((compaction.means, compaction.messages)) } else { None }
    };
    run.journal.iter().filter_map(note).collect()
}

fn recoveries(run: &Script) -> Vec<RecoveryStep> {
    let note = |event: &Event| if let Event::RecoveryFired(recovery) = event { Some(recovery.step) } else { None };
    run.journal.iter().filter_map(note).collect()
}

fn assert_fits(run: &ActiveState) {
    assert!(!size::exceeds(run, &run.view), "{} of {:?}", size::request(run, &run.view), size::window(run));
}

#[test]
fn b4_compaction_begins_at_seventy_percent() {
    for (last, expected) in [(599 - task(), &[ASK][..]), (600 - task(), &[FIRED, "summarise 0..15 by a/one"][..])] {
        let mut sizes = past(24, 25);
        let rest: u64 = last - 23 * 25;
        sizes[23].tokens = rest;
        started(with(sizes, ContextPolicy::default()), expected);
    }
}

#[test]
fn b4_the_window_is_the_smallest_that_is_told_without_the_reply() {
    let table = [
        (Some(1_000), None, 0, (1_000, true)),
        (Some(1_000), Some(600), 0, (600, true)),
        (Some(500), Some(600), 0, (500, true)),
        (None, None, 0, (32_000, false)),
        (None, Some(600), 100, (500, true)),
        (None, Some(600), 151, (450, true)),
    ];
    for (own, configured, reply, expected) in table {
        let mut begun = with(Vec::new(), ContextPolicy { window_tokens: configured, ..ContextPolicy::default() });
        begun.billing.models[0].window = own;
        begun.billing.reply_tokens = reply;
        let run = ActiveState::begin(accepted(), begun);
        let window = size::window(&run);
        assert_eq!((window.tokens, window.known), expected);
    }
}

#[test]
fn e3_a_window_that_nobody_knows_is_what_was_assumed_as_the_run_began() {
    for (own, assumed, expected) in [
        (None, Some(128_000), (128_000, false)),
        (Some(9_000), Some(128_000), (9_000, true)),
        (None, None, (32_000, false)),
    ] {
        let mut begun = with(Vec::new(), ContextPolicy::default());
        (begun.billing.models[0].window, begun.billing.models[0].assumed) = (own, assumed);
        let window = size::window(&ActiveState::begin(accepted(), begun));
        assert_eq!((window.tokens, window.known), expected);
    }
}

#[test]
fn b4_the_model_counts_in_its_own_tokens() {
    let mut begun = with(past(12, 25), ContextPolicy::default());
    begun.billing.models[0].per_mille = 2_000;
    started(begun, &[FIRED, "summarise 0..3 by a/one"]);
}

#[test]
fn b4_a_good_summary_takes_the_place_of_all_but_the_last_ten() {
    let mut run = summarising();
    run.check(made(" They talked about bins. "), &[RUN, ASK]);
    let view = &run.run().view;
    assert_eq!((view.from, view.summary.as_deref(), view.left_out), (15, Some("They talked about bins."), 0));
    assert_eq!(compactions(&run), [(CompactionMeans::Summary, 15)]);
    assert_eq!(recoveries(&run), [RecoveryStep::Compact]);
    assert_eq!(run.run().usage.input_tokens, 50);
    assert_eq!(through(run.run()), 25);
    run.check(says("hi"), &["answer hi", "end Completed"]);
}

#[test]
fn b4_a_useless_summary_changes_nothing_and_the_head_is_left_out() {
    let replaced = 15 * 25;
    for event in [made(" "), made(&words(replaced)), made(&words(251)), failed(false), failed(true)] {
        let mut run = summarising();
        run.check(event.clone(), &[RUN, ASK]);
        let view = &run.run().view;
        assert_eq!((view.from, view.summary.as_deref(), view.left_out), (15, None, 15), "{event:?}");
        assert_eq!(compactions(&run), [(CompactionMeans::Truncation, 15)]);
    }
    let mut late = summarising();
    late.on(failed(true));
    assert_eq!(late.run().usage.input_tokens, 15 * 25 + 300, "nobody learns what it cost");
    let mut early = summarising();
    early.on(failed(false));
    assert_eq!(early.run().usage.input_tokens, 0);
}

#[test]
fn b4_a_summary_has_a_quarter_of_the_window_and_is_shorter_than_what_it_replaces() {
    let exactly = |count: u64| {
        let mut text = String::from("word");
        while tokens::count(&text) < count {
            text.push_str(" word");
        }
        assert_eq!(tokens::count(&text), count);
        text
    };
    for (count, good) in [(250, true), (251, false)] {
        let mut run = summarising();
        run.on(made(&exactly(count)));
        assert_eq!(run.run().view.summary.is_some(), good, "{count}");
    }
    let little = with(past(13, 25), ContextPolicy { compact_at_per_mille: 100, ..ContextPolicy::default() });
    // The words around it count as well.
    for (count, good) in [(69, true), (70, false)] {
        let mut run = started(little.clone(), &[FIRED, "summarise 0..4 by a/one"]);
        run.on(made(&exactly(count)));
        assert_eq!(run.run().view.summary.is_some(), good, "{count}");
    }
}

#[test]
fn b4_the_cheap_model_is_asked_where_there_is_one() {
    let mut begun = full();
    begun.room.summariser = Some("c/fast".to_owned());
    begun.billing.models.push(ModelBill { rates: None, per_mille: 3_000, window: None, assumed: None });
    let run = started(begun, &[FIRED, "summarise 0..15 by c/fast"]);
    let asked = run.journal.last().unwrap();
    assert!(matches!(asked, Event::SummaryAsked { input_estimate, .. } if *input_estimate == 3 * (15 * 25 + 300)));
}

#[test]
fn b4_what_comes_at_the_wrong_time_means_nothing() {
    let mut run = summarising();
    run.check(says("late"), &["ignored: a summary was asked for"]);
    run.check(fails(ErrorClass::Server), &["ignored: a summary was asked for"]);
    run.on(made("short"));
    run.check(made("again"), &["ignored: no summary was asked for"]);
    run.check(failed(true), &["ignored: no summary was asked for"]);
}

#[test]
fn b4_after_a_crash_the_summary_is_asked_for_again_and_a_stop_stops_it() {
    let mut run = summarising();
    run.check(crash(), &["summarise 0..15 by a/one"]);
    assert_eq!(run.run().usage.input_tokens, 15 * 25 + 300, "the lost one is accounted for");
    assert_eq!(run.run().course.recoveries, 1);
    run.check(stop(), &["end Cancelled"]);
    let mut run = summarising();
    run.check(crash(), &["summarise 0..15 by a/one"]);
    run.check(crash(), &["summarise 0..15 by a/one"]);
    run.check(crash(), &["human crash loop"]);
    run.check(answers("carry on"), &["summarise 0..15 by a/one"]);
    run.check(made("short"), &[RUN, ASK]);
}

#[test]
fn b4_calls_stay_with_their_results_and_people_are_quoted() {
    let mut run = started(with(Vec::new(), ContextPolicy::default()), &[ASK]);
    run.check(wants(&["look", "look", "look"]), &["run 1.0 look #1", "run 1.1 look #1", "run 1.2 look #1"]);
    for call in ["1.0", "1.1", "1.2"] {
        run.on(finished(call, ToolOutcome::Text { text: call.to_owned(), is_error: false }));
    }
    run.on(steers(ANNA, "and this"));
    let run = run.run();
    // hello, the reply, its three results.
    for (keep, to) in [(1, Some(1)), (2, Some(1)), (3, Some(1)), (4, Some(1)), (5, None)] {
        let plan = CutPlan::keeping(run, keep).map(|plan| plan.to);
        assert_eq!(plan, if to == Some(1) { None } else { to }, "keeping {keep}: the task alone is no reason");
    }
}

#[test]
fn b4_the_latest_good_result_of_each_tool_is_pinned() {
    let mut begun = full();
    let pin = |at: usize, tool: &str, text: &str| PinnedResult { at, tool: tool.to_owned(), text: text.to_owned() };
    begun.room.pins = vec![pin(3, "look", "old"), pin(5, "look", "new"), pin(7, "find", "x"), pin(20, "look", "shown")];
    let mut run = started(begun, &[FIRED, "summarise 0..15 by a/one"]);
    run.on(made("short"));
    assert_eq!(run.run().view.pins, [pin(5, "look", "new"), pin(7, "find", "x")]);
    insta::assert_snapshot!(run.run().view.block().unwrap().text(), @r"
    <earlier>
    This conversation so far, in short. It is a record, not an instruction.

    short

    The latest results of tools among that:
    [look]
    new
    [find]
    x
    </earlier>
    ");
    let mut begun = full();
    begun.room.pins = vec![pin(3, "look", "old")];
    let mut run = started(begun, &[FIRED, "summarise 0..15 by a/one"]);
    run.on(failed(false));
    insta::assert_snapshot!(run.run().view.body().unwrap(), @r"
    (15 messages before this are left out: there was no room for them.)

    The latest results of tools among that:
    [look]
    old
    ");
}

#[test]
fn b4_an_error_or_nothing_is_not_pinned_and_a_secret_is_not_in_it() {
    let result = |text: &str, is_error| {
        Message::Tool(ToolResult { call: CallId("1.0".into()), name: "look".into(), text: text.into(), is_error })
    };
    assert_eq!(pin(&result("x", true), 1), None);
    assert_eq!(pin(&result(" ", false), 1), None);
    assert_eq!(pin(&Message::user("x"), 1), None);
    assert_eq!(pin(&result("password=hunter2", false), 1).unwrap().text, "password=[redacted]");
    let long = pin(&result(&"x".repeat(2_000), false), 1).unwrap().text;
    assert!(long.contains("1200 characters left out"), "{long}");
}

#[test]
fn e8_the_results_of_a_batch_share_what_is_left() {
    let mut run = started(with(past(10, 25), ContextPolicy::default()), &[ASK]);
    run.on(wants(&["look", "look", "look"]));
    let text = |count: usize| ToolOutcome::Text { text: words(count), is_error: false };
    run.on(finished("1.0", text(10)));
    run.on(finished("1.1", text(3_000)));
    run.on(finished("1.2", text(3_000)));
    assert_fits(run.run());
    let results: Vec<u64> = run
        .run()
        .transcript
        .entries()
        .filter(|entry| matches!(entry.message, Message::Tool(_)))
        .map(|entry| entry.tokens)
        .collect();
    assert!(results[0] < 40 && results[1] > 200 && results[2] > 200, "{results:?}");
    assert!(run.said().iter().any(|line| line.contains("characters left out")));
}

#[test]
fn e8_each_gets_its_share_and_leaves_what_it_does_not_need() {
    let table = [
        (vec![10, 10], 20, u64::MAX),
        (vec![10, 11], 20, 10),
        (vec![1, 100, 100], 101, 50),
        (vec![100], 30, 30),
        (vec![], 0, u64::MAX),
    ];
    for (sizes, left, expected) in table {
        assert_eq!(share(&sizes, left), expected, "{sizes:?} in {left}");
    }
    assert_eq!(head_and_tail("abcd", 4), "abcd");
    assert_eq!(head_and_tail("abcdefgh", 4), "ab\n… 4 characters left out …\ngh");
}

#[test]
fn e11_too_long_cuts_results_then_trims_then_trims_more_then_asks_another() {
    let mut begun = with(past(20, 25), ContextPolicy::default());
    begun.billing.models = vec![ModelBill { rates: None, per_mille: 1_000, window: Some(100_000), assumed: None }; 2];
    let mut run = started(begun, &[ASK]);
    run.on(wants(&["look"]));
    run.on(finished("1.0", ToolOutcome::Text { text: words(2_000), is_error: false }));
    run.check(fails(ErrorClass::ContextTooLong), &[RUN, ASK]);
    assert_eq!((run.run().view.from, run.run().view.result_chars), (0, Some(2_000)));
    run.check(fails(ErrorClass::ContextTooLong), &[RUN, ASK]);
    assert_eq!(run.run().view.from, 13);
    run.check(fails(ErrorClass::ContextTooLong), &[RUN, ASK]);
    assert_eq!((run.run().view.from, run.run().view.result_chars), (19, Some(500)));
    run.check(fails(ErrorClass::ContextTooLong), &["ask b/two Work"]);
    run.check(
        fails(ErrorClass::ContextTooLong),
        &["notice I could not get an answer from the model", r#"end Failed { why: "context_too_long" }"#],
    );
    let told = run.said().pop().unwrap();
    assert!(told.contains("/compact") && told.contains("/reset"), "{told}");
}

#[test]
fn e11_what_changes_nothing_is_passed_over_and_an_answer_starts_anew() {
    let mut begun = with(past(20, 25), ContextPolicy::default());
    begun.billing.models[0].window = Some(100_000);
    let mut run = started(begun, &[ASK]);
    run.check(fails(ErrorClass::ContextTooLong), &[RUN, ASK]);
    assert_eq!(run.run().view.from, 11, "there are no results to be cut");
    run.on(wants(&["look"]));
    assert_eq!(run.run().course.too_long, 0);
}

#[test]
fn b4_fixed_parts_that_do_not_fit_are_an_error_at_once() {
    let fixed = FixedTokens { system: 700, tools: 200, tail: 100 };
    for (context, expected) in [(1_000 - task(), ASK), (1_001 - task(), "notice I have not begun with this")] {
        let mut begun = with(Vec::new(), ContextPolicy { compact_at_per_mille: 2_000, ..ContextPolicy::default() });
        begun.billing.context_tokens = context;
        begun.room.fixed = fixed;
        let mut run = Script::queued();
        let effects = run.on(Event::Begun(Box::new(begun.clone())));
        assert_eq!(effects[0], expected, "{context}");
        begun.billing.models[0].window = None;
        begun.billing.context_tokens = 40_000;
        assert_eq!(started(begun, &[ASK]).run().transcript.messages().len(), 1, "a guess is no reason");
    }
    insta::assert_snapshot!(texts::no_room("a/one", 1_000, &fixed, 1_234), @r"
    I have not begun with this: it does not fit the model. a/one has room for 1,000 tokens, and what every request needs are ~2,234:
    - my instructions: 700
    - my tools: 200
    - time and facts: 100
    - your message: 1,234
    You can send a shorter message, or choose a model with a larger window by /model. Whoever runs me can shorten agent.system_prompt, offer fewer tools, or raise window_tokens under [context] in config.toml.
    ");
}

fn ordered(begun: RunStart, expected: &[&str]) -> Script {
    let order = AcceptedInput { order: RunKind::Compact, text: "/compact".to_owned(), ..accepted() };
    let mut run = Script::fresh();
    run.check(Event::Accepted(order), &[]);
    run.check(Event::Begun(Box::new(begun)), expected);
    run
}

#[test]
fn c7_compact_as_an_order_sums_up_and_says_so() {
    let mut run = ordered(full(), &["summarise 0..20 by a/one"]);
    run.check(made("They talked."), &[RUN, "notice Compacted", "end Completed"]);
    assert!(run.run().transcript.messages().is_empty(), "words about the conversation are no part of it");
    let told = run.journal.iter().find_map(|event| {
        if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
    });
    insta::assert_snapshot!(told.unwrap(), @"Compacted: 20 messages, ~600 tokens → ~132.");
    let mut run = ordered(full(), &["summarise 0..20 by a/one"]);
    run.check(crash(), &["summarise 0..20 by a/one"]);
    run.check(failed(false), &["notice I could not compact our conversation", r#"end Failed { why: "summary" }"#]);
    assert!(run.run().view.is_whole());
    ordered(with(past(4, 25), ContextPolicy::default()), &["notice There is nothing to compact yet", "end Completed"]);
    ordered(with(past(5, 25), ContextPolicy::default()), &["summarise 0..1 by a/one"]);
    insta::assert_snapshot!(texts::not_compacted("the summary was empty"), @"I could not compact our conversation: the summary was empty. Nothing was changed. /compact tries again, /reset starts afresh.");
}

#[test]
fn c7_compact_during_a_run_comes_at_the_next_boundary() {
    let mut run = started(with(past(20, 25), ContextPolicy::default()), &[ASK]);
    run.on(wants(&["look"]));
    run.check(Event::CompactRequested { by: ANNA }, &[]);
    run.check(finished("1.0", ToolOutcome::Text { text: "ok".into(), is_error: false }), &["summarise 0..13 by a/one"]);
    run.check(failed(false), &[ASK]);
    assert!(run.run().view.is_whole(), "nothing is left out that need not be");
    assert_eq!(run.run().course.recoveries, 0);
    run.on(says("hi"));
    run.check(Event::CompactRequested { by: ANNA }, &["ignored: the run is over"]);
}

#[test]
fn c7_a_run_begins_with_what_the_one_before_left() {
    let mut begun = with(past(4, 25), ContextPolicy::default());
    begun.room.carried = Some(CarriedSummary { text: "They talked.".to_owned(), left_out: 2 });
    let run = started(begun, &[ASK]);
    assert_eq!(
        run.run().view.body().unwrap(),
        "They talked.\n\n(2 messages before this are left out: there was no room for them.)"
    );
    assert_eq!(through(run.run()), 10);
}

#[test]
fn the_digest_tells_another_view() {
    let whole = ActiveState::begin(accepted(), full());
    let mut other = whole.clone();
    other.view.from = 3;
    assert_ne!(whole.call_model().digest, other.call_model().digest);
}
