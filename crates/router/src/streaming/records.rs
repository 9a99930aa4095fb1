//! What streaming asks of the database: which message is whose draft.

use hob_core::domain::ids::RunId;
use hob_store::Tx;
use hob_store::drafts;
use hob_store::error::StoreError;

/// How a run's draft stands.
pub(super) enum DraftDisposition {
    /// It is none any more.
    Gone,
    /// The run goes on, or something is to take its place.
    InUse,
    /// Nobody will.
    Behind,
}

pub(super) async fn look_after(tx: &mut Tx, run: RunId) -> Result<DraftDisposition, StoreError> {
    if !drafts::is_there(tx, run).await? {
        return Ok(DraftDisposition::Gone);
    }
    Ok(if drafts::is_left_behind(tx, run).await? { DraftDisposition::Behind } else { DraftDisposition::InUse })
}
