//! Until when something holds, where it says so: "until Friday", "bis zum 3. Mai", "until 2027-05-03".

use jiff::ToSpan;
use jiff::civil::Date;

use crate::rank::dates::{day, year};
use crate::rank::words::folded_words;
use hob_core::domain::lexicon::{month, weekday};

/// The last day on which what `text` says holds, as it was said on the day `today`.
pub(crate) fn stated_last_day(text: &str, today: Date) -> Option<Date> {
    let words: Vec<String> = folded_words(text).collect();
    let at = words.iter().position(|word| matches!(word.as_str(), "until" | "till" | "til" | "bis"))?;
    let fill = |word: &&String| !matches!(word.as_str(), "the" | "zum" | "zu" | "den" | "am" | "next" | "nachsten");
    let rest: Vec<&str> = words[at + 1..].iter().filter(fill).map(String::as_str).take(4).collect();
    let (first, second, third) =
        (*rest.first()?, rest.get(1).copied().unwrap_or(""), rest.get(2).copied().unwrap_or(""));
    match first {
        "today" | "tonight" | "heute" => return Some(today),
        "tomorrow" | "morgen" => return today.tomorrow().ok(),
        _ => {}
    }
    if let Some(weekday) = weekday(first) {
        return if today.weekday() == weekday { Some(today) } else { today.nth_weekday(1, weekday).ok() };
    }
    numeric_date(first, second, third).or_else(|| day_and_month(first, second, third, today))
}

/// 2027-05-03, and 3.5.2027.
fn numeric_date(first: &str, second: &str, third: &str) -> Option<Date> {
    let month = second.parse().ok()?;
    let of = |year: i16, day: &str| Date::new(year, month, day.parse().ok()?).ok();
    match (year(first), year(third)) {
        (Some(year), _) => of(year, third),
        (None, Some(year)) => of(year, first),
        (None, None) => None,
    }
}

/// 3 May, May 3, both with a year or without: then it is the next that comes. A month alone holds to its end.
fn day_and_month(first: &str, second: &str, third: &str, today: Date) -> Option<Date> {
    let (month, day, rest) = match (month(first), month(second)) {
        (Some(month), _) => match day(second) {
            Some(day) => (month, Some(day), third),
            None => (month, None, second),
        },
        (None, Some(month)) => (month, Some(day(first)?), third),
        (None, None) => return None,
    };
    let of = |year: i16| {
        let first = Date::new(year, month, day.unwrap_or(1)).ok()?;
        Some(if day.is_some() { first } else { first.last_of_month() })
    };
    if let Some(year) = year(rest) {
        return of(year);
    }
    let this = of(today.year())?;
    if this >= today { Some(this) } else { this.checked_add(1.year()).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_what_holds_until_a_day_says_so() {
        // A Wednesday.
        let today = Date::constant(2026, 7, 15);
        let table = [
            ("on holiday until Friday", Some("2026-07-17")),
            ("in Urlaub bis Freitag", Some("2026-07-17")),
            ("away until Wednesday", Some("2026-07-15")),
            ("the car is at the garage till tomorrow", Some("2026-07-16")),
            ("krankgeschrieben bis zum 3. August", Some("2026-08-03")),
            ("stays until 3 May", Some("2027-05-03")),
            ("stays until May 3, 2028", Some("2028-05-03")),
            ("stays until August", Some("2026-08-31")),
            ("until 2026-12-24", Some("2026-12-24")),
            ("bis 24.12.2026", Some("2026-12-24")),
            ("works until five", None),
            ("likes tea", None),
            ("until", None),
        ];
        for (text, expected) in table {
            assert_eq!(stated_last_day(text, today).map(|day| day.to_string()).as_deref(), expected, "{text}");
        }
    }
}
