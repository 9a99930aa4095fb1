//! The outbox's workers: what is to be said is said, in order, until it is said or given up.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::agent::ports::Watcher;
use crate::domain::channel::{Channel, Progress};
use crate::domain::clock::Clock;
use crate::domain::ids::{OutboxId, RunId, SessionId};
use crate::domain::inbound::ChannelKind;
use crate::domain::outgoing::{DeliveryError, Destination, Receipt};
use crate::domain::rng::Rng;
use crate::store::error::StoreError;
use crate::store::outbox::{self, Attempt, Waiting};
use crate::store::{Statement, Store, Tx};

/// A channel must answer within this; its own deadlines are shorter.
const DELIVER_MAX: Duration = Duration::from_secs(90);
/// The wait after the database failed.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// The outbox's numbers, as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryLimits {
    /// After so many attempts a chunk is given up.
    pub attempts_max: i64,
    /// After so long a chunk is given up.
    pub age_max: Duration,
    /// The wait after the first failure; it doubles, with jitter.
    pub backoff_base: Duration,
    /// The longest such wait.
    pub backoff_max: Duration,
}

/// What delivery works with.
pub struct DeliveryPorts {
    /// The database.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub rng: Arc<dyn Rng>,
    /// The connected platforms.
    pub channels: Vec<Arc<dyn Channel>>,
    /// The numbers.
    pub limits: DeliveryLimits,
    /// No new attempt is made once this is cancelled.
    pub stop: CancellationToken,
    /// Holds every task.
    pub tracker: TaskTracker,
    /// Told whenever a worker has come to rest.
    pub rest: Arc<Notify>,
}

/// The outbox's workers: one per session that has something to be said.
#[derive(Clone)]
pub struct Delivery {
    inner: Arc<Inner>,
}

struct Inner {
    ports: DeliveryPorts,
    workers: Mutex<BTreeMap<SessionId, Worker>>,
}

struct Worker {
    signal: Arc<Notify>,
    again: bool,
}

impl Delivery {
    /// Workers over `ports`.
    #[must_use]
    pub fn new(ports: DeliveryPorts) -> Self {
        Self { inner: Arc::new(Inner { ports, workers: Mutex::new(BTreeMap::new()) }) }
    }

    /// Rows were added to this session's outbox.
    pub fn wake(&self, session: SessionId) {
        let mut workers = self.inner.workers();
        if let Some(worker) = workers.get_mut(&session) {
            worker.again = true;
            worker.signal.notify_one();
            return;
        }
        if self.inner.ports.stop.is_cancelled() {
            return;
        }
        workers.insert(session, Worker { signal: Arc::new(Notify::new()), again: true });
        let inner = Arc::clone(&self.inner);
        let span = tracing::info_span!(parent: None, "outbox", session = %session);
        self.inner.ports.tracker.spawn(async move { inner.work(session).await }.instrument(span));
    }

    /// At the start, before any run is resumed: what was being sent has an unknown outcome; everything open goes out.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        let unknown = self.inner.ports.store.write(Sweep).await?;
        self.wake_all().await?;
        Ok(unknown)
    }

    /// Wakes the workers of every session with something to be said, e.g. after an outage.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn wake_all(&self) -> Result<(), StoreError> {
        for (session, channel) in self.inner.ports.store.read(ListOpen).await? {
            let served = channel.parse::<ChannelKind>();
            if served.is_ok_and(|kind| self.inner.ports.channels.iter().any(|known| known.address().0 == kind)) {
                self.wake(session);
            }
        }
        Ok(())
    }

    /// One line per channel, for `/status`.
    #[must_use]
    pub fn health(&self) -> Vec<String> {
        self.inner.ports.channels.iter().map(|channel| channel.health()).collect()
    }
}

impl Watcher for Delivery {
    fn progress(&self, destination: &Destination, run: RunId, progress: Progress) {
        if let Some(channel) = self.inner.channel(destination) {
            channel.progress(destination, run, progress);
        }
    }

    fn said(&self, session: SessionId) {
        self.wake(session);
    }
}

/// What there is to do in a session's outbox.
enum Next {
    Send(Box<Waiting>),
    Later(Turn),
    Nothing,
}

/// A chunk's next attempt, not before a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    id: OutboxId,
    at: Timestamp,
}

/// A turn that a worker waits for by the clock that never jumps: a wall clock set back an hour delays nothing.
#[derive(Debug, Clone, Copy)]
struct Wait {
    turn: Turn,
    until: Instant,
}

