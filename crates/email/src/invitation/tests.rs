use std::path::Path;

use crate::invitation::told;

fn of(name: &str) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/email/calendars");
    told(&std::fs::read_to_string(folder.join(format!("{name}.ics"))).unwrap(), None)
}

#[test]
fn n14_an_invitation_says_when_in_whose_time() {
    insta::assert_snapshot!(of("google"), @"
    An invitation came with it: Standup; all of us, and the guests
    When: Monday 2026-03-02, 09:00 to 09:30 (Europe/Berlin, UTC+01:00)
    Repeats: every 2 weeks on Monday, Wednesday, until Tuesday 2026-06-30
    But not on: Monday 2026-03-16, 09:00 (Europe/Berlin, UTC+01:00)
    Where: Kitchen, second floor
    Organiser: Ada Lovelace <ada@example.org>
    Invited: Ada Lovelace <ada@example.org> (has accepted), hob@home.example (has not answered)
    About: Bring the figures, please. See https://meet.example/abc
    ");
    insta::assert_snapshot!(of("outlook"), @"
    A changed invitation came with it. It takes the place of earlier ones: Jahresgespräch
    When: Wednesday 2026-07-15, 14:00 to 15:00 (Europe/Berlin, UTC+02:00)
    Where: Microsoft Teams-Besprechung
    Organiser: Bob Example <bob@example.org>
    Invited: Hob, the butler <hob@home.example> (has not answered)
    ");
}

#[test]
fn n14_what_calls_off_answers_or_proposes_is_no_invitation() {
    insta::assert_snapshot!(of("apple-cancel"), @"
    A cancellation came with it. This event is called off: Dinner
    When: Friday 2026-01-09, 19:00 to 21:00 (America/New_York, UTC-05:00)
    Only this date of a series: Friday 2026-01-09, 19:00 (America/New_York, UTC-05:00)
    Organiser: Carol <carol@example.org>
    Invited: Ada <ada@example.org> (has declined)
    ");
    insta::assert_snapshot!(of("zimbra-reply"), @"
    An answer to an invitation came with it: Accept: Review
    When: Tuesday 2026-02-10, 10:30 to 11:30 (Asia/Kolkata, UTC+05:30)
    Organiser: Ada <ada@example.org>
    Answer: Dev Patel <dev@example.in> (may come)
    Comment: I may be ten minutes late.
    ");
    insta::assert_snapshot!(of("counter"), @"
    A counter-proposal came with it. Somebody who was invited wants this instead: Neue Zeit vorgeschlagen: Tea
    When: Friday 2026-01-02, 16:00 to 17:00 UTC
    Organiser: ada@example.org
    Invited: Bob <bob@example.org> (may come)
    ");
}

#[test]
fn n14_days_and_zones_that_nobody_knows() {
    insta::assert_snapshot!(of("all-day"), @"
    This event came with it: Holidays
    When: Saturday 2026-08-01 to Friday 2026-08-14, all day

    This event came with it: Birthday
    When: Thursday 2026-09-03, all day
    Repeats: every year
    ");
    insta::assert_snapshot!(of("unknown-zone"), @r#"
    This event came with it: Party
    When: Tuesday 2026-09-22, 12:00 to 14:00 in the time zone "Shire/Hobbiton", which I do not know

    This event came with it: Wherever one is
    When: Tuesday 2026-09-22, 23:00 to Wednesday 2026-09-23, 01:00 (no time zone is named)
    Repeats: every month on the last Friday, 3 times

    This event came with it: Displayed zone
    When: Tuesday 2026-09-22, 23:00 (Europe/Berlin, UTC+02:00)
    Repeats: every year on Monday (RRULE:FREQ=YEARLY;BYDAY=MO;BYMONTH=6;BYSETPOS=2)
    "#);
}

#[test]
fn n14_the_letter_may_say_what_its_calendar_does() {
    let plain = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Tea\nDTSTART:20260102T160000Z\nEND:VEVENT\nEND:VCALENDAR\n";
    insta::assert_snapshot!(told(plain, Some("cancel")), @"
    A cancellation came with it. This event is called off: Tea
    When: Friday 2026-01-02, 16:00 UTC
    ");
    insta::assert_snapshot!(told(plain, None), @"
    This event came with it: Tea
    When: Friday 2026-01-02, 16:00 UTC
    ");
}

#[test]
fn n14_what_is_no_calendar_is_called_none() {
    for text in ["", "hello", "BEGIN:VCARD\nEND:VCARD\n", "BEGIN:VCALENDAR\nEND:VCALENDAR"] {
        assert!(told(text, None).starts_with("A calendar came with it that"), "{text}");
    }
    let whole = format!("BEGIN:VCALENDAR\n{}END:VCALENDAR", "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n".repeat(20_000));
    assert!(told(&whole, None).ends_with("more events."));
}

#[test]
fn n14_a_rule_of_many_days_is_told_in_few_words() {
    let days = vec!["-1MO"; 25_000].join(",");
    let text = format!(
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260302T090000Z\r\nRRULE:FREQ=MONTHLY;BYMONTH=1;BYDAY={days}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    let told = told(&text, None);
    assert!(told.contains("Repeats: every month on the last Monday") && told.len() < 1_000, "{} bytes", told.len());
}
