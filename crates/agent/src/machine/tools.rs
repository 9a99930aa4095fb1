//! Tool results (rows A5, A6, B1, D4, D5).

use crate::machine::batch::{Batch, CallProgress};
use crate::machine::effect::Effect;
use crate::machine::ending;
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::note::ToolRetry;
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase, ResumePoint};
use crate::machine::{
    agents, approval, compaction, declared_loop, detached_agents, draft, elicitation, guards, pause, plan, reading,
    resume, texts, undo,
};
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::ids::CallId;
use hob_core::domain::origin::OriginSource;
use hob_model::message::ToolCall;

/// A tool is done.
pub(super) fn on_finished(
    run: &mut ActiveState,
    id: &CallId,
    outcome: &ToolOutcome,
    source: Option<&OriginSource>,
    seen: Option<&WorkspaceDraft>,
) -> Vec<Effect> {
    let declared = declared_loop::declared_loop(run).map(declared_loop::cycles_exhausted_text);
    let Phase::Acting(batch) = &mut run.phase else {
        return vec![Effect::Ignored { why: "no tool is running" }];
    };
    let running = batch.started().find(|(call, _)| call.id == *id);
    let Some((call, attempt)) = running.map(|(call, attempt)| (call.clone(), attempt)) else {
        return vec![Effect::Ignored { why: "that tool is not running" }];
    };
    run.crashes = 0;
    draft::on_look(run, &call, seen);
    if let ToolOutcome::Transient { .. } = outcome
        && let Some(delay_ms) = wait_before_retry(run, &call, attempt)
    {
        // Nobody reads its words.
        return retry(run, call, attempt + 1, delay_ms);
    }
    if let Some(effects) = undo::on_finished(run, id, outcome) {
        return effects;
    }
    if let Some(effects) = reading::on_found(run, id, outcome, source) {
        return effects;
    }
    if let Some(source) = source {
        approval::on_read(run, source, outcome.words().0, Some(&call));
    }
    if let ToolOutcome::Transient { text } = outcome {
        return settle_with(run, id, texts::tried(text, attempt));
    }
    let planned = matches!(outcome, ToolOutcome::Plan).then(|| plan::on_planned(run, id));
    let Phase::Acting(batch) = &mut run.phase else {
        return Vec::new();
    };
    match outcome {
        ToolOutcome::Text { text, is_error } => batch.finish(id, text.clone(), *is_error),
        ToolOutcome::Seen { text, is_error, pictures } => {
            batch.finish(id, text.clone(), *is_error);
            batch.show(id, pictures);
        }
        ToolOutcome::Transient { text } => batch.finish(id, text.clone(), true),
        ToolOutcome::Denied { reason } => batch.deny(id, reason.clone()),
        ToolOutcome::Exited { text, code } => {
            batch.finish(id, text.clone(), *code != 0);
            if let Some(open) = batch.find(id) {
                open.exit_code = Some(*code);
            }
        }
        ToolOutcome::Notebook { change } => {
            let (text, is_error) = run.notebook.change(change);
            batch.finish(id, text, is_error);
        }
        ToolOutcome::Plan => {
            let (text, is_error) = planned.unwrap_or_default();
            batch.finish(id, text, is_error);
        }
        ToolOutcome::Deliver { delivery } => batch.finish(id, texts::queued(delivery), false),
        // Its server was to go on with an answer, and is gone: it stands as after a crash.
        ToolOutcome::Interrupted
            if run.cancel.is_none() && batch.get(id).is_some_and(|open| open.reply(attempt).is_some()) =>
        {
            return resume::reopen(run);
        }
        ToolOutcome::Interrupted => batch.interrupt(id, texts::INTERRUPTED.to_owned()),
        ToolOutcome::MoreIterations { .. } if declared.is_some() => {
            batch.finish(id, declared.unwrap_or_default(), true);
        }
        ToolOutcome::MoreIterations { .. } => {
            let (text, granted) = texts::more_iterations(&run.limits);
            run.limits.iterations = granted;
            batch.finish(id, text, false);
        }
        ToolOutcome::Spawn { .. } => agents::on_spawn(run, id),
        ToolOutcome::Tell { agent, .. } => detached_agents::on_tell(run, id, *agent),
        ToolOutcome::Ask { question, form } if form.is_some() || batch.asking().is_none() => {
            if let Some(open) = batch.find(id) {
                open.asks(question, form.as_deref(), attempt);
            }
        }
        ToolOutcome::Ask { .. } => batch.finish(id, texts::ONE_QUESTION.to_owned(), true),
    }
    settle(run)
}

impl ToolOutcome {
    /// Its words, as the envelope keeps them, and whether it is a failure.
    pub fn words(&self) -> (&str, bool) {
        match self {
            Self::Text { text, is_error } | Self::Seen { text, is_error, .. } => (text, *is_error),
            Self::Exited { text, code } => (text, *code != 0),
            Self::Transient { text } | Self::Denied { reason: text } => (text, true),
            Self::Notebook { .. } | Self::Plan => ("", false),
            Self::MoreIterations { reason } => (reason, false),
            Self::Spawn { mission } => (&mission.task, false),
            Self::Tell { text, .. } => (text, false),
            Self::Ask { question, .. } => (question, false),
            Self::Deliver { delivery } => (&delivery.text, false),
            Self::Interrupted => (texts::INTERRUPTED, true),
        }
    }
}

