//! What a text says, put together as a rule.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

use crate::policy::schedule::read::lexicon::AheadUnit;
use crate::policy::schedule::read::parts::{CalendarDay, ScheduleParts};
use crate::policy::schedule::read::{ReadError, date};
use crate::policy::schedule::{Rule, RuleError, Unit, moment};

/// A date without a year is looked for so far ahead: a leap day can be eight years away.
const YEARS_AHEAD: i16 = 9;

pub(super) struct ReadContext<'a> {
    pub(super) zone: &'a TimeZone,
    pub(super) now: Timestamp,
}

impl ReadContext<'_> {
    fn today(&self) -> Date {
        self.zone.to_datetime(self.now).date()
    }

    fn once(&self, day: Date, time: Time, parts: &ScheduleParts) -> Result<Rule, ReadError> {
        let civil = day.to_datetime(time);
        let at = match parts.offset {
            Some(offset) => offset.to_timestamp(civil).ok(),
            None => moment(self.zone, civil),
        };
        Ok(Rule::Once { at: at.ok_or(RuleError::NoSuchDay)? })
    }

    /// Is that still to come?
    fn is_ahead(&self, day: Date, time: Time) -> bool {
        moment(self.zone, day.to_datetime(time)).is_some_and(|at| at > self.now)
    }
}

/// Puts a rule together. An offset says when something is once, and nothing of what comes again and again.
pub(super) fn join(parts: ScheduleParts, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    let has_offset = parts.offset.is_some();
    match rule(parts, here)? {
        Rule::Cron { .. } | Rule::Every { .. } if has_offset => Err(ReadError::Ambiguous),
        rule => Ok(rule),
    }
}

fn rule(mut parts: ScheduleParts, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    parts.weekdays.sort_unstable();
    parts.weekdays.dedup();
    parts.times.sort_unstable();
    parts.times.dedup();
    let kinds = [
        !parts.ahead.is_empty(),
        parts.every.is_some_and(|(count, unit)| count > 1 || unit != Unit::Days),
        parts.nth.is_some(),
        parts.month_day.is_some(),
        parts.day.is_some(),
        parts.from_today.is_some(),
    ];
    if kinds.iter().filter(|said| **said).count() > 1 {
        return Err(ReadError::Ambiguous);
    }
    if !parts.ahead.is_empty() {
        return ahead(&parts, here);
    }
    if let Some((count, unit)) = parts.every {
        return periodic(&parts, count, unit, here);
    }
    if parts.between.is_some() || parts.from.is_some() {
        return Err(ReadError::Ambiguous);
    }
    if let Some(nth) = parts.nth {
        let [day] = parts.weekdays[..] else { return Err(ReadError::Ambiguous) };
        let nth = if nth == 5 { "L".to_owned() } else { nth.to_string() };
        return cron(&parts, &format!("* * {day}#{nth}"));
    }
    if let Some(day) = parts.month_day {
        if !parts.weekdays.is_empty() {
            return Err(ReadError::Ambiguous);
        }
        let day = if day == 0 { "L".to_owned() } else { day.to_string() };
        return cron(&parts, &format!("{day} * *"));
    }
    if let Some(day) = parts.day {
        return on_date(&parts, day, here);
    }
    if parts.monthly || parts.yearly {
        return Err(ReadError::NoDay);
    }
    if let Some(days) = parts.from_today {
        let day = here.today().checked_add(days.days()).map_err(|_too_far| RuleError::NoSuchDay)?;
        return here.once(day, time(&parts)?, &parts);
    }
    on_weekdays(&parts, here)
}

fn time(parts: &ScheduleParts) -> Result<Time, ReadError> {
    match parts.times[..] {
        [] => Err(ReadError::NoTime),
        [time] => Ok(time),
        _ => Err(ReadError::Ambiguous),
    }
}

