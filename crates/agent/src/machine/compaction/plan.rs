//! Where the cut goes, and what is left on the far side of it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::machine::compaction::fit::head_and_tail;
use crate::machine::compaction::view::{ContextView, PinnedResult, is_quoted};
use crate::machine::compaction::{size, texts};
use crate::machine::run_start::PastRole;
use crate::machine::state::ActiveState;
use hob_core::policy::redact::redact;
use hob_model::message::{Message, reply_calls};
use hob_model::tokens;

/// The most characters of a pinned result.
pub(crate) const PIN_CHARS_MAX: usize = 800;
/// The most pinned results.
pub(crate) const PINS_MAX: usize = 8;
/// How far row E11 goes.
pub(super) const TRIMS: u32 = 3;
/// The characters of a result, when results are cut.
const RESULT_CHARS: u32 = 2_000;
/// The same, when that did not help.
const RESULT_CHARS_LEAST: u32 = 500;

/// A cut between messages: those before it are to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct CutPlan {
    /// The first message that stays as it is.
    pub(crate) to: usize,
}

impl CutPlan {
    /// The cut that keeps the last messages, and with a result its call. None: there is nothing to go.
    pub(crate) fn keeping(run: &ActiveState, keep: u32) -> Option<Self> {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        Self::at(run, len(run).saturating_sub(keep.max(1)))
    }

    /// The earliest cut after which no more than this is used. None: there is nothing to go.
    pub(crate) fn down_to(run: &ActiveState, per_mille: u64) -> Option<Self> {
        let mut last = None;
        for plan in (run.view.from + 1..len(run)).filter_map(|to| Self::at(run, to)) {
            last = Some(plan);
            if !size::crosses(run, &plan.without_summary(run), per_mille) {
                break;
            }
        }
        last
    }

    fn at(run: &ActiveState, mut to: usize) -> Option<Self> {
        while to > run.view.from && is_result(run, to) {
            to -= 1;
        }
        (to > run.view.from && hidden(run, run.view.from, to) > 0).then_some(Self { to })
    }

    /// The view after the cut, without a word about what goes.
    pub(crate) fn without_summary(self, run: &ActiveState) -> ContextView {
        let gone = u32::try_from(hidden(run, run.view.from, self.to)).unwrap_or(u32::MAX);
        let before = run.view.clone();
        ContextView {
            from: self.to,
            left_out: before.left_out.saturating_add(gone),
            pins: pins(run, self.to),
            ..before
        }
    }

    /// The same by a deep prune: a line says what is gone, as nothing else stands for it (row B5).
    pub(crate) fn deeply(self, run: &ActiveState) -> ContextView {
        let view = self.without_summary(run);
        let gone = texts::pruned(&pruned_summary(run, run.view.from, self.to));
        let lines = view.pruned.iter().cloned().chain([gone]).collect::<Vec<_>>();
        ContextView { pruned: Some(lines.join("\n")), ..view }
    }

    /// The view after the cut, with a summary of what goes.
    pub(crate) fn with_summary(self, run: &ActiveState, text: String) -> ContextView {
        let result_chars = run.view.result_chars;
        ContextView {
            from: self.to,
            summary: Some(text),
            left_out: 0,
            pruned: None,
            pins: pins(run, self.to),
            result_chars,
        }
    }

    /// The tokens of what a summary would stand for: the one before, and the messages since.
    pub(crate) fn replaced(self, run: &ActiveState) -> u64 {
        let past = run.past.len();
        let own = run.transcript.entries().skip(run.view.from.saturating_sub(past));
        let own = own.take(self.to.saturating_sub(run.view.from.max(past))).filter(|entry| !is_quoted(entry));
        let old = run.past.iter().take(self.to).skip(run.view.from).map(|message| message.tokens);
        let summary = run.view.summary.as_deref().map_or(0, tokens::count);
        summary + old.sum::<u64>() + own.map(|entry| entry.tokens).sum::<u64>()
    }
}

/// How many messages there are.
fn len(run: &ActiveState) -> usize {
    run.past.len() + run.transcript.messages().len()
}

fn is_result(run: &ActiveState, at: usize) -> bool {
    match run.past.get(at) {
        Some(message) => message.role == PastRole::Tool,
        None => matches!(run.transcript.messages().get(at - run.past.len()), Some(Message::Tool(_))),
    }
}

/// How many messages from `from` up to `to` a cut at `to` hides: what people said in this run it does not.
pub fn hidden(run: &ActiveState, from: usize, to: usize) -> usize {
    let quoted = run
        .transcript
        .entries()
        .zip(run.past.len()..)
        .filter(|(entry, at)| is_quoted(entry) && (from..to).contains(at))
        .count();
    to.saturating_sub(from).saturating_sub(quoted)
}

