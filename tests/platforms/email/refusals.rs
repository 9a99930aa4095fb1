//! A server that refuses, or breaks off: no letter is lost by it, and none keeps the others back for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::inbound::Attachment;
use hob_email::settings::Timing;
use jiff::{SignedDuration, Timestamp};

use crate::email::harness::{RunningAdapter, letter};
use crate::email::scripted::{ScriptedFault, ScriptedMailServer, VALIDITY};
use hob_testkit::intake::{Memory, text_of};

const ADA: &str = "ada@example.org";
const NO: ScriptedFault = ScriptedFault::Says("NO [SERVERBUG] Internal error occurred.");

/// Letters with these numbers, which came just now.
fn letters(numbers: std::ops::RangeInclusive<usize>) -> Vec<(Vec<u8>, Timestamp)> {
    numbers.map(|number| (letter(number, ADA, "hello"), SystemClock.now())).collect()
}

fn texts(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|number| format!("Subject: Letter {number}\n\nhello")).collect()
}

/// One that has had its first look.
async fn watching(server: &ScriptedMailServer, pace: impl FnOnce(&mut Timing)) -> RunningAdapter {
    let mut settings = server.settings();
    pace(&mut settings.pace);
    let running = RunningAdapter::resume(settings, Arc::default());
    running.intake.until_cursor(|cursors| cursors.contains_key("INBOX;began")).await;
    running
}

/// Whether what stands in letter `uid` is asked for, alone or with others.
fn is_body_of(command: &str, uid: &str) -> bool {
    let mut words = command.strip_prefix("UID FETCH ").unwrap_or_default().split(' ');
    words.next().is_some_and(|uids| uids.split(',').any(|one| one == uid)) && command.contains("BODY.PEEK[]")
}

#[tokio::test]
async fn n14_letters_that_the_server_refuses_to_show_are_not_lost() {
    let (searches, bodies) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let refused = move |count: &AtomicUsize, times| count.fetch_add(1, Ordering::Relaxed) < times;
    let server = ScriptedMailServer::start(move |command: &str| {
        let is_refused = match command {
            // Of several at once, and of the second, it never says how big they are.
            _ if command.contains("RFC822.SIZE") => command.contains(',') || command.starts_with("UID FETCH 2 "),
            _ if command.contains("BODY.PEEK") => refused(&bodies, 3),
            _ if command.starts_with("UID SEARCH") => refused(&searches, 1),
            _ => false,
        };
        is_refused.then_some(NO)
    })
    .await;
    let running = watching(&server, |_| {}).await;
    server.put(&letters(1..=3));
    assert_eq!(running.intake.texts(3).await, texts(&[1, 2, 3]));
    running.end().await;
}

#[tokio::test]
async fn n14_a_connection_that_ends_in_a_letter_loses_none() {
    let broken = AtomicUsize::new(0);
    let server = ScriptedMailServer::start(move |command: &str| {
        let is_broken = command.contains("BODY.PEEK") && broken.fetch_add(1, Ordering::Relaxed) < 2;
        is_broken.then_some(ScriptedFault::HangsUp)
    })
    .await;
    let running = watching(&server, |_| {}).await;
    server.put(&letters(1..=3));
    assert_eq!(running.intake.texts(3).await, texts(&[1, 2, 3]));
    running.end().await;
}

#[tokio::test]
async fn n14_a_letter_that_cannot_be_had_whole_is_read_in_part() {
    for twist in [NO, ScriptedFault::HangsUp] {
        let server = ScriptedMailServer::start(move |command: &str| {
            (is_body_of(command, "2") && command.ends_with("BODY.PEEK[])")).then_some(twist)
        })
        .await;
        let running = watching(&server, |_| {}).await;
        let long = letter(2, ADA, &"It is long. ".repeat(30_000));
        let all = letters(1..=3).into_iter().enumerate();
        let all: Vec<_> = all.map(|(at, (raw, time))| (if at == 1 { long.clone() } else { raw }, time)).collect();
        server.put(&all);
        let all = running.intake.until(3).await;
        assert_eq!([&all[0], &all[2]].map(text_of).to_vec(), texts(&[1, 3]));
        let text = text_of(&all[1]);
        assert!(text.contains("It is long.") && text.contains("I have read only its beginning."), "{twist:?}: {text}");
        running.end().await;
    }
}

#[tokio::test]
async fn n14_a_letter_that_cannot_be_shown_does_not_hold_up_the_others_for_ever() {
    for twist in [NO, ScriptedFault::HangsUp] {
        let server = ScriptedMailServer::start(move |command: &str| is_body_of(command, "2").then_some(twist)).await;
        let running = watching(&server, |pace| pace.pass_over_after = Duration::ZERO).await;
        server.put(&letters(1..=3));
        assert_eq!(running.intake.texts(2).await, texts(&[1, 3]));
        assert!(server.asked("UID FETCH 2 (UID BODY.PEEK[]<0.") >= 1, "its beginning was asked for");
        running.end().await;
    }
}

