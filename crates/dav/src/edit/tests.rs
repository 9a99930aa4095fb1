//! Changes, and what they leave as it was.

use super::*;

const NOW: &str = "2026-11-26T12:00:00Z";

fn home() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

fn signature(home: &TimeZone) -> Signature<'_> {
    Signature { call: "c0ffee", now: NOW.parse().unwrap(), home }
}

fn calendar(events: &str) -> Component {
    let text = format!("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:x\n{}\nEND:VCALENDAR\n", events.trim());
    Component::parse(&text, "VCALENDAR").unwrap()
}

fn at(text: &str) -> When {
    When::At(text.parse::<Timestamp>().unwrap().to_zoned(home()))
}

/// Without zones and what is signed.
fn shown(calendar: &Component) -> String {
    let mut shown = calendar.clone();
    shown.parts.retain(|part| !matches!(part, Part::Inner(inner) if inner.name == "VTIMEZONE"));
    for event in shown.inner_mut("VEVENT") {
        ["DTSTAMP", "LAST-MODIFIED", SIGNED].iter().for_each(|name| event.remove(name));
    }
    shown.text().replace("\r\n", "\n")
}

const DENTIST: &str = "BEGIN:VEVENT\nUID:d\nX-OWN;X-P=\"a;b\":keep me\nDTSTAMP:20260101T000000Z\nSUMMARY:Dentist\nDTSTART;TZID=Europe/Berlin:20261201T140000\n\
                       DURATION:PT1H\nBEGIN:VALARM\nTRIGGER:-PT1H\nACTION:DISPLAY\nEND:VALARM\nEND:VEVENT";

