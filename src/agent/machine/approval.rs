//! A person's word before a call is made (row D6).
//!
//! Never: a word that counts twice. A call is started in the step that takes its approval in; whatever cuts it off after
//! that is asked about, and no approval of before stands for it.
//! Start at [`hold`]; the words are in [`words`].

pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::machine::batch::{Batch, OpenCall, Progress};
use crate::agent::machine::begun::Rules;
use crate::agent::machine::effect::Effect;
use crate::agent::machine::human::{Decision, deny_call, unpause};
use crate::agent::machine::question::Question;
use crate::agent::machine::state::{Active, Paused, Phase};
use crate::agent::machine::tools;
use crate::domain::tools::{Approval, ToolFacts};

/// Must a person approve each call of this tool now?
#[must_use]
pub fn is_due(run: &Active, tool: &str) -> bool {
    run.rules >= Rules::THIRD && is_held(&run.tools, &run.granted, tool)
}

/// What was allowed for good covers what is merely asked about, and nothing critical.
fn is_held(tools: &BTreeMap<String, ToolFacts>, granted: &BTreeSet<String>, tool: &str) -> bool {
    match tools.get(tool).map(|facts| facts.approval) {
        Some(Approval::Critical) => true,
        Some(Approval::Ask) => !granted.contains(tool),
        Some(Approval::Free) | None => false,
    }
}

/// Holds those calls of a fresh batch that need a person's word.
pub(super) fn hold(run: &mut Active) {
    if run.rules < Rules::THIRD {
        return;
    }
    let (tools, granted) = (&run.tools, &run.granted);
    if let Some(batch) = open_batch(&mut run.phase) {
        for open in batch.calls.iter_mut().filter(|open| open.progress == Progress::Queued) {
            if is_held(tools, granted, &open.call.name) {
                open.progress = Progress::Held;
            }
        }
    }
}

fn open_batch(phase: &mut Phase) -> Option<&mut Batch> {
    match phase {
        Phase::Acting(batch) | Phase::Waiting { paused: Paused::Batch(batch), .. } => Some(batch),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    }
}

/// The question about the first call that is held.
pub(super) fn question(batch: &Batch, tools: &BTreeMap<String, ToolFacts>) -> Option<Question> {
    let call = batch.held()?;
    Some(Question::Approval {
        call: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        grantable: tools.get(&call.name).is_some_and(|facts| facts.approval == Approval::Ask),
    })
}

/// A person said something to a question for approval.
pub(super) fn on_answered(run: &mut Active, question: &Question, text: &str) -> Vec<Effect> {
    let Question::Approval { call, name, .. } = question else {
        return vec![Effect::Ignored { why: "no approval was asked for" }];
    };
    let decision = Decision::parse(text, question);
    if decision == Some(Decision::Deny) {
        unpause(run);
        return deny_call(run, call, words::denied(words::reason(text)));
    }
    let always = decision == Some(Decision::Always);
    if !always && decision != Some(Decision::Approve) {
        return vec![Effect::AskHuman(question.clone())];
    }
    unpause(run);
    if always {
        run.granted.insert(name.clone());
    }
    // One word lets one call go; "always" all of that tool that are held.
    let held = open_batch(&mut run.phase).into_iter().flat_map(|batch| &mut batch.calls);
    let meant = |open: &&mut OpenCall| if always { open.call.name == *name } else { open.call.id == *call };
    for open in held.filter(|open| open.progress == Progress::Held).filter(meant) {
        open.progress = Progress::Queued;
    }
    tools::settle(run)
}

/// The call that an expiry of question `number` settles, if it does (lesson 17).
#[must_use]
pub fn expiring(run: &Active, number: u32) -> Option<&Question> {
    match &run.phase {
        Phase::Waiting { question: question @ Question::Approval { .. }, .. } if run.questions == number => {
            Some(question)
        }
        Phase::Waiting { .. } | Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_) => None,
    }
}

/// Nobody approved in time: the call is not made.
pub(super) fn on_expired(run: &mut Active, number: u32) -> Vec<Effect> {
    let Some(Question::Approval { call, .. }) = expiring(run, number).cloned() else {
        return vec![Effect::Ignored { why: "that question is no longer open" }];
    };
    unpause(run);
    deny_call(run, &call, words::EXPIRED.to_owned())
}

/// What was allowed for good is taken back: at once, also for what waits for its turn.
pub(super) fn on_revoked(run: &mut Active, tool: &str) -> Vec<Effect> {
    if !run.granted.remove(tool) {
        return vec![Effect::Ignored { why: "that was not granted to this run" }];
    }
    hold(run);
    Vec::new()
}
