//! How values go to PostgreSQL, and come from it.

use std::borrow::Cow;

use sqlx::{Arguments as _, Error, Row as _, TypeInfo as _, ValueRef as _};
use sqlx_postgres::{PgArguments, PgRow, PgValueFormat, PgValueRef};

use hob_core::domain::sql_value::{SqlValue, UnreadableValue};

/// PostgreSQL's text has no NUL: this takes its place (SUBSTITUTE, as long as NUL).
pub(crate) const FOR_NUL: char = '\u{1a}';

pub(crate) fn bind(arguments: &mut PgArguments, values: &[SqlValue<'_>]) -> Result<(), Error> {
    arguments.reserve(values.len(), 0);
    for value in values {
        match value {
            SqlValue::Integer(number) => arguments.add(number),
            SqlValue::Real(number) => arguments.add(number),
            SqlValue::Text(Some(text)) if text.contains('\0') => {
                arguments.add(text.replace('\0', FOR_NUL.encode_utf8(&mut [0; 4])))
            }
            SqlValue::Text(text) => arguments.add(text.as_deref()),
            SqlValue::Blob(bytes) => arguments.add(bytes.as_deref()),
        }
        .map_err(Error::Encode)?;
    }
    Ok(())
}

/// A column's value, as SQLite would have it.
pub(crate) fn value(row: &PgRow, place: usize) -> Result<SqlValue<'_>, Error> {
    let unreadable = |error: UnreadableValue| Error::ColumnDecode { index: place.to_string(), source: error.into() };
    decode(row.try_get_raw(place)?).map_err(unreadable)
}

/// A column's value by its type: what SQLite would have there.
pub(crate) fn decode(value: PgValueRef<'_>) -> Result<SqlValue<'_>, UnreadableValue> {
    if value.is_null() {
        return Ok(SqlValue::Integer(None));
    }
    let name = value.type_info().name().to_owned();
    let unreadable = || UnreadableValue(format!("PostgreSQL sent no {name}"));
    if value.format() != PgValueFormat::Binary {
        return Err(UnreadableValue(format!("PostgreSQL sent {name} as text")));
    }
    let bytes = value.as_bytes().map_err(|error| UnreadableValue(error.to_string()))?;
    let integer = match name.as_str() {
        "BOOL" => <[u8; 1]>::try_from(bytes).ok().map(|[byte]| i64::from(byte)),
        "INT2" => bytes.try_into().ok().map(|bytes| i64::from(i16::from_be_bytes(bytes))),
        "INT4" => bytes.try_into().ok().map(|bytes| i64::from(i32::from_be_bytes(bytes))),
        "INT8" => bytes.try_into().ok().map(i64::from_be_bytes),
        "NUMERIC" => whole_number(bytes),
        "FLOAT4" => {
            let number = bytes.try_into().ok().map(|bytes| f64::from(f32::from_be_bytes(bytes)));
            return number.map(|number| SqlValue::Real(Some(number))).ok_or_else(unreadable);
        }
        "FLOAT8" => {
            let number = bytes.try_into().ok().map(f64::from_be_bytes);
            return number.map(|number| SqlValue::Real(Some(number))).ok_or_else(unreadable);
        }
        "BYTEA" => return Ok(SqlValue::Blob(Some(Cow::Borrowed(bytes)))),
        _ => {
            let text = std::str::from_utf8(bytes).map_err(|_not_utf8| unreadable())?;
            return Ok(SqlValue::Text(Some(Cow::Borrowed(text))));
        }
    };
    integer.map(|number| SqlValue::Integer(Some(number))).ok_or_else(unreadable)
}

/// A NUMERIC that is an integer, as the sum of integers is: groups of four digits, the first of them worth `10000^weight`.
fn whole_number(bytes: &[u8]) -> Option<i64> {
    const NEGATIVE: i64 = 0x4000;
    let mut groups = bytes.chunks_exact(2).map(|pair| i64::from(u16::from_be_bytes([pair[0], pair[1]])));
    let (count, weight, sign) = (groups.next()?, groups.next()? as u16 as i16, groups.next()?);
    groups.next()?;
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let mut number = 0_i64;
    for place in 0..=i64::from(weight) {
        let group = if place < count { groups.next()? } else { 0 };
        let group = if sign == NEGATIVE { -group } else { group };
        number = number.checked_mul(10_000)?.checked_add(group)?;
    }
    // What is left is behind the point.
    groups.all(|group| group == 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::whole_number;

    fn numeric(weight: i16, sign: u16, groups: &[u16]) -> Vec<u8> {
        let head = [groups.len() as u16, weight as u16, sign, 0];
        head.iter().chain(groups).flat_map(|part| part.to_be_bytes()).collect()
    }

    #[test]
    fn sums_are_integers() {
        let cases = [
            (numeric(0, 0, &[]), Some(0)),
            (numeric(0, 0, &[7]), Some(7)),
            (numeric(1, 0, &[3]), Some(30_000)),
            (numeric(1, 0x4000, &[1, 2345]), Some(-12_345)),
            (numeric(4, 0, &[922, 3372, 368, 5477, 5807]), Some(i64::MAX)),
            (numeric(4, 0x4000, &[922, 3372, 368, 5477, 5808]), Some(i64::MIN)),
            (numeric(4, 0, &[922, 3372, 368, 5477, 5808]), None),
            (numeric(0, 0, &[1, 5000]), None),
            (numeric(0, 0xc000, &[]), None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(whole_number(&bytes), expected, "{bytes:?}");
        }
    }
}
