//! Letters that say of themselves what is not so: each shows the words that a person would read.

use crate::letter::LetterOutcome;
use crate::tests::{composed, envelope, reading, words};
use hob_core::domain::email_envelope::Envelope;
use hob_core::domain::inbound::{Inbound, InboundEvent};

pub(super) fn letter(headers: &str, body: &[u8]) -> Inbound {
    let head = format!("From: Ada <ada@example.org>\r\nMessage-ID: <m@example.org>\r\n{headers}\r\n\r\n");
    whole(&[head.as_bytes(), body].concat())
}

pub(super) fn whole(raw: &[u8]) -> Inbound {
    match reading(raw, raw.len() as u64) {
        LetterOutcome::Said(inbound) => *inbound,
        LetterOutcome::Passed { why } => panic!("it was passed over: {why}"),
    }
}

pub(super) fn text(inbound: &Inbound) -> &str {
    let InboundEvent::Posted { text } = &inbound.happening else { panic!("a letter is posted") };
    text
}

#[test]
fn n14_a_body_is_read_whatever_its_charset_is_called() {
    for (headers, body) in [
        ("Content-Type: text/plain; charset=us-ascii", "Grüße, 5 €".as_bytes()),
        ("Content-Type: text/plain; charset=iso-8859-1", "Grüße, 5 €".as_bytes()),
        ("Content-Type: text/plain; charset=\"utf-8\"", b"Gr\xfc\xdfe, 5 \x80"),
        ("Content-Type: text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe, 5 \x80"),
        ("Content-Type: text/plain", b"Gr\xfc\xdfe, 5 \x80"),
        ("Content-Type: text/html", b"<html><head><meta charset=windows-1252></head><p>Gr\xfc\xdfe, 5 \x80</p>"),
        // A soft break at the very end, and one with spaces behind it.
        (
            "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable",
            b"Gr=C3=BC=  \r\n=C3=9Fe, 5 =E2=82=AC=",
        ),
        ("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64", b"R3LDvMOfZSwgNSDigqw"),
        // Markdown alone is what its writer wrote.
        ("Content-Type: text/markdown; charset=utf-8", "Grüße, 5 €".as_bytes()),
        ("Content-Type: text/x-notes", "Grüße, 5 €".as_bytes()),
        ("Content-Type: text/plain; format=flowed; delsp=yes", "Grü \nße, 5 €".as_bytes()),
    ] {
        let letter = letter(headers, body);
        assert_eq!((text(&letter), letter.attachments.len()), ("Grüße, 5 €", 0), "{headers}");
    }
    // Beside other parts it is a file, as before.
    let both = letter(
        "Content-Type: multipart/mixed; boundary=A",
        b"--A\r\n\r\nSee.\r\n--A\r\nContent-Type: text/x-notes\r\n\r\nnotes\r\n--A--\r\n",
    );
    assert_eq!((text(&both), both.attachments.len()), ("See.", 1));
}

#[test]
fn n14_headers_are_read_whatever_their_charset() {
    for (subject, expected) in [
        (&b"Gr\xfc\xdfe"[..], "Grüße"),
        ("Grüße".as_bytes(), "Grüße"),
        (b"=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=", "Grüße"),
        (b"=?UTF-8?Q?Gr=C3?=\r\n =?utf-8?q?=BC=C3=9Fe?=", "Grüße"),
    ] {
        let head = [b"Message-ID: <m@x>\r\nFrom: J\xfcrgen <j@x.example>\r\nSubject: ", subject].concat();
        let letter = whole(&[&head[..], b"\r\n\r\nHi."].concat());
        assert_eq!((envelope(&letter).subject.as_str(), letter.sender.name.as_str()), (expected, "Jürgen"));
    }
    let file = letter(
        "Content-Type: multipart/mixed; boundary=A",
        b"--A\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"Pl\xe4ne.pdf\"\r\n\r\n%PDF\r\n--A--\r\n",
    );
    assert_eq!(file.attachments[0].name, "Pläne.pdf");
}

