//! One writer: what is waiting goes into one transaction, so that durability costs one fsync for many sessions.
//!
//! Upkeep has a queue of its own: a step of it begins only while nobody waits for a commit, and is cut off when its time is up.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use sqlx::Executor;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres::Server;
use crate::unit::{Attempt, Tried, UnitOfWork};
use crate::{SchedulingMode, Tx, close};
use hob_telemetry::metrics::{Counter, Histogram};
use hob_telemetry::tasks;

/// The most units of work in one transaction.
const GROUP_MAX: usize = 256;
/// The most units of work waiting; a submitter then waits for room.
const QUEUE_MAX: usize = 4_096;

/// The most steps of upkeep waiting.
const STEPS_MAX: usize = 4;
/// After so many of its operations SQLite looks whether a step's time is up: some tens of microseconds.
const LOOK_EVERY_OPERATIONS: i32 = 1_000;

/// What SQLite says to a ROLLBACK when it has ended the transaction itself; it has no code of its own.
const NO_TRANSACTION: &str = "no transaction is active";

/// Sees every commit of a store in lockstep. A simulation ends the world here.
#[async_trait]
pub trait Boundary: Send + Sync {
    /// The transaction is complete and about to be committed.
    async fn before_commit(&self);
    /// It is durable; nobody has been told yet.
    async fn after_commit(&self);
}

/// How a step of upkeep is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepMode {
    /// In a transaction, as any other work.
    Transaction,
    /// Without one: of what SQLite does in transactions of its own, or in none.
    Bare,
}

/// A step of upkeep that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepOutcome<T> {
    /// What it gave.
    pub output: T,
    /// For how long nobody else could write.
    pub held: Duration,
}

/// The handle to the writer's task.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<WriterCommand>,
    steps: mpsc::Sender<UpkeepStep>,
    watch: Arc<WriterStatus>,
    work: Arc<WriterMetrics>,
}

/// What can be seen of the writer from outside.
#[derive(Default)]
pub(super) struct WriterStatus {
    /// How many groups were tried.
    pub(super) groups: AtomicU64,
    /// A write failed because the disk is full.
    pub(super) full: Notify,
}

/// A step of upkeep that waits.
struct UpkeepStep {
    job: Box<dyn QueuedUnit>,
    manner: StepMode,
    within: Duration,
    /// In microseconds, for whoever asked.
    held: Arc<AtomicU64>,
}

/// What the writer has done since it started.
#[derive(Debug)]
pub struct WriterMetrics {
    /// Units of work that were tried.
    pub statements: Counter,
    /// How long the transactions took, from their beginning to their being durable.
    pub commits: Histogram,
}

enum WriterCommand {
    Work(Box<dyn QueuedUnit>),
    Close(oneshot::Sender<()>),
}

/// Where the writer writes.
pub(crate) enum WritingEnd {
    /// The only connection to a file that writes.
    File(Tx),
    #[cfg(feature = "postgres")]
    Server(Server),
}

impl WritingEnd {
    fn file(&mut self) -> Result<&mut Tx, StoreError> {
        match self {
            Self::File(connection) => Ok(connection),
            #[cfg(feature = "postgres")]
            Self::Server(_) => Err(StoreError::Database("a server looks after itself".to_owned())),
        }
    }
}

pub(crate) trait QueuedUnit: Attempt {
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

struct PendingUnit<U, T> {
    tried: Tried<U, T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

#[async_trait]
impl<T: Send, U: UnitOfWork<T>> Attempt for PendingUnit<U, T> {
    async fn attempt(&mut self, tx: &mut Tx) -> Result<(), StoreError> {
        self.tried.attempt(tx).await
    }
}

impl<T: Send, U: UnitOfWork<T>> QueuedUnit for PendingUnit<U, T> {
    fn settle(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { tried, reply } = *self;
        let result = committed.and_then(|()| tried.output.ok_or(StoreError::Closed));
        if reply.send(result).is_err() {
            tracing::trace!("whoever asked for this write has gone");
        }
    }
}

impl Writer {
    /// Its task ends when it is closed, or when nobody is left to submit.
    pub(super) fn start(end: WritingEnd, pace: SchedulingMode) -> Self {
        let (queue, orders) = mpsc::channel(QUEUE_MAX);
        let (steps, idle) = mpsc::channel(STEPS_MAX);
        let watch = Arc::<WriterStatus>::default();
        let work = Arc::new(WriterMetrics { statements: Counter::new(), commits: Histogram::quick() });
        let writer_task = WriterTask { end, pace, watch: Arc::clone(&watch), done: Arc::clone(&work) };
        tasks::spawn("the writer", writer_task.work(orders, idle));
        Self { queue, steps, watch, work }
    }

