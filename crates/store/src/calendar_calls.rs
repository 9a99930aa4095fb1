//! What calls are about to change in calendars (row F3).

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{CallId, RunId};

/// What a call is about to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarCall {
    /// The entry's name; of a new one where it goes.
    pub entry: String,
    /// By which what it has written is known.
    pub mark: String,
}

/// What this call was about to change; none: it had not come so far.
pub async fn lookup(tx: &mut Tx, run: RunId, call: &CallId) -> Result<Option<CalendarCall>, StoreError> {
    let row = sql::query_as!(
        CalendarCall,
        "SELECT entry, mark FROM calendar_calls WHERE run_id = $1 AND call_id = $2",
        run,
        call.0
    );
    Ok(row.fetch_optional(&mut *tx).await?)
}

/// Stores what it is about to change.
pub async fn put(tx: &mut Tx, run: RunId, call: &CallId, what: &CalendarCall) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO calendar_calls (run_id, call_id, entry, mark) VALUES ($1, $2, $3, $4)
         ON CONFLICT (run_id, call_id) DO UPDATE SET entry = excluded.entry, mark = excluded.mark",
        run,
        call.0,
        what.entry,
        what.mark
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
