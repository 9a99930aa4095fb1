//! Recall on conversations in LoCoMo's format: which turns come up for a question, through the store and the ranking that
//! every question goes through.
//!
//! Never: a rule that knows the data.
//! Start at [`recall`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::active_embedder::ActiveEmbedder;
use crate::bench::write::{put_vectors, register, write_conversation};
use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, EmbeddedText, Embedder};
use crate::passage::{Passage, passages};
use crate::rank::dates;
use crate::recall::fuse::Candidate;
use crate::recall::meaning::informative_codes;
use crate::recall::{Memory, RecallLimits, RecallQuestion};
use crate::vectors::bytes::{StoredVector, encode};
use crate::vectors::index::Index;
use hob_core::domain::ids::{MemoryId, UserId};
use hob_core::domain::memory::Scope;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::vectors::NewVector;

#[cfg(test)]
mod engines;
#[cfg(test)]
mod household;
#[cfg(test)]
mod tests;
mod write;

/// How many turns are told for a question.
const TOLD: usize = 25;
/// How many passages are embedded at once.
const BATCH: i64 = 64;
/// Whose all of a conversation is.
const SCOPE: Scope = Scope::Person(UserId(1));

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The data is not in LoCoMo's format.
    #[error("the conversations are not in LoCoMo's format: {0}")]
    Data(#[from] serde_json::Error),
    /// A session without a day.
    #[error("the time of a session cannot be read: {0:?}")]
    Day(String),
    /// The embedding failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The turns found for a question, the best first: a line for `score.py`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ranking {
    /// The conversation.
    pub sample_id: String,
    /// The question's place in it, from 0.
    pub question_index: usize,
    /// The turns.
    pub ranked: Vec<String>,
}

/// What came of a question, and how long it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The turns.
    pub ranking: Ranking,
    /// To embed the question.
    pub embedding: Duration,
    /// All else.
    pub recall: Duration,
}

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<BenchQuestion>,
}

#[derive(Deserialize)]
struct BenchQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct DialogTurn {
    speaker: String,
    dia_id: String,
    text: String,
    /// What a photo shows that came with it.
    blip_caption: Option<String>,
}

/// A conversation's sessions: each with its day, and what was said.
type Sessions = Vec<(Date, Vec<DialogTurn>)>;

/// Is told of each conversation that is done: how many of how many it is, its name, and how long it took.
pub type ProgressFn<'a> = dyn Fn((usize, usize), &str, Duration) + Sync + 'a;

/// Answers all questions that have evidence, in the data's order.
///
/// `open` gives each conversation a database of its own; `done` is told of it.
///
/// # Errors
/// When the data cannot be read, or the embedding or the database fails.
pub async fn recall(
    data: &str,
    open: impl AsyncFn(usize) -> Result<Store, StoreError>,
    embedder: Option<Arc<dyn Embedder>>,
    done: &ProgressFn<'_>,
) -> Result<Vec<Answer>, BenchError> {
    let mut answers = Vec::new();
    let samples: Vec<Sample> = serde_json::from_str(data)?;
    let count = samples.len();
    for (number, sample) in samples.into_iter().enumerate() {
        let started = Instant::now();
        let store = open(number).await?;
        let conversation = Conversation::write(&sample.conversation, store, embedder.as_ref()).await?;
        for (question_index, asked) in sample.qa.into_iter().enumerate() {
            if !asked.evidence.is_empty() {
                let (ranked, embedding, recall) = conversation.best(asked.question).await?;
                let ranking = Ranking { sample_id: sample.sample_id.clone(), question_index, ranked };
                answers.push(Answer { ranking, embedding, recall });
            }
        }
        conversation.memory.store.close().await;
        done((number + 1, count), &sample.sample_id, started.elapsed());
    }
    Ok(answers)
}

/// A conversation that is remembered.
struct Conversation {
    memory: Memory,
    /// What the turns are called.
    names: HashMap<i64, String>,
    /// Its last day, on which is asked.
    last: Date,
}

