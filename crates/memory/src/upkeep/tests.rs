//! The upkeep over a real database, with models that do as they are told.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

mod former;
mod late;
mod real;
mod troubles;
mod work;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::embedding::error::EmbedError;
use crate::embedding::{EmbeddedText, Embedder, EmbeddingModel, TokenVector, normalise};
use crate::embedding_service::{EmbeddingService, EmbeddingStatus};
use crate::upkeep::failure_tracker::Backoff;
use crate::upkeep::{EmbedderOpener, PrepareError, PrepareStep, RetryPolicy, Upkeep};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::ids::{EpisodeId, MemoryId};
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::memories::{self, NewMemory};
use hob_store::vectors::{self, VectorModel};
use hob_store::{Store, Tx};

const SCOPE: Scope = Scope::House;
const DIMENSIONS: usize = 8;

/// Waits that a test can bear.
const PACE: RetryPolicy = RetryPolicy {
    passing: Backoff::new(Duration::from_millis(1), Duration::from_millis(4)),
    setup: Backoff::new(Duration::from_millis(1), Duration::from_millis(4)),
    fetch: Backoff::new(Duration::from_millis(1), Duration::from_millis(4)),
    look: Duration::from_secs(3600),
};

/// What a fake model does and has been asked.
struct EmbedderScript {
    /// Texts in the order in which they were embedded.
    embedded: Mutex<Vec<String>>,
    /// What the next calls answer; then vectors.
    errors: Mutex<Vec<EmbedError>>,
    /// A text with such a word is refused, for good.
    refused: Mutex<Option<&'static str>>,
    /// A permit for each call.
    permits: Semaphore,
}

struct FakeEmbedder {
    model: EmbeddingModel,
    script: Arc<EmbedderScript>,
}

impl FakeEmbedder {
    fn named(name: &str) -> Arc<Self> {
        Self::held_after(name, Semaphore::MAX_PERMITS)
    }

    /// It answers so many calls; more are let through by the test.
    fn held_after(name: &str, calls: usize) -> Arc<Self> {
        let (name, digest) = (name.to_owned(), format!("digest of {name}"));
        let script = EmbedderScript {
            embedded: Mutex::default(),
            errors: Mutex::default(),
            refused: Mutex::default(),
            permits: Semaphore::new(calls),
        };
        Arc::new(Self { model: EmbeddingModel { name, dimensions: DIMENSIONS, digest }, script: Arc::new(script) })
    }

    fn failing(self: Arc<Self>, errors: Vec<EmbedError>) -> Arc<Self> {
        *self.script.errors.lock().unwrap() = errors.into_iter().rev().collect();
        self
    }

    fn refusing(self: Arc<Self>, word: &'static str) -> Arc<Self> {
        *self.script.refused.lock().unwrap() = Some(word);
        self
    }

    fn let_through(&self, calls: usize) {
        self.script.permits.add_permits(calls);
    }

    fn embedded(&self) -> Vec<String> {
        self.script.embedded.lock().unwrap().clone()
    }
}

/// A vector that says how often each of some letters is in the text.
fn vector_of(text: &str) -> Vec<f32> {
    let mut vector = vec![0.1; DIMENSIONS];
    text.bytes().for_each(|byte| vector[usize::from(byte) % DIMENSIONS] += 1.0);
    normalise(&mut vector);
    vector
}

#[async_trait]
impl Embedder for FakeEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.script.permits.acquire().await.unwrap().forget();
        if let Some(error) = self.script.errors.lock().unwrap().pop() {
            return Err(error);
        }
        let refused = *self.script.refused.lock().unwrap();
        if refused.is_some_and(|word| texts.iter().any(|text| text.contains(word))) {
            return Err(EmbedError::Refused("The model does not take this.".to_owned()));
        }
        self.script.embedded.lock().unwrap().extend(texts.iter().cloned());
        Ok(texts.iter().map(|text| vector_of(text)).collect())
    }

    async fn embed_tokens(&self, texts: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
        let token = |text: &String| TokenVector { range: 0..text.len(), vector: vector_of(text) };
        let vectors = self.embed(texts).await?;
        let embedded = vectors.into_iter().zip(texts);
        Ok(Some(embedded.map(|(vector, text)| EmbeddedText { vector, tokens: vec![token(text)] }).collect()))
    }
}

/// Opens the first of these; all of them are there as former ones.
struct FakeOpener(Vec<Arc<FakeEmbedder>>);

#[async_trait]
impl EmbedderOpener for FakeOpener {
    async fn prepare(&self, _tell: &(dyn Fn(PrepareStep) + Sync)) -> Result<(), PrepareError> {
        Ok(())
    }

    async fn open(&self) -> Result<Arc<dyn Embedder>, EmbedError> {
        Ok(Arc::clone(&self.0[0]) as Arc<dyn Embedder>)
    }

    async fn open_former(&self, former: &VectorModel) -> Option<Arc<dyn Embedder>> {
        let found = self.0.iter().find(|one| one.model.digest == former.digest)?;
        Some(Arc::clone(found) as Arc<dyn Embedder>)
    }
}

/// A database, and perhaps an upkeep at work.
struct Harness {
    store: Store,
    embedding_service: Arc<EmbeddingService>,
    conditions: Conditions,
    episode: EpisodeId,
    _home: TempDir,
}

/// The upkeep at work; dropped, it is cut off where it stands.
struct RunningUpkeep(JoinHandle<()>);

impl Drop for RunningUpkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RunningUpkeep {
    /// Ends it, and waits for its end.
    async fn cut_off(mut self) {
        self.0.abort();
        assert!((&mut self.0).await.is_err_and(|error| error.is_cancelled()));
    }
}

