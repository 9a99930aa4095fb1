//! Lanes: one run per session at a time, sessions in parallel. A lane's worker lives while its lane has work.

mod slots;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::lanes::slots::RunSlot;
use crate::lanes::workers::Workers;
use hob_agent::driver::{
    ClaimOutcome, ClaimedRun, DriveOutcome, Driver, OpenedRun, RunControl, end_panicked, reload, take_over,
};
use hob_agent::journal::RunKey;
use hob_agent::ports::Ports;
use hob_agent::write_off::park;
use hob_core::domain::channel::{IdleReason, Progress};
use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::ChannelKind;
use hob_memory::forget;
use hob_store::error::StoreError;
use hob_store::runs::Lease;
use hob_store::{Store, Tx, runs};
use hob_telemetry::genai;
use hob_telemetry::tasks::spawn_among;

/// The first wait after the database failed; it doubles.
const RETRY: Duration = Duration::from_millis(250);
/// The longest such wait.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// How the lanes are run.
pub struct LaneSettings {
    /// The platforms whose sessions this process serves.
    pub serves: BTreeSet<ChannelKind>,
    /// The most runs at the same time.
    pub parallel_max: usize,
    /// No run is taken up any more once this is cancelled.
    pub drain: CancellationToken,
    /// Runs are cut off once this is cancelled.
    pub cut: CancellationToken,
    /// Holds every task.
    pub tracker: TaskTracker,
    /// Told whenever a lane has come to rest.
    pub idle: Arc<Notify>,
}

/// The lanes of this process.
#[derive(Clone)]
pub struct Lanes {
    inner: Arc<Inner>,
}

struct Inner {
    /// What runs are driven with that are claimed from now on; each keeps what it was claimed with.
    ports: ArcSwap<Ports>,
    settings: LaneSettings,
    serves: ArcSwap<BTreeSet<ChannelKind>>,
    workers: Workers,
    /// A run waits for somebody, perhaps not for ever.
    asked: Notify,
}

/// So many slices of a scope of which everything is to go are taken out in a round.
const SLICES_PER_ROUND: usize = 100;

impl Lanes {
    /// Lanes that drive runs with `ports`.
    pub fn new(ports: Arc<Ports>, settings: LaneSettings) -> Self {
        let workers = Workers::new(settings.parallel_max);
        let serves = ArcSwap::from_pointee(settings.serves.clone());
        let (ports, asked) = (ArcSwap::new(ports), Notify::new());
        Self { inner: Arc::new(Inner { ports, settings, serves, workers, asked }) }
    }

    /// From now on runs are claimed with these, of so many at a time, and for these platforms. Those that are at work go on
    /// with what they have.
    pub fn exchange(&self, ports: Arc<Ports>, serves: BTreeSet<ChannelKind>, parallel_max: usize) {
        self.inner.ports.store(ports);
        self.inner.serves.store(Arc::new(serves));
        self.inner.workers.places.resize(parallel_max);
    }

    /// Something was committed for this session's lane: a run, a signal, or the end of one.
    pub fn wake(&self, session: SessionId) {
        self.ensure_worker(session, None);
    }

    /// The same, with the run that is next there, which is claimed already and has a place.
    pub(super) fn start_opened_run(&self, opened: OpenedRun, place: RunSlot) {
        self.ensure_worker(opened.key.session, Some((opened, place)));
    }

    fn ensure_worker(&self, session: SessionId, opened: Option<(OpenedRun, RunSlot)>) {
        let may_begin = !self.inner.settings.drain.is_cancelled();
        if !self.inner.workers.wake_worker(session, opened, may_begin) {
            return;
        }
        let inner = Arc::clone(&self.inner);
        let span = tracing::info_span!(parent: None, "lane", lane = %session);
        spawn_among(&self.inner.settings.tracker, "lane", inner.work(session).instrument(span));
    }

    /// The same, for a session of this platform, if it is served here.
    pub(crate) fn wake_served(&self, session: SessionId, channel: &str) {
        if self.serves(channel) {
            self.wake(session);
        }
    }

