//! What requests begin with after a compaction: the older part of a conversation in few words, as one person may see it.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{RunId, SessionId, UserId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The last ordinal that it stands for.
    pub through: i64,
    pub text: String,
    /// What nobody vouches for in what it stands for, as stored.
    pub taint: Option<String>,
}

/// Where a summary comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryOrigin {
    pub session: SessionId,
    /// Who may see it.
    pub user: UserId,
    /// The run that made it.
    pub run: RunId,
    /// The first ordinal that the run sees.
    pub history_from: i64,
    pub at: i64,
}

/// Puts a summary in the place of the one before; not where the conversation was begun afresh while it was made.
pub async fn put(tx: &mut Tx, made: &SummaryOrigin, summary: &Summary) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO summaries (session_id, user_id, through, text, run_id, made_at, taint)
         SELECT id, $2, $3, $4, $5, $6, $8 FROM sessions WHERE id = $1 AND context_from < $7
         ON CONFLICT (session_id, user_id) DO UPDATE
         SET through = excluded.through, text = excluded.text, run_id = excluded.run_id, made_at = excluded.made_at,
             taint = excluded.taint",
        made.session,
        made.user,
        summary.through,
        summary.text,
        made.run,
        made.at,
        made.history_from,
        summary.taint
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Forgets those summaries of a conversation that words are behind which nobody vouches for; how many there were.
pub async fn forget_tainted(tx: &mut Tx, session: SessionId) -> Result<u64, StoreError> {
    let done = sql::query!("DELETE FROM summaries WHERE session_id = $1 AND taint IS NOT NULL", session)
        .execute(&mut *tx)
        .await?;
    Ok(done.rows_affected())
}

/// Forgets everybody's summary of a conversation.
pub async fn forget(tx: &mut Tx, session: SessionId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM summaries WHERE session_id = $1", session).execute(&mut *tx).await?;
    Ok(())
}
