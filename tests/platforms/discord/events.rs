//! What people do on Discord, and what is handed in of it.

use hob_core::domain::inbound::Audience;
use serde_json::json;

use crate::discord::harness::RunningAdapter;
use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{ADA, BOB, DM, GUILD, HALL, KITCHEN, Post, THREAD, VIEW};

#[tokio::test]
async fn k2_what_is_said_comes_in_with_place_name_and_audience() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let named = format!("<@{}> hi", FakeDiscord::BOT);
    fake.say(DM, ADA, "Hello");
    fake.say(HALL, BOB, "to all");
    fake.say(HALL, ADA, &named);
    fake.say(THREAD, BOB, "in the thread");
    let own = fake.say(HALL, FakeDiscord::BOT, "of the bot itself");
    fake.post(Post::new(HALL, BOB, "an answer").answering(own));
    let seen = running.intake.until(5).await;
    let row = |at: usize| {
        let inbound = &seen[at];
        let place = inbound.conversation.session_key().0;
        (hob_testkit::intake::text_of(inbound), place, inbound.sender.name.clone(), inbound.metadata.audience)
    };
    let at = |id: u64| format!("discord:{id}");
    let of = |text: &str, place: u64, who: &str, audience| (text.to_owned(), at(place), who.to_owned(), audience);
    assert_eq!(row(0), of("Hello", DM, "ada", Audience::Hob));
    assert_eq!(row(1), of("to all", HALL, "bob", Audience::Group));
    assert_eq!(row(2), of("hi", HALL, "ada", Audience::Hob));
    assert_eq!(row(3), of("in the thread", THREAD, "bob", Audience::Group));
    assert_eq!(row(4), of("an answer", HALL, "bob", Audience::Hob));
    assert_eq!(seen[3].conversation.chat, HALL.to_string());
    let quoted = seen[4].metadata.quoted.clone().unwrap();
    assert!(quoted.own && quoted.text == "of the bot itself", "{quoted:?}");
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn n5_edits_and_deletions_are_told() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let first = fake.say(DM, ADA, "milk");
    let (second, third) = (fake.say(HALL, BOB, "two"), fake.say(HALL, BOB, "three"));
    fake.look(|world| world.unfurl(DM, first));
    fake.look(|world| world.edit(DM, first, "milk and eggs"));
    fake.look(|world| world.delete(DM, &[first]));
    fake.look(|world| world.delete(HALL, &[second, third]));
    let seen = running.intake.until(7).await;
    let texts: Vec<String> = seen.iter().map(hob_testkit::intake::text_of).collect();
    assert_eq!(texts, ["milk", "two", "three", "edited: milk and eggs", "deleted", "deleted", "deleted"]);
    assert_eq!((&seen[4].external_id, &seen[4].sender.external_id), (&first.to_string(), &ADA.to_string()));
    assert_eq!(seen[6].external_id, third.to_string());
    running.end().await;
}

#[tokio::test]
async fn k2_a_thread_that_is_new_is_known_and_one_that_cannot_be_seen_is_not_guessed() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let unseen = 800_000_000_000_000_077;
    fake.look(|world| {
        // No THREAD_CREATE came of it: it is asked for.
        let mut thread = world.channel(THREAD).clone();
        (thread.parent, thread.name) = (Some(KITCHEN), "soup");
        world.channels.insert(unseen, thread);
    });
    fake.say(unseen, ADA, "hot");
    let seen = running.intake.until(1).await;
    assert_eq!(seen[0].conversation.chat, KITCHEN.to_string());
    assert_eq!(seen[0].conversation.thread, Some(unseen.to_string()));
    let hidden = 800_000_000_000_000_078;
    fake.look(|world| {
        let mut thread = world.channel(THREAD).clone();
        thread.lacks.insert(VIEW);
        world.channels.insert(hidden, thread);
    });
    let event = json!({ "id": "5", "channel_id": hidden.to_string(), "guild_id": GUILD.to_string(), "type": 0,
        "content": "lost", "author": { "id": ADA.to_string(), "username": "ada" } });
    fake.look(|world| world.tell(None, "MESSAGE_CREATE", &event));
    fake.say(DM, ADA, "after it");
    assert_eq!(running.intake.texts(2).await, ["hot", "after it"]);
    running.end().await;
}

#[tokio::test]
async fn k2_what_cannot_be_read_costs_nothing_else() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.look(|world| world.tell(None, "MESSAGE_CREATE", &json!({ "id": 5, "strange": [] })));
    fake.look(|world| world.tell(None, "SOMETHING_NEW", &json!(null)));
    fake.post(Post::new(DM, ADA, "with parts of a new kind").with(json!({ "components": [{ "type": 17, "x": [] }] })));
    assert_eq!(running.intake.texts(1).await, ["with parts of a new kind"]);
    running.end().await;
}

#[tokio::test]
async fn k2_messages_of_a_channel_come_in_order_and_wait_for_the_intake() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    running.intake.fail("the disk is full", 3);
    let said: Vec<String> = (0..200).map(|number| format!("message {number}")).collect();
    for text in &said {
        fake.say(HALL, ADA, text);
    }
    assert_eq!(running.intake.texts(200).await, said);
    assert_eq!((running.intake.failures_left(), running.intake.duplicates()), (0, 0));
    running.end().await;
}
