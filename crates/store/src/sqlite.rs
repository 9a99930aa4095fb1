//! How statements and values go to SQLite, and values come from it.

use std::borrow::Cow;

use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow, SqliteValueRef};
use sqlx::{Arguments as _, Decode, Error, Row as _, TypeInfo as _, ValueRef as _};

use hob_core::domain::sql_value::SqlValue;

pub(crate) fn bind(arguments: &mut SqliteArguments, values: &[SqlValue<'_>]) -> Result<(), Error> {
    arguments.reserve(values.len(), 0);
    for value in values {
        match value {
            SqlValue::Integer(number) => arguments.add(number),
            SqlValue::Real(number) => arguments.add(number),
            SqlValue::Text(text) => arguments.add(text.as_deref()),
            SqlValue::Blob(bytes) => arguments.add(bytes.as_deref()),
        }
        .map_err(Error::Encode)?;
    }
    Ok(())
}

/// A column's value as SQLite has it, whatever the column was declared as.
pub(crate) fn value(row: &SqliteRow, place: usize) -> Result<SqlValue<'_>, Error> {
    fn decoded<'r, T: Decode<'r, Sqlite>>(value: SqliteValueRef<'r>, place: usize) -> Result<T, Error> {
        T::decode(value).map_err(|source| Error::ColumnDecode { index: place.to_string(), source })
    }
    let value = row.try_get_raw(place)?;
    if value.is_null() {
        return Ok(SqlValue::Integer(None));
    }
    let kind = match value.type_info().name() {
        "INTEGER" => SqlValue::Integer(None),
        "REAL" => SqlValue::Real(None),
        "TEXT" => SqlValue::Text(None),
        _ => SqlValue::Blob(None),
    };
    Ok(match kind {
        SqlValue::Integer(_) => SqlValue::Integer(Some(decoded(value, place)?)),
        SqlValue::Real(_) => SqlValue::Real(Some(decoded(value, place)?)),
        SqlValue::Text(_) => SqlValue::Text(Some(Cow::Borrowed(decoded(value, place)?))),
        SqlValue::Blob(_) => SqlValue::Blob(Some(Cow::Borrowed(decoded(value, place)?))),
    })
}
