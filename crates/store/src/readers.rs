//! The connections that read while the writer writes.
//!
//! Never: a write, the file is opened for reading only.

use std::sync::Arc;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tokio::sync::Mutex;

use crate::error::StoreError;
use crate::unit::Attempt;
use crate::{SchedulingMode, Tx, close};

/// Connections beside the first.
const MORE: u32 = 3;

/// As long as nobody else reads, one connection has all reads: a commit empties each other's cache, and an idle Hob holds no
/// other. What comes meanwhile has a pool.
#[derive(Clone)]
pub(crate) struct Readers {
    /// Taken out while it reads: one whose work failed or was given up is not used again.
    first: Arc<Mutex<Option<Tx>>>,
    options: SqliteConnectOptions,
    /// None in lockstep: there one reads after the other, and a pool has tasks and timers of its own.
    more: Option<SqlitePool>,
}

impl Readers {
    /// Opened as they are needed.
    pub(crate) fn of(options: SqliteConnectOptions, pace: &SchedulingMode) -> Self {
        let pool = || {
            SqlitePoolOptions::new()
                .max_connections(MORE)
                .min_connections(0)
                .test_before_acquire(false)
                .connect_lazy_with(options.clone())
        };
        let more = match pace {
            SchedulingMode::Threaded => Some(pool()),
            SchedulingMode::Lockstep(_) => None,
        };
        Self { first: Arc::default(), options, more }
    }

    /// Runs it on a connection that is free.
    pub(crate) async fn run(&self, unit: &mut dyn Attempt) -> Result<(), StoreError> {
        let mut first = match &self.more {
            None => self.first.lock().await,
            Some(pool) => match self.first.try_lock() {
                Ok(first) => first,
                Err(_taken) => return unit.attempt(&mut Tx::from(pool.acquire().await?)).await,
            },
        };
        let mut connection = match first.take() {
            Some(connection) => connection,
            None => Tx::from(self.options.connect().await?),
        };
        unit.attempt(&mut connection).await?;
        *first = Some(connection);
        Ok(())
    }

    /// Waits for those at work, and closes them.
    pub(crate) async fn close(&self) {
        if let Some(pool) = &self.more {
            pool.close().await;
        }
        if let Some(first) = self.first.lock().await.take() {
            close(first).await;
        }
    }
}
