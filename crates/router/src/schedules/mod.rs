//! Begins what is due (row N13): one timer for all schedules, which sleeps until the earliest.
//!
//! Never: an instant done twice; its claim, the next instant and the run are one transaction.
//! Start at [`Router::keep_schedules`]; [`fire`] is that transaction.

pub mod fire;
pub mod sync;
mod texts;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::intake::Router;
use crate::schedules::fire::FireSchedule;
use hob_core::domain::ids::ScheduleId;
use hob_store::error::StoreError;
use hob_store::{Tx, schedules};

/// The longest sleep: the clock on the wall may have been set, or the machine asleep.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The wait after the database failed.
const RETRY: Duration = Duration::from_secs(5);
/// So many are looked up at once.
const BATCH: i64 = 64;

impl Router {
    /// Begins what is due when it is due, until `stop`; `alarm` rings when a schedule has changed.
    pub async fn run_schedule_timer(self: Arc<Self>, alarm: Arc<Notify>, stop: CancellationToken) {
        loop {
            let wait = match self.begin_due(&stop).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "the schedules could not be looked through; trying again");
                    RETRY
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = alarm.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Begins everything that is due, unless `stop`, and says how long to sleep then.
    pub async fn begin_due(&self, stop: &CancellationToken) -> Result<Duration, StoreError> {
        let now = self.clock.now();
        let DueSchedules { next, due, untold } =
            self.store.read(async |tx| load_due(tx, &self.lanes.platforms(), now).await).await?;
        for id in untold {
            let told = self.store.write(async move |tx| fire::tell_paused(tx, id, now).await).await?;
            told.into_iter().for_each(|session| self.delivery.wake(session));
        }
        let mut failed = false;
        for id in &due {
            // What is due when Hob stops is begun at the next start.
            if stop.is_cancelled() {
                return Ok(Duration::ZERO);
            }
            let fire = FireSchedule { id: *id, access: Arc::clone(&self.config().access), now };
            let fired = match self.store.write(async move |tx| fire.run(tx).await).await {
                Ok(fired) => fired,
                // It stands in nobody's way.
                Err(error) => {
                    tracing::warn!(schedule = %id, %error, "a schedule could not be begun; trying again");
                    failed = true;
                    continue;
                }
            };
            fired.begun.into_iter().for_each(|session| self.lanes.wake(session));
            fired.said.into_iter().for_each(|session| self.delivery.wake(session));
        }
        if !due.is_empty() {
            return Ok(if failed { RETRY } else { Duration::ZERO });
        }
        let left = next.map(|next| u64::try_from(next.saturating_sub(now.as_millisecond())).unwrap_or(0));
        Ok(left.map_or(LOOK_AGAIN, |left| Duration::from_millis(left).min(LOOK_AGAIN)))
    }
}

/// What there is to be done.
struct DueSchedules {
    /// When the next is due, in Unix milliseconds.
    next: Option<i64>,
    due: Vec<ScheduleId>,
    untold: Vec<ScheduleId>,
}

async fn load_due(tx: &mut Tx, platforms: &str, now: Timestamp) -> Result<DueSchedules, StoreError> {
    let next = schedules::next_due(tx, platforms).await?;
    let is_due = next.is_some_and(|next| next <= now.as_millisecond());
    let due = if is_due { schedules::list_due(tx, platforms, now, BATCH).await? } else { Vec::new() };
    Ok(DueSchedules { next, due, untold: schedules::list_untold(tx).await? })
}

#[cfg(test)]
mod tests;
