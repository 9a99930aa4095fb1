//! Tables: what is read, what is refused, and what clocks that jump do to it.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::read::read;
use super::*;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A Saturday, half past two in the afternoon in Berlin.
const NOW: &str = "2026-11-21T13:30:15Z";

fn read_in(text: &str) -> Result<String, String> {
    let (zone, now) = (zone("Europe/Berlin"), at(NOW));
    match read(text, &zone, now) {
        Ok(rule) => {
            let words = rule.in_words(&zone);
            assert_eq!(read(&words, &zone, now), Ok(rule), "{text}: {words}");
            Ok(words)
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn n13_what_people_write_is_read() {
    for (text, words) in [
        ("weekdays at 8:30", "on weekdays at 08:30"),
        ("every weekday at 8:30am", "on weekdays at 08:30"),
        ("jeden Werktag um 8:30", "on weekdays at 08:30"),
        ("werktags um 8 Uhr", "on weekdays at 08:00"),
        ("on weekends at 10", "on weekends at 10:00"),
        ("2026-12-24T18:00", "on 24 December 2026 at 18:00"),
        ("2026-12-24T18:00:00.000Z", "on 24 December 2026 at 19:00"),
        ("2026-12-24T18:00:00-05:00", "on 25 December 2026 at 00:00"),
        ("at nine", "on 22 November 2026 at 09:00"),
        ("in two hours", "on 21 November 2026 at 16:30:15"),
        ("in zwei Wochen um neun", "on 5 December 2026 at 09:00"),
        ("in einer halben Stunde", "on 21 November 2026 at 15:00:15"),
        ("in a fortnight at 9", "on 5 December 2026 at 09:00"),
        ("every fortnight on friday at 5pm", "every 2 weeks from 27 November 2026 at 17:00"),
        ("every two weeks on friday at 17:00", "every 2 weeks from 27 November 2026 at 17:00"),
        ("the day after tomorrow at 10", "on 23 November 2026 at 10:00"),
        ("übermorgen um 10", "on 23 November 2026 at 10:00"),
        ("in 2h", "on 21 November 2026 at 16:30:15"),
        ("in 20 minutes", "on 21 November 2026 at 14:50:15"),
        ("in 30 seconds", "on 21 November 2026 at 14:30:45"),
        ("in 90s", "on 21 November 2026 at 14:31:45"),
        ("in einer Sekunde", "on 21 November 2026 at 14:30:16"),
        ("in 1 minute and 30 seconds", "on 21 November 2026 at 14:31:45"),
        ("in half an hour", "on 21 November 2026 at 15:00:15"),
        ("in 1 hour and 30 minutes", "on 21 November 2026 at 16:00:15"),
        ("in einer Stunde", "on 21 November 2026 at 15:30:15"),
        ("in 3 days at 9", "on 24 November 2026 at 09:00"),
        ("tomorrow at 9", "on 22 November 2026 at 09:00"),
        ("morgen um 9 Uhr", "on 22 November 2026 at 09:00"),
        ("today at 18:00", "on 21 November 2026 at 18:00"),
        ("at 9", "on 22 November 2026 at 09:00"),
        ("at 3 pm", "on 21 November 2026 at 15:00"),
        ("friday at 5pm", "on 27 November 2026 at 17:00"),
        ("next tue 3pm", "on 24 November 2026 at 15:00"),
        ("am Freitag um 17:00", "on 27 November 2026 at 17:00"),
        ("every other Friday at 17:00", "every 2 weeks from 27 November 2026 at 17:00"),
        ("every second friday at 17:00", "every 2 weeks from 27 November 2026 at 17:00"),
        ("jeden zweiten Freitag um 17 Uhr", "every 2 weeks from 27 November 2026 at 17:00"),
        ("every 3 days at 9", "every 3 days from 22 November 2026 at 09:00"),
        ("every day at noon", "every day at 12:00"),
        ("täglich um 7:15", "every day at 07:15"),
        ("every day at 9 and 17", "every day at 09:00 and 17:00"),
        ("mondays and thursdays at 9", "every Monday and Thursday at 09:00"),
        ("montags um 9", "every Monday at 09:00"),
        ("every Mon, Wed and Fri at 6:45", "every Monday and Wednesday and Friday at 06:45"),
        ("first Monday of the month at 10", "on the first Monday of the month at 10:00"),
        ("every first monday of the month at 10", "on the first Monday of the month at 10:00"),
        ("every second Friday of the month at 10", "on the second Friday of the month at 10:00"),
        ("last friday of every month at 16:00", "on the last Friday of the month at 16:00"),
        ("on the last day of the month at 9", "on the last day of the month at 09:00"),
        ("every month on the 15th at 9", "on the 15th of the month at 09:00"),
        ("on 24 December at 18:00", "on 24 December 2026 at 18:00"),
        ("on December 24th at 6pm", "on 24 December 2026 at 18:00"),
        ("am 24. Dezember um 18 Uhr", "on 24 December 2026 at 18:00"),
        ("am 24. Dez. um 18 Uhr", "on 24 December 2026 at 18:00"),
        ("2027-01-02 at 7:00", "on 2 January 2027 at 07:00"),
        ("on 3.4.2027 at 7:00", "on 3 April 2027 at 07:00"),
        ("on 29 February at 8:00", "on 29 February 2028 at 08:00"),
        ("every year on 24 December at 18:00", "every year on 24 December at 18:00"),
        ("every 15 minutes", "every 15 minutes"),
        ("every 15 minutes between 9 and 17", "every 15 minutes between 09:00 and 17:00"),
        ("every 15 minutes between 9 and 17 on weekdays", "every 15 minutes between 09:00 and 17:00 on weekdays"),
        ("alle 15 Minuten zwischen 9 und 17 Uhr", "every 15 minutes between 09:00 and 17:00"),
        ("every hour", "every hour"),
        ("hourly from 9 to 17", "every hour between 09:00 and 17:00"),
        ("every 6 hours", "every 6 hours"),
        ("every 90 minutes", "every 90 minutes from 21 November 2026 at 14:30"),
        ("30 8 * * 1-5", "on weekdays at 08:30"),
        ("cron 0 9 1,15 * *", "cron 0 9 1,15 * *"),
        ("*/15 * * * 0#1", "cron */15 * * * 0#1"),
        ("0 9 * * 1,2,3,4,5", "cron 0 9 * * 1,2,3,4,5"),
        ("5 4 * * 1-5/2", "cron 5 4 * * 1-5/2"),
    ] {
        assert_eq!(read_in(text), Ok(words.to_owned()), "{text}");
    }
}

#[test]
fn n13_parts_of_the_day_that_people_write_are_read() {
    for (text, words) in [
        ("tonight at 8", "on 21 November 2026 at 20:00"),
        ("this evening at 8pm", "on 21 November 2026 at 20:00"),
        ("heute Abend um 8 Uhr", "on 21 November 2026 at 20:00"),
        ("tomorrow morning at 7", "on 22 November 2026 at 07:00"),
        ("morgen früh um 7", "on 22 November 2026 at 07:00"),
        ("friday at 8 in the evening", "on 27 November 2026 at 20:00"),
        ("every morning at 8", "every day at 08:00"),
        ("jeden Abend um 9", "every day at 21:00"),
        ("every weekday afternoon at 4:15", "on weekdays at 16:15"),
    ] {
        assert_eq!(read_in(text), Ok(words.to_owned()), "{text}");
    }
}

#[test]
fn n13_what_cannot_be_is_refused_with_words() {
    for (text, why) in [
        ("on 31 February at 9", "that day does not exist"),
        ("on 30.2.2027 at 9:00", "that day does not exist"),
        ("2026-02-30 at 9:00", "that day does not exist"),
        ("every year on 31 February at 9:00", "that day does not exist"),
        ("0 9 31 2 *", "that day does not exist"),
        ("0 9 31 4,6,9,11 *", "that day does not exist"),
        ("today at 9", "that time is past"),
        ("2020-01-01 at 9:00", "that time is past"),
        ("every 0 days at 9", "a period is a whole number from 1 to 10000"),
        ("61 9 * * *", "\"61 9 * * *\" is not a cron expression"),
        ("cron * * *", "\"* * *\" is not a cron expression"),
        ("every day", "the time of day is missing"),
        ("tomorrow", "the time of day is missing"),
        ("every week at 9", "the day is missing"),
        ("this morning at 9", "that time is past"),
        ("this evening", "the time of day is missing"),
        ("tomorrow morning at 14", "that can mean several things"),
        ("tonight at midnight", "that can mean several things"),
        ("every day at 9 +05:00", "that can mean several things"),
        ("2026-12-24T18:00 at 9", "that can mean several things"),
        ("2026-12-24Tea", "\"ea\" is not understood"),
        ("monday and thursday at 9", "that can mean several things"),
        ("every day at 9:00 and 17:30", "that can mean several things"),
        ("every 7 minutes between 9 and 17", "that can mean several things"),
        ("in 2h at 9", "that can mean several things"),
        ("whenever it rains", "\"whenever\" is not understood"),
        ("at 25:00", "\"25:00\" is not understood"),
        ("now and then", "\"now\" is not understood"),
        ("every", "\"every\" is not understood"),
        ("", "the time of day is missing"),
    ] {
        let refused = read_in(text).unwrap_err();
        assert!(refused.starts_with(why), "{text:?}: {refused}");
    }
}

/// The rule's instants in the zone's own time, from the one after `after` on.
fn instants(name: &str, rule: &str, after: &str, count: usize) -> Vec<String> {
    let zone = zone(name);
    let after = at(after);
    let rule = read(rule, &zone, after).unwrap();
    let local = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%m-%d %H:%M %:z").to_string();
    rule.next_few(&zone, after, count).into_iter().map(local).collect()
}

#[test]
fn n13_a_time_that_does_not_exist_is_due_when_the_gap_ends() {
    // Berlin leaves out 02:00 to 03:00.
    assert_eq!(
        instants("Europe/Berlin", "every day at 2:30", "2026-03-27T12:00:00Z", 3),
        ["03-28 02:30 +01:00", "03-29 03:00 +02:00", "03-30 02:30 +02:00"]
    );
    assert_eq!(instants("Europe/Berlin", "on 29 March at 2:30", "2026-03-01T12:00:00Z", 2), ["03-29 03:00 +02:00"]);
    // Several in one gap are one; what is due at its end anyway is no second one.
    assert_eq!(
        instants("Europe/Berlin", "15,45 2,3 * * *", "2026-03-28T12:00:00Z", 3),
        ["03-29 03:00 +02:00", "03-29 03:15 +02:00", "03-29 03:45 +02:00"]
    );
    assert_eq!(
        instants("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00:00Z", 2),
        ["03-29 03:00 +02:00", "03-30 02:00 +02:00"]
    );
    // New York leaves out 02:00 to 03:00, Lord Howe only half an hour, Beirut the beginning of a day.
    assert_eq!(
        instants("America/New_York", "every 2 days from 7 March 2026 at 2:30", "2026-03-06T12:00:00Z", 3),
        ["03-07 02:30 -05:00", "03-09 02:30 -04:00", "03-11 02:30 -04:00"]
    );
    assert_eq!(
        instants("Australia/Lord_Howe", "every day at 2:15", "2026-10-02T12:00:00Z", 3),
        ["10-03 02:15 +10:30", "10-04 02:30 +11:00", "10-05 02:15 +11:00"]
    );
    assert_eq!(
        instants("Asia/Beirut", "every day at 0:30", "2026-03-27T22:00:00Z", 3),
        ["03-28 00:30 +02:00", "03-29 01:00 +03:00", "03-30 00:30 +03:00"]
    );
    // Samoa had no 30 December 2011.
    assert_eq!(
        instants("Pacific/Apia", "every day at 9:00", "2011-12-29T12:00:00Z", 3),
        ["12-29 09:00 -10:00", "12-31 09:00 +14:00", "01-01 09:00 +14:00"]
    );
    let apia = zone("Pacific/Apia");
    let refused = read("on 30 December 2011 at 9:00", &apia, at("2011-12-01T12:00:00Z")).unwrap_err();
    assert_eq!(refused.to_string(), "that day does not exist");
}

#[test]
fn n13_a_time_that_comes_twice_is_due_once() {
    assert_eq!(
        instants("Europe/Berlin", "every day at 2:30", "2026-10-24T12:00:00Z", 2),
        ["10-25 02:30 +02:00", "10-26 02:30 +01:00"]
    );
    assert_eq!(
        instants("Australia/Lord_Howe", "every day at 1:45", "2026-04-04T12:00:00Z", 2),
        ["04-05 01:45 +11:00", "04-06 01:45 +10:30"]
    );
    // Asked between the two, the next is tomorrow's.
    assert_eq!(instants("Europe/Berlin", "every day at 2:30", "2026-10-25T00:45:00Z", 1), ["10-26 02:30 +01:00"]);
    // Real hours are real hours.
    assert_eq!(
        instants("Europe/Berlin", "every hour", "2026-10-24T23:30:00Z", 4),
        ["10-25 02:00 +02:00", "10-25 02:00 +01:00", "10-25 03:00 +01:00", "10-25 04:00 +01:00"]
    );
    assert_eq!(
        instants("Europe/Berlin", "30 * * * *", "2026-03-29T00:00:00Z", 3),
        ["03-29 01:30 +01:00", "03-29 03:30 +02:00", "03-29 04:30 +02:00"]
    );
    assert_eq!(
        instants("Australia/Lord_Howe", "every 30 minutes", "2026-04-04T14:10:00Z", 4),
        ["04-05 01:30 +11:00", "04-05 01:30 +10:30", "04-05 02:00 +10:30", "04-05 02:30 +10:30"]
    );
}

#[test]
fn n13_long_sleeps_are_looked_over_at_once() {
    let utc = TimeZone::UTC;
    for (rule, newest, others) in [
        ("* * * * *", "2026-11-21T13:30:00Z", true),
        ("every day at 9", "2026-11-21T09:00:00Z", true),
        ("every year on 1 January at 0:00", "2026-01-01T00:00:00Z", true),
        ("0 0 29 2 *", "2024-02-29T00:00:00Z", true),
    ] {
        let rule = read(rule, &utc, at("2019-01-01T00:00:00Z")).unwrap();
        let from = rule.next(&utc, at("2019-06-01T00:00:00Z")).unwrap();
        assert_eq!(rule.newest(&utc, from, at(NOW)), (at(newest), others), "{rule:?}");
        assert_eq!(rule.newest(&utc, from, from), (from, false), "{rule:?}");
    }
}

#[test]
fn n13_stored_rules_keep_their_form() {
    for (text, json) in [
        ("every day at 9", r#"{"kind":"cron","expression":"0 9 * * *"}"#),
        ("every 3 days at 9", r#"{"kind":"every","count":3,"unit":"days","from":"2026-11-22T09:00:00"}"#),
        ("tomorrow at 9", r#"{"kind":"once","at":"2026-11-22T09:00:00Z"}"#),
    ] {
        let rule = read(text, &TimeZone::UTC, at(NOW)).unwrap();
        assert_eq!(serde_json::to_string(&rule).unwrap(), json);
        assert_eq!(serde_json::from_str::<Rule>(json).unwrap(), rule);
    }
}
