//! A rule of recurrence in words. What is rare is told as the rule itself.

use calcard::icalendar::{ICalendarDay, ICalendarFrequency, ICalendarRecurrenceRule, ICalendarWeekday};

use crate::invitation::local_datetime;

/// How an event is repeated.
pub(super) fn repeated(rule: &ICalendarRecurrenceRule) -> String {
    let mut words = often(rule);
    if !rule.byday.is_empty() {
        words.extend([" on ", &listed(&rule.byday)]);
    }
    if !rule.bymonthday.is_empty() {
        let days: Vec<String> = rule.bymonthday.iter().map(ToString::to_string).collect();
        words.extend([" on day ", &days.join(", "), " of the month"]);
    }
    if let Some(count) = rule.count {
        words.extend([", ", &count.to_string(), " times"]);
    }
    if let Some(until) = rule.until.as_ref().and_then(local_datetime) {
        words.extend([", until ", &until.strftime("%A %Y-%m-%d").to_string()]);
    }
    if is_rare(rule) { format!("{words} (RRULE:{rule})") } else { words }
}

/// Whether there is more to the rule than was put into words.
fn is_rare(rule: &ICalendarRecurrenceRule) -> bool {
    let by_number = !(rule.bysecond.is_empty() && rule.byminute.is_empty() && rule.byhour.is_empty());
    let by_year = !(rule.byyearday.is_empty() && rule.byweekno.is_empty() && rule.bymonth.is_empty());
    by_number || by_year || !rule.bysetpos.is_empty() || rule.rscale.is_some() || rule.skip.is_some()
}

fn often(rule: &ICalendarRecurrenceRule) -> String {
    let (each, many) = match rule.freq {
        ICalendarFrequency::Yearly => ("every year", "years"),
        ICalendarFrequency::Monthly => ("every month", "months"),
        ICalendarFrequency::Weekly => ("every week", "weeks"),
        ICalendarFrequency::Daily => ("every day", "days"),
        ICalendarFrequency::Hourly => ("every hour", "hours"),
        ICalendarFrequency::Minutely => ("every minute", "minutes"),
        ICalendarFrequency::Secondly => ("every second", "seconds"),
    };
    match rule.interval {
        None | Some(0 | 1) => each.to_owned(),
        Some(interval) => format!("every {interval} {many}"),
    }
}

fn listed(days: &[ICalendarDay]) -> String {
    days.iter().map(day).collect::<Vec<_>>().join(", ")
}

fn day(day: &ICalendarDay) -> String {
    let name = match day.weekday {
        ICalendarWeekday::Sunday => "Sunday",
        ICalendarWeekday::Monday => "Monday",
        ICalendarWeekday::Tuesday => "Tuesday",
        ICalendarWeekday::Wednesday => "Wednesday",
        ICalendarWeekday::Thursday => "Thursday",
        ICalendarWeekday::Friday => "Friday",
        ICalendarWeekday::Saturday => "Saturday",
    };
    match day.ordwk {
        None => name.to_owned(),
        Some(-1) => format!("the last {name}"),
        Some(1) => format!("the first {name}"),
        Some(2) => format!("the second {name}"),
        Some(3) => format!("the third {name}"),
        Some(number) => format!("{name} number {number}"),
    }
}
