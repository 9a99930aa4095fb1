//! Which letters no person wrote: whoever answers those writes in circles (RFC 3834).

use crate::header::Headers;

/// The header by which Hob knows its own letters, wherever they were sent on to.
pub(super) const LOOP_HEADER: &str = "X-Hob-Loop";

/// Local parts from which nobody writes who waits for an answer.
const ROBOTS: [&str; 11] = [
    "mailer-daemon",
    "postmaster",
    "noreply",
    "no-reply",
    "no_reply",
    "donotreply",
    "do-not-reply",
    "bounce",
    "bounces",
    "majordomo",
    "listserv",
];

/// Why no person waits for an answer to a letter; none: somebody may.
///
/// `is_own` says whether an address is Hob's, `is_exempt` whether its owner wants its automatic letters read.
pub(super) fn why_automatic(
    headers: &Headers,
    sender: &str,
    is_own: impl Fn(&str) -> bool,
    is_exempt: bool,
) -> Option<&'static str> {
    // No exception: these would go in circles.
    if is_own(sender) {
        return Some("it is from one of my own addresses");
    }
    if headers.has(LOOP_HEADER) {
        return Some("I wrote it myself");
    }
    if is_exempt {
        return None;
    }
    if headers.value("Return-Path").is_some_and(|path| path.trim() == "<>") {
        return Some("it is a bounce (empty Return-Path)");
    }
    if headers.content_type().starts_with("multipart/report") {
        return Some("it is a report of a mail server");
    }
    if headers.value("Auto-Submitted").is_some_and(|how| !first_word(how).eq_ignore_ascii_case("no")) {
        return Some("it was sent automatically (Auto-Submitted)");
    }
    if headers.value("Precedence").is_some_and(|how| {
        ["bulk", "list", "junk", "auto_reply", "auto-reply"]
            .iter()
            .any(|word| first_word(how).eq_ignore_ascii_case(word))
    }) {
        return Some("it is bulk mail (Precedence)");
    }
    if ["List-Id", "List-Unsubscribe", "List-Post", "List-Help", "List-Owner"].iter().any(|name| headers.has(name)) {
        return Some("it is from a mailing list");
    }
    if headers.value("X-Auto-Response-Suppress").is_some_and(|what| !first_word(what).eq_ignore_ascii_case("none")) {
        return Some("its sender wants no automatic answers (X-Auto-Response-Suppress)");
    }
    if ["X-Autoreply", "X-Autorespond", "X-Auto-Reply", "X-Failed-Recipients"].iter().any(|name| headers.has(name)) {
        return Some("it was sent automatically");
    }
    is_robot(sender).then_some("nobody reads what is sent to its address")
}

/// The first word of a header's value, without what stands behind a `;` or `,`.
fn first_word(value: &str) -> &str {
    value.trim().split([';', ',', ' ', '\t', '(']).next().unwrap_or_default()
}

fn is_robot(sender: &str) -> bool {
    let local = sender.split_once('@').map_or(sender, |(local, _)| local);
    let plain = local.split(['+', '=']).next().unwrap_or(local);
    // `bounces-7-ada=example.org@…`: whoever sends in bulk has an address for each letter.
    ROBOTS.iter().any(|robot| plain.eq_ignore_ascii_case(robot))
        || local.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("bounces-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(headers: &str, sender: &str) -> Option<&'static str> {
        let raw = format!("{headers}\r\n\r\n");
        why_automatic(&Headers::of(raw.as_bytes()), sender, |address: &str| address == "hob@home.example", false)
    }

    #[test]
    fn n14_no_person_waits_for_an_answer_to_these() {
        for (headers, sender) in [
            ("Auto-Submitted: auto-replied", "a@b.example"),
            ("Auto-Submitted: auto-generated; x=y", "a@b.example"),
            ("auto-submitted:\r\n auto-notified", "a@b.example"),
            ("Precedence: bulk", "a@b.example"),
            ("Precedence: List", "a@b.example"),
            ("Precedence: junk", "a@b.example"),
            ("Precedence: auto_reply", "a@b.example"),
            ("List-Id: <x.example>", "a@b.example"),
            ("List-Unsubscribe: <mailto:x@y.example>", "a@b.example"),
            ("List-Post: NO", "a@b.example"),
            ("X-Auto-Response-Suppress: All", "a@b.example"),
            ("X-Auto-Response-Suppress: DR, OOF, AutoReply", "a@b.example"),
            ("X-Autoreply: yes", "a@b.example"),
            ("Return-Path: <>", "a@b.example"),
            ("Content-Type: multipart/report; report-type=delivery-status; boundary=x", "a@b.example"),
            ("X: y", "MAILER-DAEMON@b.example"),
            ("X: y", "postmaster@b.example"),
            ("X: y", "no-reply@b.example"),
            ("X: y", "NoReply+12@b.example"),
            ("X: y", "bounces-12-me=x.example@b.example"),
            ("X: y", "hob@home.example"),
            ("X-Hob-Loop: hob@other.example", "a@b.example"),
        ] {
            assert!(why(headers, sender).is_some(), "{headers} {sender}");
        }
    }

    #[test]
    fn n14_people_get_an_answer() {
        for (headers, sender) in [
            ("Auto-Submitted: no", "a@b.example"),
            ("Auto-Submitted: No (a person)", "a@b.example"),
            ("Precedence: first-class", "a@b.example"),
            ("X-Auto-Response-Suppress: None", "a@b.example"),
            ("Return-Path: <a@b.example>", "a@b.example"),
            ("Subject: Auto-Submitted: auto-replied", "a@b.example"),
            ("Content-Type: multipart/mixed; boundary=x", "bounce.house@b.example"),
            ("X: y", "noreplyson@b.example"),
        ] {
            assert_eq!(why(headers, sender), None, "{headers} {sender}");
        }
    }

    #[test]
    fn n14_an_exception_is_made_for_whom_it_is_wanted_and_never_for_oneself() {
        let exempt = |headers: &str, sender: &str| {
            let raw = format!("{headers}\r\n\r\n");
            why_automatic(&Headers::of(raw.as_bytes()), sender, |address: &str| address == "hob@home.example", true)
        };
        assert_eq!(exempt("Precedence: bulk", "noreply@b.example"), None);
        assert!(exempt("X-Hob-Loop: x", "noreply@b.example").is_some());
        assert!(exempt("X: y", "hob@home.example").is_some());
    }
}
