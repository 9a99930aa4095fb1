//! What goes out: threaded, to all, with files; and what each answer of the server means.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hob_core::domain::channel::Channel as _;
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::FileId;
use hob_core::domain::inbound::Inbound;
use hob_core::domain::outgoing::{DeliveryError, OutgoingFile};
use jiff::Timestamp;

use crate::email::harness::{RunningAdapter, answer, letter, settings};
use hob_testkit::mail_servers::Servers;

/// A letter that came, and Hob that has it.
async fn with_letter(servers: &Servers, from: &str) -> (RunningAdapter, Inbound) {
    let running = RunningAdapter::start(servers).await;
    servers.put(&letter(1, from, "Shall we?"));
    let letter = running.intake.until(1).await.remove(0);
    (running, letter)
}

#[tokio::test]
async fn n14_an_answer_goes_to_all_who_were_addressed_and_into_the_thread() {
    let servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    servers.put_file("reply-all");
    let letter = running.intake.until(1).await.remove(0);
    let receipt = running.adapter.deliver(&answer(&letter, 1, "At five.")).await.unwrap();
    let got = servers.until_got("ada", 1).await.remove(0);
    for other in ["bob", "carol"] {
        assert_eq!(servers.got(other).len(), 1, "{other}");
    }
    assert!(servers.got("butler").is_empty(), "Hob does not write to itself");
    for line in [
        "To: \"Ada at home\" <ada@private.example>",
        "In-Reply-To: <third@example.org>",
        "Subject: Re: Tea",
        "Auto-Submitted: auto-replied",
        "X-Hob-Loop: hob@home.example",
    ] {
        assert!(got.contains(line), "{line} is missing: {got}");
    }
    let id = receipt.external_id.unwrap();
    assert!(got.contains(&id), "{got}");
    let unfolded = got.replace("\r\n ", " ").replace("\n ", " ");
    assert!(unfolded.contains("References: <first@example.org> <second@example.org> <third@example.org>"), "{got}");
    // Whoever answers that, in whatever program, is in the same session.
    let raw = format!(
        "From: bob@example.org\r\nTo: hob@home.example\r\nMessage-ID: <b@x>\r\nIn-Reply-To: <{id}>\r\n\r\nFine.\r\n"
    );
    servers.put(raw.as_bytes());
    let all = running.intake.until(2).await;
    assert_eq!(all[1].conversation.session_key(), letter.conversation.session_key());
    running.end().await;
}

#[tokio::test]
async fn c6_a_file_goes_out_and_comes_back_the_same() {
    let servers = Servers::start();
    let (running, letter) = with_letter(&servers, "ada@example.org").await;
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let path = servers.path("picture.png");
    std::fs::write(&path, &content).unwrap();
    let mut message = answer(&letter, 1, "Here it is.");
    message.file = Some(OutgoingFile {
        id: FileId(1),
        name: "Küche.png".to_owned(),
        mime: "image/png".to_owned(),
        bytes: content.len() as u64,
        hash: String::new(),
        path,
    });
    running.adapter.deliver(&message).await.unwrap();
    let got = servers.until_got("ada", 1).await.remove(0);
    // The letter is handed on to Hob, by somebody who takes out by what Hob knows its own.
    let back: String = got
        .lines()
        .filter(|line| !line.starts_with("X-Hob-Loop") && !line.starts_with("Auto-Submitted"))
        .fold(String::new(), |all, line| all + line + "\r\n");
    let back = back.replace("From: Hob <hob@home.example>", "From: Eve <eve@example.org>");
    servers.put(back.as_bytes());
    let letters = running.intake.until(2).await;
    let file = &letters[1].attachments[0];
    assert_eq!(file.name, "Küche.png");
    assert_eq!(running.adapter.fetch(file, 1 << 20).await.unwrap(), content);
    running.end().await;
}

#[tokio::test]
async fn n14_what_the_servers_answer_means() {
    let servers = Servers::start();
    let (running, mut letter) = with_letter(&servers, "refused@example.org").await;
    let refused = running.adapter.deliver(&answer(&letter, 1, "x")).await;
    assert!(matches!(refused, Err(DeliveryError::Refused { .. })), "{refused:?}");
    for (name, number) in [("busy", 2), ("lost", 3)] {
        let envelope = letter.metadata.envelope.as_mut().unwrap();
        *envelope = envelope.replace(["refused", "busy"][number - 2], name);
        let said = running.adapter.deliver(&answer(&letter, 1, "x")).await;
        match name {
            "busy" => assert!(matches!(said, Err(DeliveryError::Retry { .. })), "{said:?}"),
            _ => assert!(matches!(said, Err(DeliveryError::Unknown { .. })), "{said:?}"),
        }
    }
    assert_eq!(servers.got("lost").len(), 1, "the server had it");
    running.end().await;
}

