//! Memories that the cursor has passed before they were there: a server numbers rows before they are committed, so a long import can
//! come in behind what was said meanwhile. In a file one transaction follows the other, and there are none.

use crate::upkeep::statements::through;
use hob_core::domain::ids::MemoryId;
use hob_store::error::StoreError;
use hob_store::{Store, vectors};

/// Each number is looked at once, when everybody is gone who could still fill it.
pub(super) struct LateMemories {
    looked: MemoryId,
    passed: Option<PassedMemories>,
}

/// Numbers that the cursor has passed, and the first transaction that began afterwards.
struct PassedMemories {
    through: MemoryId,
    next: i64,
}

impl LateMemories {
    pub(super) fn new() -> Self {
        Self { looked: MemoryId(0), passed: None }
    }

    /// Sets the cursor back to the first that it has missed.
    pub(super) async fn look(&mut self, store: &Store, model: i64) -> Result<(), StoreError> {
        let seen = store.read(async |tx| Ok((through(tx, model).await?, vectors::transactions(tx).await?))).await?;
        let (through, Some(transactions)) = seen else { return Ok(()) };
        if let Some(passed) = self.passed.take_if(|passed| transactions.oldest >= passed.next) {
            let looked = self.looked;
            let late = store.read(async |tx| vectors::first_without(tx, model, looked, passed.through).await).await?;
            if let Some(MemoryId(first)) = late {
                tracing::info!(first, "memory.embedding.late");
                store.write(async move |tx| vectors::move_to(tx, model, MemoryId(first - 1)).await).await?;
            }
            self.looked = passed.through;
        } else if self.passed.is_none() && through > self.looked {
            self.passed = Some(PassedMemories { through, next: transactions.next });
        }
        Ok(())
    }
}
