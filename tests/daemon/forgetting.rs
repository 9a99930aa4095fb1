//! What is remembered is seen, explained and forgotten by its people, and by nobody else (row N8).

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, TestHob};

/// What people said is remembered; stops Hob, and starts it again.
async fn remember(hob: &mut TestHob, more: &str) {
    hob.stop().await;
    let said = "INSERT OR IGNORE INTO episodes (id, scope, session_id, began_at, ended_at, turns)
           SELECT 1000 + s.id, CASE WHEN s.key LIKE '-%' THEN 'c' || s.id ELSE 'p' || m.user_id END, s.id, m.at, m.at, 99
           FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.role = 'user';
         INSERT OR IGNORE INTO memories (episode_id, place, scope, speaker, user_id, message_id, text, origin, importance, at)
           SELECT e.id, m.id, e.scope, 'Somebody', m.user_id, m.id, m.text, 'user', 0.3, m.at
           FROM messages m JOIN episodes e ON e.id = 1000 + m.session_id WHERE m.role = 'user';";
    hob.execute(sqlx::AssertSqlSafe(format!("{said}{more}"))).await;
    hob.start().await;
}

/// Says a command, and gives its answer.
async fn command(hob: &TestHob, person: i64, text: &str) -> String {
    let before = hob.heard(person).len();
    hob.say(person, text);
    hob.told(person, before + 1).await.pop().unwrap()
}

/// The name of the memory in a line that has these words.
fn named(told: &str, words: &str) -> String {
    let line = told.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words} is not in {told}"));
    line.trim_start_matches("- ").split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn n8_what_is_forgotten_leaves_no_byte() {
    let mut hob = TestHob::running("").await;
    hob.ask(ADA, "I fly to Zanzibar in May", Reply::text("Zanzibar, how nice.")).await;
    hob.ask(ADA, "Water the plants", Reply::text("I hear you.")).await;
    remember(&mut hob, "").await;
    let shown = command(&hob, ADA, "/forget zanzibar").await;
    assert!(shown.starts_with("Nothing is forgotten yet."), "{shown}");
    let name = named(&shown, "Zanzibar");
    // What nobody has been told does not tell others that it is there.
    insta::assert_snapshot!(command(&hob, BOB, "/forget m1").await, @"There is no m1 here. /memory and /facts show what there is.");
    let told = command(&hob, ADA, &format!("/forget {name}")).await;
    assert_eq!(told, format!("Forgotten for good: {name}."));
    let overview = command(&hob, ADA, "/memory").await;
    assert!(overview.contains("Water the plants") && !overview.contains("Zanzibar"), "{overview}");
    hob.ask(ADA, "What did I say?", Reply::text("That I may not say.")).await;
    let last = hob.model.requests().pop().unwrap().body.to_string();
    assert!(last.contains("[forgotten]") && !last.to_lowercase().contains("zanzibar"), "{last}");
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"zanzibar"), "the word is still in the file");
    hob.nothing_refused();
}

#[tokio::test]
async fn n8_a_run_that_waits_goes_on_after_what_it_stands_on_was_forgotten() {
    let mut hob = TestHob::running("").await;
    hob.ask(ADA, "I fly to Zanzibar in May", Reply::text("How nice.")).await;
    remember(&mut hob, "").await;
    hob.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    let before = hob.heard(ADA).len();
    hob.say(ADA, "Paint it");
    hob.told(ADA, before + 1).await;
    let name = named(&command(&hob, ADA, "/memory zanzibar").await, "Zanzibar");
    command(&hob, ADA, &format!("/forget {name}")).await;
    hob.restart().await;
    assert_eq!(hob.ask(ADA, "blue", Reply::text("Painted blue.")).await, "Painted blue.");
    let last = hob.model.requests().pop().unwrap().body.to_string();
    assert!(last.contains("[forgotten]") && !last.contains("Zanzibar"), "{last}");
    hob.nothing_refused();
}

#[tokio::test]
async fn n8_why_tells_what_was_recalled() {
    let mut hob = TestHob::running("").await;
    assert_eq!(command(&hob, ADA, "/why").await, "I have not answered anything here yet.");
    hob.ask(ADA, "My sister lives in Graz", Reply::text("I see.")).await;
    hob.ask(ADA, "Where does she live?", Reply::text("In Graz.")).await;
    let parts = r#"{"words nearby": 410, "meaning": 220, "day": 0, "is a question": -300}"#;
    remember(
        &mut hob,
        &format!(
            "DELETE FROM recalled;
             INSERT INTO recalled (run_id, place, memory_id, leg, score, parts)
               SELECT max(r.id), 1, (SELECT min(id) FROM memories), 'relevance', 830, '{parts}' FROM runs r;
             INSERT INTO recalled (run_id, place, leg, score, parts) SELECT max(id), 2, 'salience', 0, '{{}}' FROM runs;"
        ),
    )
    .await;
    let told = command(&hob, ADA, "/why").await;
    assert!(told.contains("“My sister lives in Graz” – you, "), "{told}");
    assert!(
        told.contains("because it fits what you wrote: score 0.83, most of it by words nearby 0.41, meaning 0.22"),
        "{told}"
    );
    assert!(told.contains("1 more I have forgotten since, as I was told to."), "{told}");
    assert!(told.ends_with("I looked by words and by meaning."), "{told}");
}

#[tokio::test]
async fn n8_a_group_sees_what_is_the_groups() {
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.ask(ADA, "My doctor is called Weber", Reply::text("I see.")).await;
    hob.model.reply(Reply::text("Noted."));
    let asks = |person: i64, text: &str| {
        hob.telegram.post(Post::new(HALL, person, &format!("@{} {text}", FakeTelegram::BOT_NAME)))
    };
    asks(ADA, "the party is on Friday");
    hob.told(HALL, 1).await;
    remember(&mut hob, "").await;
    let in_hall = |hob: &TestHob, person: i64, text: &str| {
        hob.telegram.post(Post::new(HALL, person, &format!("{text}@{}", FakeTelegram::BOT_NAME)));
    };
    in_hall(&hob, BOB, "/memory");
    let shown = hob.told(HALL, 2).await.pop().unwrap();
    assert!(shown.contains("the party is on Friday") && !shown.contains("Weber"), "{shown}");
    let name = named(&shown, "Friday");
    hob.telegram.post(Post::new(HALL, BOB, &format!("/forget {name}")));
    assert_eq!(
        hob.told(HALL, 3).await.pop().unwrap(),
        format!("{name} was told by somebody else: they, an admin or an owner can do that.")
    );
    hob.telegram.post(Post::new(HALL, ADA, &format!("/forget {name}")));
    assert_eq!(hob.told(HALL, 4).await.pop().unwrap(), format!("Forgotten for good: {name}."));
}
