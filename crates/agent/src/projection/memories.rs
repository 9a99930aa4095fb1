//! What people said becomes a memory, in the transaction that puts it into the history (row A1).

use std::collections::BTreeSet;

use crate::journal;
use crate::machine::run_start::RecallRecord;
use crate::projection::attribution::AttributedWords;
use crate::projection::write::RunRowTarget;
use hob_core::domain::ids::{FactId, MemoryId, MessageId};
use hob_core::domain::principal::{Principal, Trust};
use hob_core::domain::text::one_line;
use hob_core::policy::memory::{SpeakingPlace, scope_for};
use hob_memory::{importance, keep};
use hob_store::error::StoreError;
use hob_store::memories::NewMemory;
use hob_store::recall_log::NewRecalled;
use hob_store::{Tx, facts, memories, messages, millis, recall_log, users};

/// The most characters of a question that are kept with its answer.
const QUESTION_CHARS_MAX: usize = 300;

/// Remembers words that are now a message of the history; `asked` is the question that they answer.
pub(super) async fn remember(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    said: &AttributedWords,
    message: MessageId,
    asked: Option<&str>,
) -> Result<(), StoreError> {
    let Some(principal) = speaker(tx, said).await? else {
        return Ok(());
    };
    let place = SpeakingPlace::of(target.key.session, &target.destination.conversation);
    let Some(scope) = scope_for(&principal, place) else {
        return Ok(());
    };
    let new = NewMemory {
        scope,
        session: Some(target.key.session),
        speaker: &principal.name,
        user: Some(principal.user),
        message: Some(message),
        text: &said.text,
        asked,
        origin: principal.role.as_str(),
        importance: importance::score(&said.text),
        at: millis(target.at),
    };
    keep::add(tx, &new).await?;
    Ok(())
}

async fn speaker(tx: &mut Tx, said: &AttributedWords) -> Result<Option<Principal>, StoreError> {
    if let Some(principal) = &said.principal {
        return Ok(Some(principal.clone()));
    }
    let known = users::find_by_id(tx, said.by).await?;
    Ok(known.map(|(name, role)| Principal { user: said.by, name, role, trust: Trust::Trusted }))
}

/// The question that the next words in the conversation answer: Hob's last, if nobody said anything since, and not long ago.
pub(super) async fn open_question(tx: &mut Tx, target: &RunRowTarget<'_>) -> Result<Option<String>, StoreError> {
    let Some(last) = messages::last_message(tx, target.key.session).await? else {
        return Ok(None);
    };
    // What Hob asks because of untrusted content is not remembered in a person's name.
    if last.taint.is_some() || last.role != "assistant" || millis(target.at) - last.at >= memories::PAUSE_MS {
        return Ok(None);
    }
    let Some(question) = question_in(&last.text) else {
        return Ok(None);
    };
    let answers = journal::load_accepted(tx, last.run).await?;
    let trusted = answers.is_some_and(|accepted| accepted.principal.trust == Trust::Trusted);
    Ok(trusted.then_some(question))
}

/// The last sentence that asks, on one line; of a long one its end.
fn question_in(text: &str) -> Option<String> {
    let ends = |at: usize| {
        text.get(at + 1..).is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric()))
    };
    let end = text.rmatch_indices('?').map(|(at, _)| at).find(|at| ends(*at) && !is_listed(text, *at))?;
    let upto = text.get(..end)?;
    let begins = |(at, sign): (usize, &str)| {
        let next = upto.get(at + sign.len()..).and_then(|rest| rest.chars().next());
        (sign == "\n" || next.is_some_and(char::is_whitespace)).then_some(at + sign.len())
    };
    let begin = upto.rmatch_indices(['.', '!', '?', '\n']).find_map(begins).unwrap_or(0);
    let question = text.get(begin..=end)?;
    question.chars().any(char::is_alphanumeric).then(|| shortened(question))
}

/// A question on one line; of a long one its end.
pub(super) fn shortened(question: &str) -> String {
    let question = one_line(question);
    let chars = question.chars().count();
    question.chars().skip(chars.saturating_sub(QUESTION_CHARS_MAX)).collect()
}

/// Whether the `?` at `at` ends a quote in a list, as of what was said before: somebody else asked that.
fn is_listed(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.starts_with("- ") && after.starts_with("?\"")
}

/// Stores what was recalled for a run, and that it was of use.
pub(super) async fn store_recalled(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    all: &[RecallRecord],
) -> Result<(), StoreError> {
    let at = millis(target.at);
    let mut rows = Vec::with_capacity(all.len());
    let told: BTreeSet<FactId> = all.iter().filter_map(|item| item.fact).collect();
    for (item, place) in all.iter().zip(1..) {
        // Of a fact that is there in any case, that it was told is all there is to say.
        if item.fact.is_some() && item.parts.is_empty() {
            continue;
        }
        let parts = serde_json::to_string(&item.parts).map_err(|error| StoreError::Database(error.to_string()))?;
        let RecallRecord { memory, fact, answer, leg, score, .. } = *item;
        rows.push(NewRecalled { place, memory, fact, answer, leg, score, parts });
    }
    recall_log::add_all(tx, target.key.run, &told, &rows).await?;
    let used: Vec<MemoryId> = all.iter().filter(|item| item.is_use()).filter_map(|item| item.memory).collect();
    memories::mark_used(tx, &used, at).await?;
    let used: Vec<FactId> = all.iter().filter(|item| item.is_use()).filter_map(|item| item.fact).collect();
    facts::note_used(tx, &used, at).await?;
    for fact in all.iter().filter(|item| item.ask).filter_map(|item| item.fact) {
        facts::note_asked(tx, fact, at).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_last_sentence_that_asks() {
        let long = format!("Which of these: {}?", "one, ".repeat(100));
        let table = [
            ("", None),
            ("Done.", None),
            ("When does it begin?", Some("When does it begin?")),
            ("Noted. And who comes along? I can invite them.", Some("And who comes along?")),
            ("Sure!\n\nWhich day\nsuits you?", Some("suits you?")),
            ("Who? Anna?", Some("Anna?")),
            ("See https://example.org/?day=3 for more.", None),
            ("It costs 3.50 – shall I buy it?", Some("It costs 3.50 – shall I buy it?")),
            ("?", None),
            ("Wie heißt deine Schwester?", Some("Wie heißt deine Schwester?")),
            ("Is it \"blue?\"", Some("Is it \"blue?")),
            ("You said:\n- 2026-05-03: \"where is the key?\"\n- 2026-05-04: \"found it\"", None),
            ("Which one:\n- red?", Some("- red?")),
        ];
        for (text, expected) in table {
            assert_eq!(question_in(text).as_deref(), expected, "{text}");
        }
        let cut = question_in(&long).unwrap();
        assert!(cut.chars().count() == QUESTION_CHARS_MAX && cut.ends_with("one, ?"), "{cut}");
    }
}
