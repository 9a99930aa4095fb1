//! Standing still: one conversation, or everything (rows B7, E1).

use hob_testkit::fake_model::Reply;
use hob_testkit::fifo::Fifo;
use hob_testkit::house::{ADA, BOB, House, OWNER};

/// A tool that says when it is under way, and waits for a word.
const HOLD: &str = r#"[tools.hold]
sandbox = false
trusted_output = true
description = "Holds."
command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go; echo held"]
idempotent = true
"#;

/// Hob in the middle of a tool for Ada.
async fn at_work() -> (House, Fifo, Fifo) {
    let mut house = House::with(HOLD).await;
    let (mut up, go) = (Fifo::make(&house.path("up")), Fifo::make(&house.path("go")));
    house.start().await;
    house.model.reply(Reply::call("hold", "{}"));
    house.say(ADA, "Go");
    assert_eq!(up.line().await, "up");
    (house, up, go)
}

#[tokio::test]
async fn e1_a_conversation_is_paused_at_a_safe_boundary_and_goes_on() {
    let (mut house, _up, mut go) = at_work().await;
    house.say(ADA, "/pause");
    insta::assert_snapshot!(house.told(ADA, 1).await[0], @"Paused: I finish the step that I am at and stand still then. What you send waits until /resume; /stop ends it.");
    house.say(ADA, "And tea");
    insta::assert_snapshot!(house.told(ADA, 2).await[1], @"Taken in; it waits. This conversation is paused, by Person 7. It goes on with /resume.");
    go.tell("go").await;
    house.hob().until_logged("agent_run.paused", 1).await;
    // Nobody else waits for it.
    assert_eq!(house.ask(BOB, "Hello", Reply::text("Hello Bob.")).await, "Hello Bob.");
    assert_eq!(house.model.requests().len(), 2, "the model is not asked");
    house.say(ADA, "/status");
    let status = house.told(ADA, 3).await.remove(2);
    assert!(status.contains("\npaused: this conversation, by Person 7\n"), "{status}");
    house.model.reply(Reply::text("Held."));
    house.model.reply(Reply::text("Tea."));
    house.say(ADA, "/resume");
    assert_eq!(house.told(ADA, 6).await[3..], ["I go on.", "Held.", "Tea."]);
    house.say(ADA, "/resume");
    insta::assert_snapshot!(house.told(ADA, 7).await[6], @"Nothing is paused here.");
    house.nothing_refused();
}

#[tokio::test]
async fn b7_a_paused_run_is_cancelled_at_once_and_without_a_word() {
    let (mut house, _up, mut go) = at_work().await;
    house.say(ADA, "/pause");
    house.told(ADA, 1).await;
    go.tell("go").await;
    house.hob().until_logged("agent_run.paused", 1).await;
    house.say(ADA, "/stop");
    house.hob().until_ended(1).await;
    assert_eq!(house.told(ADA, 2).await[1], "Stopped.");
    house.model.reply(Reply::text("Fresh."));
    house.say(ADA, "Anew");
    house.say(ADA, "/resume");
    assert_eq!(house.told(ADA, 5).await[3..], ["I go on.", "Fresh."]);
    house.nothing_refused();
}

#[tokio::test]
async fn b7_the_emergency_stop_survives_a_restart() {
    let (mut house, mut up, mut go) = at_work().await;
    house.say(ADA, "/pause all");
    insta::assert_snapshot!(house.told(ADA, 1).await[0], @"Only an owner can pause or resume everything. /pause and /resume alone are for this conversation.");
    house.say(OWNER, "/pause all");
    insta::assert_snapshot!(house.told(OWNER, 1).await[0], @"Everything is paused, in every conversation, and stays so over restarts. What I am at stands still after its present step; what arrives waits. Commands still work. /resume all lets it go on.");
    house.recorded(2).await;
    house.restart().await;
    house.hob().until_logged("agent_run.paused", 1).await;
    house.say(BOB, "Hello");
    insta::assert_snapshot!(house.told(BOB, 1).await[0], @"Taken in; it waits. Everything is paused, by Person 1. It goes on when an owner says /resume all.");
    house.say(BOB, "/resume");
    assert!(house.told(BOB, 2).await[1].starts_with("Everything is paused, by Person 1."));
    house.say(BOB, "/status");
    let status = house.told(BOB, 3).await.remove(2);
    assert!(status.contains("\npaused: everything, by Person 1\n"), "{status}");
    house.recorded(3).await;
    house.restart().await;
    house.say(BOB, "/resume all");
    house.told(BOB, 4).await;
    assert_eq!(house.model.requests().len(), 1, "nothing was asked since");
    house.model.otherwise(|asked| Reply::text(if asked.last_role() == "tool" { "Held." } else { "Hello Bob." }));
    house.say(OWNER, "/resume all");
    assert_eq!(up.line().await, "up", "what was under way and may run twice is run again");
    go.tell("go\ngo").await;
    assert_eq!(house.told(ADA, 2).await[1], "Held.");
    assert_eq!(house.told(BOB, 5).await[4], "Hello Bob.");
    house.nothing_refused();
}

#[tokio::test]
async fn b7_only_who_may_stop_a_run_may_pause_it() {
    let mut house = House::running("").await;
    house.say(BOB, "/pause");
    insta::assert_snapshot!(house.told(BOB, 1).await[0], @"Paused. What you send waits until /resume.");
    house.say(BOB, "/pause");
    insta::assert_snapshot!(house.told(BOB, 2).await[1], @"This conversation is paused, by Person 8. It goes on with /resume.");
    house.model.reply(Reply::text("Here."));
    house.say(BOB, "Hello");
    house.told(BOB, 3).await;
    house.recorded(3).await;
    house.restart().await;
    house.say(BOB, "/resume");
    assert_eq!(house.told(BOB, 5).await[3..], ["I go on.", "Here."]);
    house.nothing_refused();
}