impl Conversation {
    async fn write(
        said: &BTreeMap<String, Value>,
        store: Store,
        embedder: Option<&Arc<dyn Embedder>>,
    ) -> Result<Self, BenchError> {
        let sessions = sessions(said)?;
        let last = sessions.last().map_or(Date::ZERO, |(day, _)| *day);
        let names = store.write(async move |tx| write_conversation(tx, &sessions).await).await?.into_iter().collect();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        if let Some(embedder) = embedder {
            memory.embedding_service.serve(Some(Arc::new(embed(&store, embedder).await?)));
        }
        Ok(Self { memory, names, last })
    }

    fn question(&self, text: String) -> RecallQuestion {
        let limits = RecallLimits { fragments: TOLD, tokens: u64::MAX, facts: 0 };
        let (scopes, now) = (vec![SCOPE], write::at(self.last, 0));
        RecallQuestion { text, scopes, turn: None, window: None, limits, now, bill: Bill::House }
    }

    fn name(&self, one: &Candidate) -> Option<String> {
        self.names.get(&one.memory).cloned()
    }

    /// The best turns for a question, and how long its embedding took, and all else.
    async fn best(&self, text: String) -> Result<(Vec<String>, Duration, Duration), BenchError> {
        let question = self.question(text);
        let started = Instant::now();
        let meant = self.memory.embed_question(&question).await;
        let embedding = started.elapsed();
        let ranked = self.memory.ranked(&question, meant.as_ref()).await?;
        let best = ranked.iter().take(TOLD).filter_map(|one| self.name(one)).collect();
        Ok((best, embedding, started.elapsed() - embedding))
    }
}

fn sessions(conversation: &BTreeMap<String, Value>) -> Result<Sessions, BenchError> {
    let number = |key: &str| key.strip_prefix("session_").and_then(|number| number.parse::<u32>().ok());
    let mut keys: Vec<(u32, &String)> = conversation.keys().filter_map(|key| Some((number(key)?, key))).collect();
    keys.sort_unstable();
    let session = |(_, key): (u32, &String)| {
        let said = Vec::<DialogTurn>::deserialize(&conversation[key])?;
        let time = conversation.get(&format!("{key}_date_time")).and_then(Value::as_str).unwrap_or_default();
        let day = dates::mentioned_dates(time, Date::MAX).first().map(|days| days.from);
        Ok((day.ok_or_else(|| BenchError::Day(time.to_owned()))?, said))
    };
    keys.into_iter().map(session).collect()
}

/// Embeds all that was written.
async fn embed(store: &Store, embedder: &Arc<dyn Embedder>) -> Result<ActiveEmbedder, BenchError> {
    let model = embedder.model().clone();
    let model = store.write(async move |tx| register(tx, &model).await).await?;
    let dimensions = embedder.model().dimensions;
    let mut index = Index::new(dimensions);
    let mut after = MemoryId(0);
    loop {
        let passages = store.read(async |tx| passages(tx, after, BATCH).await).await?;
        let Some(last) = passages.last() else { break };
        after = last.memory;
        let vectors = vectors(embedder.as_ref(), &passages).await?;
        for (passage, vector) in passages.iter().zip(&vectors) {
            if let Some(stored) = StoredVector::read(&vector.vector, dimensions) {
                index.insert(passage.scope, passage.memory.0, &stored.bits());
            }
        }
        store.write(async move |tx| put_vectors(tx, model, &vectors).await).await?;
    }
    Ok(ActiveEmbedder::of(Arc::clone(embedder), model, index))
}

async fn vectors(embedder: &dyn Embedder, passages: &[Passage]) -> Result<Vec<NewVector>, EmbedError> {
    let texts: Vec<String> = passages.iter().map(|passage| passage.text.clone()).collect();
    if let Some(embedded) = embedder.embed_tokens(&texts).await? {
        let vector = |(passage, one): (&Passage, EmbeddedText)| NewVector {
            memory: passage.memory,
            binary_codes: Some(informative_codes(&one.tokens, &passage.text, passage.own_from).to_bytes()),
            vector: encode(&one.vector),
        };
        return Ok(passages.iter().zip(embedded).map(vector).collect());
    }
    let plain = embedder.embed(&texts).await?;
    let vector = |(passage, vector): (&Passage, Vec<f32>)| NewVector {
        memory: passage.memory,
        vector: encode(&vector),
        binary_codes: None,
    };
    Ok(passages.iter().zip(plain).map(vector).collect())
}
