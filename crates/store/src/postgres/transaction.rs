//! A group of units of work in one transaction, which is as if nothing else had happened meanwhile: at SERIALIZABLE, and repeated where
//! another came between.
//!
//! A connection that breaks in the middle of a commit leaves open whether it took place. PostgreSQL is asked then: each transaction has a
//! number, and the server knows what became of it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use sqlx::{Executor, Row};

use super::Server;
use super::lease::Lease;
use crate::Tx;
use crate::error::StoreError;
use crate::writer::{QueuedUnit, TransactionFailure, attempt};

/// How often a transaction is tried in all.
const ATTEMPTS_MAX: u32 = 10;
/// The longest pause before the second attempt: each further one may be twice as long.
const PAUSE: Duration = Duration::from_millis(5);
/// How often, and after which pauses, the server is asked what became of a commit. While it starts anew nobody answers.
const QUESTIONS_MAX: u32 = 40;
const QUESTION_PAUSE: Duration = Duration::from_millis(500);

/// Begins, and gives the transaction's number. A daemon that leads begins with what its lease says.
const BEGIN: &str = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_current_xact_id()::text AS number";
/// After a statement that failed, COMMIT is taken for ROLLBACK without a word. The statement before it fails then.
const COMMIT: &str = "SELECT 1; COMMIT";

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Committed,
    Aborted,
}

/// How it became known that a transaction was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Answered,
    /// By another connection: its own is broken.
    FoundOut,
}

impl Server {
    /// Does all of `jobs` in one transaction.
    pub(crate) async fn transact(
        &self,
        jobs: &mut [Box<dyn QueuedUnit + '_>],
        within: Option<Duration>,
    ) -> Result<(), TransactionFailure> {
        let mut attempts = 1;
        loop {
            let result = self.attempt(jobs, within).await;
            let Err(TransactionFailure::QueuedUnit(error) | TransactionFailure::Group(error)) = &result else {
                return result;
            };
            let again =
                matches!(error, StoreError::Conflict(_) | StoreError::Disconnected(_)) && attempts < ATTEMPTS_MAX;
            if !again {
                return result;
            }
            tracing::debug!(%error, attempts, "a transaction is tried again");
            tokio::time::sleep(jittered(PAUSE * 2_u32.pow(attempts))).await;
            attempts += 1;
        }
    }

    async fn attempt(
        &self,
        jobs: &mut [Box<dyn QueuedUnit + '_>],
        within: Option<Duration>,
    ) -> Result<(), TransactionFailure> {
        let mut lent = self.writers.take().await.map_err(TransactionFailure::Group)?;
        let result = self.attempt_on(&mut lent.tx, jobs, within).await;
        let is_whole = match &result {
            Ok(ending) => *ending == Ending::Answered,
            Err(_) => roll_back(&mut lent.tx).await,
        };
        if is_whole {
            self.writers.put_back(lent);
        }
        result.map(|_ending| ())
    }

    async fn attempt_on(
        &self,
        tx: &mut Tx,
        jobs: &mut [Box<dyn QueuedUnit + '_>],
        within: Option<Duration>,
    ) -> Result<Ending, TransactionFailure> {
        let number = begin(tx, self.lease.as_deref(), within).await.map_err(TransactionFailure::Group)?;
        for (at, job) in jobs.iter_mut().enumerate() {
            attempt(at, job, tx).await?;
        }
        match commit(tx).await {
            Ok(()) => Ok(Ending::Answered),
            Err(StoreError::Disconnected(why)) => {
                match self.outcome(&number).await.map_err(TransactionFailure::Group)? {
                    Outcome::Committed => Ok(Ending::FoundOut),
                    Outcome::Aborted => Err(TransactionFailure::Group(StoreError::Disconnected(why))),
                }
            }
            Err(error) => Err(TransactionFailure::Group(error)),
        }
    }

    /// Asks until the server knows.
    async fn outcome(&self, number: &str) -> Result<Outcome, StoreError> {
        let mut last = StoreError::Unknown;
        for _ in 0..QUESTIONS_MAX {
            match self.ask(number).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(error @ (StoreError::Disconnected(_) | StoreError::Busy(_))) => last = error,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(QUESTION_PAUSE).await;
        }
        tracing::error!(error = %last, "whether a transaction took place could not be found out");
        Err(StoreError::Unknown)
    }

    /// None: it has not ended yet, as its connection's end is not noticed.
    async fn ask(&self, number: &str) -> Result<Option<Outcome>, StoreError> {
        // A server that is away for long keeps no connection from being asked for: what became of the commit is as open as before.
        let unreachable = |error: StoreError| StoreError::Disconnected(error.to_string());
        let mut lent = self.writers.another().await.map_err(unreachable)?;
        let question = sqlx::query_scalar::<_, Option<String>>("SELECT pg_xact_status($1::xid8)").bind(number);
        let answer = question.fetch_one(lent.tx.postgres()?).await?;
        self.writers.put_back(lent);
        match answer.as_deref() {
            Some("committed") => Ok(Some(Outcome::Committed)),
            Some("aborted") => Ok(Some(Outcome::Aborted)),
            Some(_in_progress) => Ok(None),
            // It is so old that the server has forgotten it; that takes millions of transactions.
            None => Err(StoreError::Unknown),
        }
    }
}

async fn begin(tx: &mut Tx, lease: Option<&Lease>, within: Option<Duration>) -> Result<String, StoreError> {
    let connection = tx.postgres()?;
    let row = match lease {
        Some(lease) => connection.fetch_one(sqlx::raw_sql(sqlx::AssertSqlSafe(lease.begin().to_owned()))).await?,
        None => connection.fetch_one(sqlx::raw_sql(BEGIN)).await?,
    };
    if let Some(lease) = lease
        && row.try_get::<Option<bool>, _>("is_there")?.is_none()
    {
        lease.lose();
        return Err(StoreError::Fenced);
    }
    if let Some(within) = within {
        let limit = format!("SET LOCAL statement_timeout = {}", within.as_millis().max(1));
        connection.execute(sqlx::AssertSqlSafe(limit)).await?;
    }
    Ok(row.try_get("number")?)
}

async fn commit(tx: &mut Tx) -> Result<(), StoreError> {
    tx.postgres()?.execute(sqlx::raw_sql(COMMIT)).await?;
    Ok(())
}

/// Whether the connection can be used again.
async fn roll_back(tx: &mut Tx) -> bool {
    let Ok(connection) = tx.postgres() else { return false };
    connection.execute("ROLLBACK").await.is_ok()
}

/// Somewhere up to it, so that those who came between each other do not do so again.
fn jittered(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    most.mul_f64((random % 1_000) as f64 / 1_000.0)
}
