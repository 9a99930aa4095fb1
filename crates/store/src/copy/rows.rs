//! Rows of any table: read, written, and made one digest of.

use std::borrow::Cow;

use futures::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Error, Row as _, Sqlite};
use sqlx_postgres::{PgArguments, PgRow, Postgres};

use crate::Tx;
use crate::copy::catalog::{Column, ColumnKind, Table, listed};
use crate::error::StoreError;
use crate::postgres::statement::FOR_NUL;
use crate::sql::Arguments;
use crate::tx::Engine;
use hob_core::domain::sql_value::SqlValue;

/// The most rows that are written in one statement.
const ROWS_MAX: usize = 500;
/// The most values in it: SQLite takes 32,766 of them.
const VALUES_MAX: usize = 30_000;
/// With so many bytes it is written, however few the rows are.
const BYTES_MAX: usize = 4 << 20;

type Value = SqlValue<'static>;
type Row = Vec<Value>;

/// The rows behind the one with this key, in the key's order; without a key, all.
pub(super) fn behind<'t>(
    tx: &'t mut Tx,
    table: &Table,
    key: &[Value],
) -> Result<BoxStream<'t, Result<Row, StoreError>>, StoreError> {
    let names = listed(table.key());
    let after = match key {
        [] => String::new(),
        key => {
            let places: Vec<String> = (1..=key.len()).map(|place| format!("${place}")).collect();
            format!(" WHERE ({names}) > ({})", places.join(", "))
        }
    };
    let sql = format!("SELECT {} FROM {}{after} ORDER BY {names}", listed(&table.columns), table.quoted());
    read(tx, sql, key, kinds(&table.columns))
}

fn kinds<'c>(columns: impl IntoIterator<Item = &'c Column>) -> Vec<ColumnKind> {
    columns.into_iter().map(|column| column.kind).collect()
}

/// The key of the last row; nothing: there is none.
pub(super) async fn last_key(tx: &mut Tx, table: &Table) -> Result<Row, StoreError> {
    let key = table.key();
    let backwards: Vec<String> = key.iter().map(|column| format!("{} DESC", listed([*column]))).collect();
    let names = listed(key.iter().copied());
    let sql = format!("SELECT {names} FROM {} ORDER BY {} LIMIT 1", table.quoted(), backwards.join(", "));
    let mut found = read(tx, sql, &[], kinds(key))?;
    Ok(found.try_next().await?.unwrap_or_default())
}

pub(super) async fn count(tx: &mut Tx, table: &Table) -> Result<u64, StoreError> {
    let sql = format!("SELECT count(*) FROM {}", table.quoted());
    let counted = read(tx, sql, &[], vec![ColumnKind::Integer])?.try_next().await?;
    match counted.as_deref() {
        Some([SqlValue::Integer(Some(count))]) => Ok(count.unsigned_abs()),
        _ => Ok(0),
    }
}

pub(super) async fn is_empty(tx: &mut Tx, table: &Table) -> Result<bool, StoreError> {
    Ok(last_key(tx, table).await?.is_empty())
}

pub(super) async fn clear(tx: &mut Tx, table: &Table) -> Result<(), StoreError> {
    run(tx, format!("DELETE FROM {}", table.quoted()), &[]).await
}

/// Rows that are written together.
#[derive(Default)]
pub(super) struct Batch {
    values: Row,
    rows: usize,
    bytes: usize,
}

impl Batch {
    pub(super) fn add(&mut self, row: Row) {
        self.bytes += row.iter().map(bytes).sum::<usize>();
        self.values.extend(row);
        self.rows += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        let values_of_a_row = self.values.len() / self.rows.max(1);
        self.rows >= ROWS_MAX || self.values.len() + values_of_a_row > VALUES_MAX || self.bytes >= BYTES_MAX
    }

    /// Writes them, all or none, and gives how many they were.
    pub(super) async fn write(&mut self, tx: &mut Tx, table: &Table) -> Result<u64, StoreError> {
        let Self { values, rows, .. } = std::mem::take(self);
        if rows == 0 {
            return Ok(0);
        }
        // SQLite would look a name up among all the others.
        let mark = if matches!(tx.engine(), Engine::Sqlite(_)) { '?' } else { '$' };
        let mut places = (1..=values.len()).map(|place| format!("{mark}{place}"));
        let mut row = || places.by_ref().take(table.columns.len()).collect::<Vec<_>>().join(", ");
        let lines: Vec<String> = (0..rows).map(|_| format!("({})", row())).collect();
        let (name, columns) = (table.quoted(), listed(&table.columns));
        run(tx, format!("INSERT INTO {name} ({columns}) VALUES {}", lines.join(", ")), &values).await?;
        Ok(rows as u64)
    }
}

