//! Upkeep in a world: rounds at random moments, and one at the end that lets go of everything.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob::daemon::upkeep::{RetentionPeriods, UpkeepHalt, UpkeepWorker, round};
use hob_core::domain::clock::SystemClock;
use hob_store::writer::Boundary;
use hob_store::{SchedulingMode, Store};
use jiff::SignedDuration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// A household whose words to ended runs are of no use the moment these are over; the rest is looked at by the checks.
fn keep() -> RetentionPeriods {
    RetentionPeriods { signals: Some(SignedDuration::ZERO), ..RetentionPeriods::default() }
}

/// Rounds until the stop, a few seconds apart; the log is folded as well.
pub(crate) async fn now_and_then(world: Arc<World>, store: Store, stop: CancellationToken) {
    loop {
        sleep(Duration::from_millis(world.between(200, 20_000))).await;
        if let Err(error) = store.checkpoint_wal().await {
            world.note(format!("the log is not folded: {error}"));
        }
        let hand = UpkeepWorker::new(store.clone(), Arc::clone(&world) as _, stop.clone());
        match round::round(hand, &keep()).await {
            Ok(round) => world.note(format!("upkeep: {} steps, {:?}", round.steps, round.gone)),
            Err(UpkeepHalt::Stop) => return,
            Err(error) => world.note(format!("no upkeep: {error}")),
        }
    }
}

/// Nobody dies any more.
struct NobodyDies;

#[async_trait]
impl Boundary for NobodyDies {
    async fn before_commit(&self) {}
    async fn after_commit(&self) {}
}

/// When all is over: whatever can be let go is. It takes its rests in virtual time.
pub(crate) fn let_all_go(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let store = Store::open(path, SchedulingMode::Lockstep(Arc::new(NobodyDies))).await.unwrap();
        let all = Some(SignedDuration::ZERO);
        let keep = RetentionPeriods { journals: all, outbox: all, claims: all, calls: all, signals: all };
        // The world is years before the machine's own time: everything in it is old.
        let hand = UpkeepWorker::new(store.clone(), Arc::new(SystemClock), CancellationToken::new());
        round::round(hand, &keep).await.unwrap();
        store.close().await;
    });
}
