//! Budgets: how much money may go where, and until when (row N10).
//!
//! Never: the sums themselves; whoever asks brings them.
//! Start at [`Budget::windows`].

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use crate::domain::money::Money;

/// From this share of a cap on, it is told (issue: at 80 % a note).
const NOTE_PERCENT: i64 = 80;

/// What a cap holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One run, with all that it starts.
    Run,
    /// The last sixty minutes.
    Hour,
    /// The calendar day.
    Day,
    /// The calendar month.
    Month,
    /// The calendar month of one person.
    PersonMonth,
}

impl Scope {
    /// The key under `[budget]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Run => "run_usd",
            Self::Hour => "hour_usd",
            Self::Day => "day_usd",
            Self::Month => "month_usd",
            Self::PersonMonth => "person_month_usd",
        }
    }

    /// In words, as in "the budget for …".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Run => "one task",
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::Month => "a month",
            Self::PersonMonth => "one person's month",
        }
    }
}

/// The caps of a household; what is not set is not capped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// For one run.
    pub run: Option<Money>,
    /// For any sixty minutes.
    pub hour: Option<Money>,
    /// For a calendar day.
    pub day: Option<Money>,
    /// For a calendar month.
    pub month: Option<Money>,
    /// For one person's calendar month.
    pub person_month: Option<Money>,
}

/// A cap at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// What for.
    pub scope: Scope,
    /// How much.
    pub cap: Money,
    /// Since when it is used up.
    pub since: Timestamp,
    /// When it begins anew, for people; none: with the next run.
    pub resets: Option<Zoned>,
}

impl Budget {
    /// Whether there is no cap at all.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// The caps that hold now, the narrowest first.
    #[must_use]
    pub fn windows(&self, now: Timestamp, zone: &TimeZone) -> Vec<Window> {
        let local = now.to_zoned(zone.clone());
        let day = local.start_of_day().ok();
        let month = local.first_of_month().and_then(|first| first.start_of_day()).ok();
        let hour_ago = now - SignedDuration::from_hours(1);
        let in_an_hour = now + SignedDuration::from_hours(1);
        let window = |scope, cap: Option<Money>, since: Option<&Zoned>, resets: Option<Zoned>| {
            let since = since.map_or(now, Zoned::timestamp);
            cap.map(|cap| Window { scope, cap, since, resets })
        };
        let after = |start: Option<&Zoned>, span: jiff::Span| start.and_then(|start| start.checked_add(span).ok());
        let hour_ago = hour_ago.to_zoned(zone.clone());
        [
            window(Scope::Run, self.run, None, None),
            window(Scope::Hour, self.hour, Some(&hour_ago), Some(in_an_hour.to_zoned(zone.clone()))),
            window(Scope::Day, self.day, day.as_ref(), after(day.as_ref(), 1.day())),
            window(Scope::Month, self.month, month.as_ref(), after(month.as_ref(), 1.month())),
            window(Scope::PersonMonth, self.person_month, month.as_ref(), after(month.as_ref(), 1.month())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Window {
    /// Whether something that may cost `wanted` fits, after `used` (what is set aside included). What costs nothing
    /// always does: a model on one's own machine goes on when the money is spent.
    #[must_use]
    pub fn fits(&self, used: Money, wanted: Money) -> bool {
        wanted <= Money::ZERO || used.plus(wanted) <= self.cap
    }

    /// Whether it is time for a word about it.
    #[must_use]
    pub fn is_nearly_used(&self, used: Money) -> bool {
        used >= self.cap.percent(NOTE_PERCENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(amount: f64) -> Option<Money> {
        Some(Money::from_usd(amount))
    }

    #[test]
    fn windows_follow_the_households_calendar_and_clock_changes() {
        let budget = Budget { run: usd(1.0), hour: usd(2.0), day: usd(3.0), month: usd(4.0), person_month: usd(5.0) };
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now = "2026-10-25T10:00:00Z".parse().unwrap();
        let shown: Vec<String> = budget
            .windows(now, &zone)
            .iter()
            .map(|window| {
                let resets = window.resets.as_ref().map_or("-".to_owned(), |at| at.strftime("%F %H:%M").to_string());
                format!("{} {} since {} until {resets}", window.scope.key(), window.cap, window.since)
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        run_usd $1.00 since 2026-10-25T10:00:00Z until -
        hour_usd $2.00 since 2026-10-25T09:00:00Z until 2026-10-25 12:00
        day_usd $3.00 since 2026-10-24T22:00:00Z until 2026-10-26 00:00
        month_usd $4.00 since 2026-09-30T22:00:00Z until 2026-11-01 00:00
        person_month_usd $5.00 since 2026-09-30T22:00:00Z until 2026-11-01 00:00
        ");
        assert_eq!(Budget { day: usd(3.0), ..Budget::default() }.windows(now, &zone).len(), 1);
        assert!(Budget::default().is_unlimited() && !budget.is_unlimited());
    }

    #[test]
    fn what_fits_and_what_is_told() {
        let budget = Budget { run: usd(1.0), ..Budget::default() };
        let window = budget.windows(Timestamp::UNIX_EPOCH, &TimeZone::UTC).remove(0);
        let table = [
            (0.0, 0.0, true, false),
            (0.0, 1.0, true, false),
            (0.0, 1.1, false, false),
            (0.8, 0.2, true, true),
            (0.8, 0.21, false, true),
            (1.0, 0.0, true, true),
            (1.2, 0.1, false, true),
        ];
        for (used, wanted, fits, told) in table {
            let (used, wanted) = (Money::from_usd(used), Money::from_usd(wanted));
            assert_eq!((window.fits(used, wanted), window.is_nearly_used(used)), (fits, told), "{used} {wanted}");
        }
    }
}