#[tokio::test]
async fn n14_no_letter_is_passed_over_too_early_or_by_a_server_that_shows_none() {
    let long = Duration::from_secs(600);
    for (refused, pass_over_after) in [("1", long), ("1,2,3", Duration::ZERO)] {
        let is_ill = Arc::new(AtomicBool::new(true));
        let ill = Arc::clone(&is_ill);
        let server = ScriptedMailServer::start(move |command: &str| {
            let is_refused = refused.split(',').any(|uid| is_body_of(command, uid));
            (ill.load(Ordering::Relaxed) && is_refused).then_some(NO)
        })
        .await;
        let running = watching(&server, |pace| pace.pass_over_after = pass_over_after).await;
        server.put(&letters(1..=3));
        server.until_asked("UID FETCH 1 (UID BODY.PEEK[]<0.262144>", 5).await;
        assert!(running.intake.attempts().is_empty());
        is_ill.store(false, Ordering::Relaxed);
        assert_eq!(running.intake.texts(3).await, texts(&[1, 2, 3]));
        running.end().await;
    }
}

#[tokio::test]
async fn n14_a_server_that_refuses_to_tell_is_asked_from_time_to_time() {
    for refusal in ["NO not now", "BAD what is that", "OK that was all"] {
        let server =
            ScriptedMailServer::start(move |command: &str| (command == "IDLE").then_some(ScriptedFault::Says(refusal)))
                .await;
        let running = watching(&server, |_| {}).await;
        server.until_asked("IDLE", 1).await;
        for number in 1..=3 {
            server.put(&letters(number..=number));
            running.intake.until(number).await;
        }
        assert_eq!((server.connections(), server.asked("IDLE")), (1, 1), "{refusal}");
        running.end().await;
    }
}

#[tokio::test]
async fn n14_a_server_that_is_full_is_tried_again_soon() {
    let logins = AtomicUsize::new(0);
    let server = ScriptedMailServer::start(move |command: &str| {
        let is_full = command.starts_with("LOGIN") && logins.fetch_add(1, Ordering::Relaxed) < 3;
        is_full.then_some(ScriptedFault::Says("NO [LIMIT] Too many simultaneous connections."))
    })
    .await;
    // A password that is wrong would be tried again tomorrow.
    let running = watching(&server, |pace| pace.retry_refused = Duration::from_secs(86_400)).await;
    assert_eq!(server.asked("LOGIN"), 4);
    running.end().await;
}

#[tokio::test]
async fn n14_whoever_is_let_in_and_shown_the_door_knocks_less_and_less() {
    let server = ScriptedMailServer::start(|command: &str| (command == "IDLE").then_some(ScriptedFault::HangsUp)).await;
    // 20 ms, then twice as long each time.
    let window = tokio::time::sleep(Duration::from_millis(20 * 31));
    let running = watching(&server, |pace| {
        (pace.retry_min, pace.retry_max) = (Duration::from_millis(20), Duration::from_secs(600));
    })
    .await;
    tokio::select! {
        biased;
        () = window => {}
        () = server.until_asked("IDLE", 6) => panic!("it knocked six times at once"),
    }
    server.until_asked("IDLE", 6).await;
    running.end().await;
}

#[tokio::test]
async fn c6_a_file_that_the_server_refuses_is_not_called_gone() {
    let server = ScriptedMailServer::start(|command: &str| command.contains("BODY.PEEK[2]").then_some(NO)).await;
    server.put(&letters(1..=1));
    let running = watching(&server, |_| {}).await;
    let file =
        |uid: u32| Attachment { handle: format!("{VALIDITY}/{uid}/2/plain"), name: "plan.pdf".to_owned(), bytes: None };
    let refused = running.adapter.fetch(&file(1), 1 << 20).await.unwrap_err().to_string();
    assert_eq!(refused, "the mail server refused: [SERVERBUG] Internal error occurred.");
    running.end().await;
}

#[tokio::test]
async fn n14_looking_through_new_numbers_goes_on_where_it_was_cut_off() {
    let server = ScriptedMailServer::start(|_: &str| None).await;
    let now = SystemClock.now();
    let (recent, old) = (now - SignedDuration::from_hours(1), now - SignedDuration::from_hours(30 * 24));
    let lie = |number: usize, came_at| (letter(number, ADA, "hello"), came_at);
    server.put(&[lie(1, recent), lie(2, old), lie(3, recent), lie(4, old)]);
    // Hob began three days ago, and the numbers that it knew are void.
    let intake = Arc::new(Memory::default());
    let began = now - SignedDuration::from_hours(72);
    intake.left("INBOX;began", u64::try_from(began.as_second()).unwrap());
    intake.left("INBOX;8", 700);
    intake.fail_second("the disk is full");
    let running = RunningAdapter::resume(server.settings(), intake);
    assert_eq!(running.intake.texts(2).await, texts(&[1, 3]));
    // The older ones were not said to Hob, and do not become new by what comes now; that is, whatever day it bears.
    running.intake.until_cursor(|cursors| cursors.get("INBOX;9") == Some(&4)).await;
    server.put(&[lie(5, old), lie(6, recent)]);
    assert_eq!(running.intake.texts(4).await, texts(&[1, 3, 5, 6]));
    running.end().await;
}
