//! What comes while Hob is at work.

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::world::World;
use hob_testkit::fifo::Fifo;
use hob_testkit::process::within;
use hob_testkit::test_hob::{ADA, BOB, TestHob};

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

/// Answers with the last line that the user said.
fn echo(hob: &TestHob) {
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().lines().last().unwrap())));
}

async fn at_work(settings: &str) -> (TestHob, Gate) {
    let hob = TestHob::running(settings).await;
    let gate = Gate::default();
    hob.model.reply(gated(&gate, "First."));
    echo(&hob);
    hob.say(ADA, "one");
    hob.asked(1).await;
    (hob, gate)
}

#[tokio::test]
async fn b8_n5_messages_wait_in_order_and_can_be_seen_and_taken_back() {
    let (hob, gate) = at_work("").await;
    for text in ["two", "three", "four", "/queue", "/queue drop 2", "/queue drop 7", "/queue"] {
        hob.say(ADA, text);
    }
    hob.told(ADA, 7).await;
    insta::assert_snapshot!(hob.heard(ADA).join("\n"), @"
    Queued, 1st.
    Queued, 2nd.
    Queued, 3rd.
    1. Person 7: two
    2. Person 7: three
    3. Person 7: four
    Taken back: three
    There is no 7th in the queue; 2 wait.
    1. Person 7: two
    2. Person 7: four
    ");
    gate.open();
    assert_eq!(hob.told(ADA, 10).await[7..], ["First.", "You said two", "You said four"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn n5_what_waited_over_a_crash_shows_nothing_once_it_is_taken_back() {
    let (mut hob, _gate) = at_work("").await;
    let waiting = hob.say(ADA, "two");
    hob.told(ADA, 1).await;
    let shows = |what: Option<&'static str>| {
        move |world: &World| {
            let shown = &world.chat(ADA).message(waiting).unwrap().reactions;
            shown.last().is_some_and(|last| last.as_deref() == what)
        }
    };
    hob.telegram.until_true("that it is seen", shows(Some("👀"))).await;
    hob.crash().await;
    let gate = Gate::default();
    hob.model.reply(gated(&gate, "First."));
    hob.start().await;
    hob.asked(2).await;
    hob.say(ADA, "/queue drop 1");
    hob.told(ADA, 2).await;
    gate.open();
    hob.told(ADA, 3).await;
    hob.telegram.until_true("no sign", shows(None)).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn b8_people_do_not_wait_for_each_other() {
    let (hob, gate) = at_work("").await;
    hob.say(BOB, "me too");
    assert_eq!(hob.told(BOB, 1).await, ["You said me too"]);
    gate.open();
    hob.told(ADA, 1).await;
}

#[tokio::test]
async fn n5_a_waiting_message_can_be_edited() {
    let (hob, gate) = at_work("").await;
    let waiting = hob.say(ADA, "tow");
    hob.told(ADA, 1).await;
    hob.telegram.edit(ADA, waiting, "two");
    hob.acknowledged().await;
    gate.open();
    assert_eq!(hob.told(ADA, 3).await[1..], ["First.", "You said two"]);
    hob.telegram.edit(ADA, waiting, "too late");
    hob.acknowledged().await;
    assert_eq!(hob.heard(ADA).len(), 3);
}

#[tokio::test]
async fn a_full_queue_says_so() {
    const QUEUE: usize = 50;
    let (hob, gate) = at_work("").await;
    for number in 1..=QUEUE + 1 {
        hob.say(ADA, &number.to_string());
    }
    insta::assert_snapshot!(hob.told(ADA, QUEUE + 1).await[QUEUE], @"50 messages are waiting here already, so I did not take that one. /queue shows what waits.");
    gate.open();
    let told = hob.told(ADA, 2 * QUEUE + 2).await;
    assert_eq!(told[QUEUE + 1..QUEUE + 3], ["First.", "You said 1"]);
    assert_eq!(told[2 * QUEUE + 1], "You said 50");
}

#[tokio::test]
async fn n5_a_message_joins_the_run_at_its_next_step() {
    let mut hob = TestHob::with(
        r#"[agent]
        queue_mode = "steer"
        [tools.wait]
        sandbox = false
        trusted_output = true
        description = "Waits."
        command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go"]"#,
    )
    .await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("wait", "{}"));
    hob.model.reply(Reply::text("Both done."));
    hob.say(ADA, "Do this");
    up.line().await;
    hob.say(ADA, "and that");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"Noted: it joins what I am doing at the next step, or comes right after.");
    go.tell("go").await;
    assert_eq!(hob.told(ADA, 2).await[1], "Both done.");
    assert_eq!(hob.model.requests()[1].last_user(), "and that");
    assert_eq!(hob.ask(ADA, "Anything left?", Reply::text("No.")).await, "No.");
    hob.nothing_refused();
}

#[tokio::test]
async fn n5_a_message_ends_the_run_and_comes_next() {
    let (hob, gate) = at_work("[agent]\nqueue_mode = 'interrupt'").await;
    hob.say(ADA, "rather this");
    within("dropped stream", hob.model.dropped(1)).await;
    gate.open();
    insta::assert_snapshot!(hob.told(ADA, 2).await.join("\n"), @"
    I am stopping what I was doing; this comes next.
    You said rather this
    ");
    hob.nothing_refused();
}

#[tokio::test]
async fn the_mode_can_be_chosen_in_the_chat() {
    let (hob, gate) = at_work("").await;
    hob.say(ADA, "/queue mode interrupt");
    hob.told(ADA, 1).await;
    hob.say(ADA, "rather this");
    within("dropped stream", hob.model.dropped(1)).await;
    gate.open();
    assert_eq!(hob.told(ADA, 3).await[2], "You said rather this");
}
