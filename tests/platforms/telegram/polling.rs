//! Acknowledging, retrying, and what `/status` says about it.

use std::time::Duration;

use hob::daemon::watchdog::PulseMonitor;
use hob_core::domain::channel::Channel as _;
use hob_core::domain::health::AccountHealth;
use hob_core::domain::inbound::ChannelKind;
use hob_telegram::settings::Timing;
use serde_json::json;
use tokio::time::Instant;

use crate::telegram::harness::{PACE, RunningAdapter};
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::intake::text_of;

/// The id of a first update.
const FIRST: i64 = 817_000_001;

#[tokio::test]
async fn the_backlog_is_handed_in_and_acknowledged_by_the_next_offset() {
    let fake = FakeTelegram::start().await;
    fake.say(7, "one");
    fake.say(7, "two");
    let hob = RunningAdapter::start(&fake);
    assert_eq!(hob.intake.texts(2).await, ["one", "two"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(fake.look(|world| world.offsets.clone()), [None, Some(FIRST + 2)]);
    assert_eq!(
        fake.look(|world| world.allowed_updates.clone()).unwrap(),
        ["message", "edited_message", "callback_query"]
    );
    assert!(health(&hob).starts_with("connected (@hob_test_bot); last heard "), "{}", health(&hob));
    hob.end().await;
}

#[tokio::test]
async fn the_offset_stays_at_what_could_not_be_stored() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    hob.intake.fail("the disk is full", 3);
    fake.say(7, "one");
    hob.until_health(&fake, "messages wait: the message could not be stored: the disk is full").await;
    fake.say(7, "two");
    assert_eq!(hob.intake.texts(2).await, ["one", "two"]);
    assert_eq!(hob.intake.attempts(), ["1", "1", "1", "1", "2"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    let offsets: Vec<i64> = fake.look(|world| world.offsets.clone()).into_iter().flatten().collect();
    assert!(offsets.iter().all(|offset| *offset > FIRST), "acknowledged too early: {offsets:?}");
    assert!(!health(&hob).contains("messages wait"), "{}", health(&hob));
    hob.end().await;
}

#[tokio::test]
async fn what_was_stored_before_a_failure_is_acknowledged_and_not_handed_in_again() {
    let fake = FakeTelegram::start().await;
    for text in ["one", "two", "three"] {
        fake.say(7, text);
    }
    let hob = RunningAdapter::start(&fake);
    hob.intake.fail_second("busy");
    assert_eq!(hob.intake.texts(3).await, ["one", "two", "three"]);
    assert_eq!(hob.intake.attempts(), ["1", "2", "2", "3"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(fake.look(|world| world.offsets.clone()), [None, Some(FIRST + 1), Some(FIRST + 3)]);
    hob.end().await;
}

#[tokio::test]
async fn a_stop_drops_the_pending_poll_at_once() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    // The first asks how long the line is, and is answered at once.
    fake.until_true("a poll that waits", |world| world.waiting == 1 && world.polls_answered == 1).await;
    let answered = fake.look(|world| world.polls_answered);
    hob.end().await;
    assert_eq!(fake.look(|world| world.polls_answered), answered, "it was not waited for");
    fake.until_true("no poll", |world| world.waiting == 0).await;
}

#[tokio::test]
async fn a_conflict_is_shown_and_retried() {
    let fake = FakeTelegram::start().await;
    fake.faults("getUpdates", Fault::Conflict, 40);
    let hob = RunningAdapter::start(&fake);
    hob.until_health(&fake, "another process polls with this token").await;
    fake.mend();
    fake.say(7, "hello");
    hob.intake.until(1).await;
    hob.until_health(&fake, "connected (@hob_test_bot)").await;
    hob.end().await;
}

#[tokio::test]
async fn two_pollers_of_one_bot_see_each_other() {
    let fake = FakeTelegram::start().await;
    let (one, other) = (RunningAdapter::start(&fake), RunningAdapter::start(&fake));
    let health = || health(&one) + &health(&other);
    fake.until("a conflict", |_| health().contains("another process polls").then_some(())).await;
    other.end().await;
    fake.say(7, "hello");
    one.intake.until(1).await;
    one.end().await;
}

#[tokio::test]
async fn a_refused_token_is_shown_and_tried_slowly() {
    let fake = FakeTelegram::start().await;
    fake.faults("getMe", Fault::Unauthorized, 3);
    let hob = RunningAdapter::start(&fake);
    hob.until_health(&fake, "Telegram does not know this bot token (Unauthorized)").await;
    fake.say(7, "hello");
    hob.intake.until(1).await;
    assert_eq!(fake.look(|world| world.called("getMe")), 4);
    hob.end().await;
}

#[tokio::test]
async fn a_silent_poll_is_rebuilt_on_a_new_connection_and_sending_has_its_own() {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake.fault("getUpdates", Fault::Hang);
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll that hangs", |world| world.called("getUpdates") == 1).await;
    hob.adapter.deliver(&crate::telegram::harness::message(7, "sent meanwhile")).await.unwrap();
    fake.say(7, "hello");
    hob.intake.until(1).await;
    let ports = fake.look(|world| world.ports.clone());
    let (polls, sends) = (&ports["getupdates"], &ports["sendmessage"]);
    assert_ne!(polls[0], polls[1], "the same connection again");
    assert!(!polls.contains(&sends[0]), "sending shares the connection of polling");
    hob.end().await;
}

#[tokio::test]
async fn server_errors_cuts_pages_and_floods_end_no_polling() {
    let fake = FakeTelegram::start().await;
    let faults = [
        Fault::Server(500),
        Fault::Proxy(502),
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::Body("{\"ok\":true,\"result\":\"what?\"}".to_owned()),
        Fault::Body("{\"ok\":tr".to_owned()),
        Fault::Flood(0),
    ];
    for fault in &faults {
        fake.fault("getUpdates", fault.clone());
    }
    let hob = RunningAdapter::start(&fake);
    fake.say(7, "hello");
    assert_eq!(hob.intake.texts(1).await, ["hello"]);
    assert!(fake.look(|world| world.called("getUpdates")) > faults.len());
    hob.end().await;
}

#[tokio::test]
async fn a_flood_on_polling_is_waited_out() {
    let fake = FakeTelegram::start().await;
    fake.fault("getUpdates", Fault::Flood(1));
    fake.say(7, "hello");
    let hob = RunningAdapter::start(&fake);
    let early = tokio::time::timeout(Duration::from_secs(1), hob.intake.until(1)).await;
    assert!(early.is_err(), "it came before its time");
    hob.intake.until(1).await;
    hob.end().await;
}

#[tokio::test]
async fn an_outage_is_shown_without_the_token_and_survived() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    let outage = fake.outage().await;
    let fake = outage.end().await;
    fake.say(7, "hello");
    hob.intake.until(1).await;
    let outage = fake.outage().await;
    let error = hob.adapter.deliver(&crate::telegram::harness::message(7, "hi")).await.unwrap_err();
    for text in [health(&hob), error.to_string()] {
        assert!(!text.contains("AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"), "{text}");
    }
    drop(outage);
    hob.end().await;
}

#[tokio::test]
async fn n11_after_ten_minutes_of_outage_all_is_answered_once_and_in_order() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    fake.say(7, "before");
    hob.intake.until(1).await;
    let mut outage = fake.outage().await;
    let text = |number: usize| format!("meanwhile {number}");
    for number in 0..150 {
        outage.post(Post::new(7, 7, &text(number)));
    }
    let fake = outage.end().await;
    // Ten minutes are a dozen polls that fail, a minute after another, each in its own way.
    for fault in [Fault::Proxy(502), Fault::CutBefore, Fault::Server(500), Fault::Flood(0)].iter().cycle().take(12) {
        fake.fault("getUpdates", fault.clone());
    }
    for number in 150..300 {
        fake.say(7, &text(number));
    }
    let expected: Vec<String> = ["before".to_owned()].into_iter().chain((0..300).map(text)).collect();
    assert_eq!(hob.intake.texts(301).await, expected);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.attempts().len(), 301, "each of them once");
    hob.until_health(&fake, "connected (@hob_test_bot)").await;
    hob.end().await;
}

#[tokio::test]
async fn an_update_of_an_unknown_kind_or_shape_costs_no_neighbour() {
    let fake = FakeTelegram::start().await;
    fake.say(7, "one");
    fake.raw_update(json!({"telepathy": {"from": 7}}));
    fake.raw_update(json!({"message": {"no": "chat"}}));
    fake.raw_update(json!({"message": null}));
    fake.raw_update(json!({}));
    fake.say(7, "two");
    let hob = RunningAdapter::start(&fake);
    assert_eq!(hob.intake.texts(2).await, ["one", "two"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(fake.look(|world| world.called("getUpdates")), 2);
    hob.end().await;
}

#[tokio::test]
async fn an_update_that_no_parser_holds_costs_no_neighbour() {
    let fake = FakeTelegram::start().await;
    fake.say(7, "one");
    let deep = (0..150).fold(json!(1), |inner, _| json!([inner]));
    fake.raw_update(json!({ "deep": deep }));
    fake.say(7, "two");
    let hob = RunningAdapter::start(&fake);
    assert_eq!(hob.intake.texts(2).await, ["one", "two"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    hob.end().await;
}

#[tokio::test]
async fn more_than_a_batch_arrives_in_order() {
    let fake = FakeTelegram::start().await;
    for number in 0..250 {
        fake.say(7, &number.to_string());
    }
    let hob = RunningAdapter::start_with(&fake, Timing { poll_grace: Duration::from_secs(5), ..PACE });
    let expected: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    assert_eq!(hob.intake.texts(250).await, expected);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    // The first are acknowledged soon, for whoever is killed often.
    let acknowledged: Vec<i64> =
        fake.look(|world| world.offsets.iter().flatten().map(|offset| offset - FIRST).collect());
    assert_eq!(acknowledged, [10, 30, 70, 150, 250]);
    hob.end().await;
}

fn health(hob: &RunningAdapter) -> String {
    hob.adapter.health().to_string()
}

#[tokio::test]
async fn n12_a_loop_that_hangs_is_known_and_one_that_waits_out_an_outage_is_not() {
    let mut fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    let mut pulses = PulseMonitor::default();
    let mut dead = |later: Duration| {
        let (channel, account) = (ChannelKind::Telegram, "default".to_owned());
        let all = [AccountHealth { channel, account, health: hob.adapter.health() }];
        pulses.look(&all, Instant::now() + later)
    };
    let turns = || hob.adapter.health().pulse.unwrap().turns;
    // The server is gone: the loop comes round with each try.
    fake.go_down().await;
    let before = turns();
    while turns() < before + 3 {
        tokio::task::yield_now().await;
        assert!(dead(Duration::ZERO).is_empty());
    }
    fake.come_back().await;
    // What is handed in is never taken: it does not come round, and in the end that is known.
    hob.intake.hang();
    fake.say(7, "one");
    hob.intake.tried(1).await;
    assert!(dead(Duration::ZERO).is_empty());
    assert!(dead(Duration::from_secs(600)).is_empty(), "a long recording may be put into words");
    assert_eq!(dead(Duration::from_secs(631)), ["telegram (default)"]);
    hob.end().await;
}

#[tokio::test]
async fn k2_while_files_are_fetched_other_chats_and_buttons_go_on_and_nothing_is_acknowledged_early() {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    let asked = fake.look(|world| world.ask(7, "Sure?", "t:no"));
    let hob = RunningAdapter::start(&fake);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    hob.intake.hold("7", 1);
    fake.hand(7, "a.pdf", b"%PDF-1.7", "read this");
    hob.intake.tried(1).await;
    let behind = fake.say(7, "and tell me").to_string();
    fake.say(8, "one");
    fake.say(8, "two");
    assert_eq!(hob.intake.texts(2).await, ["one", "two"]);
    fake.press(7, 7, asked, "t:no");
    assert_eq!(hob.intake.texts(3).await[2], "pressed: t:no");
    assert!(!hob.intake.attempts().contains(&behind), "what was said behind the file goes behind it");
    assert!(fake.look(|world| world.offsets.iter().flatten().all(|offset| *offset == FIRST)), "acknowledged too early");
    hob.intake.release();
    assert_eq!(hob.intake.texts(5).await[3..], ["read this", "and tell me"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.attempts().len(), 5, "nothing twice");
    hob.end().await;
}

#[tokio::test]
async fn k2_a_file_that_was_being_fetched_at_the_end_comes_again() {
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    hob.intake.hold("7", 1);
    fake.hand(7, "a.pdf", b"%PDF-1.7", "read this");
    hob.intake.tried(1).await;
    fake.say(8, "one");
    hob.intake.until(1).await;
    hob.end().await;
    let hob = RunningAdapter::start(&fake);
    let mut seen = hob.intake.texts(2).await;
    seen.sort();
    assert_eq!(seen, ["one", "read this"]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    hob.end().await;
}

#[tokio::test]
async fn k2_many_files_at_once_are_all_taken_in_and_in_order() {
    let fake = FakeTelegram::start().await;
    for person in 10..20 {
        fake.hand(person, "a.pdf", b"%PDF-1.7", "one");
        fake.hand(person, "b.pdf", b"%PDF-1.7", "two");
        fake.say(person, "three");
    }
    let hob = RunningAdapter::start(&fake);
    hob.intake.fail("the disk is full", 2);
    let seen = hob.intake.until(30).await;
    for person in 10..20 {
        let said: Vec<_> =
            seen.iter().filter(|said| said.conversation.chat == person.to_string()).map(text_of).collect();
        assert_eq!(said, ["one", "two", "three"]);
    }
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.duplicates(), 0);
    hob.end().await;
}
