//! PostgreSQL in place of a file: connections, migrations, snapshots.
//!
//! Never: SQL of the program's own; that is one body for both engines. How a unit of work is committed is in [`transaction`].

pub(crate) mod address;
mod connections;
pub(crate) mod lease;
pub(crate) mod server;
pub(crate) mod statement;
pub(crate) mod transaction;

use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::PoolOptions;
use sqlx::{Connection, Error};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgDatabaseError, Postgres};

use crate::Tx;
use crate::daemons::{DaemonIdentity, StandsBy};
use crate::error::StoreError;
use crate::postgres::connections::{Connections, IDLE_MAX};
use crate::postgres::lease::Lease;
use crate::postgres::server::{ServerTraits, refuse};
use crate::unit::{Attempt, Tried};

/// Connections that read.
const READERS_MAX: u32 = 4;
/// One that writes, and one that asks what became of a commit.
const WRITERS_MAX: u32 = 2;
/// How long a unit of work waits for a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);
/// How often whoever wants the database alone looks whether it is, and how long it waits in between.
const ALONE_TRIES: u32 = 10;
const ALONE_PAUSE: Duration = Duration::from_millis(200);
/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// A lock of the database's that whoever may write holds together with others, and whoever copies all of it has alone.
const IN_USE: i64 = 0x686f_625f_7374;

/// The database server, as one Hob uses it.
#[derive(Clone)]
pub(crate) struct Server {
    readers: Connections,
    writers: Connections,
    /// Of a daemon; whoever has none is there for a moment.
    pub(crate) lease: Option<Arc<Lease>>,
}

impl Server {
    /// Connects, and brings the database to this Hob's schema.
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        let options = server::options(url)?;
        let (mut first, traits) = begin(&options).await?;
        let found = schema(&mut first).await?;
        if let Some(found) = found.filter(|found| *found < known())
            && lease::is_held(&mut first).await?
        {
            // It goes by the schema that it knows.
            return Err(StoreError::Older { found, known: known() });
        }
        migrate(&mut first, &traits, &MIGRATIONS).await?;
        Self::with(first, options, None).await
    }

    /// The same for a daemon that knows these `migrations`, once it leads. While another does, `stands_by` is told which, and may break off.
    pub(crate) async fn lead(
        url: &str,
        who: &DaemonIdentity,
        stands_by: &StandsBy<'_>,
        migrations: &Migrator,
    ) -> Result<Self, StoreError> {
        let options = server::options(url)?.application_name(&lease::application_name(&who.boot));
        let (mut first, traits) = begin(&options).await?;
        // Who leads is said in tables that are the same in every schema.
        match schema(&mut first).await? {
            None => migrate(&mut first, &traits, migrations).await?,
            Some(found) => refuse_newer(found, newest(migrations))?,
        }
        first.close().await?;
        let lease = lease::join(&options, who).await?;
        let opened = async {
            lease.until_leads(stands_by).await?;
            // Whoever led before may have been a newer one.
            let (mut first, traits) = begin(&options).await?;
            migrate(&mut first, &traits, migrations).await?;
            Self::with(first, options, Some(Arc::clone(&lease))).await
        };
        let opened = opened.await;
        if opened.is_err() {
            lease.release().await;
        }
        opened
    }

    /// `first` has the lock that says that the database is in use.
    async fn with(
        first: PgConnection,
        options: PgConnectOptions,
        lease: Option<Arc<Lease>>,
    ) -> Result<Self, StoreError> {
        let options = options.statement_cache_capacity(STATEMENTS_MAX);
        let writers = pool(WRITERS_MAX).after_connect(|connection, _| {
            Box::pin(async move { use_together(connection).await.map_err(|error| Error::Configuration(error.into())) })
        });
        let writers = writers.connect_lazy_with(options.clone());
        let reading = options.options([("default_transaction_read_only", "on")]);
        let writers = Connections::of(writers);
        // Not before another has the lock.
        writers.put_back(writers.take().await?);
        first.close().await?;
        Ok(Self { readers: Connections::of(pool(READERS_MAX).connect_lazy_with(reading)), writers, lease })
    }

    /// Runs it on a connection that reads. One that the server has closed meanwhile is found out by using it: then another is taken.
    pub(crate) async fn read(&self, unit: &mut dyn Attempt) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            let mut lent = self.readers.take().await?;
            match unit.attempt(&mut lent.tx).await {
                Ok(()) => {
                    self.readers.put_back(lent);
                    return Ok(());
                }
                Err(StoreError::Disconnected(_)) if tries < READERS_MAX => {}
                Err(error) => return Err(error),
            }
            tries += 1;
        }
    }

    /// How much room the database takes.
    pub(crate) async fn bytes(&self) -> Result<u64, StoreError> {
        let mut asking = Tried::new(async |tx: &mut Tx| Ok(server::database_bytes(tx.postgres()?).await?));
        self.read(&mut asking).await?;
        asking.output.ok_or(StoreError::Closed)
    }

    /// Waits for those at work, and closes all connections; whoever stands by may lead.
    pub(crate) async fn close(&self) {
        if let Some(lease) = &self.lease {
            lease.release().await;
        }
        self.readers.close().await;
        self.writers.close().await;
    }
}

