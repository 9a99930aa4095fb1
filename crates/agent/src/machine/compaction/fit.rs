//! Results of tools, cut to what the window leaves (row E8).

use crate::machine::compaction::size;
use crate::machine::state::ActiveState;
use hob_model::message::{Message, ToolResult};
use hob_model::tokens;

/// However little is left, so many tokens of a result are shown.
const RESULT_TOKENS_LEAST: u64 = 60;

/// The messages of a batch, with its results cut to what is left of the window, in sum as well. A quarter of the window
/// is always left for them: older messages can be put away.
pub(in crate::machine) fn cut_results(run: &ActiveState, messages: Vec<Message>) -> Vec<Message> {
    let window = size::window(run).tokens;
    let reply: u64 = messages.iter().filter(|m| !matches!(m, Message::Tool(_))).map(tokens::message).sum();
    let used = run.calibrated(size::request(run, &run.view) + reply);
    // Back into tokens as they are counted here.
    let per_mille = run.calibrated(1_000).max(1);
    let left = window.saturating_sub(used).max(window / 4).saturating_mul(1_000) / per_mille;
    let sizes: Vec<u64> = messages.iter().filter(|m| matches!(m, Message::Tool(_))).map(tokens::message).collect();
    if sizes.iter().sum::<u64>() <= left {
        return messages;
    }
    let share = share(&sizes, left).max(RESULT_TOKENS_LEAST);
    messages.into_iter().map(|message| cut_to(message, share)).collect()
}

/// The most tokens that each may have, so that together they have no more than `left`: small ones leave theirs to others.
pub(super) fn share(sizes: &[u64], left: u64) -> u64 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let (mut left, mut count) = (left, sizes.len() as u64);
    for size in sizes {
        if size.saturating_mul(count) > left {
            return left / count;
        }
        left -= size;
        count -= 1;
    }
    u64::MAX
}

/// A result of at most so many tokens; other messages as they are.
fn cut_to(message: Message, tokens_max: u64) -> Message {
    let size = tokens::message(&message);
    let Message::Tool(result) = message else { return message };
    if size <= tokens_max {
        return Message::Tool(result);
    }
    let chars = result.text.chars().count() as u64;
    let mut keep = chars.saturating_mul(tokens_max) / size.max(1);
    loop {
        let text = head_and_tail(&result.text, usize::try_from(keep).unwrap_or(usize::MAX));
        let cut = Message::Tool(ToolResult { text, ..result.clone() });
        if keep == 0 || tokens::message(&cut) <= tokens_max {
            return cut;
        }
        keep = keep * 9 / 10;
    }
}

/// The head and the tail of a text, together `chars_max` characters, and between them a word about the rest.
pub(crate) fn head_and_tail(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let half = chars_max / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n… {} characters left out …\n{tail}", count - 2 * half)
}
