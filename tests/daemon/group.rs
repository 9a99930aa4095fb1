//! Several people in one chat: each speaks for themselves, and what is found for one is not shown to another.

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, TestHob};

async fn said(hob: &TestHob, person: i64, text: &str, reply: &str, count: usize) {
    hob.model.reply(Reply::text(reply));
    let text = format!("@{} {text}", FakeTelegram::BOT_NAME);
    hob.telegram.post(Post::new(HALL, person, &text));
    assert_eq!(hob.told(HALL, count).await[count - 1], reply);
}

#[tokio::test]
async fn others_are_named_and_what_was_recalled_for_them_stays_theirs() {
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.ask(ADA, "My doctor is called Weber", Reply::text("I see.")).await;
    hob.model.reply(Reply::call("recall", r#"{"query": "doctor"}"#));
    said(&hob, ADA, "who is my doctor?", "It is in my notes.", 1).await;
    said(&hob, BOB, "what was that about?", "Ask Ada.", 2).await;
    let last = hob.model.requests().pop().unwrap();
    let seen = last.body["messages"].to_string();
    assert!(seen.contains("who is my doctor?") && seen.contains("It is in my notes."), "{seen}");
    assert!(seen.contains("[Person"), "the other's words carry a name: {seen}");
    assert!(!seen.contains("Weber"), "what was recalled for one went to another: {seen}");
    hob.nothing_refused();
}