/// What a deep prune does away with, as the record has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PrunedSummary {
    pub messages: usize,
    /// How often this run called each tool in them.
    pub calls: BTreeMap<String, u32>,
    /// How many calls of earlier runs have their results in them: of these the names are not at hand.
    pub(crate) earlier_calls: usize,
    /// How many of these calls failed.
    pub failed: u32,
}

fn pruned_summary(run: &ActiveState, from: usize, to: usize) -> PrunedSummary {
    let past = run.past.iter().take(to).skip(from);
    let earlier_calls = past.filter(|message| message.role == PastRole::Tool).count();
    let mut gone = PrunedSummary { messages: hidden(run, from, to), earlier_calls, ..PrunedSummary::default() };
    let own = run.transcript.messages().iter().zip(run.past.len()..);
    for (message, _) in own.filter(|(_, at)| (from..to).contains(at)) {
        match message {
            Message::Assistant { parts } => {
                reply_calls(parts).for_each(|call| *gone.calls.entry(call.name.clone()).or_default() += 1);
            }
            Message::Tool(result) => gone.failed += u32::from(result.is_error),
            Message::User { .. } => {}
        }
    }
    gone
}

/// The latest good result of each tool before `to` (row B4), the latest last; without secrets, and cut.
fn pins(run: &ActiveState, to: usize) -> Vec<PinnedResult> {
    let past = run.past.len();
    let own = run.transcript.messages().iter().zip(past..).take_while(|(_, at)| *at < to);
    let own = own.filter_map(|(message, at)| pin(message, at));
    let mut latest: Vec<PinnedResult> = Vec::new();
    for pin in run.room.pins.iter().filter(|pin| pin.at < to).cloned().chain(own) {
        latest.retain(|known| known.tool != pin.tool);
        latest.push(pin);
    }
    latest.drain(..latest.len().saturating_sub(PINS_MAX));
    latest
}

/// What is pinned of a message: a result that is no error.
pub fn pin(message: &Message, at: usize) -> Option<PinnedResult> {
    match message {
        Message::Tool(result) if !result.is_error && !result.text.trim().is_empty() => {
            let text = head_and_tail(&redact(&result.text), PIN_CHARS_MAX);
            Some(PinnedResult { at, tool: result.name.clone(), text })
        }
        Message::Tool(_) | Message::User { .. } | Message::Assistant { .. } => None,
    }
}

/// The same view, where it does not fit with fewer pinned results, then with less of the summary: what is kept as it is
/// goes before what is said about the rest.
pub(super) fn fitted(run: &ActiveState, mut view: ContextView) -> ContextView {
    while size::exceeds(run, &view) && !view.pins.is_empty() {
        view.pins.remove(0);
    }
    while size::exceeds(run, &view) {
        let Some(summary) = view.summary.take() else { break };
        let half = summary.chars().count() / 2;
        if half >= 100 {
            view.summary = Some(head_and_tail(&summary, half));
        } else {
            view.left_out = view.left_out.saturating_add(1);
        }
    }
    view
}

/// Row E11, step by step: results are cut; messages are left out; more of both. None: this step changes nothing.
pub(super) fn trim(run: &ActiveState, level: u32) -> Option<ContextView> {
    let context = &run.policy.context;
    let (keep, chars) = match level {
        0 => (None, RESULT_CHARS),
        1 => (Some(context.keep_messages), RESULT_CHARS),
        _ => (Some(context.prune_keep_messages), RESULT_CHARS_LEAST),
    };
    let plan = keep.and_then(|keep| CutPlan::keeping(run, keep));
    let view = plan.map_or_else(|| run.view.clone(), |plan| plan.without_summary(run));
    let result_chars = Some(view.result_chars.map_or(chars, |known| known.min(chars)));
    let view = ContextView { result_chars, ..view };
    (size::request(run, &view) < size::request(run, &run.view)).then_some(view)
}

/// The last ordinal of the conversation's history that is not shown.
pub fn through(run: &ActiveState) -> i64 {
    let hidden = run.view.from.saturating_sub(run.past.len());
    match (hidden, run.view.from.checked_sub(1).and_then(|at| run.past.get(at))) {
        (0, Some(message)) => message.ordinal,
        (0, None) => run.context.history_from - 1,
        (hidden, _) => run.context.history_through + i64::try_from(hidden).unwrap_or(0),
    }
}
