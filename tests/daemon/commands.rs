//! Chat commands: answered at once, whatever is going on.

use crate::support::fake_model::{Gate, Reply, Script};
use crate::support::fifo::Fifo;
use crate::support::house::{ADA, BOB, House};
use crate::support::process::within;

/// Hob, while it waits for the model's answer to Ada; the gate lets "Late." through.
async fn at_work() -> (House, Gate) {
    let mut house = House::new().await;
    house.start().await;
    let gate = Gate::default();
    house.model.reply(Script::default().gate(&gate).text("Late.").finish("stop").into());
    house.say(ADA, "Take your time");
    house.asked(1).await;
    (house, gate)
}

#[tokio::test]
async fn commands_do_not_wait_behind_a_run() {
    let (house, gate) = at_work().await;
    for (count, command) in ["/help", "/status", "/queue", "/model", "/frobnicate", "/new"].iter().enumerate() {
        house.say(ADA, command);
        house.told(ADA, count + 1).await;
    }
    let told = house.heard(ADA);
    assert!(told[0].contains("/stop"), "{}", told[0]);
    assert!(told[1].contains("here: working, 0 queued") && told[1].contains("telegram: "), "{}", told[1]);
    insta::assert_snapshot!(told[2..].join("\n"), @"
    Nothing is waiting. (Mode: queue.)
    I use openai-compatible/fake. /model NAME chooses another, /auto lets each message choose:
      primary: openai-compatible/fake
    I don't know /frobnicate. /help lists what I do know.
    A new conversation. What you told me stays remembered.
    ");
    gate.open();
    assert_eq!(house.told(ADA, 7).await[6], "Late.");
}

#[tokio::test]
async fn b7_stop_drops_the_models_stream_and_what_is_queued_comes_next() {
    let (house, gate) = at_work().await;
    house.model.reply(Reply::text("Next."));
    house.say(ADA, "And then?");
    house.told(ADA, 1).await;
    house.say(ADA, "/stop");
    within("dropped stream", house.model.dropped(1)).await;
    gate.open();
    let told = house.told(ADA, 3).await;
    insta::assert_snapshot!(told.join("\n"), @"
    Queued, 1st.
    Stopped.
    Next.
    ");
    house.nothing_refused();
}

#[tokio::test]
async fn b7_stop_kills_the_command_with_all_it_started() {
    let mut house = House::with(
        r#"[tools.hang]
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
    assert_eq!(hold.line().await, "up");
    house.say(ADA, "/stop");
    hold.abandoned().await;
    assert_eq!(house.told(ADA, 1).await, ["Stopped."]);
    assert_eq!(house.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    assert_eq!(house.model.requests().len(), 2, "the stopped run did not go on");
    house.nothing_refused();
}

#[tokio::test]
async fn b7_stop_reaches_only_ones_own_conversation() {
    let (house, gate) = at_work().await;
    house.say(BOB, "/stop");
    insta::assert_snapshot!(house.told(BOB, 1).await[0], @"Nothing is running here.");
    gate.open();
    assert_eq!(house.told(ADA, 1).await, ["Late."]);
}

#[tokio::test]
async fn a_model_is_chosen_for_a_conversation() {
    let mut house = House::with("[provider.models]\nsmart = 'clever'").await;
    house.start().await;
    house.say(ADA, "/model smart");
    insta::assert_snapshot!(house.told(ADA, 1).await[0], @"From now on I use openai-compatible/clever here.");
    house.ask(ADA, "Go", Reply::text("Cleverly.")).await;
    house.ask(BOB, "Go", Reply::text("As ever.")).await;
    let asked: Vec<_> = house.model.requests().iter().map(|asked| asked.body["model"].to_string()).collect();
    assert_eq!(asked, ["\"clever\"", "\"fake\""]);
    house.say(ADA, "/model gone");
    insta::assert_snapshot!(house.told(ADA, 3).await[2], @r#"There is no model "gone". You can choose from: openai-compatible/fake, openai-compatible/clever. config.toml can name more."#);
}
