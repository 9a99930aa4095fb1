//! What happens after a crash. This file is the whole rule; there is no other code path for it.
//!
//! A process that takes a run up folds its journal, appends `run.resumed` and performs what this file answers:
//!
//! | it stood at | then |
//! |---|---|
//! | a model call in flight | it is made again; the lost one is accounted for |
//! | a summary being made | it is asked for again; the lost one is accounted for |
//! | tool calls with a recorded result | the record is used; they are not run |
//! | a started call of an idempotent tool that needs no approval | it is run again |
//! | a started call that is contained, or keeps what was approved | it is run again: it knows its draft, and what it did there |
//! | any other started call | a person says: it happened · run it again · give up |
//! | a question to a person | it stays open; a call whose server asked it, and is gone, is as one that was under way |
//! | its last word, without its end | it ends: nothing is asked and nothing said again |
//! | a cancel that was not carried out | it is carried out: nothing is run again |
//! | the same step for the third time in a row | a person says: carry on · give up |
//! | a pause that was not lifted | it stands still until it is |
//! | a changed system prompt, or a journal that replays otherwise | a person says: carry on · give up |
//! | a question that was answered meanwhile | the answer is taken; that person's word also stands for a changed prompt |
//! | the lane, just given, and not begun | it begins |
//! | a beginning that is missing from the journal | it ends, told (`input.rs`) |
//! | a journal, or what it refers to, that cannot be read | it is put aside, told (`agent/write_off.rs`), without the machine |
//!
//! A stop in good order (`run.suspended`) is followed by the same rule and counts as no crash. The soft and the hard limit
//! count from when a process took the run up. What the outbox was sending has an unknown outcome (`docs/delivery.md`).

use std::collections::BTreeSet;

use crate::machine::batch::CallProgress;
use crate::machine::digest::Digest;
use crate::machine::effect::Effect;
use crate::machine::event::JournalMismatch;
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{approval, draft, ending, pause, tools};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::KEEP_CHANGES;
use hob_model::message::ToolCall;

/// So many crashes at one step, and the run is parked (issue: crash loops brake).
const CRASHES_MAX: u32 = 3;

/// A process took the run up.
pub(super) fn on_resumed(run: &mut ActiveState, system: &Digest, was_suspended: bool) -> Vec<Effect> {
    match &run.phase {
        // The person's own word sets it going again.
        Phase::Waiting { .. } | Phase::Done(_) => return Vec::new(),
        Phase::Replied => return reopen(run),
        Phase::Calling(_) | Phase::Acting(_) => {}
    }
    run.lose_call();
    if let Some(reason) = run.cancel {
        return ending::cancelled(run, reason);
    }
    if !was_suspended {
        run.crashes += 1;
    }
    // First, because the answer to the other question says nothing about it.
    if run.system_seen != *system {
        return vec![Effect::AskHuman(Question::PromptChanged { system: system.clone() })];
    }
    if run.crashes >= CRASHES_MAX {
        return vec![Effect::AskHuman(Question::CrashLoop)];
    }
    reopen(run)
}

/// The journal does not replay to the same effects: nothing is guessed.
pub(super) fn on_mismatch(run: &mut ActiveState, mismatch: &JournalMismatch) -> Vec<Effect> {
    match &run.phase {
        Phase::Done(_) => vec![Effect::Ignored { why: "the run is over" }],
        Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied => {
            run.lose_call();
            vec![Effect::AskHuman(Question::Mismatch(mismatch.clone()))]
        }
    }
}

/// What is run again by itself: an approval is used up by the first start, whatever came of it (row D6).
fn repeatable(run: &ActiveState) -> BTreeSet<CallId> {
    let Phase::Acting(batch) = &run.phase else {
        return BTreeSet::new();
    };
    let contained = |call: &ToolCall| {
        let known = batch.get(&call.id).and_then(|open| open.assessed.as_ref());
        known.is_some_and(|known| draft::is_contained(run, known))
    };
    let started = batch.started().map(|(call, _)| call);
    // What was approved of a draft is bound to its digest: no second try keeps anything else.
    let safe = started.filter(|call| {
        let safe = run.idempotent.contains(&call.name) || contained(call);
        call.name == KEEP_CHANGES || (safe && !approval::is_due(run, &call.id))
    });
    safe.map(|call| call.id.clone()).collect()
}

/// The effects that are still open: idempotent calls run again, others become doubtful, the model is asked again.
pub(super) fn reopen(run: &mut ActiveState) -> Vec<Effect> {
    let acts = matches!(run.phase, Phase::Calling(_) | Phase::Acting(_));
    if let Some(by) = run.pause.filter(|_| acts) {
        return pause::stand_still(by);
    }
    let may_repeat = repeatable(run);
    let batch = match &mut run.phase {
        Phase::Acting(batch) => batch,
        Phase::Calling(_) => return ending::go_on(run),
        Phase::Replied => return vec![Effect::End(ending::end_of(run))],
        Phase::Waiting { .. } | Phase::Done(_) => return Vec::new(),
    };
    batch.reset_assessed();
    let mut effects = Vec::new();
    for open in &mut batch.calls {
        let CallProgress::Started { attempt } = open.progress else {
            continue;
        };
        if may_repeat.contains(&open.call.id) {
            let attempt = attempt + 1;
            open.progress = CallProgress::Started { attempt };
            effects.push(Effect::RunTool { call: open.call.clone(), attempt, delay_ms: 0 });
        } else {
            open.progress = CallProgress::Doubtful { attempt };
        }
    }
    if effects.is_empty() { tools::settle(run) } else { effects }
}
