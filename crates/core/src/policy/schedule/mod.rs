//! When something is due that was asked for ahead (row N13): rules, and the instants that follow from them.
//!
//! Wall clocks jump. A time that a zone leaves out is due at the next moment that there is; a time that comes twice is due
//! once; what falls on a day that a zone leaves out whole is not due at all. Rules for every hour keep to real hours.
//! Start at [`Rule`], then [`read`], which makes one from what people write.

pub mod check;
pub mod misfire;
pub mod read;
mod words;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// The longest cron expression.
const CRON_CHARS_MAX: usize = 200;
/// The longest period, in its unit.
const COUNT_MAX: u32 = 10_000;
/// So many wall clock times in a row may fall into a gap or a repetition; a day has no more minutes.
const TIMES_MAX: usize = 3_000;
/// So many changes of a zone's offset are looked beyond: leap days can be eight years apart.
const CHANGES_MAX: usize = 100;

/// When something is due. Its wall clock is that of a zone that is stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Whenever the wall clock fits: minute, hour, day, month, weekday.
    Cron {
        /// The five fields.
        expression: String,
    },
    /// Each time a period has passed.
    Every {
        /// How many units it has.
        count: u32,
        unit: Unit,
        /// The first time.
        from: DateTime,
    },
    Once {
        at: Timestamp,
    },
}

/// What a period is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Real minutes.
    Minutes,
    /// Real hours.
    Hours,
    /// Days of the wall clock.
    Days,
    /// Weeks of the wall clock.
    Weeks,
}

impl Unit {
    fn secs(self) -> i64 {
        match self {
            Self::Minutes => 60,
            Self::Hours => 3_600,
            Self::Days => 86_400,
            Self::Weeks => 7 * 86_400,
        }
    }
}

/// A rule that cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is not cron.
    #[error("{0:?} is not a cron expression of five fields (minute hour day month weekday), like `30 8 * * 1-5`")]
    NotCron(String),
    /// It names a day that no month or zone has.
    #[error("that day does not exist")]
    NoSuchDay,
    #[error("that time is past")]
    Past,
    /// It would never be due.
    #[error("that would never happen")]
    Never,
    /// Its period is none.
    #[error("a period is a whole number from 1 to {COUNT_MAX}")]
    Period,
}

impl Rule {
    /// Refuses what can never be due after `now`.
    ///
    /// # Errors
    /// In words for whoever wrote it.
    pub fn check(&self, zone: &TimeZone, now: Timestamp) -> Result<(), RuleError> {
        match self {
            Self::Cron { expression } => {
                let cron = cron(expression)?;
                // A leap year's longest month: what has no day here has none in any.
                if cron.find_next_occurrence(&zone.to_datetime(now), false).is_err() {
                    return Err(RuleError::NoSuchDay);
                }
            }
            Self::Every { count, .. } if *count == 0 || *count > COUNT_MAX => return Err(RuleError::Period),
            Self::Once { at } if *at <= now => return Err(RuleError::Past),
            Self::Every { .. } | Self::Once { .. } => {}
        }
        self.next(zone, now).map(drop).ok_or(RuleError::Never)
    }

