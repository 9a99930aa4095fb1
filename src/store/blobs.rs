//! Large texts, stored once under their hash.

use crate::store::Tx;
use crate::store::error::StoreError;

/// Stores a text.
///
/// # Errors
/// When the database fails.
pub async fn put(tx: &mut Tx, hash: &str, text: &str) -> Result<(), StoreError> {
    sqlx::query!("INSERT INTO blobs (hash, text) VALUES ($1, $2) ON CONFLICT DO NOTHING", hash, text)
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