/// At these times on the days that the last three fields name.
fn cron(parts: &ScheduleParts, days: &str) -> Result<Rule, ReadError> {
    let Some(first) = parts.times.first() else { return Err(ReadError::NoTime) };
    // One expression has one minute.
    if parts.times.iter().any(|time| time.minute() != first.minute() || time.second() != 0) {
        return Err(ReadError::Ambiguous);
    }
    let hours: Vec<String> = parts.times.iter().map(|time| time.hour().to_string()).collect();
    Ok(Rule::Cron { expression: format!("{} {} {days}", first.minute(), hours.join(",")) })
}

fn ahead(parts: &ScheduleParts, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    let alone = parts.weekdays.is_empty() && parts.times.len() <= 1 && parts.every.is_none();
    if !alone {
        return Err(ReadError::Ambiguous);
    }
    let mut span = Span::new();
    for (count, unit) in &parts.ahead {
        let count = i64::from(*count);
        let more = match unit {
            AheadUnit::Seconds => Span::new().try_seconds(count),
            AheadUnit::Of(Unit::Minutes) => Span::new().try_minutes(count),
            AheadUnit::Of(Unit::Hours) => Span::new().try_hours(count),
            AheadUnit::Of(Unit::Days) => Span::new().try_days(count),
            AheadUnit::Of(Unit::Weeks) => Span::new().try_days(count.saturating_mul(7)),
        };
        let sum = more.and_then(|more| span.checked_add((more, jiff::SpanRelativeTo::days_are_24_hours())));
        span = sum.map_err(|_too_far| RuleError::Never)?;
    }
    let then = here.now.to_zoned(here.zone.clone()).checked_add(span).map_err(|_too_far| RuleError::Never)?;
    let by_days = parts.ahead.iter().all(|(_, unit)| matches!(unit, AheadUnit::Of(Unit::Days | Unit::Weeks)));
    match parts.times[..] {
        [time] if by_days => here.once(then.date(), time, parts),
        [_, ..] => Err(ReadError::Ambiguous),
        [] => {
            let at = Timestamp::from_second(then.timestamp().as_second()).map_err(|_too_far| RuleError::Never)?;
            Ok(Rule::Once { at })
        }
    }
}

fn periodic(parts: &ScheduleParts, count: u32, unit: Unit, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    if count == 0 {
        return Err(RuleError::Period.into());
    }
    match unit {
        Unit::Minutes | Unit::Hours => by_the_hour(parts, count, unit, here),
        Unit::Days if count == 1 && parts.from.is_none() => match parts.weekdays[..] {
            [] => cron(parts, "* * *"),
            _ => Err(ReadError::Ambiguous),
        },
        Unit::Weeks if count == 1 && parts.from.is_none() => match parts.weekdays[..] {
            [] => Err(ReadError::NoDay),
            _ => cron(parts, &format!("* * {}", listed(&parts.weekdays))),
        },
        Unit::Days | Unit::Weeks => {
            let time = time(parts)?;
            let first = first_day(parts, unit, time, here)?;
            Ok(Rule::Every { count, unit, from: first.to_datetime(time) })
        }
    }
}

/// The first day of a period of days or weeks.
fn first_day(parts: &ScheduleParts, unit: Unit, time: Time, here: &ReadContext<'_>) -> Result<Date, ReadError> {
    let days = (0..=7).filter_map(|days| here.today().checked_add(days.days()).ok());
    let mut ahead = days.filter(|day| here.is_ahead(*day, time));
    match (parts.weekdays.as_slice(), parts.from) {
        ([], Some(CalendarDay { day, month, year: Some(year) })) => date(year, month, day),
        ([], Some(_)) | ([_, ..], Some(_)) | ([_, _, ..], None) => Err(ReadError::Ambiguous),
        ([], None) if unit == Unit::Days => ahead.next().ok_or(RuleError::Never.into()),
        ([], None) => Err(ReadError::NoDay),
        ([day], None) => ahead.find(|date| weekday_of(*date) == *day).ok_or(RuleError::Never.into()),
    }
}

