//! Keeping the house in order beside everything else: rounds of upkeep, the write-ahead log, the disk's room.
//!
//! Never: a commit that waits for it longer than [`STEP_MAX`] and what the disk takes. Start at `keep_up`.

pub mod disk;
pub mod log;
pub mod round;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::Blueprint;
use crate::daemon::background::sleep_unless_stopped;
use crate::daemon::shutdown::ShutdownStages;
use hob_config::upkeep::UpkeepConfig;
use hob_core::domain::clock::Clock;
use hob_core::domain::upkeep::{LastUpkeepRound, UpkeepRound};
use hob_core::policy::upkeep::DiskState;
use hob_store::Store;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::place::StatePlace;
use hob_store::unit::UnitOfWork;
use hob_store::writer::{StepMode, StepOutcome};

/// How long a step may keep others from writing, beside what its commit takes. SQLite gives it up then.
pub const STEP_MAX: Duration = Duration::from_millis(25);
/// It is quiet when nobody has written for so long.
const QUIET: Duration = Duration::from_millis(250);
/// In a house that is never quiet a step is made after so long all the same.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a step nothing is done for so many times as long as it took.
const BREATHS: u32 = 4;
/// The first round begins so long after the start: a house that has just come up has other things to do.
const FIRST_AFTER: SignedDuration = SignedDuration::from_secs(120);
/// The longest wait between two looks at the clock, which can jump.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// What is kept, and for how long; none: for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPeriods {
    /// Journals of runs that are over.
    pub journals: Option<SignedDuration>,
    /// What was delivered.
    pub outbox: Option<SignedDuration>,
    /// Claims without a run.
    pub claims: Option<SignedDuration>,
    /// Calls of models.
    pub calls: Option<SignedDuration>,
    /// Words to runs that are over.
    pub signals: Option<SignedDuration>,
}

impl RetentionPeriods {
    /// As the config says.
    pub fn of(config: &UpkeepConfig) -> Self {
        let days = |days: u32| (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)));
        Self {
            journals: days(config.journals_days),
            outbox: days(config.outbox_days),
            claims: days(config.claims_days),
            calls: days(config.calls_days),
            // They are in the journal: what is left is of no use to anybody.
            signals: days(1),
        }
    }
}

/// Does the steps, each when nobody waits for the writer.
pub struct UpkeepWorker {
    store: Store,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
    /// How long it waits for quiet.
    patience: Duration,
    /// How many groups of writes there had been after the last step.
    seen: Option<u64>,
    round: UpkeepRound,
}

/// Upkeep ends early.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepHalt {
    /// Hob stops.
    #[error("Hob stops")]
    Stop,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UpkeepWorker {
    /// For one round.
    pub fn new(store: Store, clock: Arc<dyn Clock>, stop: CancellationToken) -> Self {
        Self { store, clock, stop, patience: PATIENCE, seen: None, round: UpkeepRound::default() }
    }

    /// One that waits for no quiet: to measure what it costs others.
    #[must_use]
    pub fn impatient(self) -> Self {
        Self { patience: Duration::ZERO, ..self }
    }

    /// Does a step when it is quiet; `None`: it would have taken too long.
    async fn step<T: Send + 'static>(
        &mut self,
        unit: impl UnitOfWork<T> + 'static,
    ) -> Result<Option<StepOutcome<T>>, UpkeepHalt> {
        self.until_quiet().await?;
        let began = Instant::now();
        let done = match self.store.step(unit, StepMode::Transaction, STEP_MAX).await {
            Err(StoreError::Overlong) => {
                tracing::debug!(took = ?began.elapsed(), "upkeep.overlong: a step was given up");
                None
            }
            done => Some(done?),
        };
        self.seen = Some(self.store.write_groups());
        self.round.steps += 1;
        let held = done.as_ref().map_or(STEP_MAX, |stepped| stepped.held);
        self.round.held_max = self.round.held_max.max(held);
        self.rest(held * BREATHS).await?;
        Ok(done)
    }

    /// Waits until nobody writes, but not for ever.
    async fn until_quiet(&mut self) -> Result<(), UpkeepHalt> {
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            let groups = self.store.write_groups();
            if self.seen == Some(groups) {
                return Ok(());
            }
            self.rest(QUIET).await?;
            self.seen = Some(groups);
        }
        Ok(())
    }

    async fn rest(&self, wait: Duration) -> Result<(), UpkeepHalt> {
        if sleep_unless_stopped(wait, &self.stop).await { Err(UpkeepHalt::Stop) } else { Ok(()) }
    }

    fn count_removed(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.round.gone.entry(what).or_default() += count;
        }
    }
}

