//! How a run's requests are kept within the model's window (rows B4, B5, D3, E8, E11).
//!
//! | what happens | then |
//! |---|---|
//! | the request crosses 70 % of the window (`compact`) | R1: all but the last ten messages become a summary |
//! | it does so again within 20 iterations | R2: all but the last four are left out; a line says what is gone |
//! | and again | R3: a person says how to go on |
//! | it does so after four recoveries | the oldest messages are left out, and nothing is asked |
//! | 80 % (`rolling-window`) | the oldest messages are left out, down to half of the window |
//! | 80 % (`periodic-summary`) | a summary, three times in a run; then the rolling window |
//! | a summary is empty, too long, late, refused, or fails | what it was to stand for is left out; pinned results stay |
//! | the model says that the request is too long | results are cut, messages left out, more of both; then another model |
//! | the fixed parts alone do not fit | an error at once |
//!
//! Nothing leaves the transcript: a [`ContextView`] says what of it is shown. Start at `before_call`.

pub(crate) mod fit;
pub mod plan;
pub mod size;
pub(crate) mod summary;
pub mod texts;
pub(crate) mod view;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use crate::machine::compaction::size::{ContextWindow, window};
pub use crate::machine::compaction::view::{ContextView, PinnedResult};

use crate::machine::accepted_input::RunKind;
use crate::machine::compaction::plan::{CutPlan, trim};
use crate::machine::compaction::summary::{PendingSummary, SummaryReason};
use crate::machine::effect::Effect;
use crate::machine::ending;
use crate::machine::event::Event;
use crate::machine::note::{Compaction, CompactionMeans, Recovery, RecoveryStep};
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use hob_core::domain::choices::ContextStrategy;
use hob_core::domain::ids::UserId;

/// Thousandths of the window to which the rolling window goes down, so that a cache holds for a while.
const ROLL_TO_PER_MILLE: u64 = 500;

/// What was done about the window so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CompactionState {
    /// Recoveries so far (row B5).
    pub(crate) recoveries: u32,
    /// The last one's step, and the iteration in which it fired.
    pub(crate) last: Option<(RecoveryStep, u32)>,
    /// Summaries so far (row D3).
    pub(crate) summaries: u32,
    /// Somebody wants a summary.
    pub(crate) requested: bool,
    /// The summary that is being made.
    pub(crate) pending: Option<PendingSummary>,
    /// How often this request was too long for its model (row E11).
    pub(crate) too_long: u32,
}

/// Looks at the request that is due. Answers with what is to be done in the place of asking for it, if anything.
pub(super) fn before_call(run: &mut ActiveState) -> Option<Vec<Effect>> {
    // A run that a budget or a quota stops asks nobody.
    if run.budget.is_some() || run.quota.is_some() {
        return None;
    }
    // A summary that a crash cut off is asked for again.
    if run.course.pending.is_some() {
        return Some(summary::ask(run));
    }
    if run.input.order == RunKind::Compact {
        return Some(summary::ordered(run));
    }
    if std::mem::take(&mut run.course.requested)
        && let Some(plan) = CutPlan::keeping(run, run.policy.context.keep_messages)
    {
        return Some(summary::start(run, plan, SummaryReason::Requested, Vec::new()));
    }
    let context = &run.policy.context;
    let (strategy, summaries_max) = (context.strategy, context.summaries_max);
    let at = match strategy {
        ContextStrategy::Compact => context.compact_at_per_mille,
        ContextStrategy::RollingWindow | ContextStrategy::PeriodicSummary => context.roll_at_per_mille,
    };
    if !size::crosses(run, &run.view, at) {
        return None;
    }
    match strategy {
        ContextStrategy::Compact => recover(run),
        ContextStrategy::PeriodicSummary if run.course.summaries < summaries_max => {
            let plan = CutPlan::keeping(run, run.policy.context.keep_messages);
            match plan {
                Some(plan) => Some(summary::start(run, plan, SummaryReason::Full, Vec::new())),
                None => roll(run, CompactionMeans::Window),
            }
        }
        ContextStrategy::PeriodicSummary | ContextStrategy::RollingWindow => roll(run, CompactionMeans::Window),
    }
}