    /// The first instant after `after` at which it is due; none: there is none.
    pub fn next(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron { expression } => {
                let cron = cron(expression).ok()?;
                let hourly = expression.split_whitespace().nth(1) == Some("*");
                if hourly { next_by_offset(&cron, zone, after) } else { next_by_wall_clock(&cron, zone, after) }
            }
            Self::Every { count, unit: unit @ (Unit::Minutes | Unit::Hours), from } => {
                let period = i64::from(*count).checked_mul(unit.secs()).filter(|period| *period > 0)?;
                next_period(moment(zone, *from)?, period, after)
            }
            Self::Every { count, unit: Unit::Days, from } => next_day(zone, *from, i64::from(*count), after),
            Self::Every { count, unit: Unit::Weeks, from } => next_day(zone, *from, 7 * i64::from(*count), after),
            Self::Once { at } => (*at > after).then_some(*at),
        }
    }

    /// The next `count` instants after `after`.
    pub fn next_few(&self, zone: &TimeZone, after: Timestamp, count: usize) -> Vec<Timestamp> {
        std::iter::successors(self.next(zone, after), |last| self.next(zone, *last)).take(count).collect()
    }

    /// The newest instant in `from..=now` at which it was due, and whether there were others before it.
    pub fn newest(&self, zone: &TimeZone, from: Timestamp, now: Timestamp) -> (Timestamp, bool) {
        // Close to now first: of a minute's rule and a year's sleep half a million instants were due.
        for span in [SignedDuration::from_hours(2), SignedDuration::from_hours(24 * 40)] {
            let start = now.checked_sub(span).map_or(from, |start| start.max(from));
            let newest = self.last_until(zone, start, now);
            if let Some(newest) = newest.filter(|newest| *newest > from) {
                return (newest, true);
            }
        }
        let newest = self.last_until(zone, from, now);
        newest.map_or((from, false), |newest| (newest, newest > from))
    }

    fn last_until(&self, zone: &TimeZone, after: Timestamp, now: Timestamp) -> Option<Timestamp> {
        std::iter::successors(self.next(zone, after), |last| self.next(zone, *last)).take_while(|at| *at <= now).last()
    }
}

/// The expression, if it is one.
///
/// # Errors
/// When it does not have five fields that can be read.
pub fn cron(expression: &str) -> Result<Cron, RuleError> {
    let wrong = || RuleError::NotCron(expression.chars().take(80).collect());
    if expression.len() > CRON_CHARS_MAX || expression.split_whitespace().count() != 5 {
        return Err(wrong());
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(expression).map_err(|_told_by_example| wrong())
}

/// Wall clock times, each at the moment that it stands for.
fn next_by_wall_clock(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut civil = zone.to_datetime(after);
    for _ in 0..TIMES_MAX {
        civil = cron.find_next_occurrence(&civil, false).ok()?;
        if let Some(at) = moment(zone, civil).filter(|at| *at > after) {
            return Some(at);
        }
    }
    None
}

/// Every hour is meant, the repeated one too: between two changes of the offset the wall clock is like any other.
fn next_by_offset(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let (mut start, mut inclusive) = (after, false);
    for _ in 0..CHANGES_MAX {
        let offset = zone.to_offset(start);
        let change = zone.following(start).next().map(|change| change.timestamp());
        let civil = cron.find_next_occurrence(&offset.to_datetime(start), inclusive).ok()?;
        let at = offset.to_timestamp(civil).ok()?;
        if at > after && change.is_none_or(|change| at < change) {
            return Some(at);
        }
        (start, inclusive) = (change?, true);
    }
    None
}

fn next_period(first: Timestamp, period: i64, after: Timestamp) -> Option<Timestamp> {
    if after < first {
        return Some(first);
    }
    let passed = after.duration_since(first).as_secs().div_euclid(period);
    first.checked_add(SignedDuration::from_secs(passed.checked_add(1)?.checked_mul(period)?)).ok()
}

fn next_day(zone: &TimeZone, from: DateTime, days: i64, after: Timestamp) -> Option<Timestamp> {
    if days <= 0 {
        return None;
    }
    let today = zone.to_datetime(after).date();
    let passed = i64::from((today - from.date()).get_days()).div_euclid(days);
    // The one before may still be ahead: what a zone left out is due later than its date says.
    let first = passed.saturating_sub(1).max(0);
    (first..=first.saturating_add(4)).find_map(|index| {
        let civil = from.checked_add(Span::new().try_days(index.checked_mul(days)?).ok()?).ok()?;
        moment(zone, civil).filter(|at| *at > after)
    })
}

/// The moment that a wall clock time stands for; none: its whole day is left out.
pub fn moment(zone: &TimeZone, civil: DateTime) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(civil);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => ambiguous.compatible().ok(),
        AmbiguousOffset::Gap { after, .. } => {
            let change = zone.following(after.to_timestamp(civil).ok()?).next()?.timestamp();
            let there = zone.to_datetime(change).date();
            let before = zone.to_datetime(change.checked_sub(1.nanosecond()).ok()?).date();
            let day = civil.date();
            (day == there || day == before).then_some(change)
        }
    }
}
