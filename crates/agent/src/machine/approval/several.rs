//! One question for all calls of a reply that need a person's word (row N16): the word is for all, for some, or for none.
//!
//! Never: a draft in a list, or a call that is asked about each time: such a word is for that call alone. "Always", or "for this
//! run", said of several.
//! Start at `question`.

use std::collections::BTreeSet;

use crate::machine::approval::{batch, held_question, open_batch, open_call, release, words};
use crate::machine::batch::{CallProgress, OpenCall};
use crate::machine::effect::Effect;
use crate::machine::human::{Decision, unpause};
use crate::machine::question::{CallConcern, FurtherCall, Question};
use crate::machine::run_start::RulesEdition;
use crate::machine::state::ActiveState;
use crate::machine::tools;
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::KEEP_CHANGES;

/// So many calls stand in one question; what is held besides is asked about after it.
pub(crate) const CALLS_MAX: usize = 5;

/// The question about a call that is held, and about those that are held beside it.
pub(super) fn question(run: &ActiveState, first: &OpenCall) -> Question {
    let mut question = held_question(run, first);
    let calls = batch(run).into_iter().flat_map(|batch| &batch.calls);
    let others = calls.filter(|open| {
        open.progress == CallProgress::Held && open.call.id != first.call.id && open.call.name != KEEP_CHANGES
    });
    let others: Vec<FurtherCall> = others.filter_map(|open| further_call(run, open)).take(CALLS_MAX - 1).collect();
    let lists = run.rules >= RulesEdition::LISTED && is_listable(&question) && !others.is_empty();
    if let Question::Approval { grantable, concern, beside, .. } = &mut question
        && lists
    {
        (*grantable, concern.this_run, concern.classing) = (false, false, None);
        *beside = others;
    }
    question
}

/// Might a person say of calls like it that they need not be asked again?
fn is_listable(question: &Question) -> bool {
    matches!(question, Question::Approval { grantable, concern, .. } if *grantable || concern.this_run)
}

fn further_call(run: &ActiveState, open: &OpenCall) -> Option<FurtherCall> {
    let asked = Some(held_question(run, open)).filter(is_listable)?;
    let Question::Approval { call, name, arguments, mut concern, .. } = asked else { return None };
    (concern.this_run, concern.classing) = (false, None);
    Some(FurtherCall { call, name, arguments, concern })
}

/// The question as it would be put now, where the run has since read something that it does not name, or other calls are held.
pub(super) fn renewed(run: &ActiveState, asked: &Question) -> Option<Question> {
    let Question::Approval { call, .. } = asked else { return None };
    let now = question(run, open_call(run, call)?);
    let (then, listed) = (items(asked), items(&now));
    let is_same = then.len() == listed.len()
        && then.iter().zip(&listed).all(|((was, known), (is, concern))| {
            let is_new = concern.sources.iter().any(|source| !known.sources.contains(source));
            was == is && !is_new && concern.draft == known.draft
        });
    (!is_same).then_some(now)
}

/// The calls of a question, with what there is to be known of each.
fn items(question: &Question) -> Vec<(&CallId, &CallConcern)> {
    let Question::Approval { call, concern, beside, .. } = question else { return Vec::new() };
    let others = beside.iter().map(|beside| (&beside.call, &*beside.concern));
    std::iter::once((call, &**concern)).chain(others).collect()
}

/// A person said something to a question about several calls.
pub(super) fn on_answered(run: &mut ActiveState, question: &Question, text: &str) -> Vec<Effect> {
    let calls: Vec<CallId> = items(question).into_iter().map(|(call, _)| call.clone()).collect();
    let decision = Decision::parse(text, question);
    let chosen: BTreeSet<usize> = if decision == Some(Decision::Deny) {
        BTreeSet::new()
    } else if decision == Some(Decision::All) {
        (1..=calls.len()).collect()
    } else if let Some(Decision::Only(number)) = decision {
        [number].into()
    } else if let Some(numbers) = chosen_calls(text, calls.len()) {
        numbers
    } else {
        return vec![Effect::AskHuman(question.clone())];
    };
    if !chosen.is_empty()
        && let Some(changed) = renewed(run, question)
    {
        return vec![Effect::AskHuman(changed)];
    }
    unpause(run);
    let reason = words::reason(text).filter(|_| chosen.is_empty());
    for (number, call) in (1..).zip(&calls) {
        let name = open_call(run, call).map(|open| open.call.name.clone()).unwrap_or_default();
        if chosen.contains(&number) {
            release(run, call, &name);
        } else {
            deny(run, call, words::denied(reason));
        }
    }
    tools::settle(run)
}

/// None of the calls of a question is made.
pub(super) fn deny_all(run: &mut ActiveState, question: &Question, why: &str) -> Vec<Effect> {
    for (call, _) in items(question) {
        deny(run, call, why.to_owned());
    }
    tools::settle(run)
}

fn deny(run: &mut ActiveState, call: &CallId, why: String) {
    if let Some(batch) = open_batch(&mut run.phase) {
        batch.deny(call, why);
    }
}

/// Which of so many somebody has named: "only 1 and 3". Anything less clear is none.
pub(crate) fn chosen_calls(text: &str, count: usize) -> Option<BTreeSet<usize>> {
    let said = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let named = said.strip_prefix("only ")?.replace([',', '&'], " ");
    let numbers = named.split_whitespace().filter(|word| *word != "and");
    let numbers: Option<BTreeSet<usize>> = numbers.map(|word| word.parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.iter().all(|number| (1..=count).contains(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n16_who_names_some_of_them_is_clear_or_says_nothing() {
        let set = |numbers: &[usize]| Some(numbers.iter().copied().collect());
        for (text, expected) in [
            ("only 1 and 3", set(&[1, 3])),
            ("Only 2.", set(&[2])),
            ("only 1, 2 & 3", set(&[1, 2, 3])),
            ("only 4", None),
            ("only 0", None),
            ("only", None),
            ("only and", None),
            ("only 1 or 2", None),
            ("only 1 if it is cheap", None),
            ("1 and 3", None),
            ("not 1", None),
            ("only -1", None),
        ] {
            assert_eq!(chosen_calls(text, 3), expected, "{text}");
        }
    }
}
