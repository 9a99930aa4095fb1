//! Large texts that no journal refers to any more.

use crate::error::StoreError;
use crate::{Tx, sql};

/// Some texts, in the order of their hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobPage {
    /// Those that nothing refers to.
    pub loose: Vec<String>,
    /// The last that was looked at; none: there are no more.
    pub last: Option<String>,
}

/// The next texts after this one, and which of them nothing refers to.
pub async fn look_through(tx: &mut Tx, after: &str, limit: i64) -> Result<BlobPage, StoreError> {
    let hashes = sql::query_scalar!("SELECT hash FROM blobs WHERE hash > $1 ORDER BY hash LIMIT $2", after, limit)
        .fetch_all(&mut *tx)
        .await?;
    let list = encode(&hashes)?;
    let loose = sql::query_scalar!(
        r#"SELECT CAST(j.value AS TEXT) AS "hash!: String" FROM json_each($1) j WHERE NOT EXISTS (
             SELECT 1 FROM run_events
             WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END = j.value
           ) AND NOT EXISTS (
             SELECT 1 FROM run_events
             WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END = j.value
           ) AND NOT EXISTS (
             SELECT 1 FROM run_events
             WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END = j.value
           )"#,
        list
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(BlobPage { loose, last: hashes.last().cloned() })
}

/// Deletes texts, unless something refers to them by now.
pub async fn drop_loose(tx: &mut Tx, hashes: &[String]) -> Result<u64, StoreError> {
    let list = encode(hashes)?;
    // The plus: a comparison as text could not go by the indexes, whose values have no type.
    let gone = sql::query!(
        "DELETE FROM blobs WHERE hash IN (SELECT value FROM json_each($1)) AND NOT EXISTS (
           SELECT 1 FROM run_events
           WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END = +blobs.hash
         ) AND NOT EXISTS (
           SELECT 1 FROM run_events
           WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END = +blobs.hash
         ) AND NOT EXISTS (
           SELECT 1 FROM run_events
           WHERE kind = 'run.begun' AND CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END = +blobs.hash
         )",
        list
    )
    .execute(&mut *tx)
    .await?;
    Ok(gone.rows_affected())
}

fn encode(hashes: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(hashes).map_err(|error| StoreError::Database(error.to_string()))
}
