//! What is near in meaning: the embedder that serves, and the index of its vectors.
//!
//! Recall reads it, the upkeep puts it in place and takes out what is forgotten.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use crate::active_embedder::ActiveEmbedder;
use hob_core::domain::ids::MemoryId;
use hob_core::domain::lock::lock;
use hob_core::domain::memory::Scope;

/// The embedding at work, if there is any.
#[derive(Default)]
pub struct EmbeddingService {
    serving: RwLock<Option<Arc<ActiveEmbedder>>>,
    standing: RwLock<EmbeddingStatus>,
    /// What was forgotten while vectors are on their way from the database into the index; none: none are.
    forgotten: Mutex<Option<Vec<(Scope, MemoryId)>>>,
    written: Notify,
}

/// How it stands with the embedding, for `/status`, health and `hob memory stats`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EmbeddingStatus {
    /// Nobody wants one.
    #[default]
    Off,
    /// It is being fetched or loaded.
    Starting {
        /// What happens now, e.g. "fetching the model, 40 of 91 MB".
        what: String,
    },
    /// It serves.
    Ready {
        /// What makes the vectors.
        model: String,
        /// How many memories wait for theirs.
        backlog: u64,
    },
    /// Recall goes by words alone: why, and what to do.
    Degraded { why: String },
}

impl fmt::Display for EmbeddingStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("by words alone (no embedding is configured)"),
            Self::Starting { what } => write!(f, "by words alone for now ({what})"),
            Self::Ready { model, backlog: 1 } => {
                write!(f, "by words and meaning ({model}; 1 memory waits for its vector)")
            }
            Self::Ready { model, backlog: 0 } => write!(f, "by words and meaning ({model})"),
            Self::Ready { model, backlog } => {
                write!(f, "by words and meaning ({model}; {backlog} memories wait for their vectors)")
            }
            Self::Degraded { why } => write!(f, "degraded: by words alone ({why})"),
        }
    }
}

impl EmbeddingService {
    /// What serves now.
    pub fn serving(&self) -> Option<Arc<ActiveEmbedder>> {
        self.serving.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this serves, or nothing.
    pub fn serve(&self, serving: Option<Arc<ActiveEmbedder>>) {
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = serving;
    }

    /// How it stands.
    pub fn status(&self) -> EmbeddingStatus {
        self.standing.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on it stands so.
    pub fn set_status(&self, standing: EmbeddingStatus) {
        *self.standing.write().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// Takes a memory out of the index. Its row is gone already: what the index still finds, recall does not load.
    pub fn forget(&self, scope: Scope, memory: MemoryId) {
        if let Some(forgotten) = lock(&self.forgotten).as_mut() {
            forgotten.push((scope, memory));
        }
        self.remove_vector(scope, memory);
    }

    /// There are new memories: their vectors are made soon. Without a word they are seen within a minute.
    pub fn memories_written(&self) {
        self.written.notify_one();
    }

    /// Waits for new memories.
    pub(super) async fn until_written(&self) {
        self.written.notified().await;
    }

    /// From now on it is noted what is forgotten, until [`Self::settle`]: vectors are read, and will be put into the index.
    pub(super) fn watch(&self) {
        *lock(&self.forgotten) = Some(Vec::new());
    }

    /// They are in the index: what was forgotten meanwhile is taken out again.
    pub(super) fn drop_forgotten(&self) {
        let forgotten = lock(&self.forgotten).take();
        for (scope, memory) in forgotten.into_iter().flatten() {
            self.remove_vector(scope, memory);
        }
    }

    fn remove_vector(&self, scope: Scope, memory: MemoryId) {
        if let Some(serving) = self.serving() {
            serving.index.write().unwrap_or_else(PoisonError::into_inner).remove(scope, memory.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n9_it_is_told_how_it_stands() {
        let ready = |backlog| EmbeddingStatus::Ready { model: "all-MiniLM-L6-v2".to_owned(), backlog };
        let all = [
            EmbeddingStatus::Off,
            EmbeddingStatus::Starting { what: "fetching the model, 40 of 91 MB".to_owned() },
            ready(0),
            ready(1),
            ready(120),
            EmbeddingStatus::Degraded { why: "The embedding server does not answer.".to_owned() },
        ];
        let told: Vec<String> = all.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        by words alone (no embedding is configured)
        by words alone for now (fetching the model, 40 of 91 MB)
        by words and meaning (all-MiniLM-L6-v2)
        by words and meaning (all-MiniLM-L6-v2; 1 memory waits for its vector)
        by words and meaning (all-MiniLM-L6-v2; 120 memories wait for their vectors)
        degraded: by words alone (The embedding server does not answer.)
        ");
    }
}
