//! Facts: what is known, what it was before, and what contradicts it.
//!
//! Never: a value that gets lost. What no longer holds is superseded, and stays.
//! Start at [`ToldFact`]; the rules are `decide`'s.

pub(crate) mod decide;
pub(crate) mod equivalence;
pub mod keep;
pub mod relevance;
pub mod rivals;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::facts::keep::{FactDraft, RememberOutcome, keep};
use crate::facts::relevance::fact_score;
use crate::facts::rivals::FactConflict;
use crate::rank::dates::until::stated_last_day;
use crate::rank::relevance::asks_for_something;
use crate::recall::{RecalledFact, list, match_expression};
use hob_core::domain::ids::{FactId, PersonId, RunId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::facts::{AlwaysIncludedFacts, Fact, FactRow, Source};
use hob_store::{Tx, facts, memories, millis, users};

/// Where the words of a fact stand in the full-text index.
const FACT_COLUMNS: &str = "{category key value}";
/// What is told matters so much until it is used or pinned.
const TOLD_IMPORTANCE: f64 = 0.5;

/// Remembers one fact that a person told.
#[derive(Debug, Clone)]
pub struct ToldFact {
    pub scope: Scope,
    /// Who told it.
    pub user: UserId,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Whom it is about, where that is somebody in `people`.
    pub person: Option<PersonId>,
    /// Until when it holds ([`stated_expiry`]).
    pub valid_until: Option<Timestamp>,
    /// The run in which it was said; none: it was told beside any.
    pub run: Option<RunId>,
    /// What that run had read by then that nobody vouches for (row N6).
    pub taint: Taint,
    pub at: Timestamp,
}

impl ToldFact {
    pub async fn run(&self, tx: &mut Tx) -> Result<RememberOutcome, StoreError> {
        let saying = FactDraft {
            scope: self.scope,
            category: self.category.clone(),
            key: self.key.clone(),
            value: self.value.clone(),
            person: self.person,
            user: Some(self.user),
            speaker: users::name(tx, self.user).await?.unwrap_or_default(),
            message: match self.run {
                Some(run) => memories::last_said(tx, run, self.user).await?,
                None => None,
            },
            run: self.run,
            source: Source::Told,
            confidence: 1.0,
            importance: TOLD_IMPORTANCE,
            changed: false,
            said_at: millis(self.at),
            valid_until: self.valid_until.map(millis),
            taint: self.taint.clone(),
        };
        keep(tx, &saying, millis(self.at)).await
    }
}

/// Until when a value holds, where it says so: the end of that day.
pub fn stated_expiry(value: &str, said_at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let today = said_at.to_zoned(zone.clone()).date();
    let last = stated_last_day(value, today)?;
    Some(last.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp())
}

/// Looks facts up.
pub async fn search(tx: &mut Tx, scopes: &[Scope], query: &str, limit: usize) -> Result<Vec<FactRow>, StoreError> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    if let Some(query) = match_expression(query, scopes, FACT_COLUMNS) {
        return facts::search(tx, &query, most).await;
    }
    // "What do you know about me?" names nothing to look for: then what is newest counts.
    let mut newest = Vec::new();
    for scope in scopes {
        newest.extend(facts::list(tx, *scope, most).await?);
    }
    newest.truncate(limit);
    Ok(newest)
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RelevantFacts {
    /// Those that hold.
    pub facts: Vec<RecalledFact>,
    /// What contradicts each other and nobody was asked about; the oldest first. Whoever puts one before a person calls
    /// [`facts::note_asked`] in the same transaction.
    pub rivals: Vec<FactConflict>,
}

/// The facts that go along with a question, the weightiest first ([`fact_score()`]), and what is not sure.
pub async fn relevant(
    tx: &mut Tx,
    scopes: &[Scope],
    question: &str,
    limit: usize,
    now: Timestamp,
) -> Result<RelevantFacts, StoreError> {
    let (now, most) = (millis(now), i64::try_from(limit).unwrap_or(i64::MAX));
    let mut found: BTreeMap<FactId, (Option<usize>, Fact)> = BTreeMap::new();
    let asks = asks_for_something(question, &[]);
    if let Some(query) = match_expression(question, scopes, FACT_COLUMNS).filter(|_| asks) {
        let matching = facts::matching(tx, &query, most).await?;
        found.extend(matching.into_iter().enumerate().map(|(place, fact)| (fact.id, (Some(place), fact))));
    }
    let AlwaysIncludedFacts { facts: standing, open } = facts::always_included(tx, &list(scopes), most).await?;
    for fact in standing {
        found.entry(fact.id).or_insert((None, fact));
    }
    let holds = |fact: &Fact| fact.rival_of.is_none() && !fact.is_over(now);
    let mut known: Vec<(f64, Fact)> = found
        .into_values()
        .filter(|(_, fact)| holds(fact))
        .map(|(place, fact)| (fact_score(&fact, place, now), fact))
        .collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.id.cmp(&a.1.id)));
    known.truncate(limit);
    let open = open.into_iter().filter(|(current, rival)| !current.is_over(now) && !rival.is_over(now));
    Ok(RelevantFacts {
        facts: known.into_iter().map(|(score, fact)| known_fact(fact, score)).collect(),
        rivals: open.map(|(current, rival)| FactConflict { current, rival }).collect(),
    })
}

fn known_fact(fact: Fact, score: f64) -> RecalledFact {
    let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
    let taint = Taint::from_stored(fact.taint.as_deref());
    RecalledFact { fact: fact.id, key: fact.key, value: fact.value, at, score, taint }
}
