//! Facts looked through some hours after they changed: what says the same twice is one fact, what is over is history.
//!
//! Never: a value that a person told gives way to one that was drawn from talk.
//! Start at [`consolidate`]; what is merged says [`merges`].

use jiff::Timestamp;

use crate::facts::equivalence::{same_key, same_value};
use hob_core::domain::ids::FactId;
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::facts::Fact;
use hob_store::{Tx, facts, millis};

/// The most facts of a scope that are compared at once; the newest are those that changed.
const FACTS_MAX: i64 = 300;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsolidationOutcome {
    pub scope: Scope,
    /// Facts that were merged into others, or are over.
    pub merged: usize,
}

/// Looks through the scope that has waited longest.
pub(crate) async fn consolidate(
    tx: &mut Tx,
    before: Timestamp,
    at: Timestamp,
) -> Result<Option<ConsolidationOutcome>, StoreError> {
    let Some(scope) = facts::changed_before(tx, millis(before)).await? else { return Ok(None) };
    let now = millis(at);
    let known = facts::newest(tx, scope, FACTS_MAX).await?;
    let mut merged = 0;
    for merge in merges(&known, now) {
        // What contradicts it is still to be asked about.
        if facts::rivals(tx, merge.gone).await?.is_empty() {
            facts::supersede(tx, merge.gone, merge.into, now).await?;
            merged += 1;
        }
    }
    facts::consolidated(tx, scope).await?;
    Ok(Some(ConsolidationOutcome { scope, merged }))
}

/// A fact that is no longer current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FactMerge {
    pub gone: FactId,
    /// What says the same; none: its time is over.
    pub into: Option<FactId>,
}

/// What of the current facts says the same as another, whatever its category, and what is over. Of two, the one stays that was
/// told, else the surer, else the older.
pub(crate) fn merges(known: &[Fact], now: i64) -> Vec<FactMerge> {
    let mut staying: Vec<&Fact> = Vec::new();
    let mut gone = Vec::new();
    let mut by_worth: Vec<&Fact> = known.iter().collect();
    by_worth.sort_by(|a, b| {
        let worth = |fact: &Fact| (fact.pinned, fact.source);
        worth(b).cmp(&worth(a)).then(b.confidence.total_cmp(&a.confidence)).then(a.id.cmp(&b.id))
    });
    for fact in by_worth {
        if fact.is_over(now) {
            gone.push(FactMerge { gone: fact.id, into: None });
            continue;
        }
        let twin = staying.iter().find(|other| {
            other.person == fact.person
                && other.valid_until == fact.valid_until
                && same_key(&other.key, &fact.key)
                && same_value(&other.value, &fact.value)
        });
        match twin {
            Some(twin) => gone.push(FactMerge { gone: fact.id, into: Some(twin.id) }),
            None => staying.push(fact),
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decide::tests::fact;
    use hob_store::facts::Source;

    #[test]
    fn n6_what_says_the_same_is_one_fact() {
        let of = |id, key: &str, value: &str| Fact { key: key.to_owned(), ..fact(id, value) };
        let known = [
            of(1, "sister's name", "Berta"),
            Fact { category: "family".to_owned(), source: Source::Told, ..of(2, "name of my sister", "Berta.") },
            of(3, "brother's name", "Berta"),
            of(4, "door code", "12"),
            of(5, "door code", "13"),
            Fact { valid_until: Some(50), ..of(6, "away", "in Rome") },
            Fact { person: Some(hob_core::domain::ids::PersonId(1)), ..of(7, "sister's name", "Berta") },
        ];
        let into = |gone, into: Option<i64>| FactMerge { gone: FactId(gone), into: into.map(FactId) };
        assert_eq!(merges(&known, 100), [into(1, Some(2)), into(6, None)]);
        assert_eq!(merges(&[], 100), []);
    }
}
