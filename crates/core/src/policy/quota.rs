//! Quotas: how many tokens and tool calls one person may have, and until when (rows C2, E15).
//!
//! Never: the sums themselves; whoever asks brings them.
//! Start at [`Quotas::windows`].

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::domain::principal::Role;

/// The limits of each person; what is not set is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Tokens of a guest in a calendar month.
    pub guest_month: Option<u64>,
    /// Tokens of a user in a calendar month; admins and owners have no such limit.
    pub user_month: Option<u64>,
    /// Tokens of anybody in any sixty minutes.
    pub hour: Option<u64>,
    /// Tool calls of anybody in any minute.
    pub tool_calls_per_minute: Option<u32>,
}

/// What a quota of tokens holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The last sixty minutes.
    Hour,
    /// A guest's calendar month.
    GuestMonth,
    /// A user's calendar month.
    UserMonth,
}

impl Scope {
    /// The key under `[quotas]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Hour => "hour_tokens",
            Self::GuestMonth => "guest_month_tokens",
            Self::UserMonth => "user_month_tokens",
        }
    }

    /// In words, as in "your tokens for …".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::GuestMonth => "a guest's month",
            Self::UserMonth => "a month",
        }
    }
}

/// A quota of tokens at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// What for.
    pub scope: Scope,
    /// How many tokens.
    pub cap: u64,
    /// Since when they count.
    pub since: Timestamp,
    /// When it begins anew; within the rolling hour, when all of it is free again.
    pub resets: Zoned,
}

impl Quotas {
    /// The quotas of tokens that hold for somebody now, the narrowest first.
    #[must_use]
    pub fn windows(&self, role: Role, now: Timestamp, zone: &TimeZone) -> Vec<Window> {
        let local = now.to_zoned(zone.clone());
        let hour = self.hour.map(|cap| Window {
            scope: Scope::Hour,
            cap,
            since: now - SignedDuration::from_hours(1),
            resets: (now + SignedDuration::from_hours(1)).to_zoned(zone.clone()),
        });
        let month = match role {
            Role::Guest => self.guest_month.map(|cap| (Scope::GuestMonth, cap)),
            Role::User => self.user_month.map(|cap| (Scope::UserMonth, cap)),
            Role::Admin | Role::Owner => None,
        };
        let first = local.first_of_month().and_then(|first| first.start_of_day()).unwrap_or(local);
        let next = first.checked_add(1.month()).unwrap_or_else(|_| first.clone());
        let month = month.map(|(scope, cap)| Window { scope, cap, since: first.timestamp(), resets: next });
        hour.into_iter().chain(month).collect()
    }

    /// How many of `wanted` more tool calls may be made, after `made` in the last minute.
    #[must_use]
    pub fn tool_calls(&self, made: u64, wanted: usize) -> usize {
        let Some(cap) = self.tool_calls_per_minute else { return wanted };
        let left = u64::from(cap).saturating_sub(made);
        usize::try_from(left).map_or(wanted, |left| left.min(wanted))
    }
}

impl Window {
    /// Whether a call that reads `wanted` fits, after `used` (what is under way included).
    #[must_use]
    pub fn fits(&self, used: u64, wanted: u64) -> bool {
        used.saturating_add(wanted) <= self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Quotas {
        Quotas { guest_month: Some(5_000), user_month: Some(9_000), hour: Some(700), tool_calls_per_minute: Some(60) }
    }

    #[test]
    fn c2_months_are_the_households_and_end_by_themselves() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now = "2026-10-25T10:00:00Z".parse().unwrap();
        let shown = |quotas: Quotas, role| {
            let windows = quotas.windows(role, now, &zone);
            let line = |window: &Window| {
                let resets = window.resets.strftime("%F %H:%M");
                format!("{} {} since {} until {resets}", window.scope.key(), window.cap, window.since)
            };
            windows.iter().map(line).collect::<Vec<_>>().join("; ")
        };
        insta::assert_snapshot!(shown(full(), Role::Guest), @"hour_tokens 700 since 2026-10-25T09:00:00Z until 2026-10-25 12:00; guest_month_tokens 5000 since 2026-09-30T22:00:00Z until 2026-11-01 00:00");
        insta::assert_snapshot!(shown(full(), Role::User), @"hour_tokens 700 since 2026-10-25T09:00:00Z until 2026-10-25 12:00; user_month_tokens 9000 since 2026-09-30T22:00:00Z until 2026-11-01 00:00");
        for role in [Role::Admin, Role::Owner] {
            assert_eq!(shown(Quotas { hour: None, ..full() }, role), "", "{role:?} have no limit by the month");
        }
        assert_eq!(shown(Quotas::default(), Role::Guest), "");
        let words = [Scope::Hour, Scope::GuestMonth, Scope::UserMonth].map(Scope::words);
        assert_eq!(words, ["an hour", "a guest's month", "a month"]);
    }

    #[test]
    fn c2_what_fits() {
        let now = Timestamp::UNIX_EPOCH;
        let window = full().windows(Role::Guest, now, &TimeZone::UTC).remove(1);
        let table = [
            (0, 5_000, true),
            (0, 5_001, false),
            (4_999, 1, true),
            (4_999, 2, false),
            (5_000, 0, true),
            (5_001, 0, false),
            (u64::MAX, 1, false),
        ];
        for (used, wanted, fits) in table {
            assert_eq!(window.fits(used, wanted), fits, "{used} {wanted}");
        }
    }

    #[test]
    fn e15_tool_calls_by_the_minute() {
        let table = [(0, 1, 1), (59, 1, 1), (59, 2, 1), (60, 1, 0), (61, 1, 0), (0, 100, 60)];
        for (made, wanted, allowed) in table {
            assert_eq!(full().tool_calls(made, wanted), allowed, "{made} {wanted}");
        }
        assert_eq!(Quotas::default().tool_calls(1_000, 7), 7);
    }
}