#[test]
fn n14_parts_that_nothing_divides_are_told_apart_all_the_same() {
    let parts = b"--x\r\nContent-Type: text/plain\r\n\r\nHello.\r\n--x\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=a.png\r\n\r\n123\r\n--x--\r\n";
    for headers in ["Content-Type: multipart/mixed", "Content-Type: multipart/mixed; boundary=y"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(words(&letter(headers, parts)), @"
            Hello.

            [a.png came with it, and cannot be fetched: the letter is damaged.]
            ");
        }
        assert_eq!(text(&letter(headers, b"Hello.\r\n-- \r\nAda")), "Hello.");
    }
    let alternative = b"--x\r\n\r\n \r\n--x\r\nContent-Type: text/html\r\n\r\n<p>Hello.</p>\r\n--x--\r\n";
    assert_eq!(text(&letter("Content-Type: multipart/alternative", alternative)), "Hello.");
    // An empty text beside the page, as some programs write.
    assert_eq!(text(&letter("Content-Type: multipart/alternative; boundary=x", alternative)), "Hello.");
}

/// Parts in parts, so many, around a text.
fn nested(levels: usize) -> Vec<u8> {
    let mut body = "Content-Type: text/plain\r\n\r\nHello.".to_owned();
    for level in (1..levels).rev() {
        body =
            format!("Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n{body}\r\n--b{level}--\r\n");
    }
    format!("From: ada@example.org\r\nMessage-ID: <m@x>\r\n{body}").into_bytes()
}

#[test]
fn n14_sixty_levels_are_read_and_too_many_are_told_of() {
    assert_eq!(text(&whole(&nested(60))), "Hello.");
    insta::assert_snapshot!(text(&whole(&nested(300))), @"[Some of its parts lie too deep in each other; I have not read them.]");
}

#[test]
fn n14_letters_in_letters_do_not_end_the_process() {
    let inner = "Content-Type: message/rfc822\r\n\r\n";
    let raw = |levels: usize| format!("From: ada@example.org\r\n{}Subject: x\r\n\r\nHello.", inner.repeat(levels));
    let few = whole(raw(3).as_bytes());
    assert!(text(&few).contains("Hello."), "{}", text(&few));
    // Both the parser and whoever lets go of what it made would need more of the stack than there is.
    let many = whole(raw(40_000).as_bytes());
    assert!(text(&many).contains("made of too many parts"), "{:.300}", text(&many));
    assert!(text(&many).contains("It lies too deep in other letters"), "{:.300}", text(&many));
}

#[test]
fn n14_a_letter_that_is_sent_on_without_a_word_is_another_ones() {
    let alone = letter(
        "Content-Type: multipart/mixed; boundary=A",
        b"--A\r\nContent-Type: message/rfc822\r\n\r\nFrom: mallory@evil.example\r\nSubject: Offer\r\n\r\nBuy.\r\n--A--\r\n",
    );
    assert_eq!(alone.metadata.forwarded_from.as_deref(), Some("mallory@evil.example"));
    assert_eq!(alone.metadata.quoted, None);
}

#[test]
fn n14_no_id_is_answered_that_nobody_knows() {
    for headers in ["Subject: Tea", "Message-ID: <>\r\nReferences: <a@x> <b@x>"] {
        let letter = whole(format!("From: ada@example.org\r\n{headers}\r\n\r\nHi.").as_bytes());
        let answer = composed(&letter, |_| {});
        assert!(!answer.contains("In-Reply-To") && !answer.contains("no-message-id"), "{answer}");
        assert_eq!(answer.contains("References: <a@x> <b@x>"), headers.contains("References"), "{answer}");
        assert!(answer.contains("Subject: Re:"), "{answer}");
    }
}

#[test]
fn n14_a_letter_that_answers_nothing_does_not_say_that_it_does() {
    let first = Envelope {
        subject: "May I answer eve@x.example?".to_owned(),
        to: envelope(&letter("Subject: x", b"Hi.")).to,
        ..Envelope::default()
    };
    let answer = composed(&letter("Subject: x", b"Hi."), |message| message.envelope = first.encode());
    assert!(answer.contains("Subject: May I answer eve@x.example?"), "{answer}");
}
