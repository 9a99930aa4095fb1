//! Whose a memory is. Everything that is remembered belongs to exactly one scope, and is never seen outside it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type};

use crate::domain::ids::{SessionId, UserId};
use crate::domain::sql_value::{FromSql, SqlValue, ToSql, UnreadableValue, kind};

/// Who may see a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// One person: `p12`.
    Person(UserId),
    /// Those in one conversation: `c5`.
    Conversation(SessionId),
    /// Everyone in the house: `house`.
    House,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(user) => write!(f, "p{user}"),
            Self::Conversation(session) => write!(f, "c{session}"),
            Self::House => f.write_str("house"),
        }
    }
}

/// A text that names no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope: p12 is a person's, c5 a conversation's, house everyone's")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let id = |prefix: char| text.strip_prefix(prefix).and_then(|id| id.parse::<i64>().ok());
        match (text, id('p'), id('c')) {
            ("house", _, _) => Ok(Self::House),
            (_, Some(id), _) => Ok(Self::Person(UserId(id))),
            (_, _, Some(id)) => Ok(Self::Conversation(SessionId(id))),
            _ => Err(UnknownScope(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = UnknownScope;

    fn try_from(text: String) -> Result<Self, UnknownScope> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl Type<Sqlite> for Scope {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }

    fn compatible(ty: &SqliteTypeInfo) -> bool {
        <String as Type<Sqlite>>::compatible(ty)
    }
}

impl Encode<'_, Sqlite> for Scope {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode(self.to_string(), buffer)
    }
}

impl ToSql for Scope {
    type Kind = kind::Text;

    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Text(Some(self.to_string().into()))
    }
}

impl FromSql for Scope {
    type Kind = kind::Text;

    fn from_sql(value: SqlValue<'_>) -> Result<Self, UnreadableValue> {
        String::from_sql(value)?.parse().map_err(|error: UnknownScope| UnreadableValue(error.to_string()))
    }
}

impl<'r> Decode<'r, Sqlite> for Scope {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(<&str as Decode<Sqlite>>::decode(value)?.parse()?)
    }
}

/// What brought something up: one of the three ways (row A4), or what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum RecallCause {
    /// It was said just before.
    Recency,
    /// It is pinned, or matters much.
    Salience,
    /// It fits the question.
    Relevance,
    /// It is a known fact.
    Fact,
    /// Hob answered it before, and was asked for that.
    Answer,
}

crate::sql_names!(RecallCause);

impl RecallCause {
    /// The name in the database and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recency => "recency",
            Self::Salience => "salience",
            Self::Relevance => "relevance",
            Self::Fact => "fact",
            Self::Answer => "answer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_scopes_have_names() {
        for scope in [Scope::Person(UserId(12)), Scope::Conversation(SessionId(5)), Scope::House] {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        for text in ["", "p", "x1", "p1x", "House", "c"] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
    }
}
