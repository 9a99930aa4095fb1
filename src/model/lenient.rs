//! Reads what servers write carelessly.
//!
//! Never: a meaning.
//! Start at [`or_empty`].

use serde::{Deserialize, Deserializer};

/// Reads `null` as the empty value.
pub(in crate::model) fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
