//! What changes what is remembered, for commands and for the page: each with all that follows from it.
//!
//! Never: a look at who may; whoever calls it has looked.

use async_trait::async_trait;

use crate::intake::{Router, Terms};
use hob_core::domain::ids::{MemoryId, SessionId};
use hob_core::domain::memory::Scope;
use hob_memory::forget::{self, Everything, Forget, Forgotten, Talk};
use hob_memory::item::Item;
use hob_store::error::StoreError;
use hob_store::remembered::Counts;
use hob_store::{Statement, Tx, overheard, remembered};

/// So much of a scope of which everything is to go is gone before its command is done with; the lanes' rounds do the rest.
const SLICES_AT_ONCE: usize = 20;

/// Begins to forget everything of a scope, also what was only overheard there.
pub(super) struct All {
    pub(super) scope: Scope,
}

#[async_trait]
impl Statement for All {
    /// How much that is.
    type Output = Counts;

    async fn run(&self, tx: &mut Tx) -> Result<Counts, StoreError> {
        let counts = Everything { scope: self.scope }.run(tx).await?;
        match self.scope {
            Scope::Conversation(session) => overheard::drop_open(tx, session).await?,
            Scope::Person(user) => overheard::drop_of_user(tx, user).await?,
            Scope::House => {}
        }
        Ok(counts)
    }
}

/// Pins something, or takes the pin out.
pub(super) struct Pin {
    pub(super) item: Item,
    pub(super) pinned: bool,
}

#[async_trait]
impl Statement for Pin {
    /// Whether it is there.
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        match self.item {
            Item::Memory(memory) => remembered::pin_memory(tx, memory, self.pinned).await?,
            Item::Fact(fact) => remembered::pin_fact(tx, fact, self.pinned).await?,
        }
        Ok(match self.item {
            Item::Memory(memory) => remembered::memory(tx, memory).await?.is_some(),
            Item::Fact(fact) => remembered::fact(tx, fact).await?.is_some(),
        })
    }
}

impl Router {
    /// Forgets one thing for good.
    ///
    /// # Errors
    /// When the database fails: then nothing of it is gone.
    pub async fn forget(&self, what: Forget) -> Result<Forgotten, StoreError> {
        let forgotten = self.store.write(what).await?;
        take_out(&self.terms(), &forgotten.memories);
        Ok(forgotten)
    }

    /// Forgets everything of a scope for good, and tells how much that is. What is not gone when this is done, the lanes'
    /// rounds take.
    ///
    /// # Errors
    /// When the database fails: then nothing of it is gone.
    pub async fn forget_all(&self, scope: Scope) -> Result<Counts, StoreError> {
        let counts = self.store.write(All { scope }).await?;
        self.empty(&self.terms(), scope).await;
        Ok(counts)
    }

    /// Forgets what was said in a conversation, all of it, in small steps: gives whether some of it goes later, with a run that
    /// still works with the words.
    ///
    /// # Errors
    /// When the database fails: what is gone by then stays gone, and the same again does the rest.
    pub async fn forget_talk(&self, session: SessionId) -> Result<bool, StoreError> {
        let (mut next, mut later) = (Some(0), false);
        while let Some(after) = next {
            let (forgotten, more) = self.store.write(Talk { session, after }).await?;
            take_out(&self.terms(), &forgotten.memories);
            (next, later) = (more, later || forgotten.put_off);
        }
        if let Err(error) = self.delivery.sweep_contents().await {
            tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
        }
        Ok(later)
    }

    /// Pins something, or takes the pin out; false: it is not there.
    pub async fn pin(&self, item: Item, pinned: bool) -> Result<bool, StoreError> {
        self.store.write(Pin { item, pinned }).await
    }

    /// Takes as much as is soon done out of a scope of which everything is to go.
    pub(crate) async fn empty(&self, terms: &Terms, scope: Scope) {
        if let Err(error) = forget::some_of(&terms.house.memory, scope, SLICES_AT_ONCE).await {
            tracing::warn!(%error, "not everything is forgotten yet; the next round goes on");
        }
        if let Err(error) = self.delivery.sweep_contents().await {
            tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
        }
    }
}

/// What is gone from the database need not be found by meaning either.
pub(crate) fn take_out(terms: &Terms, forgotten: &[(Scope, MemoryId)]) {
    for (scope, memory) in forgotten {
        terms.house.memory.nearby.forget(*scope, *memory);
    }
}
