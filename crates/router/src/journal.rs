//! `/journal`: what Hob noted on the task it is at, or on one that did not come to its end (row B12).

use jiff::Timestamp;

use crate::intake::answers::{WaitingRunSnapshot, notebook_of};
use crate::texts;
use hob_agent::handover;
use hob_agent::journal::RunKey;
use hob_agent::machine::notebook::Notebook;
use hob_core::domain::ids::SessionId;
use hob_core::domain::principal::{Principal, Role};
use hob_store::error::StoreError;
use hob_store::{Tx, runs, users};

/// There is nothing to be shown.
const NOTHING: &str = "There is no run journal here: nothing was noted, or the task came to its end.";
/// Above the notes of what runs.
const RUNNING: &str = "What I have noted on what I am doing:";
/// Above the notes of what failed, while nobody has said what becomes of it.
const FAILED: &str = "What I had noted when I failed; \"Resume\" goes on from it:";
/// Above the notes of what did not come to its end.
const CUT_OFF: &str = "What I had noted when I stopped; your next message goes on from it:";

/// The words that answer; only those who may act for its sender see what a run noted.
pub(super) async fn show(
    tx: &mut Tx,
    session: SessionId,
    caller: &Principal,
    seen: &[WaitingRunSnapshot],
    now: Timestamp,
) -> Result<String, StoreError> {
    if let Some(active) = runs::find_active(tx, session).await? {
        let key = RunKey { run: active.id, session };
        let notebook = notebook_of(tx, &key, seen, now).await?;
        if !notebook.is_empty() {
            let shown = caller.may_act_for(active.user, active.role);
            return Ok(if shown { told(RUNNING, &notebook) } else { texts::NOT_YOURS.to_owned() });
        }
    }
    let Some(kept) = handover::load_handover(tx, session).await? else {
        return Ok(NOTHING.to_owned());
    };
    // Of somebody whom nobody knows any more only an owner sees it.
    let role = users::role(tx, kept.user).await?.unwrap_or(Role::Owner);
    let seen = caller.may_act_for(kept.user, role);
    Ok(if seen {
        told(if kept.only.is_some() { FAILED } else { CUT_OFF }, &kept.notebook)
    } else {
        texts::NOT_YOURS.to_owned()
    })
}

fn told(above: &str, notebook: &Notebook) -> String {
    format!("{above}\n\n{}", notebook.whole())
}