/// What a table has, whichever engine and order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableDigest {
    pub(super) rows: u64,
    /// Of the digests of all rows.
    sum: u128,
}

pub(super) async fn digest(tx: &mut Tx, table: &Table) -> Result<TableDigest, StoreError> {
    let mut digest = TableDigest::default();
    let sql = format!("SELECT {} FROM {}", listed(&table.columns), table.quoted());
    let mut rows = read(tx, sql, &[], kinds(&table.columns))?;
    while let Some(row) = rows.try_next().await? {
        digest.rows += 1;
        digest.sum = digest.sum.wrapping_add(row_digest(&row));
    }
    Ok(digest)
}

fn row_digest(row: &[Value]) -> u128 {
    let mut hasher = Sha256::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        hasher.update([kind]);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for value in row {
        match value {
            SqlValue::Integer(Some(number)) => add(1, &number.to_le_bytes()),
            SqlValue::Real(Some(number)) => add(2, &number.to_le_bytes()),
            // As PostgreSQL keeps it.
            SqlValue::Text(Some(text)) => add(3, text.replace('\0', FOR_NUL.encode_utf8(&mut [0; 4])).as_bytes()),
            SqlValue::Blob(Some(bytes)) => add(4, bytes),
            SqlValue::Integer(None) | SqlValue::Real(None) | SqlValue::Text(None) | SqlValue::Blob(None) => add(0, &[]),
        }
    }
    let digest = hasher.finalize();
    digest.iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

fn bytes(value: &Value) -> usize {
    match value {
        SqlValue::Text(Some(text)) => text.len(),
        SqlValue::Blob(Some(bytes)) => bytes.len(),
        _ => 8,
    }
}

/// Runs a text that gives nothing.
pub(super) async fn run(tx: &mut Tx, sql: String, values: &[SqlValue<'_>]) -> Result<(), StoreError> {
    let sql = AssertSqlSafe(sql);
    match tx.engine() {
        Engine::Sqlite(connection) => {
            let query = sqlx::query_with::<Sqlite, _>(sql, bound::<SqliteArguments>(values)?);
            query.persistent(false).execute(connection).await?;
        }
        Engine::Postgres(connection) => {
            let query = sqlx::query_with::<Postgres, _>(sql, bound::<PgArguments>(values)?);
            query.persistent(false).execute(connection).await?;
        }
    }
    Ok(())
}

fn read<'t>(
    tx: &'t mut Tx,
    sql: String,
    values: &[Value],
    kinds: Vec<ColumnKind>,
) -> Result<BoxStream<'t, Result<Row, StoreError>>, StoreError> {
    let sql = AssertSqlSafe(sql);
    Ok(match tx.engine() {
        Engine::Sqlite(connection) => {
            let query = sqlx::query_with::<Sqlite, _>(sql, bound::<SqliteArguments>(values)?).persistent(false);
            query.fetch(connection).map(move |row| Ok(of_sqlite(&row?, &kinds)?)).boxed()
        }
        Engine::Postgres(connection) => {
            let query = sqlx::query_with::<Postgres, _>(sql, bound::<PgArguments>(values)?).persistent(false);
            query.fetch(connection).map(move |row| Ok(of_postgres(&row?, &kinds)?)).boxed()
        }
    })
}

fn bound<A: Arguments + Default>(values: &[SqlValue<'_>]) -> Result<A, Error> {
    let mut arguments = A::default();
    arguments.bind(values)?;
    Ok(arguments)
}

/// A row by the kinds of its columns: what is NULL has one as well.
macro_rules! row_of {
    ($row:expr, $kinds:expr) => {
        $kinds
            .iter()
            .enumerate()
            .map(|(place, kind)| {
                Ok(match kind {
                    ColumnKind::Integer => SqlValue::Integer($row.try_get(place)?),
                    ColumnKind::Real => SqlValue::Real($row.try_get(place)?),
                    ColumnKind::Text => SqlValue::Text($row.try_get::<Option<String>, _>(place)?.map(Cow::Owned)),
                    ColumnKind::Blob => SqlValue::Blob($row.try_get::<Option<Vec<u8>>, _>(place)?.map(Cow::Owned)),
                })
            })
            .collect()
    };
}

fn of_sqlite(row: &SqliteRow, kinds: &[ColumnKind]) -> Result<Row, Error> {
    row_of!(row, kinds)
}

fn of_postgres(row: &PgRow, kinds: &[ColumnKind]) -> Result<Row, Error> {
    row_of!(row, kinds)
}