    /// What a run of this platform is claimed with as it is taken in, and its place; none: it could not begin now. A run that had
    /// to wait for a place would count as one that is at work.
    pub(super) fn lease_for(&self, channel: ChannelKind) -> Option<(Lease, RunSlot)> {
        let inner = &self.inner;
        let is_served = inner.serves.load().contains(&channel) && !inner.settings.drain.is_cancelled();
        let place = is_served.then(|| inner.workers.places.take_free()).flatten()?;
        Some((inner.lease(), place))
    }

    /// What a run that has its place is driven with, if no other is at work: else more wait, and their commits are made together.
    pub(super) fn ports_if_idle(&self) -> Option<Arc<Ports>> {
        (self.inner.workers.places.taken() <= 1).then(|| self.inner.ports())
    }

    /// How many runs are at work.
    pub fn at_work(&self) -> usize {
        self.inner.workers.places.taken()
    }

    /// The platforms that are served, as JSON.
    pub(super) fn platforms(&self) -> String {
        let names: Vec<String> = self.inner.serves.load().iter().map(|kind| format!("\"{kind}\"")).collect();
        format!("[{}]", names.join(","))
    }

    fn serves(&self, channel: &str) -> bool {
        channel.parse::<ChannelKind>().is_ok_and(|kind| self.inner.serves.load().contains(&kind))
    }

    /// Completes when a run has come to wait for somebody since this was last awaited.
    pub(super) async fn wait_for_question(&self) {
        self.inner.asked.notified().await;
    }

    pub(super) fn now(&self) -> Timestamp {
        self.inner.ports().clock.now()
    }

    pub(super) fn store(&self) -> Store {
        self.inner.ports().store.clone()
    }

    /// Wakes every lane in which something is due: at the start, and from time to time.
    pub async fn reconcile(&self) -> Result<usize, StoreError> {
        let lease = self.inner.lease();
        let due = async |tx: &mut Tx| runs::queries::list_due(tx, &lease.owner, lease.now).await;
        let due = self.inner.ports().store.read(due).await?;
        let (mut woken, mut at_work, mut unserved) = (0, 0, 0);
        for lane in &due {
            if !self.serves(&lane.channel) {
                unserved += 1;
            } else if self.inner.workers.has(lane.session) {
                // It is being looked after.
                at_work += 1;
            } else {
                self.wake(lane.session);
                woken += 1;
            }
        }
        self.go_on_forgetting().await?;
        tracing::info!(due = due.len(), woken, at_work, unserved, "agent_run.reconcile");
        Ok(woken)
    }

    /// What was to be forgotten and could not be all at once, or as long as a run worked with it.
    async fn go_on_forgetting(&self) -> Result<(), StoreError> {
        let ports = self.inner.ports();
        let (store, memory) = (&ports.store, &ports.memory);
        let (scopes, waits) = store.read(forget::unfinished).await?;
        for scope in scopes {
            // The rest waits for the next round: runs that are due do not wait for it.
            forget::forget_slice(memory, scope, SLICES_PER_ROUND).await?;
        }
        if waits {
            store.write(forget::finish_deferred).await?;
        }
        Ok(())
    }

    /// Prolongs the leases of the runs that this process drives.
    pub async fn heartbeat(&self) -> Result<u64, StoreError> {
        let ports = self.inner.ports();
        let lease = self.inner.lease();
        ports.store.write(async move |tx| runs::heartbeat(tx, &lease).await).await
    }
}

impl Inner {
    fn ports(&self) -> Arc<Ports> {
        self.ports.load_full()
    }

    fn lease(&self) -> Lease {
        let ports = self.ports();
        let now = ports.clock.now();
        let length = SignedDuration::try_from(ports.lease).unwrap_or(SignedDuration::MAX);
        Lease { owner: ports.owner.clone(), now, until: now.saturating_add(length).unwrap_or(now) }
    }

