//! Begins what is due (row N13): one timer for all schedules, which sleeps until the earliest.
//!
//! Never: an instant done twice; its claim, the next instant and the run are one transaction.
//! Start at [`Router::run_schedule_timer`]; `fire` is that transaction. What looks first does so in `looks`, beside the timer.

pub(crate) mod fire;
mod looks;
pub mod sync;
mod texts;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::intake::Router;
use crate::schedules::fire::{FinishedLook, FireSchedule};
use crate::schedules::looks::LookQueue;
use hob_core::domain::ids::ScheduleId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::policy::schedule::check::LookVerdict;
use hob_store::error::StoreError;
use hob_store::schedules::DueFilter;
use hob_store::{Tx, schedules};
use hob_telemetry::tasks;
use hob_tools::schedule::look::{LookOrder, LookResult};

/// The longest sleep: the clock on the wall may have been set, or the machine asleep.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The wait after the database failed.
const RETRY: Duration = Duration::from_secs(5);
/// So many are looked up at once.
const BATCH: i64 = 64;

impl Router {
    /// Begins what is due when it is due, until `stop`; `alarm` rings when a schedule has changed.
    pub async fn run_schedule_timer(self: Arc<Self>, alarm: Arc<Notify>, stop: CancellationToken) {
        let looks = Arc::new(LookQueue::new(stop.clone(), Arc::clone(&alarm)));
        // Nobody knows where the clock was while Hob was away.
        let mut latest = Timestamp::MAX;
        loop {
            let wait = match self.begin_due(&mut latest, &looks, &stop).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "the schedules could not be looked through; trying again");
                    RETRY
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = alarm.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        looks.end().await;
    }

    /// Begins everything that is due, unless `stop`, and says how long to sleep then.
    async fn begin_due(
        self: &Arc<Self>,
        latest: &mut Timestamp,
        looks: &Arc<LookQueue>,
        stop: &CancellationToken,
    ) -> Result<Duration, StoreError> {
        let now = self.clock.now();
        if now < *latest {
            self.store.write(async move |tx| fire::follow_clock(tx, now).await).await?;
        }
        *latest = now;
        let (platforms, but) = (self.lanes.platforms(), looks.open());
        let among = DueFilter { platforms: &platforms, but: &but };
        let DueSchedules { next, due, untold } = self.store.read(async |tx| load_due(tx, among, now).await).await?;
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
            match self.fire(*id, now, None).await {
                Ok(None) => {}
                Ok(Some(order)) => {
                    let look = Arc::clone(self).look(*id, order, stop.clone());
                    looks.begin(*id, look);
                }
                // It stands in nobody's way.
                Err(error) => {
                    tracing::warn!(schedule = %id, %error, "a schedule could not be begun; trying again");
                    failed = true;
                }
            }
        }
        if !due.is_empty() {
            return Ok(if failed { RETRY } else { Duration::ZERO });
        }
        let left = next.map(|next| u64::try_from(next.saturating_sub(now.as_millisecond())).unwrap_or(0));
        Ok(left.map_or(LOOK_AGAIN, |left| Duration::from_millis(left).min(LOOK_AGAIN)))
    }
}

impl Router {
    /// Begins what is due of a schedule, or says what has to be looked at first.
    async fn fire(
        &self,
        id: ScheduleId,
        now: Timestamp,
        looked: Option<Arc<FinishedLook>>,
    ) -> Result<Option<LookOrder>, StoreError> {
        let fire = FireSchedule { id, access: Arc::clone(&self.config().access), now, looked };
        let fired = self.store.write(async move |tx| fire.run(tx).await).await?;
        fired.begun.into_iter().for_each(|session| self.lanes.wake(session));
        fired.said.into_iter().for_each(|session| self.delivery.wake(session));
        Ok(fired.to_look)
    }

    /// Looks, and records what was found with what follows from it; cut off before that, it is looked again.
    async fn look(self: Arc<Self>, id: ScheduleId, order: LookOrder, stop: CancellationToken) {
        let now = self.clock.now();
        let Some(mut result) = stop.run_until_cancelled(self.look_at(&order)).await else { return };
        let redact = |text: &mut String| *text = self.redactor.redact(text).into_owned();
        redact(&mut result.said);
        if let LookVerdict::Wake { data: words } | LookVerdict::Tell { text: words } = &mut result.verdict {
            redact(words);
        }
        if let Err(error) = self.fire(id, now, Some(Arc::new(FinishedLook { target: order.target, result }))).await {
            tracing::warn!(schedule = %id, %error, "what was found could not be recorded; it is looked again");
            stop.run_until_cancelled(tokio::time::sleep(RETRY)).await;
        }
    }

    async fn look_at(&self, order: &LookOrder) -> LookResult {
        let failed = |why: &str| LookResult::failed(OriginSource::new(Origin::Tool, "a look"), why.to_owned());
        let Some(looker) = self.config().looker.clone() else { return failed("nobody here can look") };
        let found = tasks::catch_panic("a look", looker.look(order)).await;
        found.unwrap_or_else(|| failed("the look broke off"))
    }
}

/// What there is to be done.
struct DueSchedules {
    /// When the next is due, in Unix milliseconds.
    next: Option<i64>,
    due: Vec<ScheduleId>,
    untold: Vec<ScheduleId>,
}

async fn load_due(tx: &mut Tx, among: DueFilter<'_>, now: Timestamp) -> Result<DueSchedules, StoreError> {
    let next = schedules::next_due(tx, among).await?;
    let is_due = next.is_some_and(|next| next <= now.as_millisecond());
    let due = if is_due { schedules::list_due(tx, among, now, BATCH).await? } else { Vec::new() };
    Ok(DueSchedules { next, due, untold: schedules::list_untold(tx).await? })
}

#[cfg(test)]
mod tests;
