//! SIGTERM: what runs is finished or suspended, and the process leaves in time.

use rustix::process::Signal;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fifo::Fifo;
use hob_testkit::house::{ADA, House};

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

#[tokio::test]
async fn an_idle_hob_leaves() {
    let mut house = House::running("").await;
    assert!(house.stop().await.success());
}

#[tokio::test]
async fn a_run_that_can_be_finished_is() {
    let mut house = House::running("").await;
    let gate = Gate::default();
    house.model.reply(gated(&gate, "Tea, then."));
    house.say(ADA, "Go");
    house.asked(1).await;
    house.hob().signal(Signal::TERM);
    house.hob().until_log("hob.stopping").await;
    house.say(ADA, "Too late for this one");
    gate.open();
    assert!(house.hob().ended().await.success());
    assert_eq!(house.heard(ADA), ["Tea, then."]);
    house.hob = None;
    house.model.reply(Reply::text("Now this one."));
    house.start().await;
    assert_eq!(house.told(ADA, 2).await[1], "Now this one.");
}

#[tokio::test]
async fn b9_a_run_that_takes_too_long_goes_on_after_the_start() {
    let mut house = House::running("[daemon]\ndrain_secs = 1").await;
    for _ in 0..4 {
        // More often than a run may crash: stopping is no crash.
        house.model.reply(gated(&Gate::default(), "Never."));
    }
    house.model.reply(Reply::text("At last."));
    house.say(ADA, "Go");
    for asked in 1..=4 {
        house.asked(asked).await;
        assert!(house.stop().await.success());
        house.start().await;
    }
    assert_eq!(house.told(ADA, 1).await, ["At last."]);
    house.nothing_refused();
}

#[tokio::test]
async fn b10_a_command_in_doubt_is_asked_about_and_killed() {
    let mut house = House::with(
        r#"[daemon]
        drain_secs = 1
        [tools.hang]
        sandbox = false
        trusted_output = true
        description = "Hangs."
        command = ["/bin/sh", "-c", "exec 3> $HOME/hold; sleep 600 & echo up >&3; wait"]"#,
    )
    .await;
    let mut hold = Fifo::make(&house.path("hold"));
    house.start().await;
    house.model.reply(Reply::call("hang", "{}"));
    house.say(ADA, "Go");
    hold.line().await;
    assert!(house.stop().await.success());
    hold.abandoned().await;
    house.start().await;
    assert!(house.told(ADA, 1).await[0].contains("1. it happened\n2. run it again\n3. give up"));
}

#[tokio::test]
async fn an_answer_that_telegram_does_not_take_does_not_hold_it_up() {
    let mut house = House::running("[daemon]\ndrain_secs = 1").await;
    house.telegram.fault("sendMessage", Fault::Hang);
    house.model.reply(Reply::text("Once."));
    house.say(ADA, "Go");
    house.telegram.until_true("attempt", |world| world.called("sendMessage") == 1).await;
    house.hob().signal(Signal::TERM);
    assert!(house.hob().ended().await.success());
    assert!(house.hob().log().contains("outbox.cut_off"), "it did not wait for Telegram's own deadline");
    house.hob = None;
    house.start().await;
    assert!(house.told(ADA, 1).await[0].ends_with("\nOnce."));
}

#[tokio::test]
async fn sigint_ends_it_as_well() {
    let mut house = House::running("").await;
    house.hob().signal(Signal::INT);
    assert!(house.hob().ended().await.success());
}
