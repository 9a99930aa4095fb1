//! Standing still: one conversation, or everything (rows B7, E1).

use hob_testkit::fake_model::Reply;
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};

/// A tool that says when it is under way, and waits for a word.
const HOLD: &str = r#"[tools.hold]
sandbox = false
trusted_output = true
description = "Holds."
command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go; echo held"]
idempotent = true
"#;

/// Hob in the middle of a tool for Ada.
async fn at_work() -> (TestHob, Fifo, Fifo) {
    let mut hob = TestHob::with(HOLD).await;
    let (mut up, go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("hold", "{}"));
    hob.say(ADA, "Go");
    assert_eq!(up.line().await, "up");
    (hob, up, go)
}

#[tokio::test]
async fn e1_a_conversation_is_paused_at_a_safe_boundary_and_goes_on() {
    let (mut hob, _up, mut go) = at_work().await;
    hob.say(ADA, "/pause");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"Paused: I finish the step that I am at and stand still then. What you send waits until /resume; /stop ends it.");
    hob.say(ADA, "And tea");
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @"Taken in; it waits. This conversation is paused, by Person 7. It goes on with /resume.");
    go.tell("go").await;
    hob.process().until_logged("agent_run.paused", 1).await;
    // Nobody else waits for it.
    assert_eq!(hob.ask(BOB, "Hello", Reply::text("Hello Bob.")).await, "Hello Bob.");
    assert_eq!(hob.model.requests().len(), 2, "the model is not asked");
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 3).await.remove(2);
    assert!(status.contains("\npaused: this conversation, by Person 7\n"), "{status}");
    hob.model.reply(Reply::text("Held."));
    hob.model.reply(Reply::text("Tea."));
    hob.say(ADA, "/resume");
    assert_eq!(hob.told(ADA, 6).await[3..], ["I go on.", "Held.", "Tea."]);
    hob.say(ADA, "/resume");
    insta::assert_snapshot!(hob.told(ADA, 7).await[6], @"Nothing is paused here.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_a_paused_run_is_cancelled_at_once_and_without_a_word() {
    let (mut hob, _up, mut go) = at_work().await;
    hob.say(ADA, "/pause");
    hob.told(ADA, 1).await;
    go.tell("go").await;
    hob.process().until_logged("agent_run.paused", 1).await;
    hob.say(ADA, "/stop");
    hob.process().until_ended(1).await;
    assert_eq!(hob.told(ADA, 2).await[1], "Stopped.");
    hob.model.reply(Reply::text("Fresh."));
    hob.say(ADA, "Anew");
    hob.say(ADA, "/resume");
    assert_eq!(hob.told(ADA, 5).await[3..], ["I go on.", "Fresh."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_the_emergency_stop_survives_a_restart() {
    let (mut hob, mut up, mut go) = at_work().await;
    hob.say(ADA, "/pause all");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"Only an owner can pause or resume everything. /pause and /resume alone are for this conversation.");
    hob.say(OWNER, "/pause all");
    insta::assert_snapshot!(hob.told(OWNER, 1).await[0], @"Everything is paused, in every conversation, and stays so over restarts. What I am at stands still after its present step; what arrives waits. Commands still work. /resume all lets it go on.");
    hob.recorded(2).await;
    hob.restart().await;
    hob.process().until_logged("agent_run.paused", 1).await;
    hob.say(BOB, "Hello");
    insta::assert_snapshot!(hob.told(BOB, 1).await[0], @"Taken in; it waits. Everything is paused, by Person 1. It goes on when an owner says /resume all.");
    hob.say(BOB, "/resume");
    assert!(hob.told(BOB, 2).await[1].starts_with("Everything is paused, by Person 1."));
    hob.say(BOB, "/status");
    let status = hob.told(BOB, 3).await.remove(2);
    assert!(status.contains("\npaused: everything, by Person 1\n"), "{status}");
    hob.recorded(3).await;
    hob.restart().await;
    hob.say(BOB, "/resume all");
    hob.told(BOB, 4).await;
    assert_eq!(hob.model.requests().len(), 1, "nothing was asked since");
    hob.model.otherwise(|asked| Reply::text(if asked.last_role() == "tool" { "Held." } else { "Hello Bob." }));
    hob.say(OWNER, "/resume all");
    assert_eq!(up.line().await, "up", "what was under way and may run twice is run again");
    go.tell("go\ngo").await;
    assert_eq!(hob.told(ADA, 2).await[1], "Held.");
    assert_eq!(hob.told(BOB, 5).await[4], "Hello Bob.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_only_who_may_stop_a_run_may_pause_it() {
    let mut hob = TestHob::running("").await;
    hob.say(BOB, "/pause");
    insta::assert_snapshot!(hob.told(BOB, 1).await[0], @"Paused. What you send waits until /resume.");
    hob.say(BOB, "/pause");
    insta::assert_snapshot!(hob.told(BOB, 2).await[1], @"This conversation is paused, by Person 8. It goes on with /resume.");
    hob.model.reply(Reply::text("Here."));
    hob.say(BOB, "Hello");
    hob.told(BOB, 3).await;
    hob.recorded(3).await;
    hob.restart().await;
    hob.say(BOB, "/resume");
    assert_eq!(hob.told(BOB, 5).await[3..], ["I go on.", "Here."]);
    hob.nothing_refused();
}
