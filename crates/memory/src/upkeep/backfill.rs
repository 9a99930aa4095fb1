//! Works the backlog off: in the order of the memories, a few at a time, each few with the cursor in one transaction.

use std::sync::{Arc, PoisonError};

use crate::active_embedder::ActiveEmbedder;
use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, EmbeddedText, Embedder};
use crate::embedding_service::{EmbeddingService, EmbeddingStatus};
use crate::passage::Passage;
use crate::recall::meaning::informative_codes;
use crate::upkeep::UpkeepError;
use crate::upkeep::failure_tracker::FailureTracker;
use crate::upkeep::statements::{NextBatch, StoreVectors, backlog, next_batch};
use crate::vectors::bytes::{StoredVector, encode};
use hob_store::Store;
use hob_store::vectors::NewVector;

/// After how many memories it is told how far it is.
const TOLD_EVERY: u64 = 1_000;
/// What any model can embed.
const PROBE: &str = "hello";

/// Fills the vectors of one model up.
pub(super) struct Backfill<'a> {
    pub(super) store: &'a Store,
    pub(super) embedding_service: &'a EmbeddingService,
    pub(super) embedder: Arc<dyn Embedder>,
    /// The row of its model.
    pub(super) model: i64,
    /// What serves meanwhile: this model, or the one before.
    pub(super) serving: Arc<ActiveEmbedder>,
}

/// What came of some passages.
#[derive(Default)]
struct EmbeddedBatch {
    made: Vec<(Passage, NewVector)>,
    refused: Vec<Passage>,
}

