//! How much there is, and how much room.

use crate::machine::compaction::view::{ContextView, is_quoted, quoted};
use crate::machine::state::ActiveState;
use hob_model::message::Message;
use hob_model::tokens;

/// The window of a model that nobody knows, where nothing was assumed as the run began: what is summed up too early loses
/// less than what does not fit.
pub(crate) const WINDOW_UNKNOWN: u64 = 32_000;

/// The room that a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    /// Tokens, as the model counts them, without those that its reply may take.
    pub tokens: u64,
    /// Whether anybody told, or it is a guess.
    pub known: bool,
}

/// The room of the model that is asked now: the smaller of what is configured and what it has.
pub fn window(run: &ActiveState) -> ContextWindow {
    let bill = run.billing.models.get(run.model);
    let own = bill.and_then(|bill| bill.window);
    let told = [run.policy.context.window_tokens, own].into_iter().flatten().min();
    let whole = told.or(bill.and_then(|bill| bill.assumed)).unwrap_or(WINDOW_UNKNOWN);
    // Where the window is small, a reply does not get all that it may have elsewhere.
    let reply = run.billing.reply_tokens.min(whole / 4);
    ContextWindow { tokens: whole - reply, known: told.is_some() }
}

/// Everything that is sent besides what was said: instructions, tools, tail.
pub fn fixed(run: &ActiveState) -> u64 {
    let past: u64 = run.past.iter().map(|message| message.tokens).sum();
    run.billing.context_tokens.saturating_sub(past)
}

/// The tokens of the next request if this much is shown, as counted here.
pub fn request(run: &ActiveState, view: &ContextView) -> u64 {
    fixed(run) + shown_tokens(run, view)
}

/// The tokens of what is shown of all that was said.
fn shown_tokens(run: &ActiveState, view: &ContextView) -> u64 {
    let block = view.block().map_or(0, |block| tokens::message(&block));
    let past: u64 = run.past.iter().skip(view.from).map(|message| past_tokens(view, message.tokens)).sum();
    let hidden = view.from.saturating_sub(run.past.len());
    let own: u64 = run
        .transcript
        .entries()
        .enumerate()
        .map(|(index, entry)| match (index < hidden, entry.message) {
            (true, message) if is_quoted(&entry) => tokens::message(&quoted(message)),
            (true, _) => 0,
            (false, message @ Message::Tool(_)) if view.result_chars.is_some() => tokens::message(&view.cut(message)),
            (false, _) => entry.tokens,
        })
        .sum();
    block + past + own
}

/// What is known of a message of the history is its size alone: no text has more tokens than characters.
fn past_tokens(view: &ContextView, tokens: u64) -> u64 {
    view.result_chars.map_or(tokens, |chars| tokens.min(u64::from(chars) + 40))
}

/// Is so much of the window used, in thousandths?
pub(crate) fn crosses(run: &ActiveState, view: &ContextView, per_mille: u64) -> bool {
    let used = run.calibrated(request(run, view));
    used.saturating_mul(1_000) >= window(run).tokens.saturating_mul(per_mille)
}

/// Does it not fit?
pub fn exceeds(run: &ActiveState, view: &ContextView) -> bool {
    run.calibrated(request(run, view)) > window(run).tokens
}
