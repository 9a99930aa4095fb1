//! SIGTERM: what runs is finished or suspended, and the process leaves in time.

use rustix::process::Signal;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, TestHob};

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

#[tokio::test]
async fn an_idle_hob_leaves() {
    let mut hob = TestHob::running("").await;
    assert!(hob.stop().await.success());
}

#[tokio::test]
async fn a_run_that_can_be_finished_is() {
    let mut hob = TestHob::running("").await;
    let gate = Gate::default();
    hob.model.reply(gated(&gate, "Tea, then."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    hob.process().signal(Signal::TERM);
    hob.process().until_log("hob.stopping").await;
    hob.say(ADA, "Too late for this one");
    gate.open();
    assert!(hob.process().ended().await.success());
    assert_eq!(hob.heard(ADA), ["Tea, then."]);
    hob.process = None;
    hob.model.reply(Reply::text("Now this one."));
    hob.start().await;
    assert_eq!(hob.told(ADA, 2).await[1], "Now this one.");
}

#[tokio::test]
async fn b9_a_run_that_takes_too_long_goes_on_after_the_start() {
    let mut hob = TestHob::running("[daemon]\ndrain_secs = 1").await;
    for _ in 0..4 {
        // More often than a run may crash: stopping is no crash.
        hob.model.reply(gated(&Gate::default(), "Never."));
    }
    hob.model.reply(Reply::text("At last."));
    hob.say(ADA, "Go");
    for asked in 1..=4 {
        hob.asked(asked).await;
        assert!(hob.stop().await.success());
        hob.start().await;
    }
    assert_eq!(hob.told(ADA, 1).await, ["At last."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn b10_a_command_in_doubt_is_asked_about_and_killed() {
    let mut hob = TestHob::with(
        r#"[daemon]
        drain_secs = 1
        [tools.hang]
        sandbox = false
        trusted_output = true
        description = "Hangs."
        command = ["/bin/sh", "-c", "exec 3> $HOME/hold; sleep 600 & echo up >&3; wait"]"#,
    )
    .await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("hang", "{}"));
    hob.say(ADA, "Go");
    hold.line().await;
    assert!(hob.stop().await.success());
    hold.abandoned().await;
    hob.start().await;
    assert!(hob.told(ADA, 1).await[0].contains("1. it happened\n2. run it again\n3. give up"));
}

#[tokio::test]
async fn an_answer_that_telegram_does_not_take_does_not_hold_it_up() {
    let mut hob = TestHob::running("[daemon]\ndrain_secs = 1").await;
    hob.telegram.fault("sendMessage", Fault::Hang);
    hob.model.reply(Reply::text("Once."));
    hob.say(ADA, "Go");
    hob.telegram.until_true("attempt", |world| world.called("sendMessage") == 1).await;
    hob.process().signal(Signal::TERM);
    assert!(hob.process().ended().await.success());
    assert!(hob.process().log().contains("outbox.cut_off"), "it did not wait for Telegram's own deadline");
    hob.process = None;
    hob.start().await;
    assert!(hob.told(ADA, 1).await[0].ends_with("\nOnce."));
}

#[tokio::test]
async fn sigint_ends_it_as_well() {
    let mut hob = TestHob::running("").await;
    hob.process().signal(Signal::INT);
    assert!(hob.process().ended().await.success());
}
