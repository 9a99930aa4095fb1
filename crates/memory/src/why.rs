//! Why something was recalled, read back from what was written down then (row N8).

use std::collections::BTreeMap;

use crate::recall::SearchMode;
use hob_core::domain::memory::RecallCause;
use hob_store::recall_reasons::RecalledRow;

/// What raised something that nobody asked for: it is pinned.
pub const PINNED: &str = "pinned";
/// Or the speaker said it, and it matters so much.
pub const IMPORTANCE: &str = "importance";
/// In the name of each signal that an embedding brings.
const OF_MEANING: &str = "meaning";

/// What each signal brought to the score, in thousandths; the strongest first.
pub fn signals(row: &RecalledRow) -> Vec<(String, i64)> {
    let parts: BTreeMap<String, i64> = serde_json::from_str(&row.parts).unwrap_or_else(|error| {
        tracing::warn!(%error, "what brought a memory up cannot be read");
        BTreeMap::new()
    });
    let mut signals: Vec<(String, i64)> = parts.into_iter().collect();
    signals.sort_by_key(|(_, part)| std::cmp::Reverse(*part));
    signals
}

/// How it was looked for, as far as what was found tells.
pub fn search_mode(recalled: &[RecalledRow]) -> Option<SearchMode> {
    let mut sought = recalled.iter().filter(|row| row.leg == RecallCause::Relevance).peekable();
    sought.peek()?;
    let by_meaning =
        |row: &RecalledRow| signals(row).iter().any(|(name, part)| name.contains(OF_MEANING) && *part != 0);
    Some(if sought.any(by_meaning) { SearchMode::WordsAndMeaning } else { SearchMode::Words })
}
