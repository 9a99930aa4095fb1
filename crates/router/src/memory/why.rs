//! `/why`: what was recalled for the last answer, what brought it up, and where it comes from.

use crate::memory::texts::{self, ListEntry, RecallReason};
use crate::memory::{ENTRIES_MAX, MemoryView};
use hob_agent::machine::plan::plan_report;
use hob_agent::write_off::fold;
use hob_core::domain::ids::RunId;
use hob_core::domain::memory::RecallCause;
use hob_memory::item::MemoryItem;
use hob_memory::recall::SearchMode;
use hob_memory::why;
use hob_store::Tx;
use hob_store::answers;
use hob_store::error::StoreError;
use hob_store::recall_reasons::{RecalledRow, last_answer, recalled};

/// Signals that are named for a memory.
const SIGNALS_MAX: usize = 3;

/// The words that answer.
pub(crate) async fn why(tx: &mut Tx, view: &MemoryView<'_>) -> Result<String, StoreError> {
    let Some(run) = last_answer(tx, view.caller.session.id).await? else {
        return Ok(texts::NO_ANSWER_YET.to_owned());
    };
    let planned = planned(tx, run).await?;
    let recalled = recalled(tx, run).await?;
    let told = if recalled.is_empty() {
        texts::nothing_recalled(view.how())
    } else {
        recall_report(tx, view, &recalled).await?
    };
    Ok([vec![told], planned].concat().join("\n"))
}

/// What was planned for it, and done without a question (row N16). Of a record that cannot be read nothing is said.
pub(crate) async fn planned(tx: &mut Tx, run: RunId) -> Result<Vec<String>, StoreError> {
    let folded = fold(tx, run).await?.ok();
    let active = folded.as_ref().and_then(|folded| folded.replay.state.active());
    Ok(active.map(plan_report).unwrap_or_default())
}

async fn recall_report(tx: &mut Tx, view: &MemoryView<'_>, recalled: &[RecalledRow]) -> Result<String, StoreError> {
    let (mut said, mut known) = (Vec::new(), Vec::new());
    let (mut unseen, mut forgotten) = (0, 0);
    for row in recalled {
        if row.leg == RecallCause::Answer {
            match recalled_answer(tx, view, row).await? {
                RecalledAnswer::Shown(entry) => said.push((entry, reason(row))),
                RecalledAnswer::Unseen => unseen += 1,
                RecalledAnswer::Forgotten => forgotten += 1,
            }
            continue;
        }
        let item = row.memory.map(MemoryItem::Memory).or(row.fact.map(MemoryItem::Fact));
        let Some(item) = item else {
            forgotten += 1;
            continue;
        };
        match view.item(tx, item).await? {
            None => unseen += 1,
            Some((entry, _)) if row.leg == RecallCause::Fact => known.push(entry),
            Some((entry, _)) => said.push((entry, reason(row))),
        }
    }
    let more_facts = known.len().saturating_sub(ENTRIES_MAX);
    known.truncate(ENTRIES_MAX);
    let means = why::search_mode(recalled).map(SearchMode::as_str);
    Ok(texts::why(&texts::RecallReport { said, known, more_facts, unseen, forgotten, means }))
}

/// An answer of Hob's that was recalled.
enum RecalledAnswer {
    Shown(ListEntry),
    /// Not the caller's to see.
    Unseen,
    Forgotten,
}

async fn recalled_answer(tx: &mut Tx, view: &MemoryView<'_>, row: &RecalledRow) -> Result<RecalledAnswer, StoreError> {
    let answer = match row.answer {
        Some(answer) => answers::find(tx, answer).await?,
        None => None,
    };
    Ok(match answer {
        None => RecalledAnswer::Forgotten,
        Some(answer) if !view.sees(answer.scope) => RecalledAnswer::Unseen,
        Some(answer) => RecalledAnswer::Shown(view.answer_entry(&answer)),
    })
}

/// Why it was recalled, and how much each of the strongest signals brought.
fn reason(row: &RecalledRow) -> RecallReason {
    let mut strongest = why::signals(row);
    strongest.retain(|(_, part)| *part > 0);
    strongest.truncate(SIGNALS_MAX);
    RecallReason { leg: row.leg, score: row.score, strongest }
}
