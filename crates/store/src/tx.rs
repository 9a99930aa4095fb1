//! A connection within a transaction, to whichever engine.

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnection, SqliteQueryResult, SqliteRow, SqliteStatement, SqliteTransactionManager, SqliteTypeInfo,
};
use sqlx::{Database, Either, Error, Execute, Executor, SqlStr, Sqlite};
use sqlx_core::transaction::TransactionManager;
#[cfg(feature = "postgres")]
use sqlx_postgres::{PgConnection, PgTransactionManager, Postgres};

/// A connection within a transaction.
///
/// sqlx's own queries run on it as on a connection to SQLite: that is for what is about its file, and for tests. On PostgreSQL they fail.
#[derive(Debug)]
pub struct Tx(Connection);

#[derive(Debug)]
enum Connection {
    Sqlite(SqliteConnection),
    PooledSqlite(Lease<Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Lease<Postgres>),
}

/// A connection that goes back without what was begun on it and not ended, as its work was given up.
#[derive(Debug)]
struct Lease<DB: Database>(PoolConnection<DB>);

impl<DB: Database> Drop for Lease<DB> {
    fn drop(&mut self) {
        if DB::TransactionManager::get_transaction_depth(&self.0) > 0 {
            DB::TransactionManager::start_rollback(&mut self.0);
        }
    }
}

/// What a query runs on.
pub(crate) enum Engine<'t> {
    Sqlite(&'t mut SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(&'t mut PgConnection),
}

impl From<SqliteConnection> for Tx {
    fn from(connection: SqliteConnection) -> Self {
        Self(Connection::Sqlite(connection))
    }
}

impl From<PoolConnection<Sqlite>> for Tx {
    fn from(connection: PoolConnection<Sqlite>) -> Self {
        Self(Connection::PooledSqlite(Lease(connection)))
    }
}

#[cfg(feature = "postgres")]
impl From<PoolConnection<Postgres>> for Tx {
    fn from(connection: PoolConnection<Postgres>) -> Self {
        Self(Connection::Postgres(Lease(connection)))
    }
}

impl Tx {
    pub(crate) fn engine(&mut self) -> Engine<'_> {
        match &mut self.0 {
            Connection::Sqlite(connection) => Engine::Sqlite(connection),
            Connection::PooledSqlite(lease) => Engine::Sqlite(&mut lease.0),
            #[cfg(feature = "postgres")]
            Connection::Postgres(lease) => Engine::Postgres(&mut lease.0),
        }
    }

    /// The connection to SQLite, where it is one.
    pub(crate) fn sqlite(&mut self) -> Result<&mut SqliteConnection, Error> {
        match self.engine() {
            Engine::Sqlite(connection) => Ok(connection),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => {
                Err(Error::Configuration("this is about a file of SQLite's, and here is none".into()))
            }
        }
    }

    /// Its connection is not used again.
    #[cfg(feature = "postgres")]
    pub(crate) fn forget_connection(mut self) {
        if let Connection::Postgres(lease) = &mut self.0 {
            lease.0.close_on_drop();
        }
    }

    /// Begins to look at the database as it is at one moment, and only to look.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), Error> {
        match self.engine() {
            Engine::Sqlite(connection) => SqliteTransactionManager::begin(connection, None).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => {
                let begin = SqlStr::from_static("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                PgTransactionManager::begin(connection, Some(begin)).await
            }
        }
    }

    /// Ends that.
    pub(crate) async fn end_snapshot(&mut self) -> Result<(), Error> {
        match self.engine() {
            Engine::Sqlite(connection) => SqliteTransactionManager::rollback(connection).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => PgTransactionManager::rollback(connection).await,
        }
    }

    /// Closes the connection in good order.
    #[doc(hidden)]
    pub async fn close(self) -> Result<(), Error> {
        match self.0 {
            Connection::Sqlite(connection) => sqlx::Connection::close(connection).await,
            // Back to its pool.
            Connection::PooledSqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Connection::Postgres(_) => Ok(()),
        }
    }
}

impl<'c> Executor<'c> for &'c mut Tx {
    type Database = Sqlite;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<SqliteQueryResult, SqliteRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        match self.sqlite() {
            Ok(connection) => connection.fetch_many(query),
            Err(error) => Box::pin(stream::iter([Err(error)])),
        }
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<SqliteRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        match self.sqlite() {
            Ok(connection) => connection.fetch_optional(query),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [SqliteTypeInfo],
    ) -> BoxFuture<'e, Result<SqliteStatement, Error>>
    where
        'c: 'e,
    {
        match self.sqlite() {
            Ok(connection) => connection.prepare_with(sql, parameters),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Sqlite>, Error>>
    where
        'c: 'e,
    {
        match self.sqlite() {
            Ok(connection) => connection.describe(sql),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
