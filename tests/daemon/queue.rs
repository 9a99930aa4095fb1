//! What comes while Hob is at work.

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::world::World;
use hob_testkit::fifo::Fifo;
use hob_testkit::house::{ADA, BOB, House};
use hob_testkit::process::within;

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

/// Answers with the last line that the user said.
fn echo(house: &House) {
    house.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().lines().last().unwrap())));
}

async fn at_work(settings: &str) -> (House, Gate) {
    let house = House::running(settings).await;
    let gate = Gate::default();
    house.model.reply(gated(&gate, "First."));
    echo(&house);
    house.say(ADA, "one");
    house.asked(1).await;
    (house, gate)
}

#[tokio::test]
async fn b8_n5_messages_wait_in_order_and_can_be_seen_and_taken_back() {
    let (house, gate) = at_work("").await;
    for text in ["two", "three", "four", "/queue", "/queue drop 2", "/queue drop 7", "/queue"] {
        house.say(ADA, text);
    }
    house.told(ADA, 7).await;
    insta::assert_snapshot!(house.heard(ADA).join("\n"), @"
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
    assert_eq!(house.told(ADA, 10).await[7..], ["First.", "You said two", "You said four"]);
    house.nothing_refused();
}

#[tokio::test]
async fn n5_what_waited_over_a_crash_shows_nothing_once_it_is_taken_back() {
    let (mut house, _gate) = at_work("").await;
    let waiting = house.say(ADA, "two");
    house.told(ADA, 1).await;
    let shows = |what: Option<&'static str>| {
        move |world: &World| {
            let shown = &world.chat(ADA).message(waiting).unwrap().reactions;
            shown.last().is_some_and(|last| last.as_deref() == what)
        }
    };
    house.telegram.until_true("that it is seen", shows(Some("👀"))).await;
    house.crash().await;
    let gate = Gate::default();
    house.model.reply(gated(&gate, "First."));
    house.start().await;
    house.asked(2).await;
    house.say(ADA, "/queue drop 1");
    house.told(ADA, 2).await;
    gate.open();
    house.told(ADA, 3).await;
    house.telegram.until_true("no sign", shows(None)).await;
    house.nothing_refused();
}

#[tokio::test]
async fn b8_people_do_not_wait_for_each_other() {
    let (house, gate) = at_work("").await;
    house.say(BOB, "me too");
    assert_eq!(house.told(BOB, 1).await, ["You said me too"]);
    gate.open();
    house.told(ADA, 1).await;
}

#[tokio::test]
async fn n5_a_waiting_message_can_be_edited() {
    let (house, gate) = at_work("").await;
    let waiting = house.say(ADA, "tow");
    house.told(ADA, 1).await;
    house.telegram.edit(ADA, waiting, "two");
    house.acknowledged().await;
    gate.open();
    assert_eq!(house.told(ADA, 3).await[1..], ["First.", "You said two"]);
    house.telegram.edit(ADA, waiting, "too late");
    house.acknowledged().await;
    assert_eq!(house.heard(ADA).len(), 3);
}

#[tokio::test]
async fn a_full_queue_says_so() {
    const QUEUE: usize = 50;
    let (house, gate) = at_work("").await;
    for number in 1..=QUEUE + 1 {
        house.say(ADA, &number.to_string());
    }
    insta::assert_snapshot!(house.told(ADA, QUEUE + 1).await[QUEUE], @"50 messages are waiting here already, so I did not take that one. /queue shows what waits.");
    gate.open();
    let told = house.told(ADA, 2 * QUEUE + 2).await;
    assert_eq!(told[QUEUE + 1..QUEUE + 3], ["First.", "You said 1"]);
    assert_eq!(told[2 * QUEUE + 1], "You said 50");
}

#[tokio::test]
async fn n5_a_message_joins_the_run_at_its_next_step() {
    let mut house = House::with(
        r#"[agent]
        queue_mode = "steer"
        [tools.wait]
        sandbox = false
        trusted_output = true
        description = "Waits."
        command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go"]"#,
    )
    .await;
    let (mut up, mut go) = (Fifo::make(&house.path("up")), Fifo::make(&house.path("go")));
    house.start().await;
    house.model.reply(Reply::call("wait", "{}"));
    house.model.reply(Reply::text("Both done."));
    house.say(ADA, "Do this");
    up.line().await;
    house.say(ADA, "and that");
    insta::assert_snapshot!(house.told(ADA, 1).await[0], @"Noted: it joins what I am doing at the next step, or comes right after.");
    go.tell("go").await;
    assert_eq!(house.told(ADA, 2).await[1], "Both done.");
    assert_eq!(house.model.requests()[1].last_user(), "and that");
    assert_eq!(house.ask(ADA, "Anything left?", Reply::text("No.")).await, "No.");
    house.nothing_refused();
}

#[tokio::test]
async fn n5_a_message_ends_the_run_and_comes_next() {
    let (house, gate) = at_work("[agent]\nqueue_mode = 'interrupt'").await;
    house.say(ADA, "rather this");
    within("dropped stream", house.model.dropped(1)).await;
    gate.open();
    insta::assert_snapshot!(house.told(ADA, 2).await.join("\n"), @"
    I am stopping what I was doing; this comes next.
    You said rather this
    ");
    house.nothing_refused();
}

#[tokio::test]
async fn the_mode_can_be_chosen_in_the_chat() {
    let (house, gate) = at_work("").await;
    house.say(ADA, "/queue mode interrupt");
    house.told(ADA, 1).await;
    house.say(ADA, "rather this");
    within("dropped stream", house.model.dropped(1)).await;
    gate.open();
    assert_eq!(house.told(ADA, 3).await[2], "You said rather this");
}
