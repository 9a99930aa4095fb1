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

#[cfg(feature = "postgres")]
use crate::error::StoreError;

/// A connection within a transaction.
///
/// sqlx's own queries run on it as on a connection to SQLite: that is for what is about its file, and for tests. On PostgreSQL they fail.
#[derive(Debug)]
pub struct Tx(Connection);

#[derive(Debug)]
enum Connection {
    Sqlite(SqliteConnection),
    PooledSqlite(PoolConnection<Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Box<PgConnection>),
    #[cfg(feature = "postgres")]
    PooledPostgres(PoolConnection<Postgres>),
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
        Self(Connection::PooledSqlite(connection))
    }
}

#[cfg(feature = "postgres")]
impl From<PgConnection> for Tx {
    fn from(connection: PgConnection) -> Self {
        Self(Connection::Postgres(Box::new(connection)))
    }
}

#[cfg(feature = "postgres")]
impl From<PoolConnection<Postgres>> for Tx {
    fn from(connection: PoolConnection<Postgres>) -> Self {
        Self(Connection::PooledPostgres(connection))
    }
}

impl Tx {
    pub(crate) fn engine(&mut self) -> Engine<'_> {
        match &mut self.0 {
            Connection::Sqlite(connection) => Engine::Sqlite(connection),
            Connection::PooledSqlite(connection) => Engine::Sqlite(connection),
            #[cfg(feature = "postgres")]
            Connection::Postgres(connection) => Engine::Postgres(connection),
            #[cfg(feature = "postgres")]
            Connection::PooledPostgres(connection) => Engine::Postgres(connection),
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

    /// The connection to PostgreSQL, where it is one.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(&mut self) -> Result<&mut PgConnection, StoreError> {
        match self.engine() {
            Engine::Postgres(connection) => Ok(connection),
            Engine::Sqlite(_) => Err(StoreError::Database("what is about a server, on a file".to_owned())),
        }
    }

    /// Its connection is not used again.
    #[cfg(feature = "postgres")]
    pub(crate) fn close_on_drop(&mut self) {
        if let Connection::PooledPostgres(connection) = &mut self.0 {
            connection.close_on_drop();
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
            Connection::Postgres(connection) => sqlx::Connection::close(*connection).await,
            #[cfg(feature = "postgres")]
            Connection::PooledPostgres(_) => Ok(()),
        }
    }
}

/// A transaction that only looks, at the database as it is at one moment. It is taken back however its owner ends.
pub(crate) struct Snapshot<'t>(pub(crate) &'t mut Tx);

impl<'t> Snapshot<'t> {
    pub(crate) async fn begin(tx: &'t mut Tx) -> Result<Self, Error> {
        match tx.engine() {
            Engine::Sqlite(connection) => SqliteTransactionManager::begin(connection, None).await?,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => {
                let begin = SqlStr::from_static("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                PgTransactionManager::begin(connection, Some(begin)).await?;
            }
        }
        Ok(Self(tx))
    }

    pub(crate) async fn end(self) -> Result<(), Error> {
        match self.0.engine() {
            Engine::Sqlite(connection) => SqliteTransactionManager::rollback(connection).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => PgTransactionManager::rollback(connection).await,
        }
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        match self.0.engine() {
            Engine::Sqlite(connection) => take_back::<SqliteTransactionManager>(connection),
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => take_back::<PgTransactionManager>(connection),
        }
    }
}

/// Of what was given up in the middle. It is done before the connection is used for anything else.
fn take_back<M: TransactionManager>(connection: &mut <M::Database as Database>::Connection) {
    if M::get_transaction_depth(connection) > 0 {
        M::start_rollback(connection);
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
