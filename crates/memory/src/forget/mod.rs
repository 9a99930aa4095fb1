//! Forgetting for good: a memory, a fact or a person goes with everything that rests on it, and its words with it.
//!
//! Never: a look at who may. `policy::memory::may_change` has said so before.
//! Start at [`Forget`].

mod cascade;
#[cfg(test)]
mod house;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::forget::cascade::Cascade;
use crate::item::Item;
use crate::recall::Memory;
use hob_core::domain::ids::{FactId, MemoryId, PersonId, RunId, SessionId};
use hob_core::domain::memory::Scope;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::remembered::{self, Counts};
use hob_store::{Statement, Store, Tx, files, forgetting};

/// How much of a scope goes in one transaction.
const SLICE: i64 = 50;

/// What is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Memories, for [`crate::nearby::Nearby::forget`].
    pub memories: Vec<(Scope, MemoryId)>,
    /// Facts, old values too.
    pub facts: BTreeSet<FactId>,
    /// People.
    pub people: Vec<PersonId>,
    /// A run still works with some of the words: from its record they go when it is over.
    pub put_off: bool,
}

/// Forgets one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forget {
    /// Something said, with the facts that rest on it.
    Memory(MemoryId),
    /// Something known, with the values that it had before.
    Fact(FactId),
    /// Somebody, with all facts about them.
    Person(PersonId),
}

impl From<Item> for Forget {
    fn from(item: Item) -> Self {
        match item {
            Item::Memory(memory) => Self::Memory(memory),
            Item::Fact(fact) => Self::Fact(fact),
        }
    }
}

#[async_trait]
impl Statement for Forget {
    type Output = Forgotten;

    async fn run(&self, tx: &mut Tx) -> Result<Forgotten, StoreError> {
        let mut cascade = Cascade::default();
        match *self {
            Self::Memory(memory) => cascade.memory(tx, memory).await?,
            Self::Fact(fact) => cascade.fact(tx, fact).await?,
            Self::Person(person) => cascade.person(tx, person).await?,
        }
        cascade.finish(tx).await
    }
}

/// Begins to forget everything that a scope holds at this moment; [`Slice`] does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Everything {
    /// Whose.
    pub scope: Scope,
}

#[async_trait]
impl Statement for Everything {
    /// How much that is.
    type Output = Counts;

    async fn run(&self, tx: &mut Tx) -> Result<Counts, StoreError> {
        let counts = remembered::counts(tx, self.scope).await?;
        remembered::condemn(tx, self.scope).await?;
        files::drop_scope(tx, self.scope).await?;
        Ok(counts)
    }
}

/// Forgets the next of a scope of which everything is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Whose.
    pub scope: Scope,
}

#[async_trait]
impl Statement for Slice {
    /// None: all of it is gone.
    type Output = Option<Forgotten>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Forgotten>, StoreError> {
        let slice = remembered::slice(tx, self.scope, SLICE).await?;
        if slice == remembered::Slice::default() {
            remembered::absolve(tx, self.scope).await?;
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
}

/// Forgets the next of what was said in a conversation that goes as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Talk {
    /// Which.
    pub session: SessionId,
    /// After this place.
    pub after: i64,
}

#[async_trait]
impl Statement for Talk {
    /// What is gone, and from where it goes on; none: that was all.
    type Output = (Forgotten, Option<i64>);

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        let said = forgetting::said_in(tx, (self.session, self.after), SLICE).await?;
        let mut cascade = Cascade::default();
        for one in &said {
            cascade.message(tx, one).await?;
        }
        Ok((cascade.finish(tx).await?, said.last().map(|last| last.ordinal)))
    }
}

/// Forgets of a scope of which everything is to go, so many slices at most: gives whether all of it is gone.
///
/// # Errors
/// When the database fails; what is gone stays gone.
pub async fn some_of(memory: &Memory, scope: Scope, slices: usize) -> Result<bool, StoreError> {
    for _ in 0..slices {
        let Some(forgotten) = memory.store.write(Slice { scope }).await? else {
            return Ok(true);
        };
        for (scope, gone) in forgotten.memories {
            memory.nearby.forget(scope, gone);
        }
    }
    Ok(false)
}

/// Lets go of the records of files that are older than that.
struct OldFiles {
    before: Timestamp,
}

#[async_trait]
impl Statement for OldFiles {
    type Output = u64;

    async fn run(&self, tx: &mut Tx) -> Result<u64, StoreError> {
        files::drop_before(tx, self.before).await
    }
}

/// Lets go of files that are older than that, and deletes what no record refers to; gives how many contents are gone.
///
/// # Errors
/// When the database or the directory fails; what is gone stays gone.
pub async fn old_files(store: &Store, contents: &Contents, before: Timestamp) -> Result<usize, StoreError> {
    store.write(OldFiles { before }).await?;
    contents.sweep(store).await
}

/// Which of these runs have no record any more: what they left elsewhere goes as well.
#[derive(Debug, Clone)]
pub struct WithoutRecord {
    /// The runs.
    pub runs: Vec<RunId>,
}

#[async_trait]
impl Statement for WithoutRecord {
    type Output = Vec<RunId>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RunId>, StoreError> {
        let mut gone = Vec::new();
        for run in self.runs.iter().copied() {
            if !forgetting::has_journal(tx, run).await? {
                gone.push(run);
            }
        }
        Ok(gone)
    }
}

/// What was begun and is not done: scopes of which everything is to go, and whether something waits for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished;

#[async_trait]
impl Statement for Unfinished {
    type Output = (Vec<Scope>, bool);

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        let waiting = forgetting::put_off::list(tx, None).await?;
        Ok((remembered::condemned(tx).await?, !waiting.is_empty()))
    }
}

/// Takes out what was put off until a run is over, as far as that is so now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep;

#[async_trait]
impl Statement for Sweep {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        cascade::catch_up(tx, None).await?;
        forgetting::blank_listings(tx).await
    }
}

/// A run is over, in this transaction: what was put off until now is done.
pub async fn after(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    cascade::catch_up(tx, Some(run)).await
}
