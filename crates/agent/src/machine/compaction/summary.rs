//! The summary: when it is asked for, and what becomes of it (rows B4, D3).

use serde::Serialize;

use crate::machine::compaction::plan::CutPlan;
use crate::machine::compaction::view::ContextView;
use crate::machine::compaction::{show, size, texts, truncate};
use crate::machine::digest::Digest;
use crate::machine::effect::{Effect, FallbackChain, ModelCall, ModelCallPurpose, SummaryCall};
use crate::machine::event::{RunEnd, RunReply};
use crate::machine::note::CompactionMeans;
use crate::machine::run_start::FixedTokens;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::transcript::{REQUEST_SCHEME, canonical};
use crate::machine::{ending, pause};
use hob_model::message::Usage;
use hob_model::provider::ToolChoice;
use hob_model::{price, tokens};

/// What the request for a summary has besides what it is about.
const OVERHEAD_TOKENS: u64 = 300;
/// A summary that takes more than this part of the window is none.
const WINDOW_SHARE: u64 = 4;

/// A summary that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct PendingSummary {
    /// What it is about.
    pub(crate) plan: CutPlan,
    pub(crate) why: SummaryReason,
}

/// Why a summary is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SummaryReason {
    /// The window is filling.
    Full,
    /// Somebody wants it while the run goes on.
    Requested,
    /// The run is there for nothing else.
    Ordered,
}

/// A summary of what lies before the cut is due.
pub(super) fn start(run: &mut ActiveState, plan: CutPlan, why: SummaryReason, mut notes: Vec<Effect>) -> Vec<Effect> {
    run.course.pending = Some(PendingSummary { plan, why });
    notes.extend(ask(run));
    notes
}

/// Asks for the summary that is due.
pub(super) fn ask(run: &mut ActiveState) -> Vec<Effect> {
    let Some(PendingSummary { plan, .. }) = run.course.pending else {
        return Vec::new();
    };
    let call = call(run, plan);
    run.phase = Phase::Calling(call.clone());
    if let Some(by) = run.pause {
        return pause::stand_still(by);
    }
    vec![Effect::Summarise(SummaryCall { call, from: run.view.from, messages: plan.to })]
}

/// The call for a summary: the cheap model's, where there is one.
fn call(run: &ActiveState, plan: CutPlan) -> ModelCall {
    let (model, label) = match &run.room.summariser {
        Some(label) => (run.models.len(), label.clone()),
        None => (run.model, run.models.get(run.model).cloned().unwrap_or_default()),
    };
    let counted = plan.replaced(run) + OVERHEAD_TOKENS;
    let input_estimate = run.calibrated_by(model, counted);
    let parts = [
        canonical(&run.context),
        run.transcript.digest().0.as_bytes().to_vec(),
        canonical(&run.view),
        format!("Summary {}", plan.to).into_bytes(),
        label.as_bytes().to_vec(),
    ];
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    ModelCall {
        purpose: ModelCallPurpose::Summary,
        choice: ToolChoice::None,
        check: false,
        blind: false,
        model,
        label,
        delay_ms: 0,
        failures: 0,
        chain: FallbackChain::default(),
        digest: Digest::of(REQUEST_SCHEME, &parts),
        counted,
        input_estimate,
        reserve: run.rates(model).map(|rates| price::most(input_estimate, run.billing.reply_tokens, &rates)),
    }
}

/// `/compact` outside a run.
pub(super) fn ordered(run: &mut ActiveState) -> Vec<Effect> {
    match CutPlan::keeping(run, run.policy.context.prune_keep_messages) {
        Some(plan) => start(run, plan, SummaryReason::Ordered, Vec::new()),
        None => end_with_notice(run, texts::NOTHING_TO_COMPACT.to_owned(), RunEnd::Completed),
    }
}

fn end_with_notice(run: &mut ActiveState, text: String, end: RunEnd) -> Vec<Effect> {
    run.phase = Phase::Replied;
    vec![Effect::Reply(RunReply::Notice { text }), Effect::End(end)]
}

/// The summary that is being made, if one is.
fn pending(run: &ActiveState) -> Option<(ModelCall, PendingSummary)> {
    match &run.phase {
        Phase::Calling(call) if call.purpose == ModelCallPurpose::Summary => Some((call.clone(), run.course.pending?)),
        Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    }
}

