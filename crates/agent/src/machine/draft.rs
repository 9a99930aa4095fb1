//! What a run has changed in its draft of the workspace, and the one question that settles it.
//!
//! A call is *contained* if what it changes can be judged afterwards (`Assessment::contained`). In a run that has read what
//! nobody vouches for it is made without a question, in the run's draft. The draft is settled by one call of
//! [`KEEP_CHANGES`], which the machine adds by itself:
//!
//! | when | then the call is added |
//! |---|---|
//! | the model has said its last word, and the draft holds a change | instead of the end; the model then has its last word anew |
//! | a declared loop has come to its end, likewise | to the batch that ended it |
//! | a reply has a call that works on the workspace itself | before that call |
//!
//! *Approve* keeps exactly what was shown: the call carries its digest. *Deny*, and no answer in time, throw it away. A run
//! that ends in any other way throws it away as well, and says so where it says anything.

use serde_json::json;

use crate::machine::batch::{Batch, CallProgress, OpenCall};
use crate::machine::effect::Effect;
use crate::machine::event::RunReply;
use crate::machine::question::CallConcern;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{approval, model, tools};
use hob_core::domain::draft::{DraftUse, WorkspaceDraft};
use hob_core::domain::ids::CallId;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::tools::{Assessment, DangerGrade, KEEP_CHANGES, Risk};
use hob_model::message::{Completion, ToolCall};

/// For the model: why a call of this was settled without a person's word.
pub(crate) const LATE: &str =
    "Not run: nobody said in time whether to keep what was changed, so it was thrown away. They have been told.";
/// For the person: the time to decide is over.
pub(crate) const EXPIRED: &str = "Nobody said in time whether to keep what I had changed in the workspace, so I have thrown it away. \
     If it is still wanted, say it again.";
/// For the person, below a notice: the run ended before they were asked.
pub(crate) const NOT_KEPT: &str = "What I had changed in the workspace was not kept.";
/// For the model, in the history: the same.
pub(crate) const UNSETTLED: &str = "[What was changed in the draft of the workspace was not kept.]";

/// Can this run's draft be settled at all? Without the tool nothing is contained.
fn is_settleable(run: &ActiveState) -> bool {
    run.tools.contains_key(KEEP_CHANGES)
}

/// Can what this call changes be judged afterwards?
pub(super) fn is_contained(run: &ActiveState, known: &Assessment) -> bool {
    known.contained && is_settleable(run)
}

/// Where a call of the open batch works.
pub(crate) fn place_of(run: &ActiveState, call: &CallId) -> DraftUse {
    let Phase::Acting(batch) = &run.phase else { return DraftUse::AtOnce };
    let Some(open) = batch.get(call) else { return DraftUse::AtOnce };
    if open.call.name == KEEP_CHANGES {
        return DraftUse::Open(run.drafts);
    }
    let known = open.assessed.as_ref().filter(|known| is_contained(run, known));
    let is_judged = run.draft.is_some() || !run.taint.is_clean();
    known
        .filter(|known| is_judged || known.grade > DangerGrade::Safe)
        .map_or(DraftUse::AtOnce, |_| DraftUse::Open(run.drafts))
}

/// What a person is to know before the draft is kept; none: there is nothing to be kept.
pub(super) fn concern(run: &ActiveState) -> Option<Box<CallConcern>> {
    let draft = run.draft.clone()?;
    let conversation = &run.input.destination.conversation;
    let owners =
        conversation.is_aloud() || OriginSource::of_speaker(&run.input.principal, conversation.channel).is_some();
    let sources = run.taint.sources().cloned().collect();
    Some(Box::new(CallConcern { risk: Risk::Write, sources, owners, draft: Some(draft), ..CallConcern::default() }))
}

/// The draft was looked at after `call`; `seen` is what it holds, if anybody looked.
pub(super) fn on_look(run: &mut ActiveState, call: &ToolCall, seen: Option<&WorkspaceDraft>) {
    let holds = seen.filter(|seen| seen.changes > 0 && seen.number == run.drafts);
    if call.name == KEEP_CHANGES && holds.is_none() {
        settled(run);
    } else if seen.is_some() {
        run.draft = holds.cloned().map(Box::new);
    } else {
        return;
    }
    // What waits to be kept is what there is now.
    approval::hold(run);
}

