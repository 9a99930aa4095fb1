//! A call's work in the run's draft of the workspace: its turn there, and the look at what it left.
//!
//! Never: two calls in one draft at a time, or a draft that outlives its run unkept.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::driver::Driver;
use crate::machine::state::State;
use hob_core::domain::draft::{DraftUse, WorkspaceDraft};
use hob_core::domain::ids::RunId;
use hob_tools::changes::{ChangesError, DraftId, Drafts};
use hob_tools::{Invocation, Outcome};

/// For the model, below a result: what it changed.
const NOT_YET: &str = "(These changes are not in the workspace yet; a person will be asked.)";

/// Whoever holds it works in the run's draft.
pub(in crate::driver) type DraftLock = Arc<Mutex<()>>;

/// Where a call works.
pub(in crate::driver) struct DraftContext {
    pub(in crate::driver) place: DraftUse,
    /// What the draft held when the call was started, by its digest.
    pub(in crate::driver) known: Option<String>,
    pub(in crate::driver) turn: DraftLock,
}

/// Does a call's work, alone in its draft, and looks at what that holds then.
pub(in crate::driver) async fn run_in_draft(
    drafts: &Drafts,
    invocation: &Invocation,
    place: &DraftContext,
    working: impl Future<Output = Outcome>,
) -> (Outcome, Option<WorkspaceDraft>) {
    let DraftUse::Open(number) = place.place else {
        return (working.await, None);
    };
    let _turn = place.turn.lock().await;
    let outcome = working.await;
    match inspect_draft(drafts.clone(), invocation.run, number).await {
        Ok(seen) => {
            let is_new =
                seen.as_ref().is_some_and(|seen| seen.changes > 0 && Some(&seen.digest) != place.known.as_ref());
            (if is_new { outcome.with(NOT_YET) } else { outcome }, seen)
        }
        Err(why) => {
            tracing::warn!(run = %invocation.run, %why, "what a run has changed cannot be looked at: it cannot be kept");
            let (digest, shown, runs_later) = (String::new(), String::new(), Vec::new());
            let none = WorkspaceDraft { number, digest, changes: 0, shown, whole: None, runs_later };
            (outcome.with(&format!("(What was changed cannot be kept: {why}.)")), Some(none))
        }
    }
}

/// What a draft holds; none: there is none that is open.
async fn inspect_draft(drafts: Drafts, run: RunId, number: u32) -> Result<Option<WorkspaceDraft>, ChangesError> {
    let looked = tokio::task::spawn_blocking(move || -> Result<Option<WorkspaceDraft>, ChangesError> {
        let draft = drafts.find(run, &DraftId::Shared(number))?.filter(|draft| draft.is_open());
        draft.map(|draft| draft.change_set().map(|set| set.summary(number))).transpose()
    });
    looked.await.unwrap_or(Err(ChangesError::Gone))
}

impl Driver {
    /// Throws away the drafts that are settled, and all of a run that is over. What was kept stays: it can be taken back.
    pub(in crate::driver) async fn drop_drafts(&mut self) {
        let Some(run) = self.state.active() else { return };
        let settled = if State::status(&self.state).is_final() { run.drafts + 1 } else { run.drafts };
        let (drafts, key) = (self.ports.toolbox.drafts.clone(), self.key.run);
        let gone: Vec<u32> =
            (self.dropped..settled).filter(|number| drafts.is_there(key, &DraftId::Shared(*number))).collect();
        self.dropped = settled;
        if gone.is_empty() {
            return;
        }
        let done = tokio::task::spawn_blocking(move || {
            for number in gone {
                if let Err(error) = drafts.discard(key, &DraftId::Shared(number)) {
                    tracing::warn!(run = %key, number, %error, "a draft of the workspace could not be thrown away");
                }
            }
        });
        if let Err(error) = done.await {
            tracing::error!(run = %key, %error, "a draft of the workspace could not be thrown away");
        }
    }
}
