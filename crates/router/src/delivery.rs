//! The outbox's workers: what is to be said is said, in order, until it is said or given up.

pub mod config;
pub(crate) mod kept_files;
mod metrics;
mod outbox_step;
mod records;
mod reservation;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::delivery::config::{ChannelRegistry, DeliveryConfig};
use crate::delivery::outbox_step::{
    AttemptRecord, AttemptTimer, NextDelivery, OutboxStep, OutboxStepOutcome, classify_attempt,
};
use crate::delivery::reservation::WorkerReservation;
use crate::presence::Presence;
use crate::streaming::{DraftGuard, Streaming};
use hob_agent::ports::{OutboxReservation, RunWatcher};
use hob_core::domain::channel::{Channel, Progress};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{AccountHealth, ChannelHealth};
use hob_core::domain::ids::{OutboxId, RunId, SessionId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::Rng;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::outbox::{DeliveryAttempt, PendingChunk};
use hob_store::{Store, outbox};
use hob_telemetry::meters::Meters;
use hob_telemetry::tasks::{catch_panic, spawn_among};

/// A channel must answer within this; its own deadlines are shorter.
const DELIVER_MAX: Duration = Duration::from_secs(90);
/// A file is given so much longer as it takes at this many bytes a second.
const FILE_BYTES_A_SECOND: u64 = 100_000;
/// After a start, so many messages that wait are looked after.
const SEEN_MAX: i64 = 1_024;
/// The wait after the database failed.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// What delivery works with, whatever the config says.
pub struct DeliveryPorts {
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub rng: Arc<dyn Rng>,
    /// The contents of files.
    pub contents: Contents,
    /// Finds this Hob's secrets: none is sent.
    pub redactor: Redactor,
    /// No new attempt is made once this is cancelled.
    pub stop: CancellationToken,
    /// Holds every task.
    pub tracker: TaskTracker,
    /// Told whenever a worker has come to rest.
    pub idle: Arc<Notify>,
    /// What is counted.
    pub meters: Arc<Meters>,
}

/// The outbox's workers: one per session that has something to be said.
#[derive(Clone)]
pub struct Delivery {
    inner: Arc<Inner>,
}

struct Inner {
    ports: DeliveryPorts,
    channels: Arc<ChannelRegistry>,
    streaming: Streaming,
    signs: Presence,
    /// Rung when an answer is to be spoken.
    speech: Arc<Notify>,
    workers: Mutex<BTreeMap<SessionId, Worker>>,
}

struct Worker {
    signal: Arc<Notify>,
    again: bool,
}

impl Delivery {
    /// Workers over `ports`, which deliver by this config for now.
    pub fn new(ports: DeliveryPorts, config: DeliveryConfig) -> Self {
        let channels = Arc::new(ChannelRegistry::new(config, ports.tracker.clone(), ports.stop.clone()));
        let streaming = Streaming::new(Arc::clone(&channels), ports.store.clone(), ports.redactor.clone());
        let signs = Presence::new(Arc::clone(&channels));
        let (speech, workers) = (Arc::default(), Mutex::new(BTreeMap::new()));
        Self { inner: Arc::new(Inner { ports, channels, streaming, signs, speech, workers }) }
    }

    /// From now on everything is delivered by this config; what is being sent is sent as it began.
    pub fn exchange(&self, config: DeliveryConfig) {
        self.inner.channels.exchange(config);
    }

    /// A message was taken in, and waits for its turn.
    pub(crate) fn message_queued(&self, destination: &Destination, run: RunId) {
        self.inner.signs.message_queued(destination, run);
    }

    /// Rows were added to this session's outbox.
    pub fn wake(&self, session: SessionId) {
        let mut workers = lock(&self.inner.workers);
        if let Some(worker) = workers.get_mut(&session) {
            worker.again = true;
            worker.signal.notify_one();
            return;
        }
        if self.inner.ports.stop.is_cancelled() {
            return;
        }
        workers.insert(session, Worker { signal: Arc::new(Notify::new()), again: true });
        drop(workers);
        self.begin(session, None);
    }

    /// A worker begins in a session that is kept for it, perhaps with what was taken for it to be sent.
    fn begin(&self, session: SessionId, first: Option<Box<PendingChunk>>) {
        let inner = Arc::clone(&self.inner);
        let span = tracing::info_span!(parent: None, "outbox", lane = %session);
        let work = async move {
            if catch_panic("delivery", Arc::clone(&inner).work(session, first)).await.is_none() {
                // Whoever has something to say here next begins a new one.
                lock(&inner.workers).remove(&session);
            }
        };
        spawn_among(&self.inner.ports.tracker, "delivery", work.instrument(span));
    }

    /// At the start, before any run is resumed: what was being sent has an unknown outcome; everything open goes out.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        let unknown = self.inner.ports.store.write(outbox::sweep).await?;
        self.inner.streaming.load_standing_drafts().await?;
        // They show that they were seen: whoever takes one along is to find it.
        for (run, destination) in
            self.inner.ports.store.read(async |tx| records::queued_messages(tx, SEEN_MAX).await).await?
        {
            self.message_queued(&destination, run);
        }
        self.wake_all().await?;
        Ok(unknown)
    }

    /// Wakes the workers of every session with something to be said, e.g. after an outage.
    pub async fn wake_all(&self) -> Result<(), StoreError> {
        for (session, channel) in self.inner.ports.store.read(outbox::queries::list_open_sessions).await? {
            let served = channel.parse::<ChannelKind>();
            if served
                .is_ok_and(|kind| self.inner.channels.config().channels.iter().any(|known| known.address().0 == kind))
            {
                self.wake(session);
            }
        }
        self.inner.refresh_presence(None).await?;
        self.inner.streaming.tidy().await
    }

    /// Rung when an answer is to be spoken.
    pub(crate) fn speech_due(&self) -> Arc<Notify> {
        Arc::clone(&self.inner.speech)
    }

    /// What is counted.
    pub fn meters(&self) -> &Arc<Meters> {
        &self.inner.ports.meters
    }

    /// How each account fares.
    pub fn health(&self) -> Vec<AccountHealth> {
        let health = |channel: &Arc<dyn Channel>| {
            let (kind, account) = channel.address();
            let sent_at = self.inner.ports.meters.sent_at(kind, account);
            let health = ChannelHealth { sent_at, ..channel.health() };
            AccountHealth { channel: kind, account: account.to_owned(), health }
        };
        self.inner.channels.config().channels.iter().map(health).collect()
    }
}