/// The draft was kept or thrown away: what is changed next goes into another one.
pub(super) fn settled(run: &mut ActiveState) {
    if run.draft.take().is_some() {
        run.drafts += 1;
    }
}

/// Each call that keeps the draft keeps exactly what there is now.
pub(super) fn bind_keep_calls(run: &mut ActiveState) {
    let digest = run.draft.as_ref().map(|draft| draft.digest.clone());
    let Some(batch) = run.phase.batch_mut() else { return };
    for open in &mut batch.calls {
        let waits = matches!(open.progress, CallProgress::Queued | CallProgress::Held);
        if waits && open.call.name == KEEP_CHANGES {
            open.call.arguments = json!({ "digest": digest }).to_string();
            if digest.is_none() {
                // With nothing to be kept there is nothing to be asked.
                open.progress = CallProgress::Queued;
            }
        }
    }
}

/// The call that settles the draft, which no model has written.
fn settling_call(run: &ActiveState, index: usize) -> OpenCall {
    let call =
        ToolCall { id: CallId::new(run.cycles, index), name: KEEP_CHANGES.to_owned(), arguments: "{}".to_owned() };
    OpenCall::added(call)
}

fn is_due(run: &ActiveState) -> bool {
    run.draft.is_some() && is_settleable(run)
}

/// The model has said its last word: where the draft holds a change, a person is asked first.
pub(super) fn before_last_word(run: &mut ActiveState, completion: &Completion) -> Option<Vec<Effect>> {
    if !is_due(run) {
        return None;
    }
    // It counts as a turn: no run goes on settling for ever.
    run.iterations += 1;
    let calls = vec![settling_call(run, 0)];
    run.phase = Phase::Acting(Batch { reply: model::spoken(completion), calls });
    approval::hold(run);
    Some(tools::settle(run))
}

/// A declared loop has come to its end: likewise. Whether something was added to its batch.
pub(super) fn before_end(run: &mut ActiveState) -> bool {
    if !is_due(run) {
        return false;
    }
    let Phase::Acting(batch) = &run.phase else { return false };
    let call = settling_call(run, batch.calls.len());
    if let Some(batch) = run.phase.batch_mut() {
        batch.calls.push(call);
    }
    approval::hold(run);
    true
}

/// A reply's calls are about to be made: one that works on the workspace itself must find there what the run believes is there.
pub(super) fn before_batch(run: &mut ActiveState) {
    let Phase::Acting(batch) = &run.phase else { return };
    let works_there = |open: &OpenCall| {
        let facts = run.tools.get(&open.call.name).is_some_and(|facts| facts.workspace);
        facts && !open.assessed.as_ref().is_some_and(|known| known.contained || known.grade == DangerGrade::Refused)
    };
    let Some(at) = batch.calls.iter().position(works_there) else { return };
    // What goes before it in the same reply may open a draft.
    let opens = |open: &OpenCall| !run.taint.is_clean() && open.assessed.as_ref().is_some_and(|known| known.contained);
    let may_be_open = is_due(run) || is_settleable(run) && batch.calls[..at].iter().any(opens);
    if !may_be_open {
        return;
    }
    let call = settling_call(run, batch.calls.len());
    if let Some(batch) = run.phase.batch_mut() {
        batch.calls.insert(at, call);
    }
}

/// Whoever is told that the run is over is told as well that a draft was dropped.
pub(super) fn add_dropped_notice(run: &ActiveState, mut effects: Vec<Effect>) -> Vec<Effect> {
    if run.draft.is_none() {
        return effects;
    }
    for effect in &mut effects {
        if let Effect::Reply(RunReply::Notice { text } | RunReply::Answer { text }) = effect {
            text.push_str("\n\n");
            text.push_str(NOT_KEPT);
        }
    }
    effects
}

/// For the model: a person wants none of it.
pub(super) fn denied(reason: Option<&str>) -> String {
    let why = match reason {
        Some(reason) => format!("Their reason: {reason}"),
        None => "They gave no reason.".to_owned(),
    };
    format!(
        "Not run: a person did not want what was changed to be kept, so it was thrown away; the workspace is as it was. \
         {why}"
    )
}

/// For the model, in the history: what became of the draft, as nobody's answer to a call.
pub(super) fn note(text: &str) -> String {
    format!("[What was changed in the draft of the workspace: {}]", text.trim())
}
