//! Words from outside the lane: steering, cancelling, limits, a panic (rows B6, B7).

use crate::machine::accepted_input::SteeringMessage;
use crate::machine::batch::{CallProgress, OpenCall};
use crate::machine::effect::Effect;
use crate::machine::event::{RunEnd, RunReply};
use crate::machine::state::{ActiveState, Phase};
use crate::machine::stop::{BudgetStop, CancelReason, QuotaStop};
use crate::machine::{approval, ending, texts};
use hob_core::domain::origin::{OriginSource, Taint};
use hob_model::message::Picture;

/// A message joins at the next boundary.
pub(super) fn on_steered(run: &mut ActiveState, steered: &SteeringMessage) -> Vec<Effect> {
    run.steering.push(steered.clone());
    if let Some(source) = OriginSource::of_speaker(&steered.principal, run.input.destination.conversation.channel) {
        approval::on_read(run, &source, &steered.text, None);
    }
    let seen: Taint = steered.pictures.as_slice().iter().filter(|_| run.sees).map(Picture::source).collect();
    seen.sources()
        .chain(steered.taint.sources())
        .for_each(|source| approval::on_read(run, source, &steered.text, None));
    Vec::new()
}

/// The run must end: a model call is dropped at once, a question is void, and running tools are stopped and awaited. Those
/// that have an effect are only awaited, unless it is to be at once.
pub(super) fn on_cancel(run: &mut ActiveState, reason: CancelReason) -> Vec<Effect> {
    if run.cancel.is_some_and(|former| former.is_at_once() || !reason.is_at_once()) {
        return vec![Effect::Ignored { why: "the run is being cancelled already" }];
    }
    run.lose_call();
    let at_once = reason.is_at_once();
    let reason = *run.cancel.get_or_insert(reason);
    match &run.phase {
        Phase::Calling(_) | Phase::Waiting { .. } => ending::cancelled(run, reason),
        Phase::Acting(batch) if batch.started().next().is_none() => ending::cancelled(run, reason),
        Phase::Acting(batch) => {
            let cut = batch.calls.iter().filter(|open| is_running(open) && (at_once || !has_effect(run, open)));
            let cut: Vec<_> = cut.map(|open| open.call.id.clone()).collect();
            if cut.is_empty() { Vec::new() } else { vec![Effect::AbortTools(cut)] }
        }
        Phase::Replied | Phase::Done(_) => vec![Effect::Ignored { why: "the run has said its last word" }],
    }
}

impl ActiveState {
    /// The tools that are at work now and have an effect: they are not cut in two unless it is to be at once.
    pub fn effects_under_way(&self) -> Vec<&str> {
        let Phase::Acting(batch) = &self.phase else { return Vec::new() };
        let lasting = batch.calls.iter().filter(|open| is_running(open) && has_effect(self, open));
        lasting.map(|open| open.call.name.as_str()).collect()
    }
}

fn is_running(open: &OpenCall) -> bool {
    matches!(open.progress, CallProgress::Started { .. })
}

/// Would anything be half done if this call were cut off? What stays in a draft is dropped with it.
fn has_effect(run: &ActiveState, open: &OpenCall) -> bool {
    match &open.assessed {
        Some(known) => !known.risk.is_read() && !known.contained,
        None => run.tools.get(&open.call.name).is_some_and(|facts| !facts.most().is_read()),
    }
}

/// The next model call is the last one: it sums up.
pub(super) fn on_soft_limit(run: &mut ActiveState) -> Vec<Effect> {
    run.soft_limit = true;
    Vec::new()
}

/// The next model call is not made: what was done is told instead.
pub(super) fn on_budget(run: &mut ActiveState, stop: &BudgetStop) -> Vec<Effect> {
    run.budget = Some(stop.clone());
    Vec::new()
}

/// The same, because of the one who asks.
pub(super) fn on_quota(run: &mut ActiveState, stop: &QuotaStop) -> Vec<Effect> {
    run.quota = Some(stop.clone());
    Vec::new()
}

/// The code that drove this run panicked: it is told and over, and no other run is touched.
pub(super) fn on_panic(run: &mut ActiveState, message: &str) -> Vec<Effect> {
    run.lose_call();
    ending::close(run, texts::INTERRUPTED);
    vec![
        Effect::Reply(RunReply::Notice { text: run.notebook.below(&texts::panicked(message)) }),
        Effect::End(RunEnd::Failed { why: "panic".to_owned() }),
    ]
}
