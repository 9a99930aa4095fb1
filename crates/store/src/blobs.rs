//! Large texts, stored once under their hash.

use crate::Tx;
use crate::error::StoreError;
use crate::packed_texts::PackedTexts;

/// Stores texts, each as (hash, text); those that are known stay.
pub async fn put(tx: &mut Tx, texts: &[(String, String)]) -> Result<(), StoreError> {
    let mut packed = PackedTexts::default();
    let row = |(hash, text): &(String, String)| {
        let (from, length) = packed.add(text);
        serde_json::json!([hash, from, length])
    };
    let rows = texts.iter().map(row).collect::<serde_json::Value>().to_string();
    let packed = packed.into_bytes();
    sqlx::query!(
        "INSERT INTO blobs (hash, text)
         SELECT value ->> 0, CAST(substr($2, value ->> 1, value ->> 2) AS TEXT) FROM json_each($1) WHERE true
         ON CONFLICT DO NOTHING",
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
    let text = sqlx::query_scalar!("SELECT text FROM blobs WHERE hash = $1", hash).fetch_optional(&mut *tx).await?;
    text.ok_or_else(|| StoreError::inconsistent("blobs", hash, "an event refers to it, and it is missing"))
}
