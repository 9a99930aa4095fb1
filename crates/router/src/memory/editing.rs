//! What changes what is remembered, for commands and for the page: each with all that follows from it.
//!
//! Never: a look at who may; whoever calls it has looked.

use crate::intake::{IntakeConfig, Router};
use hob_core::domain::ids::{MemoryId, SessionId};
use hob_core::domain::memory::Scope;
use hob_memory::forget::{self, ForgetItem, ForgetOutcome};
use hob_memory::item::MemoryItem;
use hob_store::error::StoreError;
use hob_store::memory_views::MemoryCounts;
use hob_store::{Tx, memory_views, overheard};

/// So much of a scope of which everything is to go is gone before its command is done with; the lanes' rounds do the rest.
const SLICES_AT_ONCE: usize = 20;

/// Begins to forget everything of a scope, also what was only overheard there, and gives how much that is.
pub(super) async fn forget_all(tx: &mut Tx, scope: Scope) -> Result<MemoryCounts, StoreError> {
    let counts = forget::everything(tx, scope).await?;
    match scope {
        Scope::Conversation(session) => overheard::drop_open(tx, session).await?,
        Scope::Person(user) => overheard::drop_of_user(tx, user).await?,
        Scope::House => {}
    }
    Ok(counts)
}

/// Pins something, or takes the pin out. Gives whether it is there.
pub(super) async fn pin(tx: &mut Tx, item: MemoryItem, pinned: bool) -> Result<bool, StoreError> {
    match item {
        MemoryItem::Memory(memory) => memory_views::pin_memory(tx, memory, pinned).await?,
        MemoryItem::Fact(fact) => memory_views::pin_fact(tx, fact, pinned).await?,
    }
    Ok(match item {
        MemoryItem::Memory(memory) => memory_views::memory(tx, memory).await?.is_some(),
        MemoryItem::Fact(fact) => memory_views::fact(tx, fact).await?.is_some(),
    })
}

impl Router {
    /// Forgets one thing for good, or after an error nothing of it.
    pub async fn forget(&self, what: ForgetItem) -> Result<ForgetOutcome, StoreError> {
        let forgotten = self.store.write(async move |tx| what.run(tx).await).await?;
        remove_from_index(&self.config(), &forgotten.memories);
        Ok(forgotten)
    }

    /// Forgets everything of a scope for good, or after an error nothing of it, and tells how much that is. What is not gone
    /// when this is done, the lanes' rounds take.
    pub async fn forget_all(&self, scope: Scope) -> Result<MemoryCounts, StoreError> {
        let counts = self.store.write(async move |tx| forget_all(tx, scope).await).await?;
        self.forget_some_now(&self.config(), scope).await;
        Ok(counts)
    }

    /// Forgets what was said in a conversation, all of it, in small steps: gives whether some of it goes later, with a run that
    /// still works with the words. After an error what is gone stays gone, and calling it again does the rest.
    pub async fn forget_talk(&self, session: SessionId) -> Result<bool, StoreError> {
        let (mut next, mut later) = (Some(0), false);
        while let Some(after) = next {
            let (forgotten, more) =
                self.store.write(async move |tx| forget::forget_conversation_slice(tx, session, after).await).await?;
            remove_from_index(&self.config(), &forgotten.memories);
            (next, later) = (more, later || forgotten.put_off);
        }
        if let Err(error) = self.delivery.sweep_contents().await {
            tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
        }
        Ok(later)
    }

    /// Pins something, or takes the pin out; false: it is not there.
    pub async fn pin(&self, item: MemoryItem, pinned: bool) -> Result<bool, StoreError> {
        self.store.write(async move |tx| pin(tx, item, pinned).await).await
    }

    /// Takes as much as is soon done out of a scope of which everything is to go.
    pub(crate) async fn forget_some_now(&self, config: &IntakeConfig, scope: Scope) {
        if let Err(error) = forget::forget_slice(&config.services.memory, scope, SLICES_AT_ONCE).await {
            tracing::warn!(%error, "not everything is forgotten yet; the next round goes on");
        }
        if let Err(error) = self.delivery.sweep_contents().await {
            tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
        }
    }
}

/// What is gone from the database need not be found by meaning either.
pub(crate) fn remove_from_index(config: &IntakeConfig, forgotten: &[(Scope, MemoryId)]) {
    for (scope, memory) in forgotten {
        config.services.memory.embedding_service.forget(*scope, *memory);
    }
}