impl RunWatcher for Delivery {
    fn progress(&self, destination: &Destination, run: RunId, progress: Progress) {
        let Some(channel) = self.inner.channel(&destination.conversation) else {
            return;
        };
        // It is only a sign of life, also told while a run's panic unwinds: a second one would end the process.
        let told = std::panic::catch_unwind(AssertUnwindSafe(|| channel.progress(destination, run, &progress)));
        if told.is_err() {
            tracing::error!(%run, "the channel's code panicked while it showed progress");
        }
        self.inner.streaming.run_progressed(destination, run, &progress);
        self.inner.signs.run_progressed(destination, run, &progress);
        let here = &destination.conversation;
        if matches!(progress, Progress::Idle(_)) && !self.inner.signs.waiting(Some(here)).is_empty() {
            // Perhaps it took along, or took back, what waited behind it.
            let (inner, here) = (Arc::clone(&self.inner), here.clone());
            spawn_among(&self.inner.ports.tracker, "delivery.signs", async move {
                if let Err(error) = inner.refresh_presence(Some(&here)).await {
                    tracing::debug!(%error, "the signs of what waits could not be looked through: {error}");
                }
            });
        }
    }

    fn outbox_changed(&self, session: SessionId) {
        self.wake(session);
    }

    fn reserve(&self, session: SessionId) -> Option<Box<dyn OutboxReservation>> {
        let mut workers = lock(&self.inner.workers);
        if workers.contains_key(&session) || self.inner.ports.stop.is_cancelled() {
            return None;
        }
        workers.insert(session, Worker { signal: Arc::new(Notify::new()), again: false });
        Some(Box::new(WorkerReservation::new(self.clone(), session)))
    }
}

impl Inner {
    fn channel(&self, place: &Conversation) -> Option<Arc<dyn Channel>> {
        self.channels.channel(place)
    }