fn pool(most: u32) -> PoolOptions<Postgres> {
    PoolOptions::new()
        .max_connections(most)
        .acquire_timeout(CONNECTION_WAIT)
        .idle_timeout(IDLE_MAX)
        .test_before_acquire(false)
}

/// A first connection, to a server that will do.
async fn begin(options: &PgConnectOptions) -> Result<(PgConnection, ServerTraits), StoreError> {
    let mut first = server::connect(options).await?;
    let traits = ServerTraits::of(&mut first).await?;
    traits.objection()?;
    use_together(&mut first).await?;
    Ok((first, traits))
}

/// Says that this connection may write, for as long as it is there.
async fn use_together(connection: &mut PgConnection) -> Result<(), StoreError> {
    let lock = sqlx::query_scalar::<_, bool>("SELECT pg_try_advisory_lock_shared($1)").bind(IN_USE);
    if lock.fetch_one(connection).await? {
        return Ok(());
    }
    refuse("its state is being copied (`hob state copy`)", "try again when that is done")
}

/// Says that nobody else may write, nor does, for as long as this connection is there. Whoever has just ended is waited for: the server
/// notices that a little later.
pub(crate) async fn use_alone(connection: &mut PgConnection) -> Result<(), StoreError> {
    for _ in 0..ALONE_TRIES {
        let lock = sqlx::query_scalar::<_, bool>("SELECT pg_try_advisory_lock($1)").bind(IN_USE);
        if lock.fetch_one(&mut *connection).await? {
            return Ok(());
        }
        tokio::time::sleep(ALONE_PAUSE).await;
    }
    refuse("a Hob works with it, or another copy is made", "stop every Hob that uses it, and try again")
}

/// Applies the migrations that this database has not seen, after making sure that it is not from a newer Hob.
pub(crate) async fn migrate(
    connection: &mut PgConnection,
    traits: &ServerTraits,
    migrations: &Migrator,
) -> Result<(), StoreError> {
    let found = schema(connection).await?.unwrap_or(0);
    refuse_newer(found, newest(migrations))?;
    if found == newest(migrations) {
        return Ok(());
    }
    traits.objection_to_tables()?;
    migrations.run(connection).await.map_err(StoreError::from_migrate)
}

fn refuse_newer(found: i64, known: i64) -> Result<(), StoreError> {
    if found > known { Err(StoreError::Newer { found, known }) } else { Ok(()) }
}

fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// The newest migration that this Hob knows.
pub(crate) fn known() -> i64 {
    newest(&MIGRATIONS)
}

/// The schema of the database; none: nothing was ever stored in it.
///
/// # Errors
/// When a copy into it is not finished: it is no state yet.
pub(crate) async fn schema(connection: &mut PgConnection) -> Result<Option<i64>, StoreError> {
    let begun = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL, to_regclass('state_copy') IS NOT NULL";
    let (is_begun, is_copying): (bool, bool) = sqlx::query_as(begun).fetch_one(&mut *connection).await?;
    if is_copying {
        let fix = "`hob state copy` as before goes on with it; or begin with an empty database";
        return refuse("a copy of a state into it is not finished", fix);
    }
    if !is_begun {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(connection).await?)
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
