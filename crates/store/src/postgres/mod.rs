//! PostgreSQL in place of a file: connections, migrations, snapshots.
//!
//! Never: SQL of the program's own; that is one body for both engines. How a unit of work is committed is in [`transaction`].

pub(crate) mod statement;
pub(crate) mod transaction;

use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::PoolOptions;
use sqlx::{Error, Pool};
use sqlx_postgres::{PgConnectOptions, PgDatabaseError, PgPool, Postgres};

use crate::Tx;
use crate::error::StoreError;
use crate::unit::UnitOfWork;

/// Connections that read.
const READERS_MAX: u32 = 4;
/// One that writes, and one that asks what became of a commit.
const WRITERS_MAX: u32 = 2;
/// How long a unit of work waits for a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);
/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// The database server, as one Hob uses it.
#[derive(Clone)]
pub(crate) struct Server {
    readers: PgPool,
    writers: PgPool,
}

impl Server {
    /// Connects, and brings the database to this Hob's schema.
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(StoreError::from)?
            .application_name("hob")
            .statement_cache_capacity(STATEMENTS_MAX);
        let writers = pool(WRITERS_MAX).connect_with(options.clone()).await?;
        migrate(&writers).await?;
        let reading = options.options([("default_transaction_read_only", "on")]);
        Ok(Self { readers: pool(READERS_MAX).connect_lazy_with(reading), writers })
    }

    /// Runs it on a connection that reads. One that the server has closed meanwhile is found out by using it: then another is taken.
    pub(crate) async fn read<T>(&self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        for _ in 0..READERS_MAX {
            let mut tx = Tx::from(self.readers.acquire().await?);
            match Box::pin(unit.clone().begin(&mut tx)).await {
                Err(StoreError::Disconnected(_)) => tx.forget_connection(),
                done => return done,
            }
        }
        let mut tx = Tx::from(self.readers.acquire().await?);
        Box::pin(unit.begin(&mut tx)).await
    }

    /// Waits for those at work, and closes all connections.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

fn pool(most: u32) -> PoolOptions<Postgres> {
    PoolOptions::new().max_connections(most).acquire_timeout(CONNECTION_WAIT).test_before_acquire(false)
}

/// Applies the migrations that this database has not seen, after making sure that it is not from a newer Hob.
async fn migrate(pool: &Pool<Postgres>) -> Result<(), StoreError> {
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
    let mut connection = pool.acquire().await?;
    let begun = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    let found = if sqlx::query_scalar::<_, bool>(begun).fetch_one(&mut *connection).await? {
        let newest = "SELECT max(version) FROM _sqlx_migrations";
        sqlx::query_scalar::<_, Option<i64>>(newest).fetch_one(&mut *connection).await?
    } else {
        None
    };
    match found {
        Some(found) if found > known => Err(StoreError::Newer { found, known }),
        Some(found) if found == known => Ok(()),
        _ => MIGRATIONS.run(&mut *connection).await.map_err(StoreError::from_migrate),
    }
}

/// What one does about an error of the server's.
pub(crate) fn classify(error: &Error) -> Option<StoreError> {
    let text = error.to_string();
    let Some(reported) = error.as_database_error() else {
        let is_gone = matches!(error, Error::Io(_) | Error::Protocol(_) | Error::Tls(_));
        return is_gone.then_some(StoreError::Disconnected(text));
    };
    let code = reported.try_downcast_ref::<PgDatabaseError>()?.code();
    Some(match code {
        // serialization_failure, deadlock_detected
        "40001" | "40P01" => StoreError::Conflict(text),
        // lock_not_available
        "55P03" => StoreError::Busy(text),
        // query_canceled: by its own time limit
        "57014" => StoreError::Overlong,
        // disk_full
        "53100" => StoreError::Full,
        // read_only_sql_transaction, insufficient_privilege
        "25006" | "42501" => StoreError::ReadOnly(text),
        // data_corrupted, index_corrupted
        "XX001" | "XX002" => StoreError::Damaged(text),
        // too_many_connections, and what the server says when it ends a connection or begins to work
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" => StoreError::Disconnected(text),
        code if code.starts_with("08") => StoreError::Disconnected(text),
        _ => StoreError::Database(text),
    })
}
