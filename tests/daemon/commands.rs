//! Chat commands: answered at once, whatever is going on.

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fifo::Fifo;
use hob_testkit::process::within;
use hob_testkit::test_hob::{ADA, BOB, TestHob, command};

/// Hob, while it waits for the model's answer to Ada; the gate lets "Late." through.
async fn at_work() -> (TestHob, Gate) {
    let hob = TestHob::running("").await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).text("Late.").finish("stop").into());
    hob.say(ADA, "Take your time");
    hob.asked(1).await;
    (hob, gate)
}

#[tokio::test]
async fn commands_do_not_wait_behind_a_run() {
    let (hob, gate) = at_work().await;
    for (count, command) in ["/help", "/status", "/queue", "/model", "/frobnicate", "/new"].iter().enumerate() {
        hob.say(ADA, command);
        hob.told(ADA, count + 1).await;
    }
    let told = hob.heard(ADA);
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
    assert_eq!(hob.told(ADA, 7).await[6], "Late.");
}

#[tokio::test]
async fn b7_stop_drops_the_models_stream_and_what_is_queued_comes_next() {
    let (hob, gate) = at_work().await;
    hob.model.reply(Reply::text("Next."));
    hob.say(ADA, "And then?");
    hob.told(ADA, 1).await;
    hob.say(ADA, "/stop");
    within("dropped stream", hob.model.dropped(1)).await;
    gate.open();
    let told = hob.told(ADA, 3).await;
    insta::assert_snapshot!(told.join("\n"), @"
    Queued, 1st.
    Stopped.
    Next.
    ");
    hob.nothing_refused();
}

/// A tool that says when it is under way, waits for a word, and has done it then.
const PAY: &str = r#"sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", "exec 3> $HOME/up; echo up >&3; read word < $HOME/go; echo $word >> $HOME/paid; echo done"]"#;

/// Hob in the middle of a tool of this name.
async fn in_a_tool(name: &str, more: &str) -> (TestHob, Fifo, Fifo) {
    let mut hob = TestHob::with(&format!("[tools.{name}]\n{PAY}\n{more}")).await;
    let (mut up, go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call(name, "{}"));
    hob.say(ADA, "Go");
    assert_eq!(up.line().await, "up");
    (hob, up, go)
}

#[tokio::test]
async fn b7_a_tool_with_an_effect_is_not_cut_in_two() {
    let (mut hob, _up, mut go) = in_a_tool("pay", "").await;
    hob.say(ADA, "/stop");
    let waits = "Stopping once `pay` is done. /stop now ends it at once.";
    assert_eq!(hob.told(ADA, 1).await, [waits]);
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 2).await[1], waits, "it is still at work");
    go.tell("ten").await;
    hob.process().until_ended(1).await;
    assert_eq!(hob.lines("paid"), ["ten"], "it came to its own end");
    assert_eq!(hob.ask(ADA, "Did you?", Reply::text("Yes.")).await, "Yes.");
    let requests = hob.model.requests();
    assert_eq!(requests.len(), 2, "the stopped run did not go on, and said nothing");
    assert!(requests[1].body.to_string().contains("done"), "its result is on record: {:?}", requests[1]);
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_stop_now_cuts_off_an_effect_and_says_so() {
    let (mut hob, up, _go) = in_a_tool("pay", "").await;
    hob.say(ADA, "/stop");
    hob.told(ADA, 1).await;
    hob.say(ADA, "/stop now");
    up.abandoned().await;
    let said = "Stopped. `pay` was under way: what it was to do may have happened, or half of it.";
    assert_eq!(hob.told(ADA, 2).await[1], said);
    hob.process().until_ended(1).await;
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    assert!(hob.lines("paid").is_empty());
    assert_eq!(hob.model.requests().len(), 2, "the stopped run did not go on");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_stop_kills_the_command_with_all_it_started() {
    let mut hob = TestHob::with(&command("hang", "exec 3> $HOME/hold; sleep 600 & echo up >&3; wait", &[])).await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("hang", "{}"));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hob.say(ADA, "/stop now");
    hold.abandoned().await;
    hob.told(ADA, 1).await;
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_a_tool_that_only_looks_is_dropped_at_once() {
    let (mut hob, up, _go) = in_a_tool("look", "changes = false").await;
    hob.say(ADA, "/stop");
    up.abandoned().await;
    assert_eq!(hob.told(ADA, 1).await, ["Stopped."]);
    hob.process().until_ended(1).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_stop_reaches_only_ones_own_conversation() {
    let (hob, gate) = at_work().await;
    hob.say(BOB, "/stop");
    insta::assert_snapshot!(hob.told(BOB, 1).await[0], @"Nothing is running here.");
    gate.open();
    assert_eq!(hob.told(ADA, 1).await, ["Late."]);
}

#[tokio::test]
async fn a_model_is_chosen_for_a_conversation() {
    let hob = TestHob::running("[provider.models]\nsmart = 'clever'").await;
    hob.say(ADA, "/model smart");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"From now on I use openai-compatible/clever here.");
    hob.ask(ADA, "Go", Reply::text("Cleverly.")).await;
    hob.ask(BOB, "Go", Reply::text("As ever.")).await;
    let asked: Vec<_> = hob.model.requests().iter().map(|asked| asked.body["model"].to_string()).collect();
    assert_eq!(asked, ["\"clever\"", "\"fake\""]);
    hob.say(ADA, "/model gone");
    insta::assert_snapshot!(hob.told(ADA, 3).await[2], @r#"There is no model "gone". You can choose from: openai-compatible/fake, openai-compatible/clever. config.toml can name more."#);
}
