//! What is to be forgotten of runs that are not over yet.

use crate::error::StoreError;
use crate::forgetting::Part;
use crate::{Tx, sql};
use hob_core::domain::ids::{MessageId, RunId};

/// Notes what is to go from a run's record when it is over.
pub async fn add(tx: &mut Tx, run: RunId, part: Part, message: Option<MessageId>) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO forgettings (run_id, part, message_id) VALUES ($1, $2, $3)
         ON CONFLICT (run_id, part) DO UPDATE SET message_id = min(forgettings.message_id, excluded.message_id)",
        run,
        part,
        message
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What is to go from a run's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeferredForget {
    pub id: i64,
    pub run: RunId,
    pub part: Part,
    /// Of the words: the first message that was forgotten.
    pub message: Option<MessageId>,
}

/// What was put off: of one run, or of all.
pub async fn list(tx: &mut Tx, run: Option<RunId>) -> Result<Vec<DeferredForget>, StoreError> {
    let rows = sql::query_as!(
        DeferredForget,
        r#"SELECT id, run_id AS "run!: RunId", part AS "part!: Part", message_id AS "message: MessageId"
           FROM forgettings
           WHERE $1 IS NULL OR run_id = $1 ORDER BY id"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

pub async fn done(tx: &mut Tx, id: i64) -> Result<(), StoreError> {
    sql::query!("DELETE FROM forgettings WHERE id = $1", id).execute(&mut *tx).await?;
    Ok(())
}
