//! From one day to the next: told, drawn from what was said, known, explained, forgotten (rows A4, A5, N6, N8).

use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{ADA, TestHob};

/// A day passes over all that was said.
const A_DAY: &str = "
    UPDATE memories SET at = at - 86400000;
    UPDATE episodes SET began_at = began_at - 86400000, ended_at = ended_at - 86400000;
    UPDATE messages SET at = at - 86400000;";

/// Hob's answer to a command.
async fn command(hob: &TestHob, text: &str) -> String {
    let before = hob.heard(ADA).len();
    hob.say(ADA, text);
    hob.told(ADA, before + 1).await.pop().unwrap()
}

/// The block of data in the latest request.
fn context(hob: &TestHob) -> String {
    let last = hob.model.requests().pop().unwrap();
    let mut said = last.messages().iter().filter_map(|message| message["content"].as_str());
    said.rfind(|text| text.contains("<context>")).unwrap().to_owned()
}

#[tokio::test]
async fn a5_what_was_told_on_one_day_is_known_explained_and_forgotten_on_the_next() {
    let mut hob = TestHob::running("").await;
    hob.ask(ADA, "My sister Berta works at the library in Graz", Reply::text("I see.")).await;
    hob.ask(ADA, "The bins go out on Tuesday", Reply::text("I see.")).await;
    hob.recorded(2).await;
    hob.stop().await;
    hob.execute(A_DAY).await;

    let drawn = r#"{"facts": [{"turn": 1, "category": "family", "key": "sister's work", "value": "the library in Graz",
        "confidence": 0.9, "changed": false}]}"#;
    hob.model.reply(Reply::call("record_facts", drawn));
    hob.start().await;
    hob.process().until_logged("memory.extracted", 1).await;
    command(&hob, "/new").await;
    assert_eq!(hob.ask(ADA, "Where does my sister work?", Reply::text("At the library.")).await, "At the library.");
    let seen = context(&hob);
    assert!(seen.contains("\nknown facts:\n- sister's work: the library in Graz (since "), "{seen}");
    assert!(seen.contains("\"My sister Berta works at the library in Graz\""), "{seen}");

    let why = command(&hob, "/why").await;
    assert!(why.contains("- m1 “My sister Berta works at the library in Graz” – you, "), "{why}");
    assert!(why.contains("(1 day ago)"), "{why}");
    assert!(why.contains("- f1 sister's work: the library in Graz (since "), "{why}");
    assert!(why.contains(", said by you in m1)"), "{why}");
    let told = command(&hob, "/forget m1").await;
    assert_eq!(told, "Forgotten for good: m1. With it the facts that rested on it: f1.");
    command(&hob, "/new").await;
    hob.ask(ADA, "Where does my sister Berta work?", Reply::text("I don't know.")).await;
    let seen = context(&hob);
    assert!(!seen.contains("library") && !seen.contains("Graz"), "{seen}");
    hob.nothing_refused();
}
