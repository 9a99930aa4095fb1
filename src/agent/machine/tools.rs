//! Tool results (rows A5, A6, D4, D5).

use crate::agent::machine::batch::{Batch, Progress};
use crate::agent::machine::begun::Rules;
use crate::agent::machine::effect::Effect;
use crate::agent::machine::ending;
use crate::agent::machine::event::{Question, ToolOutcome};
use crate::agent::machine::state::{Active, Paused, Phase};
use crate::agent::machine::{guards, texts};
use crate::domain::ids::CallId;

/// A tool is done.
pub(super) fn on_finished(run: &mut Active, id: &CallId, outcome: &ToolOutcome) -> Vec<Effect> {
    let Phase::Acting(batch) = &mut run.phase else {
        return vec![Effect::Ignored { why: "no tool is running" }];
    };
    let running = batch.started().any(|(call, _)| call.id == *id);
    if !running {
        return vec![Effect::Ignored { why: "that tool is not running" }];
    }
    match outcome {
        ToolOutcome::Text { text, is_error } => batch.finish(id, text.clone(), *is_error),
        ToolOutcome::Transient { text } => batch.finish(id, text.clone(), true),
        ToolOutcome::Denied { reason } => batch.deny(id, reason.clone()),
        ToolOutcome::Notebook { .. } => batch.finish(id, String::new(), true),
        ToolOutcome::Interrupted => batch.interrupt(id, texts::INTERRUPTED.to_owned()),
        ToolOutcome::MoreIterations { .. } => {
            let (text, granted) = texts::more_iterations(&run.limits);
            run.limits.iterations = granted;
            batch.finish(id, text, false);
        }
        ToolOutcome::Ask { question } if batch.asking().is_none() => {
            if let Some(open) = batch.find(id) {
                open.progress = Progress::Asks { question: question.clone() };
            }
        }
        ToolOutcome::Ask { .. } => batch.finish(id, texts::ONE_QUESTION.to_owned(), true),
    }
    run.crashes = 0;
    settle(run)
}

/// What is due in a batch: nothing while calls run; then a person, one question at a time; then the model.
pub(super) fn settle(run: &mut Active) -> Vec<Effect> {
    let Phase::Acting(batch) = &mut run.phase else {
        return vec![Effect::Ignored { why: "there is no batch" }];
    };
    if batch.started().next().is_some() {
        return Vec::new();
    }
    if let Some(reason) = run.cancel {
        return ending::cancelled(run, reason);
    }
    let starting = batch.start_next(|tool| run.tools.get(tool).is_some_and(|facts| facts.exclusive));
    if !starting.is_empty() {
        return starting.into_iter().map(|call| Effect::RunTool { call, attempt: 1, delay_ms: 0 }).collect();
    }
    if let Some(call) = batch.doubtful() {
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        return vec![Effect::AskHuman(Question::UnsafeCall { call: call.id.clone(), name, arguments })];
    }
    if let Some((call, text)) = batch.asking() {
        return vec![Effect::AskHuman(Question::Asked { call: call.id.clone(), text: text.to_owned() })];
    }
    let mut effects = guards::after(run);
    close_batch(run, texts::INTERRUPTED);
    effects.extend(ending::go_on(run));
    effects
}

/// Moves the batch into the transcript, whole.
pub(super) fn close_batch(run: &mut Active, unsettled: &str) {
    if let Some(mut batch) = take_batch(run) {
        run.ledger.enter(&batch, |tool| run.tools.get(tool).is_some_and(|facts| facts.changes));
        if run.rules >= Rules::THIRD {
            batch.guide();
        }
        for message in batch.into_messages(unsettled) {
            run.transcript.push(message);
        }
    }
}

/// Takes the open batch out of the phase, be it running or paused; the phase is then `Replied` until set anew.
pub(super) fn take_batch(run: &mut Active) -> Option<Batch> {
    match std::mem::replace(&mut run.phase, Phase::Replied) {
        Phase::Acting(batch) | Phase::Waiting { paused: Paused::Batch(batch), .. } => Some(batch),
        Phase::Waiting { .. } | Phase::Calling(_) | Phase::Replied | Phase::Done(_) => None,
    }
}
