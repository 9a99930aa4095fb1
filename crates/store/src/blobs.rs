//! Large texts, stored once under their hash.

use crate::Tx;
use crate::error::StoreError;

/// Stores texts, each as (hash, text); those that are known stay.
pub async fn put(tx: &mut Tx, texts: &[(String, String)]) -> Result<(), StoreError> {
    let texts = serde_json::to_string(texts).map_err(|error| StoreError::Database(error.to_string()))?;
    sqlx::query!(
        "INSERT INTO blobs (hash, text) SELECT value ->> 0, value ->> 1 FROM json_each($1) WHERE true
         ON CONFLICT DO NOTHING",
        texts
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
    text.ok_or_else(|| StoreError::Inconsistent {
        table: "blobs",
        id: hash.to_owned(),
        what: "an event refers to it, and it is missing".to_owned(),
    })
}
