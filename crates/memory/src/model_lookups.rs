//! What a model looks up by itself, and what of that it is asked to have forgotten.

use jiff::Timestamp;

use crate::forget::ForgetItem;
use crate::item::MemoryItem;
use crate::recall::match_expression;
use hob_core::domain::ids::{FactId, MemoryId, RunId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::principal::Principal;
use hob_core::policy::memory::{SpeakingPlace, may_change, visible_scopes};
use hob_store::error::StoreError;
use hob_store::facts::Fact;
use hob_store::{Tx, facts, memories, memory_views, millis};

/// Where the words of a fact stand in the full-text index.
const COLUMNS: &str = "{category key value}";

/// Facts that hold now and match, with what contradicts them; where the words name nothing, the newest.
pub async fn matching_facts(
    tx: &mut Tx,
    scopes: &[Scope],
    query: &str,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Fact>, StoreError> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    if let Some(query) = match_expression(query, scopes, COLUMNS) {
        found = facts::matching(tx, &query, most).await?;
    } else {
        // "What do you know about me?" names nothing to look for: then what is newest counts.
        for scope in scopes {
            found.extend(facts::newest(tx, *scope, most).await?);
        }
    }
    found.retain(|fact| !fact.is_over(millis(now)));
    found.truncate(limit);
    Ok(found)
}

/// What was said that a run answers.
pub async fn messages_of_run(tx: &mut Tx, run: RunId) -> Result<Vec<MemoryId>, StoreError> {
    memories::of_run(tx, run).await
}

/// Notes that facts were of use to a model: they matter more from then on.
pub async fn mark_used(tx: &mut Tx, facts: &[FactId], at: Timestamp) -> Result<(), StoreError> {
    facts::note_used(tx, facts, millis(at)).await
}

/// Forgets what was listed before, by its short names.
#[derive(Debug, Clone)]
pub struct ForgetListed {
    pub items: Vec<MemoryItem>,
    /// Who asks for it.
    pub caller: Principal,
    pub place: SpeakingPlace,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetListedOutcome {
    /// Nothing is forgotten: of these others told.
    Refused(Vec<MemoryItem>),
    /// All are gone.
    Done {
        gone: Vec<MemoryItem>,
        /// Memories, for [`crate::embedding_service::EmbeddingService::forget`].
        memories: Vec<(Scope, MemoryId)>,
        /// From the record of a run the words go when it is over.
        put_off: bool,
    },
}

impl ForgetListed {
    pub async fn run(&self, tx: &mut Tx) -> Result<ForgetListedOutcome, StoreError> {
        let (mut there, mut others) = (Vec::new(), Vec::new());
        for item in self.items.iter().copied() {
            match self.owner(tx, item).await? {
                None => {}
                Some((scope, told_by)) if may_change(&self.caller, self.place, scope, told_by) => there.push(item),
                Some(_) => others.push(item),
            }
        }
        if !others.is_empty() {
            return Ok(ForgetListedOutcome::Refused(others));
        }
        let (mut memories, mut put_off) = (Vec::new(), false);
        for item in there.iter().copied() {
            let forgotten = ForgetItem::from(item).run(tx).await?;
            memories.extend(forgotten.memories);
            put_off |= forgotten.put_off;
        }
        Ok(ForgetListedOutcome::Done { gone: there, memories, put_off })
    }

    /// Whose it is and who told it, of what the caller may see.
    async fn owner(&self, tx: &mut Tx, item: MemoryItem) -> Result<Option<(Scope, Option<UserId>)>, StoreError> {
        let owner = match item {
            MemoryItem::Memory(memory) => memory_views::memory(tx, memory).await?.map(|row| (row.scope, row.user)),
            MemoryItem::Fact(fact) => memory_views::fact(tx, fact).await?.map(|row| (row.scope, row.user)),
        };
        let seen = visible_scopes(&self.caller, self.place);
        Ok(owner.filter(|(scope, _)| seen.contains(scope)))
    }
}