    async fn work(self: Arc<Self>, session: SessionId) {
        let _rest = IdleNotifier(Arc::clone(&self.settings.idle));
        let _left = WorkerCleanup { inner: Arc::clone(&self), session };
        let mut wait = RETRY;
        while let Some(signal) = self.workers.look_again(session) {
            let (opened, place) = tokio::select! {
                biased;
                () = self.settings.drain.cancelled() => return self.workers.remove_worker(session),
                found = self.workers.wait_for_slot(session, &signal) => found,
            };
            match self.run_next(session, signal, opened).await {
                Ok(()) => wait = RETRY,
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, "agent_run.dispatch_next_failed: the lane cannot go on; trying again");
                    self.workers.mark_again(session);
                    tokio::select! {
                        biased;
                        () = self.settings.drain.cancelled() => return self.workers.remove_worker(session),
                        () = tokio::time::sleep(wait) => {}
                    }
                    wait = (wait * 2).min(RETRY_MAX);
                }
                Err(error) => {
                    tracing::error!(%error, "agent_run.dispatch_next_failed: the lane stands still until the next reconciliation");
                    return self.workers.remove_worker(session);
                }
            }
            drop(place);
        }
    }

    /// Claims the next run and drives it to where it rests; a panic ends that run and no other.
    async fn run_next(
        self: &Arc<Self>,
        session: SessionId,
        signal: Arc<Notify>,
        opened: Option<OpenedRun>,
    ) -> Result<(), StoreError> {
        // The run keeps these as long as it is driven, whatever is configured meanwhile.
        let begun = opened.as_ref().and_then(|opened| opened.begun.as_ref());
        let ports = begun.map_or_else(|| self.ports(), |begun| Arc::clone(begun.ports()));
        let was_opened = opened.is_some();
        let found = match opened {
            Some(opened) => ClaimOutcome::Run(Box::new(opened.into())),
            None => take_over(&ports.store, session, self.lease()).await?,
        };
        let claimed = match found {
            ClaimOutcome::Run(claimed) => *claimed,
            ClaimOutcome::Nothing | ClaimOutcome::Begun(_) => return Ok(()),
            ClaimOutcome::Parked => {
                ports.watcher.outbox_changed(session);
                self.workers.mark_again(session);
                return Ok(());
            }
        };
        let key = claimed.key.clone();
        self.workers.mark_driven(session, key.run);
        let (named, channel) = (claimed.session.key.as_str(), claimed.session.channel.as_str());
        // Each run is a trace of its own, however long its lane lasts.
        let span = tracing::info_span!(parent: None, "run", run = %key.run, session = named, channel);
        if genai::is_on() {
            genai::record_attribute(&span, genai::OPERATION, genai::INVOKE_AGENT);
            genai::record_attribute(&span, genai::AGENT, "hob");
            genai::record_attribute(&span, genai::CONVERSATION, named.to_owned());
        }
        let drive = drive(ports, self.run_control(&signal), claimed).instrument(span.clone());
        #[expect(
            clippy::disallowed_methods,
            reason = "its end is awaited here, and a panic is told with the run's name"
        )]
        let driven = self.settings.tracker.spawn(drive).await;
        match driven {
            Ok(Ok(DriveOutcome::Ended { more: true })) => self.workers.mark_again(session),
            // Whoever adds to the lane, or answers, wakes it.
            Ok(Ok(DriveOutcome::Waiting)) => self.asked.notify_one(),
            Ok(Ok(DriveOutcome::Ended { more: false } | DriveOutcome::Suspended)) => {}
            Ok(Ok(DriveOutcome::LeaseLost)) if was_opened => {
                // It was found in the database before it was handed over here, and is driven already; others may wait.
                tracing::debug!(run = %key.run, "the run was driven before");
                self.workers.mark_again(session);
            }
            Ok(Ok(DriveOutcome::LeaseLost)) => tracing::warn!(run = %key.run, "another process has taken the run over"),
            Ok(Err(error @ StoreError::Inconsistent { .. })) => {
                // Something that the run refers to is damaged: it would fail the same way every time.
                self.park(key, error).await?;
                self.workers.mark_again(session);
            }
            Ok(Err(StoreError::Panicked(message))) => {
                tracing::error!(run = %key.run, message, "the run panicked");
                self.end_panicked_run(key, &signal, message).instrument(span).await?;
                self.workers.mark_again(session);
            }
            Ok(Err(error)) => return self.release_run(&key, error).await,
            Err(ended) if ended.is_panic() => {
                let message: String =
                    panic_message(ended).lines().next().unwrap_or_default().chars().take(200).collect();
                tracing::error!(run = %key.run, message, "the run panicked");
                self.end_panicked_run(key, &signal, message).instrument(span).await?;
                self.workers.mark_again(session);
            }
            Err(_cancelled) => {}
        }
        Ok(())
    }

    /// Ends a run whose code panicked; one that panics at its own end is put aside, without the machine.
    async fn end_panicked_run(
        self: &Arc<Self>,
        key: RunKey,
        signal: &Arc<Notify>,
        message: String,
    ) -> Result<(), StoreError> {
        let buried = async {
            let ports = self.ports();
            let claimed = ports.store.read(async |tx| reload(tx, &key).await).await?;
            end_panicked(ports, self.run_control(signal), claimed, message).await
        };
        match buried.await {
            Ok(()) => Ok(()),
            Err(error @ (StoreError::Panicked(_) | StoreError::Inconsistent { .. })) => self.park(key, error).await,
            Err(error) => self.release_run(&key, error).await,
        }
    }

    async fn park(&self, key: RunKey, error: StoreError) -> Result<(), StoreError> {
        tracing::error!(run = %key.run, %error, "the run cannot be driven");
        let (ports, session, run) = (self.ports(), key.session, key.run);
        let (why, now) = (error.to_string(), ports.clock.now());
        if let Some(place) = ports.store.write(async move |tx| park(tx, &key, &why, now).await).await? {
            ports.watcher.progress(&place, run, Progress::Idle(IdleReason::Suspended));
        }
        ports.meters.runs.of(&["parked"]).inc();
        ports.watcher.outbox_changed(session);
        Ok(())
    }

    fn run_control(self: &Arc<Self>, signal: &Arc<Notify>) -> RunControl {
        let lanes = Lanes { inner: Arc::clone(self) };
        // Whoever works for a run, or is worked for, is served where that is.
        let wake = Arc::new(move |session| lanes.wake(session));
        RunControl { signal: Arc::clone(signal), cut: self.settings.cut.clone(), wake }
    }

    /// A run that could not be driven is let go, so that it can be claimed again.
    async fn release_run(&self, key: &RunKey, error: StoreError) -> Result<(), StoreError> {
        let ports = self.ports();
        let (run, owner) = (key.run, ports.owner.clone());
        if let Err(second) = ports.store.write(async move |tx| runs::release(tx, run, &owner).await).await {
            tracing::warn!(error = %second, run = %key.run, "the run's lease could not be given back; it runs out by itself");
        }
        Err(error)
    }
}

async fn drive(ports: Arc<Ports>, line: RunControl, claimed: ClaimedRun) -> Result<DriveOutcome, StoreError> {
    let key = claimed.key.clone();
    match Driver::new(ports, line, &claimed) {
        Some(driver) => Box::pin(driver.drive(claimed)).await,
        None => Err(StoreError::inconsistent("runs", key.run, "it is claimed, and its journal says that it is over")),
    }
}

fn panic_message(ended: tokio::task::JoinError) -> String {
    match ended.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic without words".to_owned())
        }
        Err(_cancelled) => "the task was cancelled".to_owned(),
    }
}

/// Tells those who wait for rest, however a worker ends.
struct IdleNotifier(Arc<Notify>);

impl Drop for IdleNotifier {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

/// A worker that panics leaves no entry behind that would keep its lane asleep.
struct WorkerCleanup {
    inner: Arc<Inner>,
    session: SessionId,
}

impl Drop for WorkerCleanup {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.inner.workers.remove_worker(self.session);
        }
    }
}
