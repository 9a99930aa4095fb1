//! A BERT-like sentence model on this machine, all-MiniLM-L6-v2 to begin with, in pure Rust.
//!
//! Never: work on the runtime's threads. A thread of its own does it, so a backlog takes one core at most.
//! Start at [`LocalEmbedder::open`]. What was measured: `docs/decisions/0003-embedding.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::embedding::error::EmbedError;
use crate::embedding::local::encoder::Encoder;
use crate::embedding::local::tokenizer::WordPieceTokenizer;
use crate::embedding::{EmbeddedText, Embedder, EmbeddingModel};
use hob_core::domain::text::hex;

mod encoder;
mod layer;
mod shape;
#[cfg(test)]
mod tests;
mod tokenizer;
mod weights;

/// How many texts are embedded before the next in line has its turn: a question does not wait for a backlog.
const TEXTS_AT_ONCE: usize = 4;

/// The files that make a model.
pub const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

struct LoadedModel {
    pieces: WordPieceTokenizer,
    encoder: Encoder,
}

/// Embeds on a thread of its own.
pub struct LocalEmbedder {
    model: EmbeddingModel,
    loaded: Arc<LoadedModel>,
    thread: ThreadPool,
}

impl LocalEmbedder {
    /// Loads the model that lies in `folder`: [`FILES`].
    ///
    /// # Errors
    /// When a file is missing, damaged, or of a model that is not built like BERT.
    pub async fn open(folder: PathBuf) -> Result<Self, EmbedError> {
        let thread = ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(|_| "hob-embedding".to_owned())
            .panic_handler(|_| tracing::error!("the embedding panicked; what was asked for fails"))
            .build()
            .map_err(|error| EmbedError::Setup(format!("The thread for embeddings cannot be started: {error}")))?;
        let (model, loaded) = on(&thread, move || load(&folder)).await??;
        Ok(Self { model, loaded: Arc::new(loaded), thread })
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn is_here(&self) -> bool {
        true
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let (loaded, texts) = (Arc::clone(&self.loaded), texts.to_vec());
            vectors.extend(on(&self.thread, move || loaded.embed(&texts)).await??);
        }
        Ok(vectors)
    }

    async fn embed_tokens(&self, texts: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
        let mut embedded = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let (loaded, texts) = (Arc::clone(&self.loaded), texts.to_vec());
            embedded.extend(on(&self.thread, move || loaded.embed_tokens(&texts)).await??);
        }
        Ok(Some(embedded))
    }
}

impl LoadedModel {
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts = self.pieces.of_all(texts)?;
        let hidden = self.encoder.hidden(texts.iter().map(|text| text.ids.as_slice()))?;
        Ok(hidden.iter().map(|rows| self.encoder.mean(rows)).collect())
    }

    fn embed_tokens(&self, texts: &[String]) -> Result<Vec<EmbeddedText>, EmbedError> {
        let texts = self.pieces.of_all(texts)?;
        let hidden = self.encoder.hidden(texts.iter().map(|text| text.ids.as_slice()))?;
        let with_tokens = |(text, rows): (tokenizer::TokenizedText, Vec<f32>)| {
            let vector = self.encoder.mean(&rows);
            EmbeddedText { vector, tokens: self.encoder.tokens(&rows, text.ranges) }
        };
        Ok(texts.into_iter().zip(hidden).map(with_tokens).collect())
    }
}

/// Does `work` on the thread.
async fn on<T: Send + 'static>(
    thread: &ThreadPool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EmbedError> {
    let (done, result) = oneshot::channel();
    thread.spawn(move || {
        if done.send(work()).is_err() {
            tracing::debug!("nobody waits for these vectors any more");
        }
    });
    result.await.map_err(|_panicked| {
        let what = "The embedding stopped at an error of its own; its log has more.".to_owned();
        EmbedError::Transient { what, retry_after: None }
    })
}

fn load(folder: &Path) -> Result<(EmbeddingModel, LoadedModel), EmbedError> {
    let [config, tokenizer, weights] = FILES.map(|name| folder.join(name));
    let mut hash = Sha256::new();
    let (config, shape) = shape::read(&config)?;
    hash.update(config);
    let (tokenizer, pieces) = WordPieceTokenizer::read(&tokenizer, shape.tokens_max())?;
    hash.update(tokenizer);
    let encoder = Encoder::read(&weights, &shape, &mut hash)?;
    let name = folder.file_name().map_or_else(|| "local".to_owned(), |name| name.to_string_lossy().into_owned());
    let digest = hex(&hash.finalize()[..16]);
    Ok((EmbeddingModel { name, dimensions: shape.hidden_size, digest }, LoadedModel { pieces, encoder }))
}

/// A file of the model that cannot be used.
fn unusable(path: &Path, why: impl std::fmt::Display) -> EmbedError {
    EmbedError::Setup(format!(
        "The embedding model's file {} cannot be used: {why}. Put the model's files there, or leave `path` under \
         [memory.embedding] out: then Hob fetches its own.",
        path.display()
    ))
}
