//! Journals of runs that ended long ago: let go whole, a slice at a time. What was said and what it cost stays.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::RunId;

/// What stands where a message's words were; the history has them.
const LET_GO: &str = "[let go]";

/// What was let go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedJournals {
    /// So many of the runs, from the first on, have nothing left, or are not over.
    pub runs: usize,
    pub events: i64,
}

/// Lets the journals of these runs, which are over, go: up to so many events of them in all, at least one.
pub async fn drop_journals(
    tx: &mut Tx,
    runs: &[RunId],
    most: i64,
    now: Timestamp,
) -> Result<DroppedJournals, StoreError> {
    let (mut gone, now) = (DroppedJournals::default(), millis(now));
    for run in runs.iter().copied() {
        // First the mark: a journal of which a part is gone is taken for none.
        let marked = sql::query!(
            "UPDATE runs SET let_go_at = coalesce(let_go_at, $1), state_hash = NULL
             WHERE id = $2 AND ended_at IS NOT NULL",
            now,
            run
        )
        .execute(&mut *tx)
        .await?;
        if marked.rows_affected() == 0 {
            gone.runs += 1;
            continue;
        }
        gone.events += events(tx, run, most - gone.events).await?;
        if gone.events >= most && has_events(tx, run).await? {
            return Ok(gone);
        }
        drop_attachments(tx, run).await?;
        gone.runs += 1;
    }
    Ok(gone)
}

async fn has_events(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let found =
        sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM run_events WHERE run_id = $1) AS "there!: bool""#, run);
    Ok(found.fetch_one(&mut *tx).await?)
}

async fn events(tx: &mut Tx, run: RunId, most: i64) -> Result<i64, StoreError> {
    let gone = sql::query!(
        "DELETE FROM run_events WHERE run_id = $1 AND seq IN (
           SELECT seq FROM run_events WHERE run_id = $1 ORDER BY seq DESC LIMIT $2)",
        run,
        most
    )
    .execute(&mut *tx)
    .await?;
    Ok(i64::try_from(gone.rows_affected()).unwrap_or(i64::MAX))
}

/// What lies beside the journal.
async fn drop_attachments(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM signals WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("DELETE FROM tool_calls WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("DELETE FROM calendar_calls WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("DELETE FROM undos WHERE run_id = $1", run).execute(&mut *tx).await?;
    sql::query!("DELETE FROM recalled WHERE run_id = $1", run).execute(&mut *tx).await?;
    // Only the journal said which messages joined the run: once it is gone, nobody could take the words out of those rows.
    sql::query!("UPDATE inbound SET text = $1 WHERE id = (SELECT inbound_id FROM runs WHERE id = $2)", LET_GO, run)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Whether a run's journal was let go.
pub async fn is_dropped(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(r#"SELECT let_go_at IS NOT NULL AS "gone!: bool" FROM runs WHERE id = $1"#, run);
    Ok(found.fetch_optional(&mut *tx).await?.unwrap_or(false))
}
