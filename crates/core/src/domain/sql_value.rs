//! How values stand in a database, whichever it is: sqlx's own traits are about one each.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

/// A value of a column or parameter. None is NULL: of which kind is known all the same.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue<'a> {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<Cow<'a, str>>),
    Blob(Option<Cow<'a, [u8]>>),
}

/// The kinds, as types: so a value of the wrong one does not compile.
pub mod kind {
    #[derive(Debug)]
    pub struct Integer;
    #[derive(Debug)]
    pub struct Real;
    #[derive(Debug)]
    pub struct Text;
    #[derive(Debug)]
    pub struct Blob;
}

/// A kind, by its type.
pub trait SqlKind {
    const NULL: SqlValue<'static>;
}

impl SqlKind for kind::Integer {
    const NULL: SqlValue<'static> = SqlValue::Integer(None);
}
impl SqlKind for kind::Real {
    const NULL: SqlValue<'static> = SqlValue::Real(None);
}
impl SqlKind for kind::Text {
    const NULL: SqlValue<'static> = SqlValue::Text(None);
}
impl SqlKind for kind::Blob {
    const NULL: SqlValue<'static> = SqlValue::Blob(None);
}

/// What can be an argument.
pub trait ToSql {
    type Kind: SqlKind;

    fn to_sql(&self) -> SqlValue<'_>;
}

/// What a column can be read as.
pub trait FromSql: Sized {
    type Kind: SqlKind;

    /// # Errors
    /// When the value is no such thing, or NULL.
    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue>;
}

/// A column holds what was not expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableValue(pub String);

impl UnreadableValue {
    fn of(value: &SqlValue<'_>, wanted: &str) -> Self {
        Self(format!("{value:?} is no {wanted}"))
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    type Kind = T::Kind;

    fn to_sql(&self) -> SqlValue<'_> {
        (**self).to_sql()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    type Kind = T::Kind;

    fn to_sql(&self) -> SqlValue<'_> {
        self.as_ref().map_or(T::Kind::NULL, ToSql::to_sql)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    type Kind = T::Kind;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        match value {
            SqlValue::Integer(None) | SqlValue::Real(None) | SqlValue::Text(None) | SqlValue::Blob(None) => Ok(None),
            value => T::from_sql(value).map(Some),
        }
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl ToSql for $type {
            type Kind = kind::Integer;

            fn to_sql(&self) -> SqlValue<'_> {
                SqlValue::Integer(Some(i64::from(*self)))
            }
        }
    )*};
}

integers!(bool, u8, u16, u32, i8, i16, i32, i64);

macro_rules! narrow_integers {
    ($($type:ty),*) => {$(
        impl FromSql for $type {
            type Kind = kind::Integer;

            fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
                let number = i64::from_sql(value)?;
                Self::try_from(number).map_err(|error| UnreadableValue(format!("{number}: {error}")))
            }
        }
    )*};
}

narrow_integers!(u8, u16, u32, i8, i16, i32);

impl FromSql for i64 {
    type Kind = kind::Integer;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        match value {
            SqlValue::Integer(Some(number)) => Ok(number),
            other => Err(UnreadableValue::of(&other, "integer")),
        }
    }
}

impl FromSql for bool {
    type Kind = kind::Integer;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        Ok(i64::from_sql(value)? != 0)
    }
}

impl ToSql for f64 {
    type Kind = kind::Real;

    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Real(Some(*self))
    }
}

impl FromSql for f64 {
    type Kind = kind::Real;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        match value {
            SqlValue::Real(Some(number)) => Ok(number),
            other => Err(UnreadableValue::of(&other, "real number")),
        }
    }
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl ToSql for $type {
            type Kind = kind::Text;

            fn to_sql(&self) -> SqlValue<'_> {
                SqlValue::Text(Some(Cow::Borrowed(AsRef::<str>::as_ref(self))))
            }
        }
    )*};
}

texts!(str, String, Cow<'_, str>, Arc<str>, Box<str>);

impl FromSql for String {
    type Kind = kind::Text;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        match value {
            SqlValue::Text(Some(text)) => Ok(text.into_owned()),
            other => Err(UnreadableValue::of(&other, "text")),
        }
    }
}

macro_rules! blobs {
    ($($type:ty),*) => {$(
        impl ToSql for $type {
            type Kind = kind::Blob;

            fn to_sql(&self) -> SqlValue<'_> {
                SqlValue::Blob(Some(Cow::Borrowed(AsRef::<[u8]>::as_ref(self))))
            }
        }
    )*};
}

blobs!([u8], Vec<u8>, Arc<[u8]>);

impl FromSql for Vec<u8> {
    type Kind = kind::Blob;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        match value {
            SqlValue::Blob(Some(bytes)) => Ok(bytes.into_owned()),
            other => Err(UnreadableValue::of(&other, "bytes")),
        }
    }
}

/// Reads a closed set of names by what serde calls them.
///
/// # Errors
/// When the text is none of them.
pub fn named<'de, T: Deserialize<'de>>(value: SqlValue<'_>) -> Result<T, UnreadableValue> {
    let text = String::from_sql(value)?;
    let name: StrDeserializer<'_, Error> = text.as_str().into_deserializer();
    T::deserialize(name).map_err(|error| UnreadableValue(error.to_string()))
}

/// A type that is the value it holds.
#[macro_export]
macro_rules! sql_transparent {
    ($name:ty, $inner:ty) => {
        impl $crate::domain::sql_value::ToSql for $name {
            type Kind = <$inner as $crate::domain::sql_value::ToSql>::Kind;

            fn to_sql(&self) -> $crate::domain::sql_value::SqlValue<'_> {
                $crate::domain::sql_value::ToSql::to_sql(&self.0)
            }
        }

        impl $crate::domain::sql_value::FromSql for $name {
            type Kind = <$inner as $crate::domain::sql_value::FromSql>::Kind;

            fn from_sql(
                value: $crate::domain::sql_value::SqlValue<'_>,
            ) -> Result<Self, $crate::domain::sql_value::UnreadableValue> {
                $crate::domain::sql_value::FromSql::from_sql(value).map(Self)
            }
        }
    };
}

/// A closed set of names, by `as_str` and by what serde calls them.
#[macro_export]
macro_rules! sql_names {
    ($name:ty) => {
        impl $crate::domain::sql_value::ToSql for $name {
            type Kind = $crate::domain::sql_value::kind::Text;

            fn to_sql(&self) -> $crate::domain::sql_value::SqlValue<'_> {
                $crate::domain::sql_value::SqlValue::Text(Some(self.as_str().into()))
            }
        }

        impl $crate::domain::sql_value::FromSql for $name {
            type Kind = $crate::domain::sql_value::kind::Text;

            fn from_sql(
                value: $crate::domain::sql_value::SqlValue<'_>,
            ) -> Result<Self, $crate::domain::sql_value::UnreadableValue> {
                $crate::domain::sql_value::named(value)
            }
        }
    };
}
