//! A run waits for a person, who answers by words or by a button, at once or after a restart.

use hob_testkit::fake_model::Reply;
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, BOB, EFFECT, TestHob};

async fn asking() -> TestHob {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    hob.say(ADA, "Paint it");
    assert_eq!(hob.told(ADA, 1).await, ["Red or blue?"]);
    hob.recorded(1).await;
    hob
}

#[tokio::test]
async fn b15_the_next_message_is_the_answer() {
    let hob = asking().await;
    assert_eq!(hob.ask(ADA, "blue", Reply::text("Painted blue.")).await, "Painted blue.");
    let requests = hob.model.requests();
    assert_eq!((requests[1].last_role(), requests[1].last_text()), ("tool", "blue"));
    hob.nothing_refused();
}

#[tokio::test]
async fn a1_what_somebody_answers_is_remembered_with_what_was_asked_and_forgotten_with_it() {
    let mut hob = asking().await;
    hob.ask(ADA, "blue like the old gate", Reply::text("Painted.")).await;
    let heard = hob.heard(ADA).len();
    hob.say(ADA, "/memory old gate");
    let shown = hob.told(ADA, heard + 1).await.pop().unwrap();
    assert!(shown.contains("“blue like the old gate” – you"), "{shown}");
    let name = shown.lines().find_map(|line| line.split_once(" “blue like")).unwrap().0.rsplit(' ').next().unwrap();
    hob.stop().await;
    let row: (String, String, i64) =
        hob.row("SELECT speaker, asked, user_id FROM memories WHERE text LIKE 'blue%'").await;
    assert_eq!((row.0.as_str(), row.1.as_str()), ("Person 7", "Red or blue?"));
    hob.start().await;
    hob.say(ADA, &format!("/forget {name}"));
    hob.told(ADA, heard + 2).await;
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"old gate"), "the words are still in the file");
}

#[tokio::test]
async fn b15_the_answer_may_come_after_a_crash() {
    let mut hob = asking().await;
    hob.crash().await;
    hob.model.reply(Reply::text("Painted red."));
    hob.say(ADA, "red");
    hob.start().await;
    assert_eq!(hob.told(ADA, 2).await[1], "Painted red.");
    assert_eq!(hob.model.requests()[1].last_text(), "red");
    hob.nothing_refused();
}

#[tokio::test]
async fn of_two_messages_at_once_one_is_the_answer_and_the_other_is_not_lost() {
    let mut hob = asking().await;
    hob.crash().await;
    hob.model.reply(Reply::text("Painted red."));
    hob.model.reply(Reply::text("Tea is ready."));
    hob.say(ADA, "red");
    hob.say(ADA, "And make tea");
    hob.start().await;
    assert_eq!(hob.told(ADA, 4).await[1..], ["Queued, 1st.", "Painted red.", "Tea is ready."]);
    assert_eq!(hob.model.requests()[1].last_text(), "red");
    assert!(hob.model.requests()[2].last_text().ends_with("And make tea"));
    hob.nothing_refused();
}

#[tokio::test]
async fn a_question_can_be_stopped() {
    let hob = asking().await;
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 2).await[1], "Stopped.");
    assert_eq!(hob.ask(ADA, "blue", Reply::text("Blue what?")).await, "Blue what?");
    hob.nothing_refused();
}

/// Hob, started again after a crash in the middle of the effect, with the question in Ada's chat.
async fn in_doubt() -> (TestHob, Fifo, Fifo) {
    let mut hob = TestHob::with(EFFECT).await;
    let (mut up, go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("effect", "{}"));
    hob.say(ADA, "Go");
    up.line().await;
    hob.restart().await;
    let question = hob.told(ADA, 1).await.remove(0);
    hob.recorded(1).await;
    insta::assert_snapshot!(question, @"
    I was interrupted while this call was under way, and I can't tell whether it took effect:
    effect
    (no arguments)
    What shall I do?
    1. it happened
    2. run it again
    3. give up
    ");
    let labels = hob.telegram.look(|world| {
        let last = world.chat(ADA).by_bot().last().unwrap();
        last.keyboard.concat().into_iter().map(|(label, _)| label).collect::<Vec<_>>()
    });
    assert_eq!(labels, ["it happened", "run it again", "give up"]);
    assert_eq!(hob.lines("effects"), ["effect"]);
    (hob, up, go)
}

#[tokio::test]
async fn b10_it_happened() {
    let (hob, _up, _go) = in_doubt().await;
    hob.model.reply(Reply::text("Good."));
    let buttons = hob.remembered(ADA);
    hob.press(ADA, "it happened");
    assert_eq!(hob.told(ADA, 2).await[1], "Good.");
    insta::assert_snapshot!(hob.model.requests()[1].last_text(), @"This call took effect; a person confirmed it. Its output was lost.");
    assert_eq!(hob.lines("effects"), ["effect"]);
    hob.telegram.until_true("answered press", |world| world.presses.values().all(|answered| *answered)).await;
    hob.press_remembered(ADA, &buttons, "run it again");
    insta::assert_snapshot!(hob.told(ADA, 3).await[2], @"That question is no longer open.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b10_run_it_again() {
    let (hob, mut up, mut go) = in_doubt().await;
    hob.model.reply(Reply::text("Good."));
    hob.press(ADA, "run it again");
    up.line().await;
    // One for the run that the crash left behind, one for this.
    go.tell("go\ngo").await;
    assert_eq!(hob.told(ADA, 2).await[1], "Good.");
    assert_eq!(hob.model.requests()[1].last_text(), "did it");
    assert_eq!(hob.lines("effects"), ["effect", "effect"]);
}

#[tokio::test]
async fn give_up_in_words_after_another_crash() {
    let (mut hob, _up, _go) = in_doubt().await;
    hob.restart().await;
    hob.say(ADA, "Give up.");
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @"Given up. Nothing more happens for that message.");
    assert_eq!(hob.ask(ADA, "And now?", Reply::text("Now this.")).await, "Now this.");
    assert_eq!((hob.model.requests().len(), hob.lines("effects").len()), (2, 1));
    hob.nothing_refused();
}

#[tokio::test]
async fn words_that_decide_nothing_wait_until_it_is_decided() {
    let (hob, _up, _go) = in_doubt().await;
    hob.say(ADA, "What's for dinner?");
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @"Queued, 1st. My question above comes first: please choose one of its answers.");
    hob.model.reply(Reply::text("Good."));
    hob.model.reply(Reply::text("Soup."));
    hob.say(ADA, "1");
    assert_eq!(hob.told(ADA, 4).await[2..], ["Good.", "Soup."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn nobody_else_waits_for_the_decision() {
    let (hob, _up, _go) = in_doubt().await;
    assert_eq!(hob.ask(BOB, "hello", Reply::text("Hello.")).await, "Hello.");
}