/// Row B1: an idempotent tool that failed in passing is run again, as often as there are waits; no other ever is. A run
/// that is being stopped, or is paused, runs nothing again, and an approval is for one start (row D6). Attempts that a
/// crash cut off count as well.
fn wait_before_retry(run: &ActiveState, call: &ToolCall, attempt: u32) -> Option<u64> {
    let may = run.cancel.is_none() && run.pause.is_none();
    if !may || !run.idempotent.contains(&call.name) || approval::is_due(run, &call.id) {
        return None;
    }
    let before = usize::try_from(attempt.checked_sub(1)?).ok()?;
    run.policy.tools.retries_ms.get(before).copied()
}

fn retry(run: &mut ActiveState, call: ToolCall, attempt: u32, delay_ms: u64) -> Vec<Effect> {
    if let Phase::Acting(batch) = &mut run.phase
        && let Some(open) = batch.find(&call.id)
    {
        open.progress = CallProgress::Started { attempt };
    }
    let note = ToolRetry { call: call.id.clone(), attempt, delay_ms };
    vec![Effect::Note(Box::new(Event::ToolRetried(note))), Effect::RunTool { call, attempt, delay_ms }]
}

fn settle_with(run: &mut ActiveState, id: &CallId, error: String) -> Vec<Effect> {
    if let Phase::Acting(batch) = &mut run.phase {
        batch.finish(id, error, true);
    }
    settle(run)
}

/// What is due in a batch: nothing while calls run; then a person, one question at a time; then the model.
pub(super) fn settle(run: &mut ActiveState) -> Vec<Effect> {
    let Phase::Acting(batch) = &mut run.phase else {
        return vec![Effect::Ignored { why: "there is no batch" }];
    };
    if batch.started().next().is_some() {
        return Vec::new();
    }
    if let Some(reason) = run.cancel {
        return ending::cancelled(run, reason);
    }
    if let Some(by) = run.pause.filter(|_| !batch.is_settled()) {
        return pause::stand_still(by);
    }
    let known = |tool: &str| run.tools.get(tool).copied().unwrap_or_default();
    if let Some(call) = batch.next_unassessed(|tool| known(tool).by_state) {
        return vec![Effect::Look(call.clone())];
    }
    let starting = batch.start_next(|tool| known(tool).is_alone());
    if !starting.is_empty() {
        return starting.into_iter().map(|call| Effect::RunTool { call, attempt: 1, delay_ms: 0 }).collect();
    }
    if let Some((call, attempt)) = batch.doubtful() {
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        return vec![Effect::AskHuman(Question::UnsafeCall { call: call.id.clone(), name, arguments, attempt })];
    }
    if let Some(question) = approval::question(run) {
        return vec![Effect::AskHuman(question)];
    }
    if let Some(effects) = elicitation::put(run) {
        return effects;
    }
    let Phase::Acting(batch) = &run.phase else {
        return Vec::new();
    };
    if let Some((call, text)) = batch.asking() {
        return vec![Effect::AskHuman(Question::Asked { call: call.id.clone(), text: text.to_owned(), form: None })];
    }
    if batch.children() > 0 {
        return agents::wait();
    }
    let seen = declared_loop::cycle_output(run);
    if seen.as_ref().is_some_and(|seen| declared_loop::is_end(run, seen)) && draft::before_end(run) {
        return settle(run);
    }
    let mut effects = guards::after(run);
    close_batch(run, texts::INTERRUPTED);
    effects.extend(match seen.and_then(|seen| declared_loop::after_batch(run, &seen)) {
        Some(end) => end,
        None => ending::go_on(run),
    });
    effects
}

/// Moves the batch into the transcript, whole.
pub(super) fn close_batch(run: &mut ActiveState, unsettled: &str) {
    if let Some(mut batch) = take_batch(run) {
        plan::on_done(run, &batch);
        let spared: Vec<(CallId, String)> =
            batch.calls.iter().filter_map(|open| Some((open.call.id.clone(), plan::spared(run, open)?))).collect();
        for (id, told) in spared {
            batch.add_below(&id, &texts::spared(&told));
            run.intent.spared.push(told);
        }
        run.ledger.record_batch(&batch, |tool| run.tools.get(tool).is_some_and(|facts| facts.changes));
        batch.guide();
        let messages = compaction::fit::cut_results(run, batch.into_messages(unsettled));
        for message in messages {
            run.transcript.push(message);
        }
    }
}

/// Takes the open batch out of the phase, be it running or paused; the phase is then `Replied` until set anew.
pub(super) fn take_batch(run: &mut ActiveState) -> Option<Batch> {
    match std::mem::replace(&mut run.phase, Phase::Replied) {
        Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => Some(batch),
        Phase::Waiting { .. } | Phase::Calling(_) | Phase::Replied | Phase::Done(_) => None,
    }
}