impl Wait {
    fn until_turn(turn: Turn, now: Timestamp) -> Self {
        let wait = Duration::try_from(turn.at.duration_since(now)).unwrap_or(Duration::ZERO);
        Self { turn, until: Instant::now() + wait }
    }

    fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }
}

impl Inner {
    fn workers(&self) -> MutexGuard<'_, BTreeMap<SessionId, Worker>> {
        // The map is whole between any two of its operations, so a panic elsewhere leaves nothing half done.
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn channel(&self, destination: &Destination) -> Option<&Arc<dyn Channel>> {
        let place = &destination.conversation;
        self.ports.channels.iter().find(|channel| channel.address() == (place.channel, place.account.as_str()))
    }

    async fn work(self: Arc<Self>, session: SessionId) {
        let _rest = Rest(Arc::clone(&self.ports.rest));
        let mut wait: Option<Wait> = None;
        while let Some(signal) = self.look_again(session) {
            loop {
                if self.ports.stop.is_cancelled() {
                    self.workers().remove(&session);
                    return;
                }
                let waited = wait.filter(Wait::is_over).map(|wait| wait.turn);
                match self.next(session, waited).await {
                    Ok(Next::Send(waiting)) => self.send(*waiting).await,
                    Ok(Next::Later(turn)) => {
                        let known = wait.filter(|wait| wait.turn == turn);
                        let waiting = known.unwrap_or_else(|| Wait::until_turn(turn, self.ports.clock.now()));
                        wait = Some(waiting);
                        self.pause(&signal, waiting.until).await;
                    }
                    Ok(Next::Nothing) => break,
                    Err(error) => {
                        tracing::warn!(%error, "the outbox cannot be read; trying again");
                        self.pause(&signal, Instant::now() + STORE_RETRY).await;
                    }
                }
            }
        }
    }

    fn look_again(&self, session: SessionId) -> Option<Arc<Notify>> {
        let mut workers = self.workers();
        let worker = workers.get_mut(&session)?;
        if !std::mem::take(&mut worker.again) {
            workers.remove(&session);
            return None;
        }
        Some(Arc::clone(&worker.signal))
    }

    async fn pause(&self, signal: &Notify, until: Instant) {
        tokio::select! {
            biased;
            () = self.ports.stop.cancelled() => {}
            () = signal.notified() => {}
            () = tokio::time::sleep_until(until) => {}
        }
    }

    /// Takes the next chunk of the session; from the commit on its outcome may be lost.
    async fn next(&self, session: SessionId, waited: Option<Turn>) -> Result<Next, StoreError> {
        let now = self.ports.clock.now();
        let age_max = SignedDuration::try_from(self.ports.limits.age_max).unwrap_or(SignedDuration::MAX);
        let oldest = now.saturating_sub(age_max).unwrap_or(Timestamp::MIN);
        self.ports.store.write(TakeHead { session, now, oldest, waited }).await
    }

    async fn send(&self, waiting: Waiting) {
        let Some(channel) = self.channel(&waiting.message.destination) else {
            let why = "this account is not configured any more".to_owned();
            return self.settle(&waiting, Attempt::Abandoned { why }).await;
        };
        let message = &waiting.message;
        let sending = AssertUnwindSafe(channel.deliver(message)).catch_unwind();
        let sent = match tokio::time::timeout(DELIVER_MAX, sending).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(_panic)) => Err(DeliveryError::Unknown { why: "the channel's code panicked".to_owned() }),
            Err(_elapsed) => Err(DeliveryError::Unknown { why: "the platform did not answer".to_owned() }),
        };
        let attempt = judge(sent, &waiting, &self.ports.limits, (self.ports.clock.now(), self.ports.rng.fraction()));
        self.settle(&waiting, attempt).await;
    }

    /// Records what came of an attempt. Until that is stored nothing else of the session is sent.
    async fn settle(&self, waiting: &Waiting, attempt: Attempt) {
        let id = waiting.message.id;
        match &attempt {
            Attempt::Delivered { .. } => tracing::debug!(outbox = %id, "outbox.delivered"),
            Attempt::Again { at, unknown, why } => tracing::warn!(outbox = %id, %at, unknown, why, "outbox.retry"),
            Attempt::Failed { why } | Attempt::Abandoned { why } => {
                tracing::error!(outbox = %id, why, "outbox.given_up")
            }
        }
        loop {
            let settle = Settle { waiting: waiting.clone(), attempt: attempt.clone(), now: self.ports.clock.now() };
            match self.ports.store.write(settle).await {
                Ok(()) => return,
                Err(error) if !error.is_passing() || self.ports.stop.is_cancelled() => {
                    tracing::error!(outbox = %id, %error, "the outcome of a delivery could not be stored");
                    return;
                }
                Err(error) => {
                    tracing::warn!(outbox = %id, %error, "the outcome of a delivery could not be stored yet");
                    tokio::time::sleep(STORE_RETRY).await;
                }
            }
        }
    }
}

