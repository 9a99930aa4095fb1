//! What was said while Hob was away.

use std::sync::Arc;

use crate::harness::{PACE, Running};
use crate::support::fake_discord::world::{ADA, BOB, DM, HALL, HISTORY, KITCHEN, THREAD};
use crate::support::fake_discord::{FakeDiscord, Fault};
use crate::support::intake::Memory;

#[tokio::test]
async fn n11_a_new_process_fetches_what_came_meanwhile_once_and_in_order() {
    let fake = FakeDiscord::start().await;
    let running = Running::start(&fake).await;
    fake.say(HALL, ADA, "old");
    fake.say(DM, ADA, "old, in private");
    fake.say(THREAD, BOB, "old, in the thread");
    running.intake.until(3).await;
    let intake = Arc::clone(&running.intake);
    running.end().await;
    fake.look(|world| world.sessions.clear());
    let mut expected = vec!["old, in private".to_owned(), "in private".to_owned()];
    fake.say(DM, BOB, "in private");
    for number in 0..250 {
        let text = format!("missed {number}");
        fake.say(HALL, ADA, &text);
        expected.push(text);
    }
    fake.say(HALL, FakeDiscord::BOT, "of the bot itself");
    fake.say(THREAD, ADA, "in the thread");
    expected.push("in the thread".to_owned());
    let again = Running::begin(&fake, PACE, Arc::clone(&intake));
    let texts = intake.texts(3 + 252).await;
    assert_eq!(texts[3..], expected[1..]);
    fake.until_identified(2).await;
    fake.say(HALL, ADA, "live");
    assert_eq!(intake.texts(3 + 253).await.last().unwrap(), "live");
    assert_eq!(intake.duplicates(), 0);
    again.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn n11_a_channel_that_is_new_to_hob_is_not_read_back_but_one_made_meanwhile_is() {
    let fake = FakeDiscord::start().await;
    fake.say(KITCHEN, BOB, "long before Hob came");
    let running = Running::start(&fake).await;
    let last = fake.say(HALL, ADA, "known");
    running.intake.until(1).await;
    assert!(running.intake.cursor(&KITCHEN.to_string()).is_some(), "what is there is passed over for good");
    let intake = Arc::clone(&running.intake);
    running.end().await;
    let made = last + 1;
    fake.look(|world| {
        world.sessions.clear();
        let mut thread = world.channel(THREAD).clone();
        thread.messages.clear();
        world.channels.insert(made, thread);
    });
    fake.say(made, BOB, "a new thread");
    fake.say(KITCHEN, BOB, "soup");
    let again = Running::begin(&fake, PACE, Arc::clone(&intake));
    let mut texts = intake.texts(3).await[1..].to_vec();
    texts.sort();
    assert_eq!(texts, ["a new thread", "soup"]);
    again.end().await;
}

#[tokio::test]
async fn n11_a_history_that_fails_for_now_is_fetched_and_one_that_is_closed_is_left() {
    let fake = FakeDiscord::start().await;
    let intake = Arc::new(Memory::default());
    intake.left(&HALL.to_string(), 1);
    intake.left(&KITCHEN.to_string(), 1);
    fake.look(|world| world.deny(KITCHEN, HISTORY));
    fake.say(KITCHEN, ADA, "closed");
    fake.say(HALL, ADA, "open");
    fake.fault("GET messages", Fault::Flood(0.05, false));
    fake.fault("GET messages", Fault::Proxy(502));
    let running = Running::begin(&fake, PACE, Arc::clone(&intake));
    assert_eq!(intake.texts(1).await, ["open"]);
    fake.say(KITCHEN, ADA, "live");
    assert_eq!(intake.texts(2).await, ["open", "live"]);
    running.end().await;
}
