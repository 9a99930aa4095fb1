//! The embedder that serves, and the vectors that it made: of all memories, and of what was asked last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, RwLock};

use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, Embedder, TokenVector};
use crate::vectors::index::Index;
use hob_core::domain::lock::lock;

/// So many questions are remembered: one for each conversation that asks at the same moment, in an ordinary house. With the
/// vectors of their tokens they take up to 400 KB each.
const RECENT_MAX: usize = 4;

/// An embedder, and the vectors that it made.
pub struct ActiveEmbedder {
    /// Makes vectors.
    pub embedder: Arc<dyn Embedder>,
    /// The row of its model.
    pub model: i64,
    /// The signs of all vectors.
    pub index: RwLock<Index>,
    recent: Mutex<VecDeque<Arc<CachedQuestion>>>,
}

/// A text that was asked about. It is asked about more than once: by recall, for skills, and once it is a memory.
pub struct CachedQuestion {
    text: String,
    /// The text's vector, of length one.
    pub vector: Vec<f32>,
    /// Its tokens in order; none where the model does not tell them.
    pub tokens: Option<Vec<TokenVector>>,
}

impl ActiveEmbedder {
    /// Nothing was asked yet.
    pub fn of(embedder: Arc<dyn Embedder>, model: i64, index: Index) -> Self {
        Self { embedder, model, index: RwLock::new(index), recent: Mutex::default() }
    }

    /// The vectors of a text, remembered for whoever asks next; who asks first pays.
    pub async fn embed_cached(&self, text: &str, bill: &Bill) -> Result<Arc<CachedQuestion>, EmbedError> {
        if let Some(asked) = self.recent(text) {
            return Ok(asked);
        }
        let texts = [text.to_owned()];
        let (vector, tokens) = match self.embedder.embed_tokens(&texts).await? {
            Some(made) => made.into_iter().next().map(|one| (one.vector, Some(one.tokens))),
            None => self.embedder.embed_for(bill, &texts).await?.into_iter().next().map(|vector| (vector, None)),
        }
        .ok_or_else(|| EmbedError::Malformed("no vector came back".to_owned()))?;
        let asked = Arc::new(CachedQuestion { text: text.to_owned(), vector, tokens });
        let mut recent = lock(&self.recent);
        recent.truncate(RECENT_MAX - 1);
        recent.push_front(Arc::clone(&asked));
        Ok(asked)
    }

    /// The vectors of a text that was asked about just now.
    pub fn recent(&self, text: &str) -> Option<Arc<CachedQuestion>> {
        let recent = lock(&self.recent);
        recent.iter().find(|asked| asked.text == text).cloned()
    }
}
