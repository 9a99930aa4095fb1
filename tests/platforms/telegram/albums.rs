//! Pictures that are sent together are one message.

use std::time::Duration;

use hob_core::domain::inbound::Inbound;
use hob_telegram::settings::Timing;
use serde_json::json;

use crate::telegram::harness::{PACE, RunningAdapter};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::intake::text_of;

/// The id of a first update.
const FIRST: i64 = 817_000_001;

fn told(inbound: &Inbound) -> (String, String, usize) {
    (inbound.external_id.clone(), text_of(inbound), inbound.attachments.len())
}

#[tokio::test]
async fn k2_an_album_is_one_message_with_all_its_words() {
    let fake = FakeTelegram::start().await;
    fake.say(7, "before");
    fake.album(7, 7, "g1", &["our cat", "", "and the dog"]);
    fake.post(Post::new(8, 8, "somebody else"));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(3).await;
    let mut seen: Vec<_> = seen.iter().map(told).collect();
    assert_eq!(seen.remove(0), ("1".to_owned(), "before".to_owned(), 0));
    seen.sort_by_key(|(_, _, files)| *files);
    assert_eq!(seen[0], ("1".to_owned(), "somebody else".to_owned(), 0));
    assert_eq!(seen[1], ("2".to_owned(), "our cat\nand the dog".to_owned(), 3));
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.attempts().len(), 3, "nothing twice");
    hob.end().await;
}

#[tokio::test]
async fn k2_an_album_that_comes_in_two_polls_is_one_message_and_not_acknowledged_early() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start_with(&fake, Timing { album_window: Duration::from_millis(500), ..PACE });
    fake.until_true("a poll", |world| world.waiting == 1).await;
    fake.album(7, 7, "g1", &["one"]);
    fake.until_true("an answered poll", |world| world.waiting == 0).await;
    let polls = fake.look(|world| world.called("getUpdates"));
    fake.album(7, 7, "g1", &["two", "three"]);
    let seen = hob.intake.until(1).await;
    assert_eq!(told(&seen[0]), ("1".to_owned(), "one\ntwo\nthree".to_owned(), 3));
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert!(fake.look(|world| world.called("getUpdates")) > polls);
    let offsets: Vec<i64> = fake.look(|world| world.offsets.clone()).into_iter().flatten().collect();
    assert!(offsets.iter().all(|offset| *offset == FIRST + 3), "acknowledged too early: {offsets:?}");
    assert_eq!(hob.intake.attempts(), ["1"]);
    hob.end().await;
}

#[tokio::test]
async fn k2_what_comes_behind_an_album_ends_it_and_a_late_part_is_a_message_of_its_own() {
    let fake = FakeTelegram::start().await;
    fake.album(7, 7, "g1", &["", ""]);
    fake.say(7, "what is that?");
    let hob = RunningAdapter::start_with(&fake, Timing { album_window: Duration::from_secs(600), ..PACE });
    let seen: Vec<_> = hob.intake.until(2).await.iter().map(told).collect();
    let expected = [("1".to_owned(), String::new(), 2), ("3".to_owned(), "what is that?".to_owned(), 0)];
    assert_eq!(seen, expected);
    fake.album(7, 7, "g1", &["late"]);
    fake.say(7, "and that?");
    let seen = hob.intake.until(4).await;
    assert_eq!(told(&seen[2]), ("4".to_owned(), "late".to_owned(), 1));
    hob.end().await;
}

#[tokio::test]
async fn k2_an_album_that_could_not_be_stored_is_handed_in_whole_again() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    hob.intake.fail("the disk is full", 2);
    fake.album(7, 7, "g1", &["a", "b"]);
    let seen = hob.intake.until(1).await;
    assert_eq!(told(&seen[0]), ("1".to_owned(), "a\nb".to_owned(), 2));
    assert_eq!(hob.intake.attempts(), ["1", "1", "1"]);
    hob.end().await;
}

#[tokio::test]
async fn k2_an_album_with_a_caption_for_hob_is_said_to_hob_in_a_group() {
    let fake = FakeTelegram::start().await;
    let group = -100_500;
    fake.group(group, &[]);
    fake.album(group, 7, "g1", &["", ""]);
    let caption = "@hob_test_bot what is that?";
    let entities = json!([{"type": "mention", "offset": 0, "length": 13}]);
    let photo = json!([{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1, "file_size": 1}]);
    let part = json!({"photo": photo, "caption": caption, "caption_entities": entities, "media_group_id": "g1"});
    fake.post(Post::new(group, 7, "").with(part));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(1).await;
    assert_eq!(told(&seen[0]), ("1".to_owned(), caption.to_owned(), 3));
    assert_eq!(seen[0].metadata.audience, hob_core::domain::inbound::Audience::Hob);
    hob.end().await;
}
