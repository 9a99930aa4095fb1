//! What the macros of `hob_sql` expand to: a text with its arguments, and how its rows are read, on whichever engine its connection is of.
//!
//! Whoever awaits an `async fn` compiles all of it once more. So what runs a statement is boxed, and compiled here alone.

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::TryStreamExt as _;
use sqlx::query::{Map, QueryScalar};
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{Error, Executor as _, SqlStr};
#[cfg(feature = "postgres")]
use sqlx_postgres::{PgArguments, PgRow};

pub(crate) use hob_sql::{query, query_as, query_scalar};

use crate::Tx;
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::sqlite;
use crate::tx::Engine;
use hob_core::domain::sql_value::{FromSql, SqlValue, ToSql, UnreadableValue, kind};

// What is known of the texts decides what they become.
#[cfg(feature = "postgres")]
const _: &str = include_str!("../../../migrations/postgres/queries.json");

/// One text for each engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts {
    pub(crate) sqlite: &'static str,
    #[cfg(feature = "postgres")]
    pub(crate) postgres: &'static str,
}

/// What takes the arguments of a statement, as its engine has them.
pub(crate) trait Arguments {
    fn bind(&mut self, values: &[SqlValue<'_>]) -> Result<(), Error>;
}

impl Arguments for SqliteArguments {
    fn bind(&mut self, values: &[SqlValue<'_>]) -> Result<(), Error> {
        sqlite::bind(self, values)
    }
}

#[cfg(feature = "postgres")]
impl Arguments for PgArguments {
    fn bind(&mut self, values: &[SqlValue<'_>]) -> Result<(), Error> {
        postgres::statement::bind(self, values)
    }
}

/// A row, as an engine gave it.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

impl Row {
    fn value(&self, place: usize) -> Result<SqlValue<'_>, Error> {
        match self {
            Self::Sqlite(row) => sqlite::value(row, place),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => postgres::statement::value(row, place),
        }
    }
}

type Binding<'b> = &'b dyn Fn(&mut dyn Arguments) -> Result<(), Error>;
type Reading<R> = fn(&Row) -> Result<R, Error>;

/// A query for either engine. Its arguments are bound when it runs, for the engine that it runs on.
pub(crate) struct Query<B, R> {
    texts: Texts,
    bind: B,
    read: Reading<R>,
}

impl<B: Fn(&mut dyn Arguments) -> Result<(), Error>, R> Query<B, R> {
    /// `_checked` is never run.
    pub(crate) fn new<Q: OfSqlx<Row = R>>(
        _checked: impl FnOnce() -> Q,
        texts: Texts,
        bind: B,
        read: Reading<R>,
    ) -> Self {
        Self { texts, bind, read }
    }

    /// The one row that there is.
    pub(crate) fn fetch_one<'t>(self, tx: &'t mut Tx) -> impl Future<Output = Result<R, Error>> + Send + use<'t, B, R> {
        first(optional(tx, self.texts, &self.bind), self.read).map(|found| found?.ok_or(Error::RowNotFound))
    }

    /// The first row, if there is one.
    pub(crate) fn fetch_optional<'t>(
        self,
        tx: &'t mut Tx,
    ) -> impl Future<Output = Result<Option<R>, Error>> + Send + use<'t, B, R> {
        first(optional(tx, self.texts, &self.bind), self.read)
    }

    /// All rows.
    pub(crate) fn fetch_all<'t>(
        self,
        tx: &'t mut Tx,
    ) -> impl Future<Output = Result<Vec<R>, Error>> + Send + use<'t, B, R> {
        every(all(tx, self.texts, &self.bind), self.read)
    }
}

