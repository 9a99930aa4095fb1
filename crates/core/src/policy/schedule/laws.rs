//! What holds for every rule in every zone.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;

use super::read::read;
use super::*;

const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kolkata",
    "America/Sao_Paulo",
];

fn any_zone() -> impl Strategy<Value = TimeZone> {
    proptest::sample::select(&ZONES[..]).prop_map(|name| TimeZone::get(name).unwrap())
}

/// 2010 to 2040: Apia's lost day is among them.
fn any_time() -> impl Strategy<Value = Timestamp> {
    (1_262_304_000_i64..2_208_988_800).prop_map(|secs| Timestamp::from_second(secs).unwrap())
}

fn any_cron() -> impl Strategy<Value = String> {
    let minute =
        prop_oneof!["[0-9]", "[1-5][0-9]", Just("*".to_owned()), Just("*/15".to_owned()), Just("*/7".to_owned())];
    let hour = prop_oneof!["[0-9]", "1[0-9]", Just("*".to_owned()), Just("*/6".to_owned()), Just("9-17".to_owned())];
    let day = prop_oneof![3 => Just("*".to_owned()), 1 => "[1-9]", 1 => Just("L".to_owned())];
    let month = prop_oneof![3 => Just("*".to_owned()), 1 => "[1-9]"];
    let weekday = prop_oneof![3 => Just("*".to_owned()), 1 => "[0-6]", 1 => Just("1-5".to_owned()), 1 => "[0-6]#[1-4L]", 1 => "[0-6](,[0-6]){1,6}",
        1 => Just("1,2,3,4,5".to_owned())];
    (minute, hour, day, month, weekday).prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

fn any_rule(now: Timestamp, zone: TimeZone) -> impl Strategy<Value = Rule> {
    let unit = proptest::sample::select(vec![Unit::Minutes, Unit::Hours, Unit::Days, Unit::Weeks]);
    prop_oneof![
        any_cron().prop_map(|expression| Rule::Cron { expression }),
        (1..400_u32, unit, 0..2_000_000_i64).prop_map(move |(count, unit, ahead)| {
            let from = zone.to_datetime(now + ahead.seconds()).round(jiff::Unit::Minute).unwrap();
            Rule::Every { count, unit, from }
        }),
        (1..100_000_000_i64).prop_map(move |ahead| Rule::Once { at: now + ahead.seconds() }),
    ]
}

fn any_case() -> impl Strategy<Value = (Rule, TimeZone, Timestamp)> {
    (any_zone(), any_time()).prop_flat_map(|(zone, now)| (any_rule(now, zone.clone()), Just(zone), Just(now)))
}

proptest! {
    #[test]
    fn n13_the_next_instant_is_later_and_none_lies_between((rule, zone, now) in any_case()) {
        let few = rule.next_few(&zone, now, 5);
        for (index, at) in few.iter().enumerate() {
            let before = if index == 0 { now } else { few[index - 1] };
            prop_assert!(*at > before);
            // Asked at any moment between, the answer is the same.
            let between = before + (at.duration_since(before) / 2);
            prop_assert_eq!(rule.next(&zone, between), Some(*at));
            prop_assert_eq!(rule.next(&zone, *at - 1.second()), Some(*at));
        }
    }

    #[test]
    fn n13_words_read_again_are_the_same_rule((rule, zone, now) in any_case()) {
        prop_assume!(rule.check(&zone, now).is_ok());
        let words = rule.in_words(&zone);
        prop_assert_eq!(read(&words, &zone, now), Ok(rule), "{}", words);
    }

    #[test]
    fn n13_a_daily_rule_is_due_once_a_day(zone in any_zone(), now in any_time(), hour in 0..24, minute in 0..60) {
        let rule = Rule::Cron { expression: format!("{minute} {hour} * * *") };
        let days: Vec<_> = rule.next_few(&zone, now, 40).into_iter().map(|at| zone.to_datetime(at).date()).collect();
        prop_assert_eq!(days.len(), 40);
        prop_assert!(days.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", days);
    }

    #[test]
    fn n13_no_text_breaks_the_reader(text in ".{0,60}", zone in any_zone(), now in any_time()) {
        if let Ok(rule) = read(&text, &zone, now) {
            prop_assert!(rule.next(&zone, now).is_some());
        }
    }

    #[test]
    fn n13_words_in_any_order_break_nothing(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "every", "other", "second", "friday", "mondays", "at", "9", "17:00", "in", "2h", "first", "of", "the", "month",
            "between", "and", "from", "to", "24", "december", "2027", "tomorrow", "weekdays", "day", "15th", "last", "am",
            "31", "february", "week", "minutes", "hour", "next", "noon", "jeden", "um", "uhr", "am",
        ]), 0..9),
        zone in any_zone(), now in any_time(),
    ) {
        if let Ok(rule) = read(&words.join(" "), &zone, now) {
            prop_assert!(rule.next(&zone, now).is_some());
            prop_assert_eq!(read(&rule.in_words(&zone), &zone, now), Ok(rule));
        }
    }
}