    pub(super) fn watch(&self) -> &WriterStatus {
        &self.watch
    }

    /// Does it when nobody waits for a commit.
    pub(super) async fn step<T: Send + 'static>(
        &self,
        unit: impl UnitOfWork<T> + 'static,
        manner: StepMode,
        within: Duration,
    ) -> Result<StepOutcome<T>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let (job, held) = (Box::new(PendingUnit { tried: Tried::new(unit), reply }), Arc::<AtomicU64>::default());
        if self.steps.send(UpkeepStep { job, manner, within, held: Arc::clone(&held) }).await.is_err() {
            return Err(StoreError::Closed);
        }
        let output = answer.await.unwrap_or(Err(StoreError::Closed))?;
        Ok(StepOutcome { output, held: Duration::from_micros(held.load(Ordering::Acquire)) })
    }

    /// What it has done.
    pub(super) fn metrics(&self) -> &Arc<WriterMetrics> {
        &self.work
    }

    /// How many units of work wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    pub(super) async fn submit<T: Send + 'static>(&self, unit: impl UnitOfWork<T> + 'static) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(PendingUnit { tried: Tried::new(unit), reply });
        if self.queue.send(WriterCommand::Work(job)).await.is_err() {
            return Err(StoreError::Closed);
        }
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(super) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.queue.send(WriterCommand::Close(reply)).await.is_ok() && closed.await.is_err() {
            tracing::debug!("the writer was gone before it was closed");
        }
    }
}

struct WriterTask {
    end: WritingEnd,
    pace: SchedulingMode,
    watch: Arc<WriterStatus>,
    done: Arc<WriterMetrics>,
}

impl WriterTask {
    async fn work(mut self, mut orders: mpsc::Receiver<WriterCommand>, mut steps: mpsc::Receiver<UpkeepStep>) {
        let mut jobs: Vec<Box<dyn QueuedUnit>> = Vec::new();
        loop {
            let mut next = tokio::select! {
                biased;
                order = orders.recv() => order,
                Some(step) = steps.recv() => {
                    self.step(step).await;
                    continue;
                }
            };
            if next.is_none() {
                break;
            }
            let mut closing = None;
            while let Some(order) = next.take() {
                match order {
                    WriterCommand::Work(job) => jobs.push(job),
                    WriterCommand::Close(reply) => closing = Some(reply),
                }
                if closing.is_none() && jobs.len() < GROUP_MAX {
                    next = orders.try_recv().ok();
                }
            }
            self.group(std::mem::take(&mut jobs)).await;
            if let Some(reply) = closing {
                self.close().await;
                if reply.send(()).is_err() {
                    tracing::trace!("nobody waits for the database to close");
                }
                return;
            }
        }
        self.close().await;
    }

    async fn close(self) {
        match self.end {
            WritingEnd::File(connection) => self.pace.run(close(connection)).await,
            // Its connections are the server's.
            #[cfg(feature = "postgres")]
            WritingEnd::Server(_) => {}
        }
    }

    /// One step of upkeep, which ends in time or has done nothing.
    async fn step(&mut self, step: UpkeepStep) {
        let UpkeepStep { job, manner, within, held } = step;
        let began = Instant::now();
        let mut alone = vec![job];
        let result = match self.limit(Some(began + within)).await {
            Ok(()) => match manner {
                StepMode::Transaction => {
                    self.transact(&mut alone, Some(within)).await.map_err(TransactionFailure::into_error)
                }
                StepMode::Bare => self.run_outside_transaction(&mut alone).await,
            },
            Err(error) => Err(error),
        };
        let unlimited = self.limit(None).await;
        held.store(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Release);
        settle(alone, &result);
        if let Err(error) = unlimited {
            tracing::error!(%error, "the time limit of a step of upkeep cannot be taken away");
        }
    }

