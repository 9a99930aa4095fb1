//! Keeps the vectors up: opens the model, reads what it made before, and embeds what has no vector yet.
//!
//! Never: a wait of anybody for it. Until it is ready, and whenever it is not, recall goes by words.
//! Start at [`Upkeep::run`]: [`source`] opens the model, `fill` works the backlog off, `trouble` is what happens when it
//! cannot.

mod backfill;
mod failure_tracker;
mod late;
pub mod source;
mod statements;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::active_embedder::ActiveEmbedder;
use crate::embedding::Embedder;
use crate::embedding::error::EmbedError;
use crate::embedding_service::{EmbeddingService, EmbeddingStatus};
use crate::upkeep::backfill::Backfill;
use crate::upkeep::failure_tracker::{Backoff, FailureTracker};
use crate::upkeep::late::LateMemories;
use crate::upkeep::statements::register;
use crate::vectors::bytes::StoredVector;
use crate::vectors::index::Index;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart};
use hob_core::domain::ids::MemoryId;
use hob_store::error::StoreError;
use hob_store::vectors::VectorModel;
use hob_store::{Store, vectors};

const MEGABYTE: u64 = 1_000_000;
/// How many vectors are read at once into the index.
const PAGE: i64 = 2_000;
/// How many vectors of a model that is not wanted any more are deleted at once.
const SLICE: i64 = 500;
/// The pause between two slices: what others write goes first.
const BREATH: Duration = Duration::from_millis(20);
/// How long the opening of a former model may take.
const FORMER_MAX: Duration = Duration::from_secs(15);

/// How far it is with what a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareStep {
    /// It is fetched soon.
    Waiting,
    /// So many bytes are there of so many.
    Fetching { done: u64, of: u64 },
}

impl fmt::Display for PrepareStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("the model is fetched soon"),
            Self::Fetching { done, of } => {
                write!(f, "fetching the model, {} of {} MB", done.div_ceil(MEGABYTE), of.div_ceil(MEGABYTE))
            }
        }
    }
}

/// Opens embedding models.
#[async_trait]
pub trait EmbedderOpener: Send + Sync {
    /// Gets what the wanted model needs, e.g. its files; `tell` is told of what happens.
    async fn prepare(&self, tell: &(dyn Fn(PrepareStep) + Sync)) -> Result<(), PrepareError>;

    /// The model that is wanted.
    async fn open(&self) -> Result<Arc<dyn Embedder>, EmbedError>;

    /// The model that made vectors before, if it can still be had: its vectors serve until they are made anew.
    async fn open_former(&self, former: &VectorModel) -> Option<Arc<dyn Embedder>>;
}

/// Why what a model needs is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// It may not be fetched: somebody wants it so.
    #[error("{0}")]
    Forbidden(String),
    /// It could not be fetched.
    #[error(transparent)]
    Failed(EmbedError),
}

/// Why it does not go on for now.
#[derive(Debug, thiserror::Error)]
enum UpkeepError {
    #[error(transparent)]
    Unprepared(PrepareError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("the database: {0}")]
    Store(#[from] StoreError),
}

/// How long it waits, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// After what may pass by itself.
    pub passing: Backoff,
    /// After what somebody must act on.
    pub setup: Backoff,
    /// After a fetch that failed.
    pub fetch: Backoff,
    /// Between two looks for memories that nobody told of.
    pub look: Duration,
}

impl RetryPolicy {
    pub const PRODUCTION: Self = Self {
        passing: Backoff::new(Duration::from_secs(1), Duration::from_secs(5 * 60)),
        setup: Backoff::new(Duration::from_secs(3600), Duration::from_secs(3600)),
        fetch: Backoff::new(Duration::from_secs(10 * 60), Duration::from_secs(24 * 3600)),
        look: Duration::from_secs(60),
    };
}

/// The background task.
pub struct Upkeep {
    /// Where memories and vectors are.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Where it is put that recall reads.
    pub embedding_service: Arc<EmbeddingService>,
    /// Opens the models.
    pub opener: Arc<dyn EmbedderOpener>,
    /// While the disk is low nothing is fetched, and no vectors are made.
    pub conditions: Conditions,
    /// How long it waits.
    pub pace: RetryPolicy,
}

/// The wanted model, and which vectors of others there are.
struct VectorPlan {
    wanted: VectorModel,
    /// It has made more than the wanted one yet.
    former: Option<VectorModel>,
    /// These serve nobody any more.
    outdated: Vec<VectorModel>,
}

impl Upkeep {
    /// Works until the stop. What is cut off then has left nothing behind: vectors and cursor are committed together.
    pub async fn run(self, stop: CancellationToken) {
        tokio::select! {
            () = self.work() => {}
            () = stop.cancelled() => {}
        }
    }

