//! What is open in the whole house, and what was spent today: read once and worded once, for `/status`, `hob status` and the page.
//!
//! Start at [`Workload::read`].

use std::fmt::{self, Display};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use hob_core::domain::text::span;
use hob_store::error::StoreError;
use hob_store::schedules::UpcomingSchedule;
use hob_store::spend::SpendTotals;
use hob_store::{Tx, millis, outbox, runs, schedules, spend};

/// What is open, and what was spent since midnight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// Open runs.
    pub runs: Vec<Backlog>,
    /// What is not delivered, or was given up within a day.
    pub outbox: Vec<Backlog>,
    pub today: SpendTotals,
    /// What is due next, the first few.
    pub next: Vec<UpcomingSchedule>,
}

/// How much there is in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    pub state: String,
    pub count: i64,
    /// How long the oldest of it has waited, in seconds, where that is told.
    pub oldest_age_secs: Option<i64>,
}

impl Display for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.state)?;
        self.oldest_age_secs.map_or(Ok(()), |age| write!(f, " (oldest {})", span(age)))
    }
}

impl Workload {
    /// Reads it, with so many schedules at most.
    pub async fn read(tx: &mut Tx, zone: &TimeZone, now: Timestamp, schedules_max: i64) -> Result<Self, StoreError> {
        let age = |at: i64| (millis(now) - at).max(0) / 1_000;
        let day_ago = now - SignedDuration::from_hours(24);
        let midnight = now.to_zoned(zone.clone()).start_of_day().map_or(day_ago, |midnight| midnight.timestamp());
        let queued_at = runs::queries::queue(tx).await?.oldest;
        let runs = runs::queries::count_open(tx).await?.into_iter().map(|row| Backlog {
            oldest_age_secs: queued_at.filter(|_| row.state == "queued").map(age),
            state: row.state,
            count: row.count,
        });
        let outbox = outbox::queries::count(tx, day_ago).await?.into_iter();
        let outbox =
            outbox.map(|row| Backlog { oldest_age_secs: Some(age(row.oldest)), state: row.state, count: row.count });
        Ok(Self {
            runs: runs.collect(),
            outbox: outbox.collect(),
            today: spend::since(tx, millis(midnight), None).await?,
            next: schedules::upcoming(tx, schedules_max).await?,
        })
    }
}

/// One after another, or what is said of nothing.
pub fn listed(items: impl IntoIterator<Item = impl Display>, nothing: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { nothing.to_owned() } else { items.join(", ") }
}
