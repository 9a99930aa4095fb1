//! A message is answered, whatever the message is and whoever sent it.

use serde_json::json;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fake_telegram::world::{Post, World};
use hob_testkit::test_hob::{ADA, BOB, STRANGER, TestHob};

#[tokio::test]
async fn a_message_is_answered_and_typing_is_shown_meanwhile() {
    let hob = TestHob::running("").await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("It is ").gate(&gate).text("noon.").finish("stop").into());
    let asked = hob.say(ADA, "What time is it?");
    hob.telegram.until_true("typing", |world| !world.chat(ADA).actions.is_empty()).await;
    assert_eq!(hob.heard(ADA), Vec::<String>::new());
    gate.open();
    assert_eq!(hob.told(ADA, 1).await, ["It is noon."]);
    let reply_to = hob.telegram.look(|world| world.chat(ADA).by_bot().next().unwrap().reply_to);
    assert_eq!(reply_to, Some(asked));
    let request = &hob.model.requests()[0];
    assert!(request.last_text().ends_with("What time is it?"), "{}", request.last_text());
    hob.nothing_refused();
}

#[tokio::test]
async fn c4_the_conversation_goes_on_and_each_person_has_their_own() {
    let hob = TestHob::running("").await;
    hob.model.otherwise(|asked| Reply::text(&format!("{} messages", asked.messages().len())));
    let counts = async |person| {
        hob.say(person, "one");
        hob.told(person, 1).await;
        hob.say(person, "two");
        hob.told(person, 2).await
    };
    assert_eq!(counts(ADA).await, ["2 messages", "4 messages"]);
    assert_eq!(counts(BOB).await, ["2 messages", "4 messages"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn who_is_not_let_in_gets_a_code_once_and_nothing_is_kept() {
    let mut hob = TestHob::running("").await;
    hob.say(STRANGER, "open up, secret-word");
    hob.say(STRANGER, "/status");
    hob.ask(ADA, "hello", Reply::text("Hello.")).await;
    let told = hob.told(STRANGER, 1).await;
    assert!(told[0].starts_with("I do not know you yet."), "{told:?}");
    assert!(hob.telegram.look(|world| world.chat(STRANGER).actions.is_empty()));
    assert!(hob.stop().await.success());
    let stored = std::fs::read(hob.path("data/hob.db")).unwrap();
    let holds = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("hello") && !holds("secret-word"));
}

#[tokio::test]
async fn bad_messages_get_a_clear_answer() {
    let hob = TestHob::running("").await;
    hob.telegram.post(Post::new(ADA, ADA, " \u{200b}\u{7}\u{0} ").with(json!({"text": " \u{7}\u{0} "})));
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"There was nothing in that message that I can read.");
    hob.say(ADA, &"x".repeat(200_000));
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @"That message has 200000 characters; I take at most 128000. Please send it in parts, or as a file.");
    let answer = hob.ask(ADA, "bell\u{7} escape\u{1b}[2J nul\0 end", Reply::text("Heard.\u{1b}[2J\u{7}")).await;
    assert_eq!(answer, "Heard.[2J");
    let request = &hob.model.requests()[0];
    assert!(request.last_text().ends_with("bell escape[2J nul end"), "{:?}", request.last_text());
    hob.nothing_refused();
}

#[tokio::test]
async fn updates_of_other_kinds_and_shapes_are_passed_over() {
    let hob = TestHob::running("").await;
    hob.telegram.raw_update(json!({"poll_answer": {"poll_id": "1", "option_ids": [0]}}));
    hob.telegram.raw_update(json!({"from_the_future": {"a": [1, 2, {"b": null}]}}));
    hob.telegram.raw_update(json!({"message": "not an object"}));
    hob.telegram.raw_update(json!({}));
    hob.telegram.post(Post::new(ADA, ADA, "").with(json!({"sticker": {"emoji": "🦀"}})));
    hob.model.otherwise(|_| Reply::text("I see."));
    hob.say(ADA, "and this?");
    let seen = |world: &World| world.chat(ADA).by_bot().filter(|message| message.text == "I see.").count() == 2;
    hob.telegram.until_true("answers to both", seen).await;
    hob.acknowledged().await;
}

#[tokio::test]
async fn what_is_said_while_telegram_is_down_goes_out_in_order() {
    let hob = TestHob::running("").await;
    let gate = Gate::default();
    for answer in ["one", "two"] {
        hob.model.reply(Script::default().gate(&gate).text(answer).finish("stop").into());
    }
    hob.say(ADA, "first");
    hob.say(BOB, "second");
    hob.asked(2).await;
    let TestHob { telegram, model, home, mut process } = hob;
    let outage = telegram.outage().await;
    gate.open();
    process.as_mut().unwrap().until_log("outbox.retry").await;
    let hob = TestHob { telegram: outage.end().await, model, home, process };
    assert_eq!(hob.told(ADA, 1).await.len() + hob.told(BOB, 1).await.len(), 2);
    let third = hob.ask(ADA, "third", Reply::text("three")).await;
    assert_eq!(third, "three");
    assert!(!hob.heard(ADA).concat().contains('↻'), "nothing was repeated");
}

#[tokio::test]
async fn a_flood_limit_is_waited_out() {
    let hob = TestHob::running("").await;
    hob.telegram.fault("sendMessage", Fault::Flood(1));
    let words = "y".repeat(5_000);
    hob.model.reply(Reply::text(&words));
    hob.say(ADA, "long");
    assert_eq!(hob.told(ADA, 2).await.concat(), words);
    assert_eq!(hob.telegram.look(|world| world.called("sendMessage")), 3);
}