/// A summary came.
pub(in crate::machine) fn on_made(run: &mut ActiveState, text: &str, usage: Usage) -> Vec<Effect> {
    let Some((call, PendingSummary { plan, why })) = pending(run) else {
        return vec![Effect::Ignored { why: "no summary was asked for" }];
    };
    run.crashes = 0;
    let billed = billed(&call, text, usage);
    run.cost = run.cost.plus(run.price(call.model, &billed).unwrap_or_default());
    run.usage.add(billed);
    let size = tokens::count(text);
    if text.trim().is_empty() {
        return useless(run, plan, why, texts::EMPTY);
    }
    if run.calibrated(size) > size::window(run).tokens / WINDOW_SHARE {
        return useless(run, plan, why, texts::TOO_LONG);
    }
    let conversation = |run: &ActiveState, view: &ContextView| {
        run.calibrated(size::request(run, view).saturating_sub(size::fixed(run)))
    };
    let before = conversation(run, &run.view);
    let view = plan.with_summary(run, text.trim().to_owned());
    let after = conversation(run, &view);
    // With what stands around it, and what is pinned beside it.
    if after >= before {
        return useless(run, plan, why, texts::TOO_LONG);
    }
    run.course.pending = None;
    run.course.summaries += 1;
    let messages = super::plan::hidden(run, run.view.from, plan.to);
    let mut effects = vec![show(run, view, CompactionMeans::Summary, Some(call.label))];
    if why == SummaryReason::Ordered {
        let text = texts::compacted(messages, before, after);
        effects.extend(end_with_notice(run, text, RunEnd::Completed));
        return effects;
    }
    effects.extend(ending::go_on(run));
    effects
}

/// What a summary is billed for: what its provider reports, else the estimate.
pub(crate) fn billed(call: &ModelCall, text: &str, usage: Usage) -> Usage {
    if usage.input_tokens > 0 {
        return usage;
    }
    let output_tokens = usage.output_tokens.max(tokens::count(text));
    Usage { input_tokens: call.input_estimate, output_tokens, ..usage }
}

/// No summary came, or came in time.
pub(in crate::machine) fn on_failed(run: &mut ActiveState, why_not: &str, late: bool) -> Vec<Effect> {
    let Some((_, PendingSummary { plan, why })) = pending(run) else {
        return vec![Effect::Ignored { why: "no summary was asked for" }];
    };
    if late {
        run.lose_call();
    }
    useless(run, plan, why, why_not)
}

/// There is no summary: where the window is full, what it was to stand for is left out.
fn useless(run: &mut ActiveState, plan: CutPlan, why: SummaryReason, why_not: &str) -> Vec<Effect> {
    run.course.pending = None;
    match why {
        SummaryReason::Ordered => {
            end_with_notice(run, texts::not_compacted(why_not), RunEnd::Failed { why: "summary".to_owned() })
        }
        SummaryReason::Requested => ending::go_on(run),
        SummaryReason::Full => {
            let mut effects = vec![truncate(run, plan, CompactionMeans::Truncation)];
            effects.extend(ending::go_on(run));
            effects
        }
    }
}

/// What the run begins with: the view that a summary from before leaves.
pub(in crate::machine) fn initial_view(run: &ActiveState) -> ContextView {
    match &run.room.carried {
        Some(carried) => {
            ContextView { summary: Some(carried.text.clone()), left_out: carried.left_out, ..ContextView::default() }
        }
        None => ContextView::default(),
    }
}

/// The error of a run whose fixed parts and message do not fit a window that is known (lesson 14).
pub(in crate::machine) fn no_room(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let window = size::window(run);
    let message = run.transcript.tokens();
    let least = run.calibrated(size::fixed(run) + message);
    if !window.known || least <= window.tokens {
        return None;
    }
    let FixedTokens { system, tools, tail } = run.room.fixed;
    let fixed =
        FixedTokens { system: run.calibrated(system), tools: run.calibrated(tools), tail: run.calibrated(tail) };
    let model = run.models.get(run.model).cloned().unwrap_or_default();
    let text = texts::no_room(&model, window.tokens, &fixed, run.calibrated(message));
    Some(end_with_notice(run, text, RunEnd::Failed { why: "context_too_long".to_owned() }))
}