/// What follows from an attempt: pure.
fn judge(
    sent: Result<Receipt, DeliveryError>,
    waiting: &Waiting,
    limits: &DeliveryLimits,
    (now, jitter): (Timestamp, f64),
) -> Attempt {
    let (after, unknown, why) = match sent {
        Ok(receipt) => return Attempt::Delivered { external_id: receipt.external_id },
        Err(DeliveryError::Refused { why }) => return Attempt::Failed { why },
        Err(DeliveryError::Retry { after, why }) => (after.unwrap_or_default(), false, why),
        Err(DeliveryError::Unknown { why }) => (Duration::ZERO, true, why),
    };
    if waiting.attempts >= limits.attempts_max {
        return Attempt::Abandoned { why: format!("given up after {} attempts: {why}", waiting.attempts) };
    }
    let wait = backoff(limits, waiting.attempts, jitter).max(after);
    let at = SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now);
    Attempt::Again { at, unknown, why }
}

/// Doubling from the base to the most, half of it by chance.
fn backoff(limits: &DeliveryLimits, attempts: i64, jitter: f64) -> Duration {
    let doublings = u32::try_from((attempts - 1).clamp(0, 20)).unwrap_or(0);
    let full = limits.backoff_base.saturating_mul(1_u32 << doublings).min(limits.backoff_max);
    full.mul_f64(0.5 + jitter / 2.0)
}

struct Rest(Arc<Notify>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

struct Sweep;

#[async_trait]
impl Statement for Sweep {
    type Output = u64;

    async fn run(&self, tx: &mut Tx) -> Result<u64, StoreError> {
        outbox::sweep(tx).await
    }
}

struct ListOpen;

#[async_trait]
impl Statement for ListOpen {
    type Output = Vec<(SessionId, String)>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<(SessionId, String)>, StoreError> {
        outbox::list_open_sessions(tx).await
    }
}

struct TakeHead {
    session: SessionId,
    now: Timestamp,
    oldest: Timestamp,
    /// Its time has come, whatever the wall clock says.
    waited: Option<Turn>,
}

#[async_trait]
impl Statement for TakeHead {
    type Output = Next;

    async fn run(&self, tx: &mut Tx) -> Result<Next, StoreError> {
        loop {
            let Some(mut waiting) = outbox::head(tx, self.session).await? else {
                return Ok(Next::Nothing);
            };
            if waiting.created_at < self.oldest.as_millisecond() {
                let why = "it could not be delivered in time".to_owned();
                outbox::settle(tx, waiting.message.id, &Attempt::Abandoned { why }, self.now).await?;
                continue;
            }
            let at = Timestamp::from_millisecond(waiting.next_attempt_at).unwrap_or(self.now);
            let turn = Turn { id: waiting.message.id, at };
            // What was never tried waits for nothing, even if it was queued while the wall clock was ahead.
            if waiting.attempts > 0 && at > self.now && self.waited != Some(turn) {
                return Ok(Next::Later(turn));
            }
            outbox::mark_sending(tx, waiting.message.id).await?;
            waiting.attempts += 1;
            return Ok(Next::Send(Box::new(waiting)));
        }
    }
}

struct Settle {
    waiting: Waiting,
    attempt: Attempt,
    now: Timestamp,
}

#[async_trait]
impl Statement for Settle {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        outbox::settle(tx, self.waiting.message.id, &self.attempt, self.now).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: DeliveryLimits = DeliveryLimits {
        attempts_max: 3,
        age_max: Duration::from_secs(60),
        backoff_base: Duration::from_secs(1),
        backoff_max: Duration::from_secs(10),
    };

    #[test]
    fn the_wait_doubles_to_its_most() {
        let table =
            [(1, 0.0, 500), (1, 1.0, 1_000), (2, 1.0, 2_000), (4, 1.0, 8_000), (5, 1.0, 10_000), (99, 1.0, 10_000)];
        for (attempts, jitter, millis) in table {
            assert_eq!(backoff(&LIMITS, attempts, jitter), Duration::from_millis(millis), "{attempts} {jitter}");
        }
    }
}
