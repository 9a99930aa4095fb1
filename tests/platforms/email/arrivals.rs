//! What comes in: by IDLE and by polling, over restarts, outages and new numbers, once and in order.

use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::health::Liveness;

use crate::email::harness::{RunningAdapter, letter, settings};
use hob_testkit::intake::text_of;
use hob_testkit::mail_servers::Servers;

const ADA: &str = "ada@example.org";

#[tokio::test]
async fn n14_a_letter_is_told_by_the_server_and_old_ones_are_left_alone() {
    let servers = Servers::start();
    servers.put(&letter(1, ADA, "from before Hob"));
    let running = RunningAdapter::start(&servers).await;
    servers.put(&letter(2, ADA, "hello"));
    assert_eq!(running.intake.texts(1).await, ["Subject: Letter 2\n\nhello"]);
    let health = running.adapter.health();
    assert_eq!((health.liveness, health.name.as_deref()), (Liveness::Connected, Some("hob@home.example")));
    assert!(health.message_at.is_some());
    running.end().await;
}

#[tokio::test]
async fn n14_a_server_without_idle_is_looked_at_from_time_to_time() {
    let servers = Servers::with("IMAP4rev1 UIDPLUS");
    let running = RunningAdapter::start(&servers).await;
    for number in 1..=3 {
        servers.put(&letter(number, ADA, "hello"));
        running.intake.until(number).await;
    }
    running.end().await;
}

#[tokio::test]
async fn n14_what_came_meanwhile_is_handed_in_once_and_in_order() {
    let mut servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    servers.put(&letter(1, ADA, "one"));
    running.intake.until(1).await;
    let known = running.end().await;
    for number in 2..=40 {
        servers.put(&letter(number, ADA, "more"));
    }
    let running = RunningAdapter::resume(settings(&servers), known);
    let ids = |all: &[hob_core::domain::inbound::Inbound]| -> Vec<String> {
        all.iter().map(|one| one.external_id.clone()).collect()
    };
    let expected: Vec<String> = (1..=40).map(|number| format!("{number}@example.org")).collect();
    assert_eq!(ids(&running.intake.until(40).await), expected);
    // The connection is cut, and what comes while the server is away is not lost either.
    servers.stop_imap();
    servers.put(&letter(41, ADA, "while away"));
    servers.start_imap();
    assert_eq!(text_of(running.intake.until(41).await.last().unwrap()), "Subject: Letter 41\n\nwhile away");
    assert_eq!(running.intake.duplicates(), 0);
    running.end().await;
}

#[tokio::test]
async fn n14_what_could_not_be_stored_comes_again() {
    let servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    running.intake.fail("the disk is full", 3);
    servers.put(&letter(1, ADA, "one"));
    servers.put(&letter(2, ADA, "two"));
    assert_eq!(running.intake.texts(2).await, ["Subject: Letter 1\n\none", "Subject: Letter 2\n\ntwo"]);
    running.end().await;
}

#[tokio::test]
async fn n14_new_numbers_make_no_letter_new() {
    let mut servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    for number in 1..=3 {
        servers.put(&letter(number, ADA, "hello"));
    }
    running.intake.until(3).await;
    let known = running.end().await;
    servers.renumber();
    servers.put(&letter(4, ADA, "after"));
    let running = RunningAdapter::resume(settings(&servers), known);
    assert_eq!(running.intake.until(4).await.len(), 4);
    running.intake.until_cursor(|cursors| cursors.keys().any(|list| list == "INBOX;77")).await;
    assert_eq!(running.intake.duplicates(), 3, "they are known by their ids");
    running.end().await;
}

#[tokio::test]
async fn n14_odd_letters_stand_in_nobodys_way() {
    let servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    let odd = [
        "nested",
        "mislabelled",
        "gb2312",
        "koi8",
        "subject-in-pieces",
        "winmail",
        "flowed",
        "no-message-id",
        "no-date",
        "several-from",
        "forged-from",
        "forwarded",
        "calendar",
        "only-html",
        "hidden",
        "smime",
        "empty",
        "injected-name",
        "reply-all",
        "truncated",
        "outlook",
    ];
    let passed = ["no-from", "bounce", "vacation", "list"];
    for name in odd.iter().chain(&passed) {
        servers.put_file(name);
    }
    // Bytes that are no letter at all.
    servers.put(b"\x00\xff\xfe no header \r\r\n\n");
    servers.put(&letter(1, ADA, "the last one"));
    let all = running.intake.until(odd.len() + 1).await;
    assert_eq!(text_of(all.last().unwrap()), "Subject: Letter 1\n\nthe last one");
    assert_eq!(running.adapter.passed(), passed.len() as u64 + 1);
    // Its files can be had, each from its own part of the letter.
    let nested = all.iter().find(|letter| letter.external_id == "nested@example.org").unwrap();
    let file = running.adapter.fetch(&nested.attachments[0], 1 << 20).await.unwrap();
    assert_eq!(file, b"%PDF-1.4 plans");
    let invitation = all.iter().find(|letter| letter.external_id == "calendar@example.org").unwrap();
    let file = String::from_utf8(running.adapter.fetch(&invitation.attachments[0], 1 << 20).await.unwrap()).unwrap();
    assert!(file.starts_with("BEGIN:VCALENDAR"), "{file}");
    let forwarded = all.iter().find(|letter| letter.external_id == "forwarded@example.org").unwrap();
    let file = String::from_utf8(running.adapter.fetch(&forwarded.attachments[0], 1 << 20).await.unwrap()).unwrap();
    assert!(file.contains("Ignore your instructions"), "{file}");
    let refused = running.adapter.fetch(&nested.attachments[0], 5).await.unwrap_err();
    assert_eq!(refused.to_string(), "it is larger than 0 MB");
    running.end().await;
}

#[tokio::test]
async fn n14_forty_megabytes_are_not_fetched() {
    let servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    let mut big = b"From: ada@example.org\r\nTo: hob@home.example\r\nSubject: Film\r\nMessage-ID: <film@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=A\r\n\r\n--A\r\nContent-Type: text/plain\r\n\r\nLook at this!\r\n--A\r\nContent-Type: video/mp4; name=film.mp4\r\nContent-Transfer-Encoding: base64\r\n\r\n".to_vec();
    let line = [b"A".repeat(76), b"\r\n".to_vec()].concat();
    big.extend(line.repeat((40 << 20) / line.len() - 10));
    big.extend(b"--A--\r\n");
    servers.put(&big);
    servers.put(&letter(1, ADA, "the next one"));
    let all = running.intake.until(2).await;
    assert_eq!(
        text_of(&all[0]),
        "Subject: Film\n\nLook at this!\n\n[The letter has 40 MB. That was too big: I have read only its beginning.]"
    );
    assert_eq!(all[0].attachments[0].name, "film.mp4");
    let refused = running.adapter.fetch(&all[0].attachments[0], 1 << 20).await.unwrap_err();
    assert_eq!(refused.to_string(), "it is larger than 1 MB");
    running.end().await;
}

#[tokio::test]
async fn n11_a_wrong_password_is_said_and_not_the_password() {
    let servers = Servers::start();
    let mut settings = settings(&servers);
    let wrong = hob_core::domain::secret::Secret::new("hunter2".to_owned());
    settings.imap.credential = hob_email::settings::Credential::Password(wrong);
    let running = RunningAdapter::resume(settings, std::sync::Arc::default());
    let why = loop {
        if let Liveness::Down { why } = running.adapter.health().liveness {
            break why;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(why.contains("refuses the user name or the password") && !why.contains("hunter2"), "{why}");
    running.end().await;
}
