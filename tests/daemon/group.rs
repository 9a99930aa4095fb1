//! Several people in one chat: each speaks for themselves, and what is found for one is not shown to another.

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::house::{ADA, BOB, HALL, House};

async fn said(house: &House, person: i64, text: &str, reply: &str, count: usize) {
    house.model.reply(Reply::text(reply));
    let text = format!("@{} {text}", FakeTelegram::BOT_NAME);
    house.telegram.post(Post::new(HALL, person, &text));
    assert_eq!(house.told(HALL, count).await[count - 1], reply);
}

#[tokio::test]
async fn others_are_named_and_what_was_recalled_for_them_stays_theirs() {
    let mut house = House::new().await;
    house.telegram.group(HALL, &[]);
    house.start().await;
    house.ask(ADA, "My doctor is called Weber", Reply::text("I see.")).await;
    house.model.reply(Reply::call("recall", r#"{"query": "doctor"}"#));
    said(&house, ADA, "who is my doctor?", "It is in my notes.", 1).await;
    said(&house, BOB, "what was that about?", "Ask Ada.", 2).await;
    let last = house.model.requests().pop().unwrap();
    let seen = last.body["messages"].to_string();
    assert!(seen.contains("who is my doctor?") && seen.contains("It is in my notes."), "{seen}");
    assert!(seen.contains("[Person"), "the other's words carry a name: {seen}");
    assert!(!seen.contains("Weber"), "what was recalled for one went to another: {seen}");
    house.nothing_refused();
}
