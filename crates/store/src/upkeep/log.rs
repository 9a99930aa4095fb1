//! The write-ahead log: folded into the file beside the writer, cut to nothing when all of it is.

use sqlx::{Row as _, SqliteConnection};

use crate::error::StoreError;
use crate::{BUSY_TIMEOUT, Tx};

/// What became of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointOutcome {
    pub pages: i64,
    /// How many of them are in the file as well. What somebody still reads keeps the rest back.
    pub folded: i64,
}

impl CheckpointOutcome {
    /// Everything in it is in the file.
    pub fn is_whole(&self) -> bool {
        self.folded >= self.pages
    }
}

/// Folds what nobody needs any more, and waits for nobody.
pub(crate) async fn checkpoint_passive(connection: &mut SqliteConnection) -> Result<CheckpointOutcome, StoreError> {
    checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)").await
}

async fn checkpoint(connection: &mut SqliteConnection, how: &'static str) -> Result<CheckpointOutcome, StoreError> {
    // What a PRAGMA answers has no type that could be checked.
    let row = sqlx::query(how).fetch_one(connection).await?;
    Ok(CheckpointOutcome { pages: row.try_get::<i64, _>(1)?.max(0), folded: row.try_get::<i64, _>(2)?.max(0) })
}

/// Cuts the log to nothing, unless somebody reads from it; gives whether it did. For a log that is folded: then there is
/// nothing to do but that.
pub async fn truncate(tx: &mut Tx) -> Result<bool, StoreError> {
    // A reader is not waited for: those who commit would wait as well.
    sqlx::raw_sql("PRAGMA busy_timeout = 0").execute(&mut *tx).await?;
    let cut = checkpoint(tx.sqlite()?, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let patient = format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis());
    sqlx::raw_sql(sqlx::AssertSqlSafe(patient)).execute(&mut *tx).await?;
    Ok(cut? == CheckpointOutcome::default())
}
