//! What was said while Hob was away.

use std::sync::Arc;

use serde_json::json;

use crate::discord::harness::{PACE, RunningAdapter};
use hob_testkit::fake_discord::world::{ADA, BOB, DM, GUILD, HALL, HISTORY, KITCHEN, THREAD};
use hob_testkit::fake_discord::{FakeDiscord, Fault};
use hob_testkit::intake::Memory;

#[tokio::test]
async fn n11_a_new_process_fetches_what_came_meanwhile_once_and_in_order() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
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
    let again = RunningAdapter::begin(&fake, PACE, Arc::clone(&intake));
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
    let running = RunningAdapter::start(&fake).await;
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
    let again = RunningAdapter::begin(&fake, PACE, Arc::clone(&intake));
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
    let running = RunningAdapter::begin(&fake, PACE, Arc::clone(&intake));
    assert_eq!(intake.texts(1).await, ["open"]);
    fake.say(KITCHEN, ADA, "live");
    assert_eq!(intake.texts(2).await, ["open", "live"]);
    running.end().await;
}

/// What the next process finds of what was said while nobody was there.
async fn after_a_break(
    fake: &FakeDiscord,
    running: RunningAdapter,
    meanwhile: impl FnOnce(&FakeDiscord),
) -> RunningAdapter {
    let intake = Arc::clone(&running.intake);
    running.end().await;
    fake.look(|world| world.sessions.clear());
    meanwhile(fake);
    RunningAdapter::begin(fake, PACE, intake)
}

#[tokio::test]
async fn an_interrupted_catch_up_passes_over_nothing_that_was_made_meanwhile() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(HALL, ADA, "known");
    running.intake.until(1).await;
    let again = after_a_break(&fake, running, |fake| {
        let made = fake.look(|world| world.make_thread(HALL));
        fake.say(made, BOB, "in a new thread");
        fake.say(HALL, ADA, "one");
        fake.say(HALL, ADA, "two");
    })
    .await;
    // The hall's cursor has moved past the thread's beginning when it is tried again.
    again.intake.fail_second("the disk is full");
    assert_eq!(again.intake.texts(4).await, ["known", "one", "two", "in a new thread"]);
    assert_eq!((again.intake.failures_left(), again.intake.duplicates()), (0, 0));
    again.end().await;
    fake.nothing_wrong();
}

/// A thread that Hob is let into.
const SHOWN: u64 = 800_000_000_000_000_006;

#[tokio::test]
async fn n11_a_thread_made_while_hob_is_there_is_read_after_the_next_break() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let made = fake.look(|world| world.make_thread(HALL));
    // One that Hob is let into later: what was said there is not its business.
    let last = fake.say(KITCHEN, BOB, "elsewhere");
    running.intake.until(1).await;
    let shown = fake.look(|world| {
        let (mut thread, mut said) = (world.channel(THREAD).clone(), world.channel(KITCHEN).messages[0].clone());
        said.channel = SHOWN;
        (thread.name, thread.messages) = ("shown", vec![said]);
        world.channels.insert(SHOWN, thread);
        let told = json!({ "id": SHOWN.to_string(), "type": 11, "guild_id": GUILD.to_string(),
            "parent_id": HALL.to_string(), "last_message_id": last.to_string() });
        json!({ "guild_id": GUILD.to_string(), "channel_ids": [HALL.to_string()], "threads": [told], "members": [] })
    });
    fake.look(|world| world.tell(None, "THREAD_LIST_SYNC", &shown));
    fake.say(HALL, ADA, "later");
    running.intake.until(2).await;
    assert!(running.intake.cursor(&made.to_string()).is_some());
    let again = after_a_break(&fake, running, |fake| {
        fake.say(made, BOB, "in the thread");
        fake.say(SHOWN, BOB, "and here");
    })
    .await;
    let mut texts = again.intake.texts(4).await[2..].to_vec();
    texts.sort();
    assert_eq!(texts, ["and here", "in the thread"]);
    again.end().await;
    // Nothing else is read.
    assert_eq!(fake.look(|world| world.called("GET messages")), 2);
    fake.nothing_wrong();
}

#[tokio::test]
async fn n11_a_thread_that_was_put_away_meanwhile_is_read() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(THREAD, BOB, "dinner?");
    running.intake.until(1).await;
    let again = after_a_break(&fake, running, |fake| {
        fake.say(THREAD, BOB, "anybody?");
        fake.look(|world| world.channels.get_mut(&THREAD).unwrap().archived = true);
        fake.fault("GET channels", Fault::Proxy(502));
    })
    .await;
    assert_eq!(again.intake.texts(2).await, ["dinner?", "anybody?"]);
    // Those that are listed are not asked for one by one.
    assert_eq!(fake.look(|world| world.called("GET channels")), 2);
    again.end().await;
    fake.nothing_wrong();
}