impl Harness {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), hob_store::SchedulingMode::Threaded).await.unwrap();
        let episode = store.write(async |tx| memories::begin_episode(tx, SCOPE, None, 0).await).await.unwrap();
        Self { store, embedding_service: Arc::default(), conditions: Conditions::default(), episode, _home: home }
    }

    fn start(&self, models: &[&Arc<FakeEmbedder>]) -> RunningUpkeep {
        self.start_with(Arc::new(FakeOpener(models.iter().map(|model| Arc::clone(model)).collect())))
    }

    fn start_with(&self, opener: Arc<dyn EmbedderOpener>) -> RunningUpkeep {
        let upkeep = Upkeep {
            store: self.store.clone(),
            clock: Arc::new(SystemClock),
            embedding_service: Arc::clone(&self.embedding_service),
            opener,
            conditions: self.conditions.clone(),
            pace: PACE,
        };
        RunningUpkeep(tokio::spawn(upkeep.run(CancellationToken::new())))
    }

    /// Remembers these, in this order.
    async fn say(&self, texts: &[&str]) -> Vec<MemoryId> {
        let texts = texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let episode = self.episode;
        let ids = self.store.write(async move |tx| say(tx, episode, &texts).await).await.unwrap();
        self.embedding_service.memories_written();
        ids
    }

    /// Forgets it, as it is done everywhere: what was made of the one behind it is made anew.
    async fn forget(&self, memory: MemoryId) {
        self.store.write(async move |tx| forget(tx, memory).await).await.unwrap();
        self.embedding_service.forget(SCOPE, memory);
    }

    async fn until(&self, what: &str, holds: impl Fn(&EmbeddingStatus) -> bool) {
        let look = async {
            while !holds(&self.embedding_service.status()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let come = tokio::time::timeout(Duration::from_secs(120), look).await;
        assert!(come.is_ok(), "not {what}: {:?}", self.embedding_service.status());
    }

    async fn until_done(&self) {
        self.until("done", |standing| matches!(standing, EmbeddingStatus::Ready { backlog: 0, .. })).await;
    }

    async fn until_indexed(&self, count: usize) {
        let look = async {
            while self.indexed().len() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let come = tokio::time::timeout(Duration::from_secs(120), look).await;
        assert!(come.is_ok(), "not {count} in the index: {:?}", self.indexed());
    }

    async fn until_models(&self, count: usize) {
        let look = async {
            while self.stored().await.0.len() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let come = tokio::time::timeout(Duration::from_secs(120), look).await;
        assert!(come.is_ok(), "not {count} models");
    }

    /// The memories that have a vector of any model, which need not tell tokens.
    async fn stored_vectors(&self) -> Vec<i64> {
        self.store.read(embedded).await.unwrap()
    }

    async fn stored(&self) -> StoredVectors {
        self.store.read(look).await.unwrap()
    }

    /// The memories in the index.
    fn indexed(&self) -> BTreeSet<i64> {
        let Some(serving) = self.embedding_service.serving() else { return BTreeSet::new() };
        let index = serving.index.read().unwrap();
        let all = index.nearest(&crate::vectors::binary_codes::sign_bits(&[0.0; DIMENSIONS]), &[SCOPE], 10_000);
        all.iter().map(|candidate| candidate.id).collect()
    }
}

/// The models, each with the memories that have its vectors and its signs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredVectors(Vec<(String, MemoryId, BTreeSet<i64>)>);

impl StoredVectors {
    /// All that one model has.
    fn only(&self, name: &str) -> (MemoryId, BTreeSet<i64>) {
        let [(found, through, memories)] = self.0.as_slice() else { panic!("{self:?}") };
        assert_eq!(found, name);
        (*through, memories.clone())
    }
}

async fn say(tx: &mut Tx, episode: EpisodeId, texts: &[String]) -> Result<Vec<MemoryId>, StoreError> {
    let mut ids = Vec::new();
    for text in texts {
        let new = NewMemory {
            scope: SCOPE,
            session: None,
            speaker: "Ada",
            user: None,
            message: None,
            text,
            asked: None,
            origin: "import",
            importance: 0.5,
            at: 0,
        };
        ids.push(memories::add_to(tx, episode, &new, None).await?);
    }
    Ok(ids)
}

async fn forget(tx: &mut Tx, memory: MemoryId) -> Result<(), StoreError> {
    let next = memories::said_after(tx, memory, 1).await?;
    sqlx::query("DELETE FROM memories WHERE id = ?").bind(memory).execute(&mut *tx).await?;
    for next in next {
        vectors::invalidate(tx, next.id).await?;
    }
    Ok(())
}

async fn look(tx: &mut Tx) -> Result<StoredVectors, StoreError> {
    let mut all = Vec::new();
    for model in vectors::list_models(tx).await? {
        let of = async |tx: &mut Tx, query: &'static str| {
            sqlx::query_scalar::<_, i64>(query).bind(model.id).fetch_all(&mut *tx).await
        };
        let vectors = of(tx, "SELECT memory_id FROM vectors WHERE model_id = ?").await?;
        // In one look: others write meanwhile.
        let alone = of(
            tx,
            "SELECT memory_id FROM (SELECT memory_id, model_id FROM vectors UNION ALL
             SELECT memory_id, model_id FROM token_signs) WHERE model_id = ? GROUP BY memory_id HAVING count(*) <> 2",
        );
        assert_eq!(alone.await?, Vec::<i64>::new(), "{}", model.name);
        all.push((model.name.clone(), model.through, vectors.into_iter().collect()));
    }
    Ok(StoredVectors(all))
}

async fn embedded(tx: &mut Tx) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar("SELECT memory_id FROM vectors ORDER BY memory_id").fetch_all(&mut *tx).await?)
}
