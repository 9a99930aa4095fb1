//! What the macros of `hob_sql` expand to: a query that runs on whichever engine its connection is of.
//!
//! On SQLite it is sqlx's own query and nothing else. On PostgreSQL it is a [`Statement`].

use sqlx::query::{Map, QueryScalar};
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{Error, FromRow, IntoArguments};

pub(crate) use hob_sql::{query, query_as, query_scalar};

use crate::Tx;
#[cfg(feature = "postgres")]
pub(crate) use crate::postgres::statement::{
    Statement, blob, integer, read_blob, read_integer, read_real, read_text, real, text,
};
use crate::tx::Engine;

// What is known of the texts decides what they become.
#[cfg(feature = "postgres")]
const _: &str = include_str!("../../../migrations/postgres/queries.json");

/// A query for either engine. Its arguments are taken when it runs, for the engine that it runs on. What waits for PostgreSQL is boxed, so
/// that whoever waits for SQLite is no larger for it.
pub(crate) struct Query<S, P> {
    sqlite: S,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "there is one engine"))]
    postgres: P,
}

#[cfg(feature = "postgres")]
impl<S, P> Query<S, P> {
    pub(crate) fn new(sqlite: S, postgres: P) -> Self {
        Self { sqlite, postgres }
    }
}

#[cfg(not(feature = "postgres"))]
impl<S> Query<S, ()> {
    pub(crate) fn new(sqlite: S) -> Self {
        Self { sqlite, postgres: () }
    }
}

/// The half for PostgreSQL.
#[cfg(feature = "postgres")]
pub(crate) trait OnPostgres<R>: FnOnce() -> Statement<R> + Send {}

#[cfg(feature = "postgres")]
impl<R, P: FnOnce() -> Statement<R> + Send> OnPostgres<R> for P {}

#[cfg(not(feature = "postgres"))]
pub(crate) trait OnPostgres<R>: Send {}

#[cfg(not(feature = "postgres"))]
impl<R> OnPostgres<R> for () {}

/// What sqlx makes of a text that gives rows.
pub(crate) trait SqliteRows: Send + Sized {
    type Row: Send + Unpin;

    fn one(self, connection: &mut SqliteConnection) -> impl Future<Output = Result<Self::Row, Error>> + Send;
    fn optional(
        self,
        connection: &mut SqliteConnection,
    ) -> impl Future<Output = Result<Option<Self::Row>, Error>> + Send;
    fn all(self, connection: &mut SqliteConnection) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;
}

impl<F, O, A> SqliteRows for Map<'_, Sqlite, F, A>
where
    F: FnMut(SqliteRow) -> Result<O, Error> + Send,
    O: Send + Unpin,
    A: Send + IntoArguments<Sqlite>,
{
    type Row = O;

    async fn one(self, connection: &mut SqliteConnection) -> Result<O, Error> {
        self.fetch_one(connection).await
    }

    async fn optional(self, connection: &mut SqliteConnection) -> Result<Option<O>, Error> {
        self.fetch_optional(connection).await
    }

    async fn all(self, connection: &mut SqliteConnection) -> Result<Vec<O>, Error> {
        self.fetch_all(connection).await
    }
}

impl<O, A> SqliteRows for QueryScalar<'_, Sqlite, O, A>
where
    O: Send + Unpin,
    A: Send + IntoArguments<Sqlite>,
    (O,): for<'r> FromRow<'r, SqliteRow>,
{
    type Row = O;

    async fn one(self, connection: &mut SqliteConnection) -> Result<O, Error> {
        self.fetch_one(connection).await
    }

    async fn optional(self, connection: &mut SqliteConnection) -> Result<Option<O>, Error> {
        self.fetch_optional(connection).await
    }

    async fn all(self, connection: &mut SqliteConnection) -> Result<Vec<O>, Error> {
        self.fetch_all(connection).await
    }
}

impl<S, P> Query<S, P> {
    /// The one row that there is.
    pub(crate) async fn fetch_one<M>(self, tx: &mut Tx) -> Result<M::Row, Error>
    where
        S: FnOnce() -> M + Send,
        M: SqliteRows,
        P: OnPostgres<M::Row>,
    {
        match tx.engine() {
            Engine::Sqlite(connection) => (self.sqlite)().one(connection).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => Box::pin((self.postgres)().one(connection)).await,
        }
    }

    /// The first row, if there is one.
    pub(crate) async fn fetch_optional<M>(self, tx: &mut Tx) -> Result<Option<M::Row>, Error>
    where
        S: FnOnce() -> M + Send,
        M: SqliteRows,
        P: OnPostgres<M::Row>,
    {
        match tx.engine() {
            Engine::Sqlite(connection) => (self.sqlite)().optional(connection).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => Box::pin((self.postgres)().optional(connection)).await,
        }
    }

    /// All rows.
    pub(crate) async fn fetch_all<M>(self, tx: &mut Tx) -> Result<Vec<M::Row>, Error>
    where
        S: FnOnce() -> M + Send,
        M: SqliteRows,
        P: OnPostgres<M::Row>,
    {
        match tx.engine() {
            Engine::Sqlite(connection) => (self.sqlite)().all(connection).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => Box::pin((self.postgres)().all(connection)).await,
        }
    }

    /// Does what gives no rows.
    pub(crate) async fn execute<'q, A>(self, tx: &mut Tx) -> Result<Done, Error>
    where
        S: FnOnce() -> sqlx::query::Query<'q, Sqlite, A> + Send,
        A: Send + IntoArguments<Sqlite> + 'q,
        P: OnPostgres<()>,
    {
        let rows = match tx.engine() {
            Engine::Sqlite(connection) => (self.sqlite)().execute(connection).await?.rows_affected(),
            #[cfg(feature = "postgres")]
            Engine::Postgres(connection) => Box::pin((self.postgres)().execute(connection)).await?,
        };
        Ok(Done { rows })
    }
}

/// What was done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    rows: u64,
}

impl Done {
    /// How many rows were written or deleted.
    pub(crate) fn rows_affected(self) -> u64 {
        self.rows
    }
}