    /// What waited and is over without a run of its own shows nothing any more.
    async fn refresh_presence(&self, place: Option<&Conversation>) -> Result<(), StoreError> {
        let waiting = self.signs.waiting(place);
        if waiting.is_empty() {
            return Ok(());
        }
        let over = self.ports.store.read(async |tx| records::finished_runs(tx, &waiting).await).await?;
        over.into_iter().for_each(|run| self.signs.no_longer_waiting(run));
        Ok(())
    }

    async fn work(self: Arc<Self>, session: SessionId, mut first: Option<Box<PendingChunk>>) {
        let _rest = IdleNotifier(Arc::clone(&self.ports.idle));
        let mut wait: Option<AttemptTimer> = None;
        while let Some(signal) = self.look_again(session, first.is_some()) {
            let next = match first.take() {
                Some(first) => NextDelivery::Send(first),
                None => self.next(session, None, wait).await,
            };
            wait = self.send_all(session, next, &signal, wait).await;
            if self.ports.stop.is_cancelled() {
                lock(&self.workers).remove(&session);
                return;
            }
        }
    }

    /// Sends what there is to say. What was taken is sent, also while the daemon stops; then nothing more is taken.
    async fn send_all(
        self: &Arc<Self>,
        session: SessionId,
        mut next: NextDelivery,
        signal: &Notify,
        mut wait: Option<AttemptTimer>,
    ) -> Option<AttemptTimer> {
        loop {
            let (settled, took_draft, way) = match next {
                NextDelivery::Send(waiting) => {
                    let took_draft = takes_draft(&waiting);
                    let Some((settled, way)) = self.send(*waiting).await else { return wait };
                    (Some(settled), took_draft, way)
                }
                NextDelivery::Later(head) => {
                    let known = wait.filter(|wait| wait.head == head);
                    let waiting = known.unwrap_or_else(|| AttemptTimer::until(head, self.ports.clock.now()));
                    wait = Some(waiting);
                    self.pause(signal, waiting.until).await;
                    (None, None, None)
                }
                NextDelivery::Nothing => return wait,
            };
            next = self.next(session, settled, wait).await;
            // Before it is on record that a draft is the answer now, whoever draws next would take it for one left behind.
            drop(way);
            if let Some((place, run)) = took_draft {
                self.streaming.draft_replaced(&place, run);
            }
        }
    }

