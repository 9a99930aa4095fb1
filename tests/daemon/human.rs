//! A run waits for a person, who answers by words or by a button, at once or after a restart.

use hob_testkit::fake_model::Reply;
use hob_testkit::fifo::Fifo;
use hob_testkit::house::{ADA, BOB, EFFECT, House};

async fn asking() -> House {
    let mut house = House::running("").await;
    house.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    house.say(ADA, "Paint it");
    assert_eq!(house.told(ADA, 1).await, ["Red or blue?"]);
    house.recorded(1).await;
    house
}

#[tokio::test]
async fn b15_the_next_message_is_the_answer() {
    let house = asking().await;
    assert_eq!(house.ask(ADA, "blue", Reply::text("Painted blue.")).await, "Painted blue.");
    let requests = house.model.requests();
    assert_eq!((requests[1].last_role(), requests[1].last_text()), ("tool", "blue"));
    house.nothing_refused();
}

#[tokio::test]
async fn a1_what_somebody_answers_is_remembered_with_what_was_asked_and_forgotten_with_it() {
    let mut house = asking().await;
    house.ask(ADA, "blue like the old gate", Reply::text("Painted.")).await;
    let heard = house.heard(ADA).len();
    house.say(ADA, "/memory old gate");
    let shown = house.told(ADA, heard + 1).await.pop().unwrap();
    assert!(shown.contains("“blue like the old gate” – you"), "{shown}");
    let name = shown.lines().find_map(|line| line.split_once(" “blue like")).unwrap().0.rsplit(' ').next().unwrap();
    house.stop().await;
    let row: (String, String, i64) =
        house.row("SELECT speaker, asked, user_id FROM memories WHERE text LIKE 'blue%'").await;
    assert_eq!((row.0.as_str(), row.1.as_str()), ("Person 7", "Red or blue?"));
    house.start().await;
    house.say(ADA, &format!("/forget {name}"));
    house.told(ADA, heard + 2).await;
    house.stop().await;
    let bytes = std::fs::read(house.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"old gate"), "the words are still in the file");
}

#[tokio::test]
async fn b15_the_answer_may_come_after_a_crash() {
    let mut house = asking().await;
    house.crash().await;
    house.model.reply(Reply::text("Painted red."));
    house.say(ADA, "red");
    house.start().await;
    assert_eq!(house.told(ADA, 2).await[1], "Painted red.");
    assert_eq!(house.model.requests()[1].last_text(), "red");
    house.nothing_refused();
}

#[tokio::test]
async fn of_two_messages_at_once_one_is_the_answer_and_the_other_is_not_lost() {
    let mut house = asking().await;
    house.crash().await;
    house.model.reply(Reply::text("Painted red."));
    house.model.reply(Reply::text("Tea is ready."));
    house.say(ADA, "red");
    house.say(ADA, "And make tea");
    house.start().await;
    assert_eq!(house.told(ADA, 4).await[1..], ["Queued, 1st.", "Painted red.", "Tea is ready."]);
    assert_eq!(house.model.requests()[1].last_text(), "red");
    assert!(house.model.requests()[2].last_text().ends_with("And make tea"));
    house.nothing_refused();
}

#[tokio::test]
async fn a_question_can_be_stopped() {
    let house = asking().await;
    house.say(ADA, "/stop");
    assert_eq!(house.told(ADA, 2).await[1], "Stopped.");
    assert_eq!(house.ask(ADA, "blue", Reply::text("Blue what?")).await, "Blue what?");
    house.nothing_refused();
}

/// Hob, started again after a crash in the middle of the effect, with the question in Ada's chat.
async fn in_doubt() -> (House, Fifo, Fifo) {
    let mut house = House::with(EFFECT).await;
    let (mut up, go) = (Fifo::make(&house.path("up")), Fifo::make(&house.path("go")));
    house.start().await;
    house.model.reply(Reply::call("effect", "{}"));
    house.say(ADA, "Go");
    up.line().await;
    house.restart().await;
    let question = house.told(ADA, 1).await.remove(0);
    house.recorded(1).await;
    insta::assert_snapshot!(question, @"
    I was interrupted while this call was under way, and I can't tell whether it took effect:
    effect
    (no arguments)
    What shall I do?
    1. it happened
    2. run it again
    3. give up
    ");
    let labels = house.telegram.look(|world| {
        let last = world.chat(ADA).by_bot().last().unwrap();
        last.keyboard.concat().into_iter().map(|(label, _)| label).collect::<Vec<_>>()
    });
    assert_eq!(labels, ["it happened", "run it again", "give up"]);
    assert_eq!(house.lines("effects"), ["effect"]);
    (house, up, go)
}

#[tokio::test]
async fn b10_it_happened() {
    let (house, _up, _go) = in_doubt().await;
    house.model.reply(Reply::text("Good."));
    let buttons = house.remembered(ADA);
    house.press(ADA, "it happened");
    assert_eq!(house.told(ADA, 2).await[1], "Good.");
    insta::assert_snapshot!(house.model.requests()[1].last_text(), @"This call took effect; a person confirmed it. Its output was lost.");
    assert_eq!(house.lines("effects"), ["effect"]);
    house.telegram.until_true("answered press", |world| world.presses.values().all(|answered| *answered)).await;
    house.press_remembered(ADA, &buttons, "run it again");
    insta::assert_snapshot!(house.told(ADA, 3).await[2], @"That question is no longer open.");
    house.nothing_refused();
}

#[tokio::test]
async fn b10_run_it_again() {
    let (house, mut up, mut go) = in_doubt().await;
    house.model.reply(Reply::text("Good."));
    house.press(ADA, "run it again");
    up.line().await;
    // One for the run that the crash left behind, one for this.
    go.tell("go\ngo").await;
    assert_eq!(house.told(ADA, 2).await[1], "Good.");
    assert_eq!(house.model.requests()[1].last_text(), "did it");
    assert_eq!(house.lines("effects"), ["effect", "effect"]);
}

#[tokio::test]
async fn give_up_in_words_after_another_crash() {
    let (mut house, _up, _go) = in_doubt().await;
    house.restart().await;
    house.say(ADA, "Give up.");
    insta::assert_snapshot!(house.told(ADA, 2).await[1], @"Given up. Nothing more happens for that message.");
    assert_eq!(house.ask(ADA, "And now?", Reply::text("Now this.")).await, "Now this.");
    assert_eq!((house.model.requests().len(), house.lines("effects").len()), (2, 1));
    house.nothing_refused();
}

#[tokio::test]
async fn words_that_decide_nothing_wait_until_it_is_decided() {
    let (house, _up, _go) = in_doubt().await;
    house.say(ADA, "What's for dinner?");
    insta::assert_snapshot!(house.told(ADA, 2).await[1], @"Queued, 1st. My question above comes first: please choose one of its answers.");
    house.model.reply(Reply::text("Good."));
    house.model.reply(Reply::text("Soup."));
    house.say(ADA, "1");
    assert_eq!(house.told(ADA, 4).await[2..], ["Good.", "Soup."]);
    house.nothing_refused();
}

#[tokio::test]
async fn nobody_else_waits_for_the_decision() {
    let (house, _up, _go) = in_doubt().await;
    assert_eq!(house.ask(BOB, "hello", Reply::text("Hello.")).await, "Hello.");
}