impl<B: Fn(&mut dyn Arguments) -> Result<(), Error>> Query<B, ()> {
    /// Does what gives no rows.
    pub(crate) fn execute(self, tx: &mut Tx) -> BoxFuture<'_, Result<Done, Error>> {
        done(tx, self.texts, &self.bind)
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

/// It runs.
type Running<'t, Found> = BoxFuture<'t, Result<Found, Error>>;

fn first<R>(row: Running<'_, Option<Row>>, read: Reading<R>) -> impl Future<Output = Result<Option<R>, Error>> + Send {
    row.map(move |row| row?.as_ref().map(read).transpose())
}

fn every<R>(rows: Running<'_, Vec<Row>>, read: Reading<R>) -> impl Future<Output = Result<Vec<R>, Error>> + Send {
    rows.map(move |rows| rows?.iter().map(read).collect())
}

/// A text with its arguments, as an engine runs it.
type Bound<A> = Result<(SqlStr, Option<A>), Error>;

fn bound<A: Arguments + Default>(text: &'static str, bind: Binding<'_>) -> Bound<A> {
    let mut arguments = A::default();
    bind(&mut arguments)?;
    Ok((SqlStr::from_static(text), Some(arguments)))
}

fn optional<'t>(tx: &'t mut Tx, texts: Texts, bind: Binding<'_>) -> Running<'t, Option<Row>> {
    match tx.engine() {
        Engine::Sqlite(connection) => {
            let query: Bound<SqliteArguments> = bound(texts.sqlite, bind);
            Box::pin(async move { Ok(connection.fetch_optional(query?).await?.map(Row::Sqlite)) })
        }
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let query: Bound<PgArguments> = bound(texts.postgres, bind);
            Box::pin(async move { Ok(connection.fetch_optional(query?).await?.map(Row::Postgres)) })
        }
    }
}

fn all<'t>(tx: &'t mut Tx, texts: Texts, bind: Binding<'_>) -> Running<'t, Vec<Row>> {
    match tx.engine() {
        Engine::Sqlite(connection) => {
            let query: Bound<SqliteArguments> = bound(texts.sqlite, bind);
            Box::pin(async move { connection.fetch(query?).map_ok(Row::Sqlite).try_collect().await })
        }
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let query: Bound<PgArguments> = bound(texts.postgres, bind);
            Box::pin(async move { connection.fetch(query?).map_ok(Row::Postgres).try_collect().await })
        }
    }
}

fn done<'t>(tx: &'t mut Tx, texts: Texts, bind: Binding<'_>) -> Running<'t, Done> {
    match tx.engine() {
        Engine::Sqlite(connection) => {
            let query: Bound<SqliteArguments> = bound(texts.sqlite, bind);
            Box::pin(async move { Ok(Done { rows: connection.execute(query?).await?.rows_affected() }) })
        }
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let query: Bound<PgArguments> = bound(texts.postgres, bind);
            Box::pin(async move { Ok(Done { rows: connection.execute(query?).await?.rows_affected() }) })
        }
    }
}

/// A column whose kind nobody has checked yet.
pub(crate) fn read<T: FromSql>(row: &Row, place: usize) -> Result<T, Error> {
    let unreadable = |error: UnreadableValue| Error::ColumnDecode { index: place.to_string(), source: error.into() };
    T::from_sql(row.value(place)?).map_err(unreadable)
}

pub(crate) fn read_integer<T: FromSql<Kind = kind::Integer>>(row: &Row, place: usize) -> Result<T, Error> {
    read(row, place)
}

pub(crate) fn read_real<T: FromSql<Kind = kind::Real>>(row: &Row, place: usize) -> Result<T, Error> {
    read(row, place)
}

pub(crate) fn read_text<T: FromSql<Kind = kind::Text>>(row: &Row, place: usize) -> Result<T, Error> {
    read(row, place)
}

pub(crate) fn read_blob<T: FromSql<Kind = kind::Blob>>(row: &Row, place: usize) -> Result<T, Error> {
    read(row, place)
}

pub(crate) fn integer<T: ToSql<Kind = kind::Integer> + ?Sized>(value: &T) -> SqlValue<'_> {
    value.to_sql()
}

pub(crate) fn real<T: ToSql<Kind = kind::Real> + ?Sized>(value: &T) -> SqlValue<'_> {
    value.to_sql()
}

pub(crate) fn text<T: ToSql<Kind = kind::Text> + ?Sized>(value: &T) -> SqlValue<'_> {
    value.to_sql()
}

pub(crate) fn blob<T: ToSql<Kind = kind::Blob> + ?Sized>(value: &T) -> SqlValue<'_> {
    value.to_sql()
}

/// What a query of sqlx's gives.
pub(crate) trait OfSqlx {
    type Row;
}

impl<F: FnMut(SqliteRow) -> Result<O, Error>, O, A> OfSqlx for Map<'_, Sqlite, F, A> {
    type Row = O;
}

impl<O, A> OfSqlx for QueryScalar<'_, Sqlite, O, A> {
    type Row = O;
}

impl<A> OfSqlx for sqlx::query::Query<'_, Sqlite, A> {
    type Row = ();
}