/// Keeps the database and the disk in order as long as Hob runs.
pub(super) fn keep_up(
    shutdown: &ShutdownStages,
    store: &Store,
    contents: &Contents,
    blueprint: &Blueprint,
    last: LastUpkeepRound,
) {
    let config = &blueprint.config.upkeep;
    let stop = &shutdown.drain;
    let watch = disk::DiskMonitor {
        store: store.clone(),
        space: Arc::clone(&blueprint.space),
        conditions: blueprint.conditions.clone(),
        clock: Arc::clone(&blueprint.clock),
        contents: contents.clone(),
        folder: blueprint.data_dir.clone(),
        low: u64::from(config.disk_low_mb) << 20,
    };
    // Before anything big begins.
    let room = watch.look(DiskState::default());
    shutdown.keep("the disk", watch.run(room, stop.clone()));
    // A server looks after its log itself.
    if let StatePlace::File(file) = &blueprint.state {
        let keeper = log::WalKeeper {
            store: store.clone(),
            file: file.with_extension("db-wal"),
            conditions: blueprint.conditions.clone(),
            clock: Arc::clone(&blueprint.clock),
        };
        shutdown.keep("upkeep", keeper.run(stop.clone()));
    }
    if config.every_minutes > 0 && blueprint.stays {
        let every = SignedDuration::from_mins(i64::from(config.every_minutes));
        let (store, clock, stop, keep) =
            (store.clone(), Arc::clone(&blueprint.clock), stop.clone(), RetentionPeriods::of(config));
        shutdown.keep("rounds", UpkeepTimer { store, clock, stop, keep, every, last }.run());
    }
}

/// Does a round of upkeep whenever it is time.
struct UpkeepTimer {
    store: Store,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
    keep: RetentionPeriods,
    every: SignedDuration,
    last: LastUpkeepRound,
}

impl UpkeepTimer {
    async fn run(self) {
        let Self { store, clock, stop, keep, every, last } = self;
        let mut due = later(clock.now(), every.min(FIRST_AFTER));
        loop {
            let now = clock.now();
            due = capped_due(due, now, every);
            if let Some(wait) = until(due, now) {
                if sleep_unless_stopped(wait.min(LOOK_EVERY), &stop).await {
                    return;
                }
                continue;
            }
            let hand = UpkeepWorker::new(store.clone(), Arc::clone(&clock), stop.clone());
            match round::round(hand, &keep).await {
                Ok(round) => last.set(round),
                Err(UpkeepHalt::Stop) => return,
                Err(UpkeepHalt::Store(error)) => {
                    tracing::warn!(%error, "upkeep.failed: {error}; the next round tries again")
                }
            }
            due = later(clock.now(), every);
        }
    }
}

fn later(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(now)
}

/// A round is never further away than the time between two, whatever the clock did since it was set.
fn capped_due(due: Timestamp, now: Timestamp, every: SignedDuration) -> Timestamp {
    due.min(later(now, every))
}

/// Messages may be so old before the clock is believed less than they are: longer than any household is on holiday.
const SILENT_MAX: SignedDuration = SignedDuration::from_hours(24 * 400);

/// Can it be that it is so late? `newest`: when the newest message came; none: there was none yet.
pub(super) fn is_plausible(now: Timestamp, newest: Option<Timestamp>) -> bool {
    newest.is_none_or(|newest| now.duration_since(newest) <= SILENT_MAX)
}

/// How long until then; none: it is time.
fn until(next: Timestamp, now: Timestamp) -> Option<Duration> {
    let wait = now.duration_until(next);
    wait.is_positive().then(|| wait.unsigned_abs())
}
