//! Keeps what is said to be so: finds what is known under its key, decides, and writes.

use crate::facts::decide::{Claim, Decision, decide};
use crate::facts::equivalence::{fold, one_line, same_key};
use crate::recall::match_expression;
use hob_core::domain::ids::{FactId, MessageId, PersonId, RunId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::facts::{Fact, NewFact, Source};
use hob_store::{Tx, facts};

/// So many facts with like words are looked at for the same key in other words.
const CANDIDATES: i64 = 20;

/// Something to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct FactDraft {
    pub scope: Scope,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is said to be so.
    pub value: String,
    /// Whom it is about, where that is somebody in `people`.
    pub person: Option<PersonId>,
    /// Who said it.
    pub user: Option<UserId>,
    /// How they are called.
    pub speaker: String,
    pub message: Option<MessageId>,
    /// In which run it is kept.
    pub run: Option<RunId>,
    /// How it comes to be known.
    pub source: Source,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub importance: f64,
    /// Whether they say that it was otherwise before.
    pub changed: bool,
    /// When it was said, in Unix milliseconds.
    pub said_at: i64,
    /// Until when it holds.
    pub valid_until: Option<i64>,
    /// What nobody vouches for in what it rests on (row N6).
    pub taint: Taint,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RememberOutcome {
    /// It is known from now on.
    New { fact: FactId },
    Known {
        fact: FactId,
        /// Another value that stood against it and no longer does.
        settled: Option<String>,
    },
    /// It took another's place.
    Superseded {
        fact: FactId,
        /// The value before.
        before: String,
    },
    /// It stands against what is known, and a person is asked.
    Rival {
        fact: FactId,
        /// The current value.
        current: String,
    },
    /// It was so, and is no longer.
    Past { fact: FactId },
}

impl RememberOutcome {
    pub fn fact(&self) -> FactId {
        match self {
            Self::New { fact }
            | Self::Known { fact, .. }
            | Self::Superseded { fact, .. }
            | Self::Rival { fact, .. }
            | Self::Past { fact } => *fact,
        }
    }

    /// The value whose place was taken.
    pub fn superseded_value(&self) -> Option<&str> {
        match self {
            Self::Superseded { before, .. } => Some(before),
            Self::Known { settled, .. } => settled.as_deref(),
            Self::New { .. } | Self::Rival { .. } | Self::Past { .. } => None,
        }
    }
}

pub async fn keep(tx: &mut Tx, saying: &FactDraft, now: i64) -> Result<RememberOutcome, StoreError> {
    let saying = &FactDraft { category: fold(&saying.category), key: one_line(&saying.key), ..saying.clone() };
    let known = facts_under_key(tx, saying).await?;
    let FactDraft { value, source, user, said_at, changed, .. } = saying;
    let claim = Claim { value, source: *source, user: *user, said_at: *said_at, changed: *changed, now };
    match (decide(&claim, &known), known.first()) {
        (Decision::New, _) | (_, None) => {
            Ok(RememberOutcome::New { fact: add(tx, saying, &saying.key, None, now).await? })
        }
        (Decision::Same(same), Some(current)) => {
            let same = known.iter().find(|fact| fact.id == same).unwrap_or(current);
            confirm_same(tx, saying, same, &known, now).await
        }
        (Decision::Supersede, Some(current)) => {
            // Corrected without a word of whom it is about, it is still about them.
            let saying = &FactDraft { person: saying.person.or(current.person), ..saying.clone() };
            // Beside the current one first: there may be only one current value.
            let fact = add(tx, saying, &current.key, Some(current.id), now).await?;
            for old in &known {
                facts::supersede(tx, old.id, Some(fact), now).await?;
            }
            facts::set_rival_of(tx, fact, None).await?;
            Ok(RememberOutcome::Superseded { fact, before: current.value.clone() })
        }
        (Decision::Rival(replaced), Some(current)) => {
            let fact = add(tx, saying, &current.key, Some(current.id), now).await?;
            if let Some(replaced) = replaced {
                facts::supersede(tx, replaced, Some(fact), now).await?;
            }
            Ok(RememberOutcome::Rival { fact, current: current.value.clone() })
        }
        (Decision::Past, Some(current)) => {
            let fact = add(tx, saying, &current.key, Some(current.id), now).await?;
            facts::supersede(tx, fact, Some(current.id), now).await?;
            facts::set_rival_of(tx, fact, None).await?;
            Ok(RememberOutcome::Past { fact })
        }
    }
}

/// The same is said again; a person who was asked has answered by it.
async fn confirm_same(
    tx: &mut Tx,
    saying: &FactDraft,
    same: &Fact,
    known: &[Fact],
    now: i64,
) -> Result<RememberOutcome, StoreError> {
    let until = match (same.valid_until, saying.valid_until) {
        (Some(known), Some(said)) => Some(known.max(said)),
        // Said without an end, it has none any more.
        (Some(_), None) if saying.source == Source::Told => None,
        (known, None) => known,
        (None, said) => said.filter(|_| saying.source == Source::Told),
    };
    if same.taint.is_some() && saying.source == Source::Told && saying.taint.is_clean() {
        facts::vouch(tx, same.id).await?;
    }
    facts::confirm(tx, same.id, same.source.max(saying.source), saying.confidence, until).await?;
    let settled = if saying.source == Source::Told { resolve_rivals(tx, same, known, now).await? } else { None };
    Ok(RememberOutcome::Known { fact: same.id, settled })
}

/// One of those that contradict each other is true: the others are history. Gives the value that was current before, or else one
/// of those that stood against it.
async fn resolve_rivals(tx: &mut Tx, truth: &Fact, known: &[Fact], now: i64) -> Result<Option<String>, StoreError> {
    let others: Vec<&Fact> = known.iter().filter(|fact| fact.id != truth.id).collect();
    for other in &others {
        facts::supersede(tx, other.id, Some(truth.id), now).await?;
    }
    if truth.rival_of.is_some() {
        facts::set_rival_of(tx, truth.id, None).await?;
    }
    Ok(others.first().map(|other| other.value.clone()))
}

/// What is known under the key, however it is put: the current fact, then its rivals.
async fn facts_under_key(tx: &mut Tx, saying: &FactDraft) -> Result<Vec<Fact>, StoreError> {
    let mut current = facts::current(tx, saying.scope, &saying.category, &saying.key).await?;
    if current.is_none()
        && let Some(query) = match_expression(&saying.key, &[saying.scope], "{key}")
    {
        let like = facts::matching(tx, &query, CANDIDATES).await?;
        let is_same = |fact: &Fact| {
            fact.rival_of.is_none() && fact.category == saying.category && same_key(&fact.key, &saying.key)
        };
        current = like.into_iter().find(is_same);
    }
    let Some(current) = current else { return Ok(Vec::new()) };
    let rivals = facts::rivals(tx, current.id).await?;
    Ok(std::iter::once(current).chain(rivals).collect())
}

async fn add(
    tx: &mut Tx,
    saying: &FactDraft,
    key: &str,
    rival_of: Option<FactId>,
    now: i64,
) -> Result<FactId, StoreError> {
    let taint = saying.taint.to_stored();
    let new = NewFact {
        scope: saying.scope,
        category: &saying.category,
        key,
        value: saying.value.trim(),
        person: saying.person,
        user: saying.user,
        speaker: &saying.speaker,
        message: saying.message,
        run: saying.run,
        source: saying.source,
        confidence: saying.confidence,
        importance: saying.importance,
        valid_from: (saying.said_at != now).then_some(saying.said_at),
        valid_until: saying.valid_until,
        rival_of,
        taint: taint.as_deref(),
    };
    facts::add(tx, &new, now).await
}