#[test]
fn f3_a_moved_entry_keeps_its_length_its_time_of_day_and_what_nobody_here_knows() {
    let mut dentist = calendar(DENTIST);
    let thursday = Change { start: Some(NewStart::Day("2026-12-03".parse().unwrap())), ..Change::default() };
    let from = at("2026-12-01T13:00:00Z");
    change(&mut dentist, &SeriesPart::Whole, &thursday, &from, signature(&home())).unwrap();
    insta::assert_snapshot!(shown(&dentist), @r#"
    BEGIN:VCALENDAR
    VERSION:2.0
    X-WR-CALNAME:x
    BEGIN:VEVENT
    UID:d
    X-OWN;X-P="a;b":keep me
    SUMMARY:Dentist
    DTSTART;TZID=Europe/Berlin:20261203T140000
    DTEND;TZID=Europe/Berlin:20261203T150000
    SEQUENCE:1
    BEGIN:VALARM
    TRIGGER:-PT1H
    ACTION:DISPLAY
    END:VALARM
    END:VEVENT
    END:VCALENDAR
    "#);
    assert!(is_signed(&dentist, "c0ffee") && !is_signed(&dentist, "other"));
    assert_eq!(dentist.inner("VTIMEZONE").count(), 1);
}

#[test]
fn f3_one_time_of_a_series_gets_words_of_its_own() {
    let weekly = "BEGIN:VEVENT\nUID:y\nSUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20261006T180000\nDTEND;TZID=Europe/Berlin:20261006T190000\nRRULE:FREQ=WEEKLY;BYDAY=TU\nEND:VEVENT";
    let mut yoga = calendar(weekly);
    let original = at("2026-12-01T17:00:00Z");
    let later = Change {
        start: Some(NewStart::At("2026-12-03T19:30:00".parse().unwrap())),
        length: Some(Length::Minutes(90)),
        title: Some("Yoga, late".to_owned()),
        ..Change::default()
    };
    for _ in 0..2 {
        // Done again it comes to the same.
        change(&mut yoga, &SeriesPart::Once(original.clone()), &later, &original, signature(&home())).unwrap();
        assert_eq!(yoga.inner("VEVENT").count(), 2);
    }
    insta::assert_snapshot!(shown(&yoga).split_once("END:VEVENT\n").unwrap().1, @r"
    BEGIN:VEVENT
    UID:y
    SUMMARY:Yoga\, late
    DTSTART;TZID=Europe/Berlin:20261203T193000
    DTEND;TZID=Europe/Berlin:20261203T210000
    RECURRENCE-ID;TZID=Europe/Berlin:20261201T180000
    SEQUENCE:1
    END:VEVENT
    END:VCALENDAR
    ");
    call_off(&mut yoga, &original, signature(&home())).unwrap();
    assert_eq!(yoga.inner("VEVENT").count(), 1);
    assert!(yoga.text().contains("EXDATE;TZID=Europe/Berlin:20261201T180000\r\n"), "{}", yoga.text());
}

#[test]
fn f3_a_whole_series_moves_with_its_exceptions() {
    let weekly = "BEGIN:VEVENT\nUID:y\nSUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20261006T180000\nDTEND;TZID=Europe/Berlin:20261006T190000\n\
                  RRULE:FREQ=WEEKLY;BYDAY=TU;UNTIL=20261222T170000Z\nEXDATE;TZID=Europe/Berlin:20261013T180000,20261020T180000\nEND:VEVENT\n\
                  BEGIN:VEVENT\nUID:y\nSUMMARY:Yoga\nRECURRENCE-ID;TZID=Europe/Berlin:20261110T180000\nDTSTART;TZID=Europe/Berlin:20261110T180000\nDTEND;TZID=Europe/Berlin:20261110T200000\nEND:VEVENT\n\
                  BEGIN:VEVENT\nUID:y\nSUMMARY:Picnic\nRECURRENCE-ID;TZID=Europe/Berlin:20261117T180000\nDTSTART;TZID=Europe/Berlin:20261119T120000\nDTEND;TZID=Europe/Berlin:20261119T130000\nEND:VEVENT";
    let mut yoga = calendar(weekly);
    let thursdays = Change {
        start: Some(NewStart::At("2026-12-03T19:00:00".parse().unwrap())),
        title: Some("Yin".to_owned()),
        ..Change::default()
    };
    let from = at("2026-12-01T17:00:00Z");
    change(&mut yoga, &SeriesPart::Whole, &thursdays, &from, signature(&home())).unwrap();
    insta::assert_snapshot!(shown(&yoga), @r"
    BEGIN:VCALENDAR
    VERSION:2.0
    X-WR-CALNAME:x
    BEGIN:VEVENT
    UID:y
    SUMMARY:Yin
    DTSTART;TZID=Europe/Berlin:20261008T190000
    DTEND;TZID=Europe/Berlin:20261008T200000
    RRULE:FREQ=WEEKLY;BYDAY=TH;UNTIL=20261224T180000Z
    EXDATE;TZID=Europe/Berlin:20261015T190000,20261022T190000
    SEQUENCE:0
    END:VEVENT
    BEGIN:VEVENT
    UID:y
    SUMMARY:Yin
    RECURRENCE-ID;TZID=Europe/Berlin:20261112T190000
    DTSTART;TZID=Europe/Berlin:20261112T190000
    DTEND;TZID=Europe/Berlin:20261112T210000
    END:VEVENT
    BEGIN:VEVENT
    UID:y
    SUMMARY:Picnic
    RECURRENCE-ID;TZID=Europe/Berlin:20261119T190000
    DTSTART;TZID=Europe/Berlin:20261119T120000
    DTEND;TZID=Europe/Berlin:20261119T130000
    END:VEVENT
    END:VCALENDAR
    ");
    let mut monthly =
        calendar("BEGIN:VEVENT\nUID:m\nDTSTART:20261201T080000Z\nRRULE:FREQ=MONTHLY;BYDAY=1TU\nEND:VEVENT");
    let from = at("2026-12-01T08:00:00Z");
    let refused = change(&mut monthly, &SeriesPart::Whole, &thursdays, &from, signature(&home()));
    assert_eq!(refused, Err(EditError::Rule));
}

#[test]
fn f3_an_invitation_is_answered_for_oneself_alone() {
    let mut dinner = calendar(
        "BEGIN:VEVENT\nUID:i\nDTSTAMP:20260101T000000Z\nDTSTART:20261201T180000Z\nORGANIZER:mailto:ben@x.example\n\
                               ATTENDEE;CN=Ada;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:Ada@home.example\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:cleo@x.example\nEND:VEVENT",
    );
    let own = ["ada@home.example".to_owned()];
    answer(&mut dinner, &SeriesPart::Whole, Reply { own: &own, answer: "yes" }, signature(&home())).unwrap();
    let text = dinner.text();
    assert!(text.contains("ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:Ada@home.example\r\n"), "{text}");
    assert!(
        text.contains("ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:cleo@x.example\r\n") && !text.contains("SEQUENCE"),
        "{text}"
    );
    let zone = home();
    let told_of = |calendar: &Component, what: &SeriesPart| told(calendar, &Zones::of(calendar, &zone), what, &own);
    assert_eq!(told_of(&dinner, &SeriesPart::Whole), ["ben@x.example", "cleo@x.example"]);
    // What is called off once is written into the series: its people get the letter, too.
    let series = calendar(
        "BEGIN:VEVENT\nUID:i\nDTSTART:20261201T180000Z\nRRULE:FREQ=WEEKLY\nATTENDEE:mailto:ben@x.example\nATTENDEE:mailto:ada@home.example\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:i\nRECURRENCE-ID:20261208T180000Z\nDTSTART:20261208T190000Z\nATTENDEE:mailto:cleo@x.example\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:i\nRECURRENCE-ID:20261215T180000Z\nDTSTART:20261215T190000Z\nATTENDEE:mailto:dan@x.example\nEND:VEVENT",
    );
    let once = |text: &str| told_of(&series, &SeriesPart::Once(at(text)));
    assert_eq!(once("2026-12-08T18:00:00Z"), ["ben@x.example", "cleo@x.example"]);
    assert_eq!(once("2026-12-22T18:00:00Z"), ["ben@x.example"]);
    let other = ["eve@x.example".to_owned()];
    let refused = answer(&mut dinner, &SeriesPart::Whole, Reply { own: &other, answer: "no" }, signature(&home()));
    assert_eq!(refused, Err(EditError::NotInvited));
}

#[test]
fn f3_a_new_entry_names_its_zone_and_describes_it() {
    let (start, end) = (at("2026-12-03T13:00:00Z"), at("2026-12-03T14:00:00Z"));
    let mut new = NewEntry {
        uid: "hob-1".to_owned(),
        title: "Dentist; bring card".to_owned(),
        place: Some("Main St, 5".to_owned()),
        notes: None,
        start,
        end,
        organizer: Some("ada@home.example".to_owned()),
        invited: Vec::new(),
    };
    let made = created(&new, signature(&home()));
    insta::assert_snapshot!(shown(&made), @r"
    BEGIN:VCALENDAR
    VERSION:2.0
    PRODID:-//Hob//Hob//EN
    BEGIN:VEVENT
    UID:hob-1
    DTSTART;TZID=Europe/Berlin:20261203T140000
    DTEND;TZID=Europe/Berlin:20261203T150000
    SUMMARY:Dentist\; bring card
    LOCATION:Main St\, 5
    SEQUENCE:0
    END:VEVENT
    END:VCALENDAR
    ");
    assert_eq!(made.inner("VTIMEZONE").count(), 1);
    new.invited = vec!["ben@x.example".to_owned()];
    let text = created(&new, signature(&home())).text();
    assert!(
        text.contains("ORGANIZER:mailto:ada@home.example") && text.contains("RSVP=TRUE:mailto:ben@x.example"),
        "{text}"
    );
}