    /// SQLite gives up what it is doing when the time is up. In lockstep no time passes.
    async fn limit(&mut self, end: Option<Instant>) -> Result<(), StoreError> {
        if matches!(self.pace, SchedulingMode::Lockstep(_)) {
            return Ok(());
        }
        let connection = match &mut self.end {
            WritingEnd::File(connection) => connection.sqlite()?,
            // The server keeps to the limit that the transaction tells it.
            #[cfg(feature = "postgres")]
            WritingEnd::Server(_) => return Ok(()),
        };
        let mut handle = connection.lock_handle().await?;
        match end {
            Some(end) => handle.set_progress_handler(LOOK_EVERY_OPERATIONS, move || Instant::now() < end),
            None => handle.remove_progress_handler(),
        }
        Ok(())
    }

    async fn run_outside_transaction(&mut self, jobs: &mut [Box<dyn QueuedUnit>]) -> Result<(), StoreError> {
        let Self { end, pace, .. } = self;
        let connection = end.file()?;
        if let SchedulingMode::Lockstep(boundary) = pace {
            boundary.before_commit().await;
        }
        let attempt = async {
            for job in jobs {
                job.attempt(connection).await?;
            }
            Ok(())
        };
        let caught = pace.run(AssertUnwindSafe(attempt).catch_unwind()).await;
        let result = caught.unwrap_or_else(|panic| Err(StoreError::from_panic(&*panic)));
        if let SchedulingMode::Lockstep(boundary) = pace {
            boundary.after_commit().await;
        }
        result
    }

    /// All in one transaction; if one fails, each in its own, so that nobody pays for another's error.
    async fn group(&mut self, mut jobs: Vec<Box<dyn QueuedUnit>>) {
        if jobs.is_empty() {
            return;
        }
        self.watch.groups.fetch_add(1, Ordering::Relaxed);
        match self.transact(&mut jobs, None).await {
            Ok(()) => settle(jobs, &Ok(())),
            Err(TransactionFailure::QueuedUnit(error)) if jobs.len() > 1 => {
                tracing::debug!(%error, jobs = jobs.len(), "a group failed: each unit of work is tried alone");
                self.each_alone(jobs).await;
            }
            Err(TransactionFailure::Panic { at, error }) => {
                tracing::error!(%error, jobs = jobs.len(), "a unit of work panicked: the others are tried alone");
                // It is not tried again: it would panic again.
                settle(vec![jobs.remove(at)], &Err(error));
                self.each_alone(jobs).await;
            }
            Err(TransactionFailure::QueuedUnit(error) | TransactionFailure::Group(error)) => settle(jobs, &Err(error)),
        }
    }

    async fn each_alone(&mut self, jobs: Vec<Box<dyn QueuedUnit>>) {
        for job in jobs {
            let mut alone = vec![job];
            let result = self.transact(&mut alone, None).await.map_err(TransactionFailure::into_error);
            settle(alone, &result);
        }
    }

    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "SQLite is told its limit before"))]
    async fn transact(
        &mut self,
        jobs: &mut [Box<dyn QueuedUnit>],
        within: Option<Duration>,
    ) -> Result<(), TransactionFailure> {
        let boundary = match &self.pace {
            SchedulingMode::Threaded => None,
            SchedulingMode::Lockstep(boundary) => Some(boundary),
        };
        let begun = Instant::now();
        let result = match &mut self.end {
            WritingEnd::File(connection) => transaction(connection, jobs, boundary).await,
            #[cfg(feature = "postgres")]
            WritingEnd::Server(server) => server.transact(jobs, within).await,
        };
        if let Err(TransactionFailure::QueuedUnit(StoreError::Full) | TransactionFailure::Group(StoreError::Full)) =
            &result
        {
            self.watch.full.notify_one();
        }
        self.done.statements.add(jobs.len() as u64);
        if result.is_ok() {
            self.done.commits.observe(begun.elapsed());
        }
        result
    }
}