impl Backfill<'_> {
    /// Tells that it serves, and how much waits.
    pub(super) async fn report_ready(&self) -> Result<(), UpkeepError> {
        let backlog = self.count_backlog().await?;
        tracing::info!(model = self.served(), backlog, "memory.embedding.ready");
        self.report_backlog(backlog);
        Ok(())
    }

    /// Embeds as long as something waits. Gives back only what somebody must act on.
    pub(super) async fn round(&self, trouble: &mut FailureTracker<'_>) -> Result<(), UpkeepError> {
        let mut backlog = None;
        let mut done = 0;
        loop {
            let some = match self.embed_next_batch(&mut backlog).await {
                Ok(Some(some)) => some,
                Ok(None) => break,
                Err(halt @ UpkeepError::Embed(EmbedError::Setup(_))) => return Err(halt),
                Err(halt) => {
                    trouble.wait(&halt).await;
                    continue;
                }
            };
            let left = backlog.map_or(0, |all: u64| all.saturating_sub(some));
            backlog = Some(left);
            if trouble.clear_failure() {
                tracing::info!(model = self.served(), backlog = left, "memory.embedding.ready");
            }
            if (done + some) / TOLD_EVERY > done / TOLD_EVERY {
                tracing::info!(done = done + some, backlog = left, "memory.embedding.progress");
            }
            done += some;
            self.report_backlog(left);
            // Whoever else has work on this thread goes first.
            tokio::task::yield_now().await;
        }
        if trouble.clear_failure() {
            tracing::info!(model = self.served(), backlog = 0, "memory.embedding.ready");
        }
        self.report_backlog(0);
        Ok(())
    }

    async fn count_backlog(&self) -> Result<u64, hob_store::error::StoreError> {
        self.store.read(async |tx| backlog(tx, self.model).await).await
    }

    /// Embeds the next few. How many do not wait any more; none if nothing waits.
    async fn embed_next_batch(&self, backlog: &mut Option<u64>) -> Result<Option<u64>, UpkeepError> {
        let (through, EmbeddedBatch { made, refused }) =
            match self.store.read(async |tx| next_batch(tx, self.model).await).await? {
                NextBatch::Nothing => return Ok(None),
                NextBatch::Through(through) => (through, EmbeddedBatch::default()),
                NextBatch::Embed(passages, through) => {
                    if backlog.is_none() {
                        *backlog = Some(self.count_backlog().await?);
                    }
                    (through, self.embed(passages).await?)
                }
            };
        let refused_count = refused.len();
        let serves = self.serving.model == self.model;
        let vectors: Vec<NewVector> =
            if serves { made.iter().map(|(_, vector)| vector.clone()).collect() } else { Vec::new() };
        self.embedding_service.watch();
        let keep = StoreVectors { model: self.model, through, made, refused };
        let stored = self.store.write(async move |tx| keep.run(tx).await).await?;
        let settled = (stored.len() + refused_count) as u64;
        let dimensions = self.embedder.model().dimensions;
        let mut index = self.serving.index.write().unwrap_or_else(PoisonError::into_inner);
        for (memory, scope) in stored {
            let vector = vectors.iter().find(|vector| vector.memory == memory);
            if let Some(stored) = vector.and_then(|vector| StoredVector::read(&vector.vector, dimensions)) {
                index.insert(scope, memory.0, &stored.bits());
            }
        }
        drop(index);
        self.embedding_service.drop_forgotten();
        Ok(Some(settled))
    }

    /// The vectors of these passages, and those that have none. An error is not theirs: what was made before it is kept.
    async fn embed(&self, passages: Vec<Passage>) -> Result<EmbeddedBatch, EmbedError> {
        let mut all = EmbeddedBatch::default();
        for passages in self.by_bill(passages) {
            match self.of_one_bill(passages).await {
                Ok(EmbeddedBatch { made, refused }) => {
                    all.made.extend(made);
                    all.refused.extend(refused);
                }
                Err(error) if all.made.is_empty() => return Err(error),
                Err(_comes_again) => break,
            }
        }
        Ok(all)
    }

    /// The passages of each who said some, as each is billed for their own; on this machine there is no bill.
    fn by_bill(&self, mut passages: Vec<Passage>) -> Vec<Vec<Passage>> {
        if self.embedder.is_here() {
            return vec![passages];
        }
        passages.sort_by_key(|passage| passage.user);
        passages.chunk_by(|one, other| one.user == other.user).map(<[Passage]>::to_vec).collect()
    }

    async fn of_one_bill(&self, passages: Vec<Passage>) -> Result<EmbeddedBatch, EmbedError> {
        match self.vectors(&passages).await {
            Ok(vectors) => Ok(EmbeddedBatch { made: passages.into_iter().zip(vectors).collect(), refused: Vec::new() }),
            Err(EmbedError::Refused(_) | EmbedError::Malformed(_)) => self.one_by_one(passages).await,
            Err(error) => Err(error),
        }
    }

    /// Finds which of them it is; where it is each of them, it may be none.
    async fn one_by_one(&self, passages: Vec<Passage>) -> Result<EmbeddedBatch, EmbedError> {
        let mut all = EmbeddedBatch::default();
        for passage in passages {
            match self.vectors(std::slice::from_ref(&passage)).await {
                Ok(vectors) => all.made.extend(vectors.into_iter().map(|vector| (passage.clone(), vector))),
                Err(error @ (EmbedError::Refused(_) | EmbedError::Malformed(_))) => {
                    tracing::debug!(memory = %passage.memory, %error, "a memory cannot be embedded");
                    all.refused.push(passage);
                }
                Err(error) => return Err(error),
            }
        }
        if all.made.is_empty() {
            self.embedder.embed(&[PROBE.to_owned()]).await?;
        }
        Ok(all)
    }

    async fn vectors(&self, passages: &[Passage]) -> Result<Vec<NewVector>, EmbedError> {
        if let Some(vectors) = self.cached_vectors(passages) {
            return Ok(vectors);
        }
        let texts: Vec<String> = passages.iter().map(|passage| passage.text.clone()).collect();
        let vectors: Vec<NewVector> = match self.embedder.embed_tokens(&texts).await? {
            Some(embedded) => {
                let stored = |(passage, one): (&Passage, EmbeddedText)| NewVector {
                    memory: passage.memory,
                    vector: encode(&one.vector),
                    binary_codes: Some(informative_codes(&one.tokens, &passage.text, passage.own_from).to_bytes()),
                };
                passages.iter().zip(embedded).map(stored).collect()
            }
            None => {
                let stored = |(passage, vector): (&Passage, Vec<f32>)| NewVector {
                    memory: passage.memory,
                    vector: encode(&vector),
                    binary_codes: None,
                };
                let bill = passages.first().and_then(|passage| passage.user).map_or(Bill::House, Bill::Said);
                passages.iter().zip(self.embedder.embed_for(&bill, &texts).await?).map(stored).collect()
            }
        };
        if vectors.len() != passages.len() {
            let why = format!("{} vectors for {} texts", vectors.len(), passages.len());
            return Err(EmbedError::Malformed(why));
        }
        Ok(vectors)
    }

    /// What was just said is known already, as its run began with it.
    fn cached_vectors(&self, passages: &[Passage]) -> Option<Vec<NewVector>> {
        let of_asked = |passage: &Passage| {
            let asked = self.serving.recent(&passage.text).filter(|_| self.serving.model == self.model)?;
            let binary_codes = asked
                .tokens
                .as_ref()
                .map(|tokens| informative_codes(tokens, &passage.text, passage.own_from).to_bytes());
            Some(NewVector { memory: passage.memory, vector: encode(&asked.vector), binary_codes })
        };
        passages.iter().map(of_asked).collect()
    }

    fn report_backlog(&self, backlog: u64) {
        self.embedding_service.set_status(EmbeddingStatus::Ready { model: self.served().to_owned(), backlog });
    }

    fn served(&self) -> &str {
        &self.serving.embedder.model().name
    }
}