    /// Is there something to be sent? If not, the worker is gone when this returns.
    fn look_again(&self, session: SessionId, has_first: bool) -> Option<Arc<Notify>> {
        let mut workers = lock(&self.workers);
        let worker = workers.get_mut(&session)?;
        if !std::mem::take(&mut worker.again) && !has_first {
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

    /// Records what came of the last attempt, and takes the next chunk in the same transaction.
    ///
    /// Until that is stored nothing else of the session is sent.
    async fn next(
        self: &Arc<Self>,
        session: SessionId,
        settled: Option<AttemptRecord>,
        wait: Option<AttemptTimer>,
    ) -> NextDelivery {
        let waited = wait.filter(AttemptTimer::is_over).map(|wait| wait.head);
        let config = self.channels.config();
        let (letters, speaks) = (Arc::clone(&config.letters), config.speaks);
        let (now, oldest) = (Timestamp::MIN, Timestamp::MIN);
        let mut turn = OutboxStep { session, settled, take: true, speaks, waited, letters, now, oldest };
        loop {
            turn.take = !self.ports.stop.is_cancelled();
            turn.now = self.ports.clock.now();
            let age_max =
                SignedDuration::try_from(self.channels.config().limits.age_max).unwrap_or(SignedDuration::MAX);
            turn.oldest = turn.now.saturating_sub(age_max).unwrap_or(Timestamp::MIN);
            let taken = turn.clone();
            match self.ports.store.write(async move |tx| taken.take(tx).await).await {
                Ok(OutboxStepOutcome { next, asked, speaks }) => {
                    if speaks {
                        self.speech.notify_one();
                    }
                    if let Some(settled) = &turn.settled {
                        log(settled.id, &settled.attempt);
                    }
                    let delivery = Delivery { inner: Arc::clone(self) };
                    asked.into_iter().for_each(|session| delivery.wake(session));
                    return next;
                }
                Err(error) if !error.is_passing() || self.ports.stop.is_cancelled() => {
                    tracing::error!(%error, "the outbox cannot be used; it is looked at again later");
                    return NextDelivery::Nothing;
                }
                Err(error) => {
                    tracing::warn!(%error, "the outbox cannot be used; trying again");
                    tokio::time::sleep(STORE_RETRY).await;
                }
            }
        }
    }

    /// Sends a chunk; none if the daemon could not wait for its outcome any longer.
    ///
    /// Nothing else is sent or drawn in the conversation before what is given with the outcome is dropped.
    async fn send(&self, mut waiting: PendingChunk) -> Option<(AttemptRecord, Option<DraftGuard>)> {
        self.ports.redactor.redact_in_place(&mut waiting.message.text);
        waiting.message.markup.iter_mut().for_each(|markup| self.ports.redactor.redact_in_place(markup));
        let id = waiting.message.id;
        let now = self.ports.clock.now();
        let Some(channel) = self.channel(&waiting.message.destination.conversation) else {
            let why = "this account is not configured any more".to_owned();
            return Some((AttemptRecord { id, attempt: DeliveryAttempt::Abandoned { why } }, None));
        };
        if let Some(file) = &mut waiting.message.file {
            file.path = self.ports.contents.locate(&file.hash).await;
        }
        if self.ports.stop.is_cancelled() {
            let why = "the daemon stops".to_owned();
            return Some((
                AttemptRecord { id, attempt: DeliveryAttempt::Again { at: now, unknown: false, why } },
                None,
            ));
        }
        let settling = async {
            self.ports.store.until_certain().await;
            self.streaming.settle_draft(&mut waiting).await
        };
        let way = tokio::select! {
            biased;
            way = settling => way,
            () = self.ports.stop.cancelled() => {
                let why = "the daemon stops".to_owned();
                return Some((AttemptRecord { id, attempt: DeliveryAttempt::Again { at: now, unknown: false, why } }, None));
            }
        };
        let span = metrics::span(&waiting.message);
        let sent = tokio::select! {
            biased;
            sent = deliver(&*channel, &waiting.message).instrument(span) => sent,
            // It stays marked as being sent: the next start finds its outcome unknown.
            () = self.ports.stop.cancelled() => {
                tracing::warn!(outbox = %id, "outbox.cut_off");
                return None;
            }
        };
        let now = self.ports.clock.now();
        let limits = &self.channels.config().limits;
        let attempt = classify_attempt(sent, &waiting, limits, now, self.ports.rng.fraction());
        metrics::count(&self.ports.meters, &waiting, &attempt, now);
        Some((AttemptRecord { id, attempt }, way))
    }
}

/// Whose draft a chunk takes the place of, if there is one.
fn takes_draft(waiting: &PendingChunk) -> Option<(Conversation, RunId)> {
    let run = waiting.message.run.filter(|_| waiting.takes_draft)?;
    Some((waiting.message.destination.conversation.clone(), run))
}

/// A channel that neither answers in time nor stays whole leaves the outcome unknown.
async fn deliver(channel: &dyn Channel, message: &Outgoing) -> Result<Receipt, DeliveryError> {
    let unknown = |why: &str| Err(DeliveryError::Unknown { why: why.to_owned() });
    let sending = AssertUnwindSafe(channel.deliver(message)).catch_unwind();
    let file = message.file.as_ref().map_or(0, |file| file.bytes / FILE_BYTES_A_SECOND);
    match tokio::time::timeout(DELIVER_MAX + Duration::from_secs(file), sending).await {
        Ok(Ok(sent)) => sent,
        Ok(Err(_panic)) => unknown("the channel's code panicked"),
        Err(_elapsed) => unknown("the platform did not answer"),
    }
}

/// An attempt is logged when its outcome is stored: what the log says is true after a crash, too.
fn log(id: OutboxId, attempt: &DeliveryAttempt) {
    match attempt {
        DeliveryAttempt::Delivered { .. } => tracing::debug!(outbox = %id, "outbox.delivered"),
        DeliveryAttempt::Again { at, unknown, why } => tracing::warn!(outbox = %id, %at, unknown, why, "outbox.retry"),
        DeliveryAttempt::Failed { why } | DeliveryAttempt::Abandoned { why } => {
            tracing::error!(outbox = %id, why, "outbox.given_up")
        }
    }
}

struct IdleNotifier(Arc<Notify>);

impl Drop for IdleNotifier {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}