fn by_the_hour(parts: &ScheduleParts, count: u32, unit: Unit, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    if let Some(CalendarDay { day, month, year }) = parts.from {
        let (Some(year), true, None) = (year, parts.weekdays.is_empty(), parts.between) else {
            return Err(ReadError::Ambiguous);
        };
        return Ok(Rule::Every { count, unit, from: date(year, month, day)?.to_datetime(time(parts)?) });
    }
    if !parts.times.is_empty() {
        return Err(ReadError::Ambiguous);
    }
    let days = if parts.weekdays.is_empty() { "*".to_owned() } else { listed(&parts.weekdays) };
    let whole = match unit {
        Unit::Minutes => 60 % count == 0 && count < 60,
        _ => 24 % count == 0 && count < 24,
    };
    let fields = match (unit, parts.between) {
        (_, Some((from, to))) if from.minute() != 0 || to.minute() != 0 || from >= to => {
            return Err(ReadError::Ambiguous);
        }
        (Unit::Minutes, Some((from, to))) if whole => format!("*/{count} {}-{}", from.hour(), to.hour() - 1),
        (Unit::Hours, Some((from, to))) if count == 1 => format!("0 {}-{}", from.hour(), to.hour()),
        (_, Some(_)) => return Err(ReadError::Ambiguous),
        (Unit::Minutes, None) if whole => format!("*/{count} *"),
        (Unit::Hours, None) if count == 1 => "0 *".to_owned(),
        (Unit::Hours, None) if whole => format!("0 */{count}"),
        (_, None) if days == "*" => {
            let local = here.zone.to_datetime(here.now);
            let from =
                DateTime::from_parts(local.date(), Time::new(local.hour(), local.minute(), 0, 0).unwrap_or_default());
            return Ok(Rule::Every { count, unit, from });
        }
        (_, None) => return Err(ReadError::Ambiguous),
    };
    Ok(Rule::Cron { expression: format!("{fields} * * {days}") })
}

fn on_date(parts: &ScheduleParts, day: CalendarDay, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    if !parts.weekdays.is_empty() || parts.monthly {
        return Err(ReadError::Ambiguous);
    }
    if parts.yearly {
        return match day.year {
            Some(_) => Err(ReadError::Ambiguous),
            None => cron(parts, &format!("{} {} *", day.day, day.month)),
        };
    }
    let time = time(parts)?;
    if let Some(year) = day.year {
        return here.once(date(year, day.month, day.day)?, time, parts);
    }
    let this_year = here.today().year();
    let dates = this_year..this_year.saturating_add(YEARS_AHEAD);
    let next = dates
        .filter_map(|year| Date::new(year, day.month, day.day).ok())
        .find(|date| here.is_ahead(*date, time))
        .ok_or(RuleError::NoSuchDay)?;
    here.once(next, time, parts)
}

fn on_weekdays(parts: &ScheduleParts, here: &ReadContext<'_>) -> Result<Rule, ReadError> {
    match (parts.weekdays.as_slice(), parts.again) {
        (days @ [_, ..], true) => cron(parts, &format!("* * {}", listed(days))),
        ([], true) => Err(ReadError::NoDay),
        // Several days without "every": once each, or each week?
        ([_, _, ..], false) => Err(ReadError::Ambiguous),
        (day, false) => {
            let time = time(parts)?;
            let days = (0..=7).filter_map(|days| here.today().checked_add(days.days()).ok());
            let fits =
                |date: &Date| day.first().is_none_or(|day| weekday_of(*date) == *day) && here.is_ahead(*date, time);
            let next = days.into_iter().find(fits).ok_or(RuleError::NoSuchDay)?;
            here.once(next, time, parts)
        }
    }
}

fn weekday_of(date: Date) -> u8 {
    date.weekday().to_sunday_zero_offset().unsigned_abs()
}

/// Days of the week as cron has them.
fn listed(days: &[u8]) -> String {
    match days {
        [1, 2, 3, 4, 5] => "1-5".to_owned(),
        [0, 1, 2, 3, 4, 5, 6] => "*".to_owned(),
        days => days.iter().map(u8::to_string).collect::<Vec<_>>().join(","),
    }
}
