//! Starting the next model call, replying and ending.

use crate::machine::accepted_input::RunKind;
use crate::machine::effect::{Effect, ModelCall, ModelCallPurpose};
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::state::{ActiveState, Phase};
use crate::machine::stop::CancelReason;
use crate::machine::{compaction, declared_loop, model, pause, texts, tools, undo};
use hob_model::message::{Message, ReplyPart};

/// A safe boundary: what came meanwhile joins, then the model is asked.
pub(super) fn go_on(run: &mut ActiveState) -> Vec<Effect> {
    if let Some(end) = undo::end(run) {
        return end;
    }
    if let Some(end) = declared_loop::ceiling(run) {
        return end;
    }
    join_steering(run);
    compaction::before_call(run).unwrap_or_else(|| ask(run, run.call_model()))
}

/// Asks a model; where a budget or a quota is in the way, the run is handed back with what was done (rows N10, E15).
pub(super) fn ask(run: &mut ActiveState, call: ModelCall) -> Vec<Effect> {
    if (run.budget.is_some() || run.quota.is_some())
        && let Some(told) = model::tell_unchecked_reply(run)
    {
        return told;
    }
    if let Some(stop) = run.budget.take() {
        close(run, texts::INTERRUPTED);
        let told = texts::budget_reached(&stop, &run.unfinished.text, run.transcript.messages());
        let text = run.notebook.below(&texts::with_record(told, run.ledger.shortfall()));
        return vec![
            Effect::Reply(RunReply::Notice { text }),
            Effect::End(RunEnd::Failed { why: "budget".to_owned() }),
        ];
    }
    if let Some(stop) = run.quota.take() {
        close(run, texts::INTERRUPTED);
        let text = texts::quota_reached(&stop, &run.unfinished.text, run.transcript.messages());
        let text = run.notebook.below(&texts::with_record(text, run.ledger.shortfall()));
        return vec![Effect::Reply(RunReply::Notice { text }), Effect::End(RunEnd::Failed { why: "quota".to_owned() })];
    }
    run.model = call.model;
    run.phase = Phase::Calling(call.clone());
    if let Some(by) = run.pause {
        return pause::stand_still(by);
    }
    let last_turn = (call.purpose != ModelCallPurpose::Work).then_some(call.purpose);
    let noted = last_turn == Some(ModelCallPurpose::WrapUpTime) && last_turn != run.last_turn;
    run.last_turn = last_turn;
    let noted = noted.then(|| Effect::Note(Box::new(Event::SoftExhausted)));
    noted.into_iter().chain([Effect::CallModel(call)]).collect()
}

/// What joined on the way goes into the history, in the order in which it came.
fn join_steering(run: &mut ActiveState) {
    if run.steering.is_empty() && !run.long_agents.has_news() {
        return;
    }
    // A person's word changes what makes sense; and a reply that was still being looked at comes before it.
    if !run.steering.is_empty() {
        run.guard.reset();
    }
    if let Some(first) = run.truth.settle() {
        run.transcript.push(Message::Assistant { parts: first.parts });
    }
    for steered in std::mem::take(&mut run.steering) {
        let text = texts::steered(&steered, run.input.principal.user);
        run.transcript.push_said(steered.principal.user, Message::user_with(text, steered.pictures.as_slice()));
    }
    for told in run.long_agents.news() {
        run.transcript.push(Message::user(told));
    }
}

/// Nothing is asked any more: the open batch is closed, and what had joined is not forgotten. The end must follow.
pub(super) fn close(run: &mut ActiveState, unsettled: &str) {
    tools::close_batch(run, unsettled);
    join_steering(run);
    run.phase = Phase::Replied;
}

/// Ends a run whose end somebody, or a limit, wants. What was done stays in the history, in whole pairs.
pub(super) fn cancelled(run: &mut ActiveState, reason: CancelReason) -> Vec<Effect> {
    if reason == CancelReason::HardLimit
        && let Some(told) = model::tell_unchecked_reply(run)
    {
        // It had said its last word; there was only no time to look at it again.
        return told;
    }
    close(run, texts::stopped(reason));
    run.cancel = Some(reason);
    let end = Effect::End(end_of(run));
    match reason {
        CancelReason::Stopped { .. }
        | CancelReason::StoppedNow { .. }
        | CancelReason::Interrupted { .. }
        | CancelReason::Reset { .. } => vec![end],
        CancelReason::HardLimit => {
            let told = texts::with_record(texts::HARD_LIMIT.to_owned(), run.ledger.shortfall());
            vec![Effect::Reply(RunReply::Notice { text: run.notebook.below(&told) }), end]
        }
    }
}

/// The end of a run that has nothing left to do.
pub(super) fn end_of(run: &ActiveState) -> RunEnd {
    match run.cancel {
        Some(
            CancelReason::Stopped { .. }
            | CancelReason::StoppedNow { .. }
            | CancelReason::Interrupted { .. }
            | CancelReason::Reset { .. },
        ) => RunEnd::Cancelled,
        Some(CancelReason::HardLimit) => RunEnd::Failed { why: "hard_limit".to_owned() },
        None => RunEnd::Completed,
    }
}

/// An effect was recorded as started: only replies leave a trace in the state.
pub(super) fn on_started(run: &mut ActiveState, event: &Event) -> Vec<Effect> {
    // Words about the conversation are no part of it.
    if let Event::Replied(_) = event
        && run.input.order == RunKind::Compact
    {
        run.phase = Phase::Replied;
        return Vec::new();
    }
    if let Event::Replied(reply) = event {
        run.told += u32::from(*reply != RunReply::Silence);
        let text = match reply {
            // What was continued is in the history already.
            RunReply::Answer { text } => {
                let known = run.unfinished.text.trim_start();
                let rest = text.strip_prefix(known).or_else(|| text.strip_prefix(known.trim_end()));
                rest.unwrap_or(text).to_owned()
            }
            RunReply::Notice { text } => text.clone(),
            RunReply::Silence => texts::SILENCE.to_owned(),
        };
        let mut parts = std::mem::take(&mut run.sealed);
        parts.push(ReplyPart::Text { text });
        run.transcript.push(Message::Assistant { parts });
        run.phase = Phase::Replied;
    }
    Vec::new()
}

pub(super) fn on_ended(run: &mut ActiveState, end: &RunEnd) -> Vec<Effect> {
    run.phase = Phase::Done(end.clone());
    Vec::new()
}
