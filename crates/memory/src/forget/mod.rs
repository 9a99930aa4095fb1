//! Forgetting for good: a memory, a fact or a person goes with everything that rests on it, and its words with it.
//!
//! Never: a look at who may. `policy::memory::may_change` has said so before.
//! Start at [`ForgetItem`].

mod cascade;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::forget::cascade::Cascade;
use crate::item::MemoryItem;
use crate::recall::Memory;
use hob_core::domain::ids::{FactId, MemoryId, PersonId, RunId, SessionId};
use hob_core::domain::memory::Scope;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::memory_views::{self, MemoryCounts};
use hob_store::{Store, Tx, files, forgetting};

/// How much of a scope goes in one transaction.
const SLICE: i64 = 50;

/// What is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Memories, for [`crate::embedding_service::EmbeddingService::forget`].
    pub memories: Vec<(Scope, MemoryId)>,
    /// Facts, old values too.
    pub facts: BTreeSet<FactId>,
    pub people: Vec<PersonId>,
    /// A run still works with some of the words: from its record they go when it is over.
    pub put_off: bool,
}

/// Forgets one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetItem {
    /// Something said, with the facts that rest on it.
    Memory(MemoryId),
    /// Something known, with the values that it had before.
    Fact(FactId),
    /// Somebody, with all facts about them.
    Person(PersonId),
}

impl From<MemoryItem> for ForgetItem {
    fn from(item: MemoryItem) -> Self {
        match item {
            MemoryItem::Memory(memory) => Self::Memory(memory),
            MemoryItem::Fact(fact) => Self::Fact(fact),
        }
    }
}

impl ForgetItem {
    pub async fn run(&self, tx: &mut Tx) -> Result<ForgetOutcome, StoreError> {
        let mut cascade = Cascade::default();
        match *self {
            Self::Memory(memory) => cascade.memory(tx, memory).await?,
            Self::Fact(fact) => cascade.fact(tx, fact).await?,
            Self::Person(person) => cascade.person(tx, person).await?,
        }
        cascade.finish(tx).await
    }
}

/// Begins to forget everything that a scope holds at this moment, and gives how much that is; [`slice()`] does it.
pub async fn everything(tx: &mut Tx, scope: Scope) -> Result<MemoryCounts, StoreError> {
    let counts = memory_views::counts(tx, scope).await?;
    memory_views::begin_forgetting_scope(tx, scope).await?;
    files::drop_scope(tx, scope).await?;
    Ok(counts)
}

/// Forgets the next of a scope of which everything is to go; none: all of it is gone.
pub async fn slice(tx: &mut Tx, scope: Scope) -> Result<Option<ForgetOutcome>, StoreError> {
    let slice = memory_views::slice(tx, scope, SLICE).await?;
    if slice == memory_views::ForgetSlice::default() {
        memory_views::finish_forgetting_scope(tx, scope).await?;
        return Ok(None);
    }
    let mut cascade = Cascade::default();
    for memory in slice.memories {
        cascade.memory(tx, memory).await?;
    }
    for fact in slice.facts {
        cascade.fact(tx, fact).await?;
    }
    for person in slice.people {
        cascade.person(tx, person).await?;
    }
    cascade.finish(tx).await.map(Some)
}

/// Forgets the next of what was said in a conversation that goes as a whole. Gives what is gone, and from where it goes on; none:
/// that was all.
pub async fn forget_conversation_slice(
    tx: &mut Tx,
    session: SessionId,
    after: i64,
) -> Result<(ForgetOutcome, Option<i64>), StoreError> {
    let said = forgetting::messages_of_people(tx, session, after, SLICE).await?;
    let mut cascade = Cascade::default();
    for one in &said {
        cascade.message(tx, one).await?;
    }
    Ok((cascade.finish(tx).await?, said.last().map(|last| last.ordinal)))
}

/// Forgets at most so many slices of a scope of which everything is to go; gives whether all of it is gone.
pub async fn forget_slice(memory: &Memory, scope: Scope, slices: usize) -> Result<bool, StoreError> {
    for _ in 0..slices {
        let Some(forgotten) = memory.store.write(async move |tx| slice(tx, scope).await).await? else {
            return Ok(true);
        };
        for (scope, gone) in forgotten.memories {
            memory.embedding_service.forget(scope, gone);
        }
    }
    Ok(false)
}

/// Lets go of files that are older than that, and deletes what no record refers to; gives how many contents are gone.
///
/// # Errors
/// When the database or the directory fails; what is gone stays gone.
pub async fn old_files(store: &Store, contents: &Contents, before: Timestamp) -> Result<usize, StoreError> {
    store.write(async move |tx| files::drop_before(tx, before).await).await?;
    contents.sweep(store).await
}

/// Which of these runs have no record any more: what they left elsewhere goes as well.
pub async fn without_record(tx: &mut Tx, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
    let mut gone = Vec::new();
    for run in runs.iter().copied() {
        if !forgetting::has_journal(tx, run).await? {
            gone.push(run);
        }
    }
    Ok(gone)
}

/// What was begun and is not done: scopes of which everything is to go, and whether something waits for the end of a run.
pub async fn unfinished(tx: &mut Tx) -> Result<(Vec<Scope>, bool), StoreError> {
    let waiting = forgetting::deferred::list(tx, None).await?;
    Ok((memory_views::scopes_being_forgotten(tx).await?, !waiting.is_empty()))
}

/// Takes out what was put off until a run is over, as far as that is so now.
pub async fn finish_deferred(tx: &mut Tx) -> Result<(), StoreError> {
    cascade::catch_up(tx, None).await?;
    forgetting::blank_listings(tx).await
}

/// A run is over, in this transaction: what was put off until now is done.
pub async fn after(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    cascade::catch_up(tx, Some(run)).await
}
