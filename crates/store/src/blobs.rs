//! Large texts, stored once under their hash.

use crate::error::StoreError;
use crate::packed_texts::PackedTexts;
use crate::{Tx, sql};

/// Stores texts, each as (hash, text); those that are known stay.
pub async fn put(tx: &mut Tx, texts: &[(String, String)]) -> Result<(), StoreError> {
    let mut packed = PackedTexts::default();
    let row = |(hash, text): &(String, String)| {
        let (from, length) = packed.add(text);
        serde_json::json!([hash, from, length])
    };
    let rows = texts.iter().map(row).collect::<serde_json::Value>().to_string();
    let packed = packed.into_bytes();
    sql::query!(
        [
            "INSERT INTO blobs (hash, text)
         SELECT value ->> 0, CAST(substr($2, CAST(value ->> 1 AS INTEGER), CAST(value ->> 2 AS INTEGER)) AS TEXT)
         FROM json_each($1) WHERE true
         ON CONFLICT DO NOTHING",
            "INSERT INTO blobs (hash, text)
         SELECT value ->> 0, convert_from(substr($2, (value ->> 1)::integer, (value ->> 2)::integer), 'UTF8')
         FROM json_elements($1)
         ON CONFLICT DO NOTHING"
        ],
        rows,
        packed
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The text under a hash.
///
/// # Errors
/// When there is none, or the database fails.
pub async fn get(tx: &mut Tx, hash: &str) -> Result<String, StoreError> {
    let text = sql::query_scalar!("SELECT text FROM blobs WHERE hash = $1", hash).fetch_optional(&mut *tx).await?;
    text.ok_or_else(|| StoreError::inconsistent("blobs", hash, "an event refers to it, and it is missing"))
}
