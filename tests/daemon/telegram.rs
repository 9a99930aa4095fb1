//! What a household does with Telegram besides talking in private: groups that become others, several bots.

use serde_json::json;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::{ChatKind, Post};
use hob_testkit::test_hob::{ADA, TestHob};

/// A group of the old kind, and the supergroup that it becomes.
const GROUP: i64 = -77;
const SUPERGROUP: i64 = -100_077;

/// Says something to Hob in a group.
fn say(hob: &TestHob, chat: i64, text: &str) {
    hob.telegram.post(Post::new(chat, ADA, &format!("@{} {text}", FakeTelegram::BOT_NAME)));
}

#[tokio::test]
async fn k2_a_supergroup_goes_on_where_its_group_was() {
    let mut hob = TestHob::new().await;
    hob.telegram.look(|world| {
        world.open(GROUP, ChatKind::Group);
    });
    hob.start().await;
    hob.model.reply(Reply::text("Green it is."));
    say(&hob, GROUP, "the door is to be green");
    hob.told(GROUP, 1).await;
    hob.telegram.migrate(GROUP, SUPERGROUP);
    hob.model.reply(Reply::text("Green."));
    say(&hob, SUPERGROUP, "what colour was it?");
    assert_eq!(hob.told(SUPERGROUP, 1).await, ["Green."]);
    let last = hob.model.requests().pop().unwrap();
    let seen = last.body["messages"].to_string();
    assert!(seen.contains("the door is to be green"), "the conversation began anew: {seen}");
    hob.nothing_refused();
}

#[tokio::test]
async fn k2_each_bot_has_its_own_people_and_answers_for_itself() {
    let other = FakeTelegram::start().await;
    other.look(|world| "220201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw".clone_into(&mut world.token));
    let settings = format!(
        "[telegram_accounts.work]
        bot_token = '220201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'
        allowed_user_ids = [50]
        api_url = '{}'
        poll_timeout_secs = 20",
        other.api_url()
    );
    let mut hob = TestHob::with(&settings).await;
    for person in [ADA, 50] {
        other.person(person);
        hob.telegram.person(person);
    }
    hob.start().await;
    other.until_true("commands", |world| world.called("setMyCommands") == 1).await;
    hob.model.reply(Reply::text("Hello from work."));
    other.say(ADA, "you do not know me here");
    other.say(50, "hello");
    assert_eq!(other.until_sent(50, 1).await, ["Hello from work."]);
    assert_eq!(hob.ask(ADA, "hello", Reply::text("Hello at home.")).await, "Hello at home.");
    hob.telegram.say(50, "you do not know me here");
    assert_eq!(hob.ask(ADA, "and again", Reply::text("Again.")).await, "Again.");
    let strange = |told: &str| told.starts_with("I do not know you yet.");
    let elsewhere: Vec<String> = other.until_sent(ADA, 1).await;
    assert!(elsewhere.len() == 1 && strange(&elsewhere[0]), "{elsewhere:?}");
    assert!(hob.heard(50).len() == 1 && strange(&hob.heard(50)[0]), "{:?}", hob.heard(50));
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_place_reaches_the_model_with_its_coordinates_and_its_name() {
    let hob = TestHob::running("").await;
    hob.model.otherwise(|_asked| Reply::text("I see."));
    let location = json!({ "latitude": 48.2, "longitude": 16.37 });
    let venue = json!({ "location": location, "title": "Café Mozart", "address": "Albertinaplatz 2" });
    let places = [
        (json!({ "location": location }), "[Place: (latitude 48.2, longitude 16.37)]"),
        (
            json!({ "location": location, "venue": venue }),
            "[Place: Café Mozart, Albertinaplatz 2 (latitude 48.2, longitude 16.37)]",
        ),
    ];
    for (sent, (place, told)) in (1..).zip(places) {
        hob.telegram.post(Post::new(ADA, ADA, "").with(place));
        hob.told(ADA, sent).await;
        let asked = hob.model.requests().pop().unwrap();
        assert!(asked.last_user().contains(told), "{}", asked.last_user());
    }
    hob.nothing_refused();
}
