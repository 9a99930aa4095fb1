//! Whom the household knows: told in private, in a group, or for everyone, and who then sees it (rows K4, N8, C5).

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, STRANGER, TestHob};

const GUEST: &str = "[telegram]\nguest_user_ids = [99]";

/// What somebody's model finds, who asks in their own chat or in the hall.
async fn looks(hob: &TestHob, person: i64, chat: i64, call: (&str, &str)) -> String {
    let before = hob.heard(chat).len();
    hob.model.reply(Reply::call(call.0, call.1));
    hob.model.reply(Reply::text("So it is."));
    if chat == HALL {
        hob.telegram.post(Post::new(HALL, person, &format!("@{} whose birthday?", FakeTelegram::BOT_NAME)));
    } else {
        hob.say(person, "Whose birthday?");
    }
    hob.told(chat, before + 1).await;
    hob.model.requests().pop().unwrap().last_text().to_owned()
}

const RECALL: (&str, &str) = ("recall", r#"{"query": "Wilma's birthday"}"#);
const BIRTHDAYS: (&str, &str) = ("manage_people", r#"{"action": "upcoming_birthdays", "days": 366}"#);

#[tokio::test]
async fn n8_what_is_told_in_private_of_somebody_is_seen_by_nobody_else() {
    let mut hob = TestHob::with(GUEST).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let add = r#"{"action": "add", "name": "Wilma", "relation": "sister", "birthday": "3 May 1990"}"#;
    hob.model.reply(Reply::call("manage_people", add));
    hob.ask(ADA, "My sister Wilma was born on 3 May 1990", Reply::text("Noted.")).await;
    let added = hob.model.requests().pop().unwrap();
    assert!(added.last_text().starts_with("Added:\n- Wilma: sister; born 3 May 1990, turns "), "{}", added.last_text());
    for call in [RECALL, BIRTHDAYS] {
        let found = looks(&hob, ADA, ADA, call).await;
        assert!(found.contains("Wilma"), "{found}");
        for (person, chat) in [(BOB, BOB), (BOB, HALL), (ADA, HALL)] {
            let found = looks(&hob, person, chat, call).await;
            assert!(!found.contains("Wilma") && !found.contains("1990"), "{person} in {chat}: {found}");
        }
    }
    hob.nothing_refused();
}

#[tokio::test]
async fn n8_what_is_told_for_everyone_is_seen_by_the_house_and_not_by_guests() {
    let mut hob = TestHob::with(GUEST).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let fact = r#"{"category": "person", "key": "birthday", "value": "3 May", "about": "Wilma", "for": "everyone"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "Everybody should know that Wilma's birthday is on 3 May", Reply::text("Noted.")).await;
    let kept = hob.model.requests().pop().unwrap();
    assert_eq!(kept.last_text(), "Remembered, for everyone: Wilma: birthday: 3 May. Wilma is new.");
    for (person, chat) in [(ADA, ADA), (BOB, BOB), (BOB, HALL)] {
        for call in [RECALL, BIRTHDAYS] {
            let found = looks(&hob, person, chat, call).await;
            assert!(found.contains("Wilma"), "{person} in {chat}: {found}");
        }
    }
    for call in [RECALL, BIRTHDAYS] {
        let found = looks(&hob, STRANGER, STRANGER, call).await;
        assert!(found.starts_with(&format!("There is no tool \"{}\".", call.0)), "{found}");
    }
    let seen = hob.model.requests();
    let guests = seen.iter().filter(|asked| !asked.tools().contains(&"recall"));
    let mut count = 0;
    for asked in guests {
        count += 1;
        assert!(!asked.body.to_string().contains("3 May"), "{asked:#?}");
    }
    assert_eq!(count, 4);
}

#[tokio::test]
async fn n8_what_is_to_be_forgotten_is_forgotten() {
    let hob = TestHob::running("").await;
    let fact = r#"{"category": "person", "key": "home", "value": "lives in Berlin", "about": "my sister"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "My sister lives in Berlin", Reply::text("Noted.")).await;
    hob.model.reply(Reply::call("forget", r#"{"query": "sister Berlin"}"#));
    hob.model.reply(Reply::call("forget", r#"{"ids": ["f1"]}"#));
    hob.ask(ADA, "Forget where she lives", Reply::text("Forgotten.")).await;
    let requests = hob.model.requests();
    let [listed, gone] = &requests[requests.len() - 2..] else { panic!("{requests:#?}") };
    assert!(listed.last_text().contains("- f1: sister's home: lives in Berlin ("), "{}", listed.last_text());
    assert!(gone.last_text().starts_with("Forgotten: f1."), "{}", gone.last_text());
    let found = looks(&hob, ADA, ADA, ("recall", r#"{"query": "Berlin", "what": "facts"}"#)).await;
    assert_eq!(found, "Nothing found.");
}