/// A clock that a test sets.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap_or(Timestamp::MAX)
    }
}

#[tokio::test]
async fn n14_whoever_is_refused_for_now_is_waited_for_and_not_for_ever() {
    let servers = Servers::start();
    let clock = Arc::new(Hand(AtomicI64::new(1_800_000_000)));
    let running = RunningAdapter::by(Arc::clone(&clock) as _, settings(&servers), Arc::default());
    running.intake.until_cursor(|cursors| cursors.contains_key("INBOX;began")).await;
    servers.put(
        b"From: ada@example.org\r\nTo: hob@home.example\r\nCc: busy@example.org, refused@example.org\r\n\
          Subject: Tea\r\nMessage-ID: <1@example.org>\r\n\r\nTea?\r\n",
    );
    let letter = running.intake.until(1).await.remove(0);
    let (first, second) = (answer(&letter, 1, "Yes."), answer(&letter, 2, "At five."));
    for _ in 0..2 {
        let said = running.adapter.deliver(&first).await;
        assert!(matches!(said, Err(DeliveryError::Retry { .. })), "{said:?}");
    }
    assert!(servers.got("ada").is_empty(), "nothing goes out before all can have it");
    // Two hours later the others get it.
    clock.0.fetch_add(7_200, Ordering::Relaxed);
    running.adapter.deliver(&first).await.unwrap();
    assert_eq!((servers.got("ada").len(), servers.got("busy").len()), (1, 0));
    // The next letter waits anew, and all get it once nobody is busy.
    let said = running.adapter.deliver(&second).await;
    assert!(matches!(said, Err(DeliveryError::Retry { .. })), "{said:?}");
    std::fs::write(servers.path("mail/calm"), "").unwrap();
    running.adapter.deliver(&second).await.unwrap();
    assert_eq!((servers.got("ada").len(), servers.got("busy").len(), servers.got("refused").len()), (2, 1, 0));
    running.end().await;
}

#[tokio::test]
async fn n14_a_server_that_is_down_is_tried_again() {
    let mut servers = Servers::start();
    let (running, letter) = with_letter(&servers, "ada@example.org").await;
    servers.stop_smtp();
    let said = running.adapter.deliver(&answer(&letter, 1, "x")).await;
    assert!(matches!(said, Err(DeliveryError::Retry { .. })), "{said:?}");
    servers.start_smtp();
    running.adapter.deliver(&answer(&letter, 1, "x")).await.unwrap();
    assert_eq!(servers.until_got("ada", 1).await.len(), 1);
    running.end().await;
}

#[tokio::test]
async fn n14_what_went_out_before_an_interruption_does_not_go_again() {
    let servers = Servers::start();
    let running = RunningAdapter::start(&servers).await;
    servers.put(&letter(1, "ada@example.org", "Shall we?"));
    let letter = running.intake.until(1).await.remove(0);
    let known = running.end().await;
    let mut with_sent = settings(&servers);
    with_sent.sent_folder = Some("INBOX".to_owned());
    let running = RunningAdapter::resume(with_sent, known);
    let mut message = answer(&letter, 1, "Yes.");
    let first = running.adapter.deliver(&message).await.unwrap();
    message.may_repeat = true;
    let second = running.adapter.deliver(&message).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(servers.until_got("ada", 1).await.len(), 1, "a copy of it was found");
    running.end().await;
    // Where no copies are kept it goes again, marked, under the same id.
    let running = RunningAdapter::resume(settings(&servers), Arc::default());
    assert_eq!(running.adapter.deliver(&message).await.unwrap(), first);
    let got = servers.until_got("ada", 2).await;
    let marked = |letter: &String| letter.contains("sent again after an interruption");
    assert_eq!(got.iter().filter(|letter| marked(letter)).count(), 1);
    running.end().await;
}

#[tokio::test]
async fn n14_nobody_is_believed_whose_certificate_nobody_knows() {
    let servers = Servers::start();
    let (running, letter) = with_letter(&servers, "ada@example.org").await;
    let mut stranger = settings(&servers);
    stranger.ca_file = None;
    let known = running.end().await;
    let running = RunningAdapter::resume(stranger, known);
    let said = running.adapter.deliver(&answer(&letter, 1, "x")).await;
    assert!(matches!(said, Err(DeliveryError::Retry { .. })), "{said:?}");
    assert!(servers.got("ada").is_empty());
    running.end().await;
}
