//! What a call is about to change, written down before it does: a call that was cut off goes on with that, and looks for nothing else.
//!
//! Never: an effect before its line is stored, or a mark that could be guessed.

use crate::account::Accounts;
use hob_store::calendar_calls::{self, CalendarCall};
use hob_store::error::StoreError;
use hob_tools::{Invocation, Outcome};

/// What a call is about to change.
pub(super) struct PendingChange {
    /// The entry's name; of a new one where it goes.
    pub(super) entry: String,
    /// By which what it writes is known.
    pub(super) mark: String,
    /// It was about to change it before, and may have.
    pub(super) again: bool,
}

/// What this call was about to change when it was cut off; none: it had not come so far, or has just begun.
pub(super) async fn begun(
    known_accounts: &Accounts,
    invocation: &Invocation,
) -> Result<Option<PendingChange>, Outcome> {
    if invocation.attempt == 1 {
        return Ok(None);
    }
    let (run, call) = (invocation.run, invocation.call.clone());
    let found = known_accounts.store.read(async move |tx| calendar_calls::lookup(tx, run, &call).await).await;
    let found = found.map_err(|error| unstored(&error))?;
    Ok(found.map(|CalendarCall { entry, mark }| PendingChange { entry, mark, again: true }))
}

/// From now on the call changes this, whatever comes between.
pub(super) async fn begin(
    known_accounts: &Accounts,
    invocation: &Invocation,
    entry: String,
) -> Result<PendingChange, Outcome> {
    let (run, call) = (invocation.run, invocation.call.clone());
    let what = CalendarCall { entry, mark: known_accounts.rng.id() };
    let stored = what.clone();
    let stored = known_accounts.store.write(async move |tx| calendar_calls::put(tx, run, &call, &stored).await).await;
    stored.map_err(|error| unstored(&error))?;
    Ok(PendingChange { entry: what.entry, mark: what.mark, again: false })
}

fn unstored(error: &StoreError) -> Outcome {
    Outcome::of_store(error, format!("What is to be changed could not be stored, so nothing was changed: {error}."))
}
