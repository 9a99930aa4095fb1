//! "Hob is typing …" begins, goes on, and ends.

use std::time::Duration;

use hob::channel::telegram::settings::Pace;
use hob::domain::channel::Ended;
use hob::domain::channel::{Channel as _, Progress};
use hob::domain::ids::RunId;

use crate::harness::{PACE, Running, to};
use crate::support::fake_telegram::{FakeTelegram, Fault};

/// Shows typing and waits until it was shown so often.
async fn shown(fake: &FakeTelegram, chat: i64, times: usize) {
    fake.until_true("typing", |world| world.chat(chat).actions.len() >= times).await;
}

/// How often typing is shown in the chat while it is shown `others` times in chat 8.
async fn shown_meanwhile(fake: &FakeTelegram, hob: &Running, chat: i64) -> usize {
    let count = || fake.look(|world| world.chat(chat).actions.len());
    let before = count();
    hob.telegram.progress(&to(8), RunId(80), &Progress::Working);
    let others = fake.look(|world| world.chat(8).actions.len());
    shown(fake, 8, others + 5).await;
    hob.telegram.progress(&to(8), RunId(80), &Progress::Idle(Ended::Done));
    count() - before
}

async fn start(pace: Pace) -> (FakeTelegram, Running) {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake.person(8);
    let hob = Running::start_with(&fake, pace);
    fake.until_true("a poll", |world| world.waiting == 1).await;
    (fake, hob)
}

#[tokio::test]
async fn typing_is_refreshed_until_the_run_is_idle() {
    let (fake, hob) = start(PACE).await;
    hob.telegram.progress(&to(7), RunId(1), &Progress::Working);
    hob.telegram.progress(&to(7), RunId(1), &Progress::Delta("Hel".to_owned()));
    shown(&fake, 7, 3).await;
    hob.telegram.progress(&to(7), RunId(1), &Progress::Idle(Ended::Done));
    let late = shown_meanwhile(&fake, &hob, 7).await;
    assert!(late <= 1, "{late} after idle");
    hob.end().await;
}

#[tokio::test]
async fn many_signs_of_life_are_one_action() {
    let (fake, hob) = start(Pace { typing_every: Duration::from_secs(3600), ..PACE }).await;
    for _ in 0..50 {
        hob.telegram.progress(&to(7), RunId(1), &Progress::Working);
        hob.telegram.progress(&to(7), RunId(1), &Progress::Delta("x".to_owned()));
    }
    shown(&fake, 7, 1).await;
    hob.telegram.progress(&to(7), RunId(1), &Progress::Idle(Ended::Done));
    hob.telegram.progress(&to(7), RunId(2), &Progress::Working);
    hob.telegram.progress(&to(8), RunId(3), &Progress::Working);
    shown(&fake, 8, 1).await;
    assert_eq!(fake.look(|world| world.called("sendChatAction")), 2);
    hob.end().await;
}

#[tokio::test]
async fn the_end_of_an_older_run_ends_no_newer_ones_typing() {
    let (fake, hob) = start(PACE).await;
    hob.telegram.progress(&to(7), RunId(1), &Progress::Working);
    hob.telegram.progress(&to(7), RunId(2), &Progress::Working);
    hob.telegram.progress(&to(7), RunId(1), &Progress::Idle(Ended::Done));
    shown(&fake, 7, 3).await;
    hob.end().await;
}

#[tokio::test]
async fn typing_has_an_end_of_its_own() {
    let (fake, hob) = start(Pace { typing_max: Duration::from_millis(100), ..PACE }).await;
    hob.telegram.progress(&to(7), RunId(1), &Progress::Working);
    shown(&fake, 7, 1).await;
    fake.until_true("an hour of polls", |world| world.called("getUpdates") >= 2).await;
    let count = fake.look(|world| world.chat(7).actions.len());
    fake.until_true("another poll", |world| world.called("getUpdates") >= 3).await;
    assert_eq!(fake.look(|world| world.chat(7).actions.len()), count);
    hob.end().await;
}

#[tokio::test]
async fn a_refusal_ends_typing_and_a_stop_ends_all() {
    let (fake, hob) = start(PACE).await;
    fake.fault("sendChatAction", Fault::Blocked);
    hob.telegram.progress(&to(7), RunId(1), &Progress::Working);
    fake.until_true("a refusal", |world| world.called("sendChatAction") == 1).await;
    assert_eq!(shown_meanwhile(&fake, &hob, 7).await, 0);
    fake.fault("sendChatAction", Fault::Hang);
    hob.telegram.progress(&to(8), RunId(9), &Progress::Working);
    hob.end().await;
}