/// Row B5.
fn recover(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let context = &run.policy.context;
    let (keep, prune, span) = (context.keep_messages, context.prune_keep_messages, context.recovery_span);
    if run.course.recoveries >= context.recoveries_max {
        return roll(run, CompactionMeans::Truncation);
    }
    let last = run.course.last.filter(|(_, at)| run.iterations.saturating_sub(*at) <= span);
    let step = match last {
        // What was done for this very request has to do, unless it does not fit at all.
        Some((_, at)) if at == run.iterations => {
            return if size::exceeds(run, &run.view) { shrink_request(run) } else { None };
        }
        None => RecoveryStep::Compact,
        Some((RecoveryStep::Compact, _)) => RecoveryStep::DeepPrune,
        Some((RecoveryStep::DeepPrune | RecoveryStep::AskHuman, _)) => RecoveryStep::AskHuman,
    };
    let (step, plan) = match step {
        RecoveryStep::Compact => match CutPlan::keeping(run, keep) {
            Some(plan) => (step, Some(plan)),
            // A few long messages: there is nothing to be summed up.
            None => (RecoveryStep::DeepPrune, CutPlan::keeping(run, prune)),
        },
        RecoveryStep::DeepPrune => (step, CutPlan::keeping(run, prune)),
        RecoveryStep::AskHuman => {
            let fired = recovery_effect(run, step);
            return Some(ask_human(run, fired));
        }
    };
    let Some(plan) = plan else {
        return if size::exceeds(run, &run.view) { shrink_request(run) } else { None };
    };
    let fired = recovery_effect(run, step);
    if step == RecoveryStep::Compact {
        return Some(summary::start(run, plan, SummaryReason::Full, vec![fired]));
    }
    let view = plan.deeply(run);
    let pruned = show(run, view, CompactionMeans::Truncation, None);
    Some(then_call_model(run, vec![fired, pruned]))
}

fn recovery_effect(run: &mut ActiveState, step: RecoveryStep) -> Effect {
    run.course.recoveries += 1;
    run.course.last = Some((step, run.iterations));
    Effect::Note(Box::new(Event::RecoveryFired(Recovery { step, number: run.course.recoveries })))
}

/// R3. The call that is due stands behind the question: whatever comes of it, the run goes on from there.
fn ask_human(run: &mut ActiveState, fired: Effect) -> Vec<Effect> {
    run.phase = Phase::Calling(run.call_model());
    vec![fired, Effect::AskHuman(Question::ContextFull)]
}

/// A person has said how to go on: `words` are a new direction.
pub(super) fn on_direction(run: &mut ActiveState, words: Option<(UserId, String)>) -> Vec<Effect> {
    if let Some((by, text)) = words {
        run.transcript.push_from(by, text);
    }
    let plan = CutPlan::keeping(run, run.policy.context.prune_keep_messages);
    let view = plan.map(|plan| plan.deeply(run));
    let pruned = view.map(|view| show(run, view, CompactionMeans::Truncation, None));
    let mut effects: Vec<Effect> = pruned.into_iter().collect();
    effects.extend(ending::go_on(run));
    effects
}

/// The oldest messages are left out, as many as it takes (row D3).
fn roll(run: &mut ActiveState, means: CompactionMeans) -> Option<Vec<Effect>> {
    match CutPlan::down_to(run, ROLL_TO_PER_MILLE) {
        Some(plan) => {
            let rolled = truncate(run, plan, means);
            Some(then_call_model(run, vec![rolled]))
        }
        None if size::exceeds(run, &run.view) => shrink_request(run),
        None => None,
    }
}

/// A request that does not fit: everything that row E11 knows, before any model is asked.
fn shrink_request(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let mut notes = Vec::new();
    for level in 0..plan::TRIMS {
        if !size::exceeds(run, &run.view) {
            break;
        }
        notes.extend(trimmed(run, level));
    }
    (!notes.is_empty()).then(|| then_call_model(run, notes))
}

/// The model said that the request is too long for it (row E11). None: nothing is left to be cut.
pub(super) fn on_too_long(run: &mut ActiveState) -> Option<Effect> {
    while run.course.too_long < plan::TRIMS {
        let level = run.course.too_long;
        run.course.too_long += 1;
        if let Some(note) = trimmed(run, level) {
            return Some(note);
        }
    }
    None
}

fn trimmed(run: &mut ActiveState, level: u32) -> Option<Effect> {
    let view = trim(run, level)?;
    Some(show(run, view, CompactionMeans::Truncation, None))
}

fn truncate(run: &mut ActiveState, plan: CutPlan, means: CompactionMeans) -> Effect {
    let view = plan.without_summary(run);
    show(run, view, means, None)
}

/// From now on this much is shown; `by` is the model that has summed up the rest.
fn show(run: &mut ActiveState, view: ContextView, means: CompactionMeans, by: Option<String>) -> Effect {
    let view = plan::fitted(run, view);
    let messages = plan::hidden(run, run.view.from, view.from);
    let (before, after) = (size::request(run, &run.view), size::request(run, &view));
    run.view = view;
    Effect::Note(Box::new(Event::Compacted(Compaction {
        means,
        messages: u32::try_from(messages).unwrap_or(u32::MAX),
        tokens_before: run.calibrated(before),
        tokens_after: run.calibrated(after),
        model: by,
    })))
}

fn then_call_model(run: &mut ActiveState, mut notes: Vec<Effect>) -> Vec<Effect> {
    notes.extend(ending::ask(run, run.call_model()));
    notes
}

/// Somebody wants the older part summed up.
pub(super) fn on_requested(run: &mut ActiveState) -> Vec<Effect> {
    match &run.phase {
        Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } => {
            run.course.requested = true;
            Vec::new()
        }
        Phase::Replied | Phase::Done(_) => {
            vec![Effect::Ignored { why: "there is nothing to be summed up for" }]
        }
    }
}