    async fn work(&self) {
        self.embedding_service
            .set_status(EmbeddingStatus::Starting { what: "the embedding model is being loaded".to_owned() });
        let mut trouble = FailureTracker::new(&self.embedding_service, self.pace);
        loop {
            let Err(halt) = self.keep(&mut trouble).await;
            if let UpkeepError::Unprepared(PrepareError::Forbidden(why)) = halt {
                tracing::info!(why, "memory.embedding.absent");
                self.embedding_service.set_status(EmbeddingStatus::Degraded { why });
                return;
            }
            self.embedding_service.serve(None);
            trouble.wait(&halt).await;
        }
    }

    /// Opens the model, lets it serve, and makes vectors as memories come. Gives back only what it cannot get over by itself.
    async fn keep(&self, trouble: &mut FailureTracker<'_>) -> Result<Infallible, UpkeepError> {
        let tell = |step: PrepareStep| {
            self.embedding_service.set_status(EmbeddingStatus::Starting { what: step.to_string() });
        };
        self.until_room().await;
        self.opener.prepare(&tell).await.map_err(UpkeepError::Unprepared)?;
        let embedder = self.opener.open().await?;
        let VectorPlan { wanted, mut former, outdated } = self.plan(&*embedder).await?;
        let former_embedder = match &former {
            Some(former) => self.open_former(former).await,
            None => None,
        };
        let serving = match (&former, former_embedder) {
            (Some(former), Some(embedder)) => self.serve(embedder, former).await?,
            _ => self.serve(Arc::clone(&embedder), &wanted).await?,
        };
        let mut fill = Backfill {
            store: &self.store,
            embedding_service: &self.embedding_service,
            embedder,
            model: wanted.id,
            serving,
        };
        trouble.clear_failure();
        fill.report_ready().await?;
        self.drop_all(&outdated).await?;
        let (mut late, mut looked) = (LateMemories::new(), Instant::now());
        loop {
            self.until_room().await;
            if !self.store.is_file() && looked.elapsed() >= self.pace.look {
                looked = Instant::now();
                late.look(&self.store, wanted.id).await?;
            }
            fill.round(trouble).await?;
            if let Some(former) = former.take() {
                if fill.serving.model != wanted.id {
                    fill.serving = self.serve(Arc::clone(&fill.embedder), &wanted).await?;
                    fill.report_ready().await?;
                }
                self.drop_all(&[former]).await?;
            }
            tokio::select! {
                () = self.embedding_service.until_written() => {}
                () = tokio::time::sleep(self.pace.look) => {}
            }
        }
    }

    /// Waits while the disk is low.
    async fn until_room(&self) {
        let mut changes = self.conditions.subscribe();
        if changes.wait_for(|all| !all.contains_key(&SystemPart::Disk)).await.is_err() {
            tracing::debug!("nobody tells of the disk any more");
        }
    }

    /// The former model, unless it keeps all that serves waiting.
    async fn open_former(&self, former: &VectorModel) -> Option<Arc<dyn Embedder>> {
        tokio::time::timeout(FORMER_MAX, self.opener.open_former(former)).await.ok().flatten()
    }

    async fn plan(&self, embedder: &dyn Embedder) -> Result<VectorPlan, UpkeepError> {
        let model = embedder.model().clone();
        let now = self.clock.now();
        let (wanted, mut others) = self.store.write(async move |tx| register(tx, &model, now).await).await?;
        others.sort_by_key(|other| other.through);
        let former = others.pop_if(|other| other.through > wanted.through);
        Ok(VectorPlan { wanted, former, outdated: others })
    }

    /// Reads the vectors of a model into an index, and lets both serve.
    async fn serve(
        &self,
        embedder: Arc<dyn Embedder>,
        model: &VectorModel,
    ) -> Result<Arc<ActiveEmbedder>, UpkeepError> {
        let dimensions = embedder.model().dimensions;
        let mut index = Index::new(dimensions);
        self.embedding_service.watch();
        let mut after = MemoryId(0);
        loop {
            let page = self.store.read(async |tx| vectors::page(tx, model.id, after, PAGE).await).await?;
            let Some(last) = page.last() else { break };
            after = last.memory;
            for row in &page {
                let fits = StoredVector::read(&row.vector, dimensions)
                    .is_some_and(|stored| index.insert(row.scope, row.memory.0, &stored.bits()));
                if !fits {
                    tracing::warn!(memory = %row.memory, "a stored vector cannot be read; its memory is found by words");
                }
            }
        }
        let serving = Arc::new(ActiveEmbedder::of(embedder, model.id, index));
        self.embedding_service.serve(Some(Arc::clone(&serving)));
        self.embedding_service.drop_forgotten();
        Ok(serving)
    }

    async fn drop_all(&self, models: &[VectorModel]) -> Result<(), UpkeepError> {
        for model in models {
            let id = model.id;
            while !self.store.write(async move |tx| vectors::drop_some(tx, id, SLICE).await).await? {
                tokio::time::sleep(BREATH).await;
            }
            tracing::info!(model = model.name, "memory.embedding.dropped");
        }
        Ok(())
    }
}
