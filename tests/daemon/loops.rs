//! Loops that a persona declares (rows D1, D2, D7): they end by their own conditions, as their users meet it.

use hob_testkit::fake_model::Reply;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, TestHob};

/// A tester in three steps, and a tool that tells how many tests fail: none, from the second look on.
const TESTER: &str = r#"
[agent]
persona = "tester"
[tools.run_tests]
sandbox = false
trusted_output = true
description = "Runs the tests."
command = ["/bin/sh", "-c", "echo look >> $HOME/looks; test $(wc -l < $HOME/looks) -gt 1 && echo '0 failed' || { echo '2 failed'; exit 1; }"]
[tools.mend]
sandbox = false
trusted_output = true
description = "Mends something."
command = ["/bin/echo", "mended"]
[personas.tester]
prompt = "You mend what the tests find. Say DONE when it is done."
[personas.tester.loop]
max_cycles = 4
"#;

async fn tester(terminate: &str) -> TestHob {
    TestHob::running(&format!("{TESTER}terminate = [{terminate}]")).await
}

#[tokio::test]
async fn d7_a_reply_without_the_agreed_words_is_nudged_and_the_words_end_the_loop() {
    let hob = tester("{ when = 'text-includes', text = 'DONE' }").await;
    hob.model.reply(Reply::text("I shall run the tests now."));
    hob.model.reply(Reply::call("run_tests", "{}"));
    hob.model.reply(Reply::text("DONE: two tests fail."));
    hob.say(ADA, "Look at the tests");
    assert_eq!(hob.told(ADA, 1).await[0].lines().next(), Some("DONE: two tests fail."));
    let requests = hob.model.requests();
    assert_eq!(requests.len(), 3);
    let nudge = requests[1].last_text();
    assert!(nudge.starts_with("[This task is not at its end yet, and your reply called no tool."), "{nudge}");
    assert_eq!(hob.ask(ADA, "Thanks", Reply::text("DONE")).await, "DONE", "the next task is a loop of its own");
    hob.nothing_refused();
}

#[tokio::test]
async fn d2_a_result_ends_the_loop_without_another_word_of_the_model() {
    let hob = tester("{ when = 'tool-result', tool = 'run_tests', exit_code = 0, contains = '0 failed' }").await;
    hob.model.reply(Reply::call("run_tests", "{}"));
    hob.model.reply(Reply::call("mend", "{}"));
    hob.model.reply(Reply::call("run_tests", "{}"));
    hob.say(ADA, "Mend it");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"0 failed");
    assert_eq!(hob.model.requests().len(), 3, "the result was the end");
    assert_eq!(hob.lines("looks").len(), 2);
    hob.nothing_refused();
}

#[tokio::test]
async fn d2_cycles_that_are_used_up_are_told_as_what_they_are() {
    let hob = tester("{ when = 'text-includes', text = 'DONE' }").await;
    for look in 1..=4 {
        hob.model.reply(Reply::text(&format!("Look {look}: not yet.")));
    }
    hob.say(ADA, "Mend it");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"
    All 4 steps that this task may take are used up, and it has not come to its end. My last words on it were:
    Look 4: not yet.
    ");
    assert_eq!(hob.model.requests().len(), 4);
    hob.nothing_refused();
}

#[tokio::test]
async fn d2_a_ceiling_that_is_declared_completes_the_run_and_says_by_what_it_was_terminated() {
    // A reply costs seven cents.
    const PRICED: &str = "[models.'openai-compatible/fake']\ninput_usd = 1.0\noutput_usd = 10_000.0";
    const LOOPED: &str = "[personas.tester.loop]\nmax_cycles = 3\nterminate = [{ when = 'text-includes', text = 'DONE' }, \
                          { when = 'budget-exhausted' }]";
    for (persona, looped, asked, expected) in [
        ("run_usd = 0.1", "", 2, "budget-exhausted"),
        ("run_usd = 0.1", LOOPED, 2, "budget-exhausted"),
        ("run_usd = 5", LOOPED, 3, "max_cycles"),
        ("run_usd = 5", &LOOPED.replace("max_cycles = 3", "max_cycles = 9\nrun_usd = 0.05"), 1, "budget-exhausted"),
    ] {
        let settings = format!("{PRICED}\n[agent]\npersona = 'tester'\n[personas.tester]\n{persona}\n{looped}");
        let mut hob = TestHob::with(&settings).await;
        hob.model.otherwise(|_| Reply::call("current_time", "{}"));
        hob.start().await;
        hob.say(ADA, "Mend it");
        let told = hob.told(ADA, 1).await.pop().unwrap();
        assert!(told.contains("and it has not come to its end"), "{told}");
        assert_eq!(hob.model.requests().len(), asked, "{settings}");
        hob.ended(1).await;
        let output = hob_command(hob.home.path(), &["replay", "1", "--json"]).output().await.unwrap();
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&run["terminated_by"], &run["ok"]), (&expected.into(), &true.into()), "{run}");
        hob.nothing_refused();
    }
}

#[tokio::test]
async fn d1_a_loop_that_nothing_could_end_is_refused_at_the_start() {
    let hob = TestHob::with(&format!("{TESTER}terminate = [{{ when = 'budget-exhausted' }}]")).await;
    let mut process = hob_testkit::process::HobProcess::start(hob_command(hob.home.path(), &["run"]));
    assert!(!process.ended().await.success());
    let log = process.log();
    assert!(log.contains("personas.tester.loop.terminate: has nothing that could end the loop"), "{log}");
}
