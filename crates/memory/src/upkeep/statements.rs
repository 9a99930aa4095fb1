//! What upkeep reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::embedding::EmbeddingModel;
use crate::passage::{Passage, passages};
use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::vectors::{self, NewModel, NewVector, VectorModel};

/// How many memories are embedded in one go, and committed together.
const BATCH: i64 = 16;
/// How many memories are looked through at once for one without a vector.
const WINDOW: i64 = 10_000;

/// Makes the model's row. Gives it, and those of all others.
pub(super) async fn register(
    tx: &mut Tx,
    model: &EmbeddingModel,
    now: Timestamp,
) -> Result<(VectorModel, Vec<VectorModel>), StoreError> {
    let EmbeddingModel { name, dimensions, digest } = model;
    let new = NewModel { name, dimensions: i64::try_from(*dimensions).unwrap_or(i64::MAX), digest };
    let model = vectors::register(tx, new, now).await?;
    let mut others = vectors::list_models(tx).await?;
    others.retain(|other| other.id != model.id);
    Ok((model, others))
}

/// How far the model's cursor is.
pub(super) async fn through(tx: &mut Tx, model: i64) -> Result<MemoryId, StoreError> {
    Ok(row(tx, model).await?.through)
}

/// Counts the memories that wait for their vectors.
pub(super) async fn backlog(tx: &mut Tx, model: i64) -> Result<u64, StoreError> {
    let through = row(tx, model).await?.through;
    vectors::count_without(tx, model, through).await
}

/// What is to be done next.
pub(super) enum NextBatch {
    /// Nothing waits.
    Nothing,
    /// Nothing waits through this memory: the cursor moves on.
    Through(MemoryId),
    /// These wait, and no others through this memory.
    Embed(Vec<Passage>, MemoryId),
}

/// Looks for the next memories without a vector.
pub(super) async fn next_batch(tx: &mut Tx, model: i64) -> Result<NextBatch, StoreError> {
    let through = row(tx, model).await?.through;
    let last = vectors::last_memory(tx).await?;
    if through >= last {
        return Ok(NextBatch::Nothing);
    }
    let upto = last.min(MemoryId(through.0 + WINDOW));
    let Some(first) = vectors::first_without(tx, model, through, upto).await? else {
        return Ok(NextBatch::Through(upto));
    };
    let mut waiting = Vec::new();
    let mut seen = first;
    for passage in passages(tx, MemoryId(first.0 - 1), BATCH).await? {
        seen = passage.memory;
        if !vectors::exists(tx, model, passage.memory).await? {
            waiting.push(passage);
        }
    }
    Ok(NextBatch::Embed(waiting, seen))
}

/// Stores what was made, and moves the cursor as far as nothing waits.
#[derive(Clone)]
pub(super) struct StoreVectors {
    pub(super) model: i64,
    /// What was looked at.
    pub(super) through: MemoryId,
    /// What was embedded, and the vectors.
    pub(super) made: Vec<(Passage, NewVector)>,
    /// What has no vector.
    pub(super) refused: Vec<Passage>,
}

impl StoreVectors {
    pub(super) async fn run(&self, tx: &mut Tx) -> Result<Vec<(MemoryId, Scope)>, StoreError> {
        let all = || self.made.iter().map(|(passage, _)| passage).chain(&self.refused);
        let now = match all().map(|passage| passage.memory).min() {
            Some(first) => passages(tx, MemoryId(first.0 - 1), BATCH).await?,
            None => Vec::new(),
        };
        let now: BTreeMap<MemoryId, Passage> = now.into_iter().map(|passage| (passage.memory, passage)).collect();
        let stands = |passage: &Passage| now.get(&passage.memory) == Some(passage);
        let mut stored = Vec::new();
        for (passage, vector) in self.made.iter().filter(|(passage, _)| stands(passage)) {
            vectors::put(tx, self.model, vector).await?;
            stored.push((passage.memory, passage.scope));
        }
        let refused = self.refused.iter().filter(|passage| stands(passage)).map(|passage| passage.memory).collect();
        self.move_on(tx, &refused).await?;
        Ok(stored)
    }

    async fn move_on(&self, tx: &mut Tx, refused: &BTreeSet<MemoryId>) -> Result<(), StoreError> {
        let from = row(tx, self.model).await?.through;
        let upto = self.through.min(MemoryId(from.0 + WINDOW));
        let mut through = upto;
        let mut after = from;
        while let Some(waiting) = vectors::first_without(tx, self.model, after, upto).await? {
            if !refused.contains(&waiting) {
                through = MemoryId(waiting.0 - 1);
                break;
            }
            after = waiting;
        }
        if through > from {
            vectors::move_to(tx, self.model, through).await?;
        }
        Ok(())
    }
}

async fn row(tx: &mut Tx, model: i64) -> Result<VectorModel, StoreError> {
    let found = vectors::find(tx, model).await?;
    found.ok_or_else(|| StoreError::inconsistent("embedding_models", model, "the model at work has no row"))
}