/// Why a transaction failed.
pub(crate) enum TransactionFailure {
    /// One of its jobs did: the others may fare better alone.
    QueuedUnit(StoreError),
    /// The code of one did.
    Panic { at: usize, error: StoreError },
    /// It could not begin or be committed: alone, every job would wait for the same lock or the same disk.
    Group(StoreError),
}

impl TransactionFailure {
    fn into_error(self) -> StoreError {
        match self {
            Self::QueuedUnit(error) | Self::Panic { error, .. } | Self::Group(error) => error,
        }
    }
}

/// Commits `unit` on a server without a queue, for whoever is there for this alone.
#[cfg(feature = "postgres")]
pub(crate) async fn write_alone<T: Send>(server: &Server, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    let mut alone: Vec<Box<dyn QueuedUnit + '_>> = vec![Box::new(PendingUnit { tried: Tried::new(unit), reply })];
    let result = server.transact(&mut alone, None).await.map_err(TransactionFailure::into_error);
    settle(alone, &result);
    answer.await.unwrap_or(Err(StoreError::Closed))
}

fn settle(jobs: Vec<Box<dyn QueuedUnit + '_>>, result: &Result<(), StoreError>) {
    for job in jobs {
        job.settle(result.as_ref().copied().map_err(StoreError::share));
    }
}

/// In lockstep, the thread stands still while SQLite works: only at the boundaries may the world change, or end.
async fn transaction(
    connection: &mut Tx,
    jobs: &mut [Box<dyn QueuedUnit>],
    boundary: Option<&Arc<dyn Boundary>>,
) -> Result<(), TransactionFailure> {
    let filled = fill(connection, jobs);
    let filled = match boundary {
        None => filled.await,
        Some(_) => futures::executor::block_on(filled),
    };
    if let Some(boundary) = boundary {
        boundary.before_commit().await;
    }
    let result = match filled {
        Ok(()) => {
            let commit = connection.execute("COMMIT");
            let done = match boundary {
                None => commit.await,
                Some(_) => futures::executor::block_on(commit),
            };
            done.map(|_| ()).map_err(|error| TransactionFailure::Group(error.into()))
        }
        Err(error) => Err(error),
    };
    if result.is_err() {
        roll_back(connection, boundary.is_some()).await;
    } else if let Some(boundary) = boundary {
        boundary.after_commit().await;
    }
    result
}

async fn fill(connection: &mut Tx, jobs: &mut [Box<dyn QueuedUnit>]) -> Result<(), TransactionFailure> {
    connection.execute("BEGIN IMMEDIATE").await.map_err(|error| TransactionFailure::Group(error.into()))?;
    for (at, job) in jobs.iter_mut().enumerate() {
        attempt(at, job, connection).await?;
    }
    Ok(())
}

/// One of the jobs. A panic that ended this task would end every other write with it.
pub(crate) async fn attempt(
    at: usize,
    job: &mut Box<dyn QueuedUnit + '_>,
    tx: &mut Tx,
) -> Result<(), TransactionFailure> {
    match AssertUnwindSafe(job.attempt(tx)).catch_unwind().await {
        Ok(done) => done.map_err(TransactionFailure::QueuedUnit),
        Err(panic) => Err(TransactionFailure::Panic { at, error: StoreError::from_panic(&*panic) }),
    }
}

/// After a failure there may or may not be a transaction left: SQLite ends it itself on some errors.
async fn roll_back(connection: &mut Tx, lockstep: bool) {
    let undo = connection.execute("ROLLBACK");
    let undone = if lockstep { futures::executor::block_on(undo) } else { undo.await };
    match undone {
        Ok(_) => {}
        Err(error) if error.to_string().contains(NO_TRANSACTION) => tracing::debug!("nothing to roll back"),
        Err(error) => tracing::error!(%error, "a failed transaction could not be rolled back"),
    }
}
