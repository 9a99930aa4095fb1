//! What a run did that ended well, noted; and what was repeated often, offered as a draft of a skill (row K4).

use crate::machine::accepted_input::RunKind;
use crate::machine::state::ActiveState;
use crate::projection::write::{OutgoingText, RunRowTarget, say};
use hob_core::domain::principal::{Role, Trust};
use hob_skill::draft::{self, REPEATED};
use hob_skill::library::since;
use hob_store::error::StoreError;
use hob_store::{Tx, skills};

/// Notes what a run did that is completed; where it is the fifth alike, its person is asked, once, whether to keep it.
///
/// What was done on the word of somebody who is not known, or after reading what nobody vouches for, teaches nothing.
pub(super) async fn record_procedure(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    run: &ActiveState,
) -> Result<(), StoreError> {
    let principal = &run.input.principal;
    let teaches = run.input.order == RunKind::Answer && principal.trust == Trust::Trusted && run.taint.is_clean();
    // Who calls tools answers twice at least.
    if !teaches || run.cycles < 2 {
        return Ok(());
    }
    let Some(steps) = draft::steps(&skills::calls(tx, target.key.run).await?) else {
        return Ok(());
    };
    let print = draft::fingerprint(&steps);
    skills::note(tx, target.key.run, principal.user, &print, target.at).await?;
    let limit = i64::try_from(REPEATED).unwrap_or(i64::MAX);
    let alike = skills::alike(tx, principal.user, &print, since(target.at), limit).await?;
    if alike.len() < REPEATED || !skills::offer(tx, principal.user, &print, target.at).await? {
        return Ok(());
    }
    let text = draft::offer(&steps, principal.role >= Role::Admin);
    say(tx, target, &format!("note:{}:skill", target.key.run), OutgoingText::note(&text)).await
}
